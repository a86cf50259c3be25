#include "common/base/version.hpp"

namespace dpreduce {

std::string version() {
  return DPREDUCE_VERSION;
}

}  // namespace dpreduce
