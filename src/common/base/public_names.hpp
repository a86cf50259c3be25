// Names of classes and of features. Their lists are public and are in models; they never come from rows.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dpreduce {

// Names of classes. Their list is public: name k is that of class k, and the list never comes from rows.

/// Returns what is wrong with a name, as in "is empty"; an empty text if the name may be a class name. A name is UTF-8
/// without control characters (tabs and ends of lines separate names), neither begins nor ends with a space, and has 1
/// to 1000 bytes.
std::string class_name_fault(std::string_view name);

/// Throws UsageError where a name has a flaw or is that of two classes, or where there are names, but not as many as
/// `classes`.
void require_class_names(std::span<const std::string> names, std::size_t classes);

/// The name of class k where there are names, else its number.
std::string name_of_class(std::span<const std::string> names, std::size_t k);

// Names of features, as columns of data frames have them. Their list is public, and is in models.

/// Throws UsageError where there are names, but not as many as `features`, or one is no UTF-8 text.
void require_feature_names(std::span<const std::string> names, std::size_t features);

/// Throws BadInput naming the first column in which the columns of `whose` ("rank 2") differ from those that are
/// expected, `where` saying where these are ("on rank 0"): also where one list has names and the other has none.
void require_same_features(std::span<const std::string> names, std::span<const std::string> expected,
                           std::string_view whose, std::string_view where);

}  // namespace dpreduce
