// A run of `fit` as its readers see it: the command itself, in this process, with the files, the output and the exit
// code that its user would get.
#pragma once

#include "audit/method_run.hpp"
#include "audit/public_fields.hpp"
#include "common/data/private_folder.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

class ReadFit {
 public:
  /// Fits with `options` on one of the worlds of `files`, in `folder`, where it has subfolders of its own. The first
  /// run is made here, in world 0; every later one goes on with a copy of what that left beside the ledger. Throws what
  /// `fit` throws there. Not for several threads at once: it holds standard output and error while it runs.
  ReadFit(FitOptions options, WorldFiles files, const PrivateFolder& folder);

  /// Everything that the known run and a second one leave to readers: ledger, model, report, checkpoint, output, exit
  /// code.
  PublicFields read(World world) const;

 private:
  FitOptions options_of(World world, const std::filesystem::path& folder, const std::string& run) const;

  FitOptions options_;
  WorldFiles files_;
  std::filesystem::path known_;  // folder of the known run
  std::filesystem::path next_;   // folder of the one that is read, made anew each time
};

}  // namespace dpreduce
