// How a page calls the classes of a report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/page/document.hpp"

namespace dpreduce {

/// By `class_names` of the report where it has them, else by number.
class ClassNames {
 public:
  /// Throws BadInput where there is no whole number of `classes`, or not as many names.
  explicit ClassNames(const DocumentFields& report);
  std::size_t count() const { return count_; }
  std::string of(std::size_t label) const { return names_.empty() ? std::to_string(label) : names_[label]; }

 private:
  std::size_t count_;
  std::vector<std::string> names_;
};

}  // namespace dpreduce
