// How many classes there are, and what they are named: --classes and --class-names.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/option_table.hpp"

namespace dpreduce {

struct CommandEntry;

/// Declares both. The file of names is read while the command line is: a job reads it on rank 0 alone, and the other
/// ranks get the list with the command. Reading throws BadInput as read_class_names. Returns --classes.
Option& declare_classes(OptionTable& table, std::size_t& classes, std::vector<std::string>& names,
                        const std::string& help);

/// K where it is given, else the number of names.
std::size_t classes_of(std::size_t classes, const std::vector<std::string>& names);

/// Where the arguments name classes, --classes need not be given.
void let_names_count_classes(CommandEntry& root, const std::vector<std::string>& arguments);

}  // namespace dpreduce
