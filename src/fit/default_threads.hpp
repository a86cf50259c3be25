// How many threads a rank takes.
#pragma once

namespace dpreduce {

/// Threads of this rank where the user names none: every core alone, one under a launcher.
unsigned default_threads();

}  // namespace dpreduce
