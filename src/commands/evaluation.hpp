// Evaluation of a classifier on test rows that are spread over the ranks.
#pragma once

#include <cstddef>
#include <optional>

#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "common/model/classifier.hpp"
#include "common/ranks/communicator.hpp"
#include "report/fit_report.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {

/// Calls for_each_feature_chunk on rows that `classifier` is for. For use inside `together`: looks after peers between
/// chunks.
void for_each_chunk(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                    const OnFeatureChunk& visit);

/// Throws BadInput unless each test row has `count` targets, as many as the model predicts.
void require_targets_of_model(const WorkerRows& test, std::size_t count);

/// Throws UsageError where --top-k requests more classes than there are.
void require_top_k(const std::optional<std::size_t>& top_k, std::size_t classes);

/// Prints one line on standard error where test rows are training rows, with the text of training_rows_among; none for
/// an empty text. `are_private`: metrics of them have noise.
void warn_of_training_rows(const std::string& found, bool are_private = false);

/// Terms of the figures about sets of labels that are requested beside the usual ones.
struct LabelSetTerms {
  std::optional<std::size_t> top_k{};  ///< from 1 to K
  std::optional<double> threshold{};   ///< empty: the model's
};

/// Computes metrics of all ranks' `rows`, at the coordinator, the same for any number of ranks. Collective. Throws
/// BadInput as for_each_chunk does, and where ranks' labels are not all of one form. Memory: chunks, counts (24 bytes a
/// class, and 8 K^2 up to kMostClassesInMatrix), and with sets of labels 24 bytes on every rank for each label of all
/// ranks' rows.
TestFigures evaluate_on_ranks(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                              unsigned threads, const LabelSetTerms& terms = {});

}  // namespace dpreduce
