// The right to write a file of some name, while it is written.
#pragma once

#include <string>

namespace dpreduce {

/// Held by one living process of a machine at a time, also before there is a file of that name: of runs that are
/// started with one and the same output, one gets it. It is a socket's name, which the kernel gives back when its
/// process ends, however that ends, and which leaves nothing in the folder. Processes that do not share the machine's
/// network (other machines, containers with a network of their own) have claims of their own.
class OutputClaim {
 public:
  /// Claims nothing.
  OutputClaim() = default;
  /// `target`: the file itself, in a folder that is there, where `path` may be a link to it. Throws UsageError naming
  /// `path` where it is claimed already.
  OutputClaim(const std::string& path, const std::string& target);
  ~OutputClaim();
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;
  OutputClaim& operator=(OutputClaim&& other) noexcept;

 private:
  int socket_ = -1;
};

}  // namespace dpreduce
