// What a run that failed after its first charge says about going on.
#pragma once

#include <functional>
#include <string>

#include "aggregator/release/release.hpp"

namespace dpreduce {

/// Told a line for the user; may be null.
using Warn = std::function<void(const std::string&)>;

/// Does the work. An error of a run that has charged something, and can be resumed, also says what the next start may
/// do about it; where it is another rank's, `warn` is told.
void with_way_to_resume(const Releaser& releaser, const Warn& warn, const std::function<void()>& work);

}  // namespace dpreduce
