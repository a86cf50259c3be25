// The format of a table by its file's name.
#pragma once

#include <string>

namespace dpreduce {

/// Whether the name ends with .csv. Otherwise the table is an .npy file.
bool is_csv(const std::string& path);

/// Throws UsageError where the name ends with a suffix other than .npy and .csv. Without one (a device, a pipe) it is
/// .npy.
void check_table_path(const std::string& option, const std::string& path);

}  // namespace dpreduce
