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

  /// Everything that the known run and a second one leave to readers: ledger, model, report, page, metrics, checkpoint,
  /// exit code, and the ONNX graph and the card of the second one's model; and what the second one printed.
  PublicFields read(World world) const;

  /// Where files that readers get differ between two runs with one seed on the same rows; empty where nowhere. Neither
  /// rows nor options nor noise decide it: a clock does, or a place in memory, and through them the rows may show. Left
  /// out are long hexadecimal words, which each run draws, and times in whole minutes.
  std::string undecided() const;

  /// What a second run on rows that it refuses leaves to readers of files; empty where nothing, as must be: how a run
  /// ends may depend on one row.
  std::string trace_of(const WorldRows& refused) const;

 private:
  FitOptions options_of(World world, const std::filesystem::path& folder, const std::string& run) const;

  FitOptions options_;
  WorldFiles files_;
  std::filesystem::path known_;  // folder of the known run
  std::filesystem::path next_;   // folder of the one that is read, made anew each time
  std::filesystem::path printed_;
  KnownLines known_lines_;  // of the known run's page and card
  bool has_page_ = true;
};

}  // namespace dpreduce
