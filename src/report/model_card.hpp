// Model card: all that a reader must know of a model before using it, as Markdown.
#pragma once

#include "report/reported_run.hpp"

namespace dpreduce {

/// Throws BadInput, naming the report, unless it is of this model: same method, and the same promise to the last digit.
void require_of_model(const Classifier& classifier, const ReportedRun& run);

/// Throws BadInput, naming its report, unless `evaluation` is a private evaluation of this model alone.
void require_evaluation_of(const Classifier& classifier, const ReportedRun& evaluation);

/// Returns the model card in Markdown, with YAML front matter in the fields of Hugging Face. Sections: the model, its
/// guarantee in the words of `privacy explain` and of pages, the releases, test metrics, and how to load the file
/// `name`. Metrics with noise, of the report or of an evaluation, replace exact ones. Without a report the card has
/// only the contents of the model file. Numbers in the front matter are those of the report, to the last digit. The
/// license is left to the user. Precondition: the report is of this model.
/// @throws BadInput without a report, naming `name`, if the model promises something and declares no epsilon.
std::string model_card(const Classifier& classifier, const std::string& name, const std::optional<ReportedRun>& run,
                       const std::optional<ReportedRun>& evaluation = std::nullopt);

}  // namespace dpreduce
