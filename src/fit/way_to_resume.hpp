// What the error of a run that failed after its first charge says about how to go on.
#pragma once

#include <functional>
#include <string>

#include "aggregator/release/release.hpp"

namespace dpreduce {

/// Gets a line for the user; may be null.
using Warn = std::function<void(const std::string&)>;

/// Does the work. Where the run has charged something and can be resumed, an error also says what the next start may do
/// about it. Where the error is another rank's, `warn` gets that line.
void with_way_to_resume(const Releaser& releaser, const Warn& warn, const std::function<void()>& work);

}  // namespace dpreduce
