// How far a pass over the rows has come: one line on a terminal, nothing anywhere else.
#pragma once

#include <chrono>
#include <string>

namespace dpreduce {

class Progress {
 public:
  /// `bytes` is the size of the whole pass, for the rate. Shows something only where `shows` and standard error is a
  /// terminal.
  Progress(std::string what, double bytes, bool shows);
  ~Progress();  ///< clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `share` of the pass is done, in [0, 1]. Draws at most ten times a second.
  void update(double share);

 private:
  std::string what_;
  double bytes_;
  bool shows_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace dpreduce
