#include "worker/bad_row.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/array_file.hpp"

namespace dpreduce {

void refuse_not_finite(const std::string& where) {
  throw BadInput(
      fmt::format("{}: not a finite number (NaN or inf); mend it, or use --bad-rows zero{}", where, kForOwnerOnly));
}

void refuse_surplus_labels(const std::string& where, std::size_t labels, std::size_t most) {
  throw BadInput(fmt::format(
      "{}: {} labels, more than --max-labels {}; mend the labels, raise the bound, or use --bad-rows zero{}", where,
      labels, most, kForOwnerOnly));
}

}  // namespace dpreduce
