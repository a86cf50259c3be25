// Every way to make a model: what tests of places (ranks, silos, partitions, memory) go through.
#pragma once

#include <string>
#include <vector>

namespace dpreduce {

/// The places where rows of a fit may lie, beside one process and its ranks.
enum class Reach {
  kRanks,       ///< nowhere else: it needs more than sums
  kSilos,       ///< among silos
  kPartitions,  ///< there, and in partitions of an engine
};

struct EveryFit {
  std::string name;
  std::string options;  ///< with @ for the folder of public.npy and labels.npy
  Reach reach = Reach::kPartitions;
};

/// Each method of the registry at least once, and what makes other sums than the method by itself.
std::vector<EveryFit> every_fit();

/// `text` with each @ replaced.
std::string with_folder(std::string text, const std::string& folder);

}  // namespace dpreduce
