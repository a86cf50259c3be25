// Paths of files on this machine, as all paths here are.
#pragma once

#include <string>

namespace dpreduce {

/// Throws BadInput where the path is an address of a store, as s3://bucket/x.npy: such a file must be fetched first.
void require_local(const std::string& path);

}  // namespace dpreduce
