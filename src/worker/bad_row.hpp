// What is said of a row that --bad-rows stop ends a run at. `where` names the row, for its owner.
#pragma once

#include <cstddef>
#include <string>

namespace dpreduce {

/// Throws BadInput: an element is NaN, or infinite.
[[noreturn]] void refuse_not_finite(const std::string& where);

/// Throws BadInput: the row has `labels` labels, and --max-labels allows `most`.
[[noreturn]] void refuse_surplus_labels(const std::string& where, std::size_t labels, std::size_t most);

}  // namespace dpreduce
