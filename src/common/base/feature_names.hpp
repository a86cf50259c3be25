// Names of features, as columns of data frames have them. Their list is public, and stands in models.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dpreduce {

/// Throws UsageError where there are names, but not as many as `features`, or one is no UTF-8 text.
void require_feature_names(std::span<const std::string> names, std::size_t features);

/// Throws BadInput naming the first column in which the columns of `whose` ("rank 2") differ from those that are
/// expected, `where` saying where these are ("on rank 0"): also where one list has names and the other has none.
void require_same_features(std::span<const std::string> names, std::span<const std::string> expected,
                           std::string_view whose, std::string_view where);

}  // namespace dpreduce
