#include "common/page/class_names.hpp"

namespace dpreduce {

ClassNames::ClassNames(const DocumentFields& report) : names_(report.texts("class_names")) {
  const nlohmann::json& classes = report.number("classes");
  if (!classes.is_number_unsigned()) report.refuse("classes", "must be a whole number");
  count_ = classes.get<std::size_t>();
  if (!names_.empty() && names_.size() != count_) report.refuse("class_names", "must be as many as there are classes");
}

}  // namespace dpreduce
