// How far a guarantee reaches: what was released, for whom it holds, for whom not, and what it does not cover.
#include <fmt/core.h>

#include "common/base/bound_text.hpp"
#include "common/base/privacy_terms.hpp"
#include "methods/registry.hpp"
#include "report/explained_parts.hpp"

namespace dpreduce {
namespace {

// Whose rows may be missing: a reader cannot see it in the model.
std::string lost_silos_sentence(const std::vector<ReportedLostSilo>& silos) {
  if (silos.empty()) return "all silos of the run stayed to its end: no silo was lost";
  std::string lost;
  for (const ReportedLostSilo& silo : silos) {
    lost += fmt::format("{}{} (waiting for {}: {})", lost.empty() ? "" : "; ", silo.name, silo.phase, silo.reason);
  }
  return fmt::format("lost on the way, and in no sum after that: {}", lost);
}

bool has_counted_persons(const ReportedRun& run) {
  return run.guarantee && run.guarantee->counted_persons;
}

// Who makes the noise can take it off.
std::string not_for_sentence(const ReportedRun& run) {
  if (run.silos && run.silos->noise == NoiseSource::kDistributed) {
    return run.silos->colluding == 0
               ? "a silo, which knows its own rows and can take its own share of the noise off"
               : "more silos than that together, which know their own rows and can take their shares of the noise off";
  }
  if (run.silos) {
    return "the coordinator, which adds the noise (or draws the choice) and could look at the exact sums; it sees no "
           "silo's own sums";
  }
  const MethodEntry* method = find_method(run.method);
  if (method != nullptr && method->each_rank_is_a_silo) {
    return "the ranks that computed it: they hold rows, and each adds noise to the sums of its own";
  }
  return "the ranks that computed it, the coordinator among them: they hold rows, and what noise and choices are drawn "
         "from";
}

std::string other_releases_sentence(const ReportedRun& run) {
  const std::string same =
      fmt::format("other releases about the same {}: they add up",
                  run.unit == PrivacyUnit::kPerson ? "persons, whatever rows of theirs" : "records");
  if (!run.silos) return same + " (dpreduce ledger show)";
  return same +
         "; each silo's own ledger has all that it took part in, the coordinator's what the coordinator tells "
         "(dpreduce ledger show)";
}

}  // namespace

std::vector<std::string> released_sentences(const ReportedRun& run) {
  if (run.is_dry_run) return {"nothing: this is the plan of a dry run"};
  if (!run.has_noise()) return {"a model of exact sums of the training rows"};
  std::vector<std::string> sentences;
  for (std::size_t first = 0; first < run.blocks.size();) {
    const ReportedBlock& block = run.blocks[first];
    std::size_t last = first;
    while (last + 1 < run.blocks.size() && run.blocks[last + 1].is_another_round_of(block)) ++last;
    const std::string rounds = last == first ? "" : fmt::format(" to {}", run.blocks[last].release);
    const std::string times = last == first ? "" : fmt::format(", {} times", last - first + 1);
    sentences.push_back(fmt::format(
        "{} ({}{}): {} number{}{}, each with {} of standard deviation {} in the block's integer units, {} "
        "times the most that one change moves the block{}{}",
        block.name, block.release, rounds, block.coordinates, block.coordinates == 1 ? "" : "s", times,
        run.is_seeded() ? "seeded noise" : "Gaussian noise", lower_figure(block.sigma),
        lower_figure(block.sigma / block.sensitivity, 4),
        block.sampling_rate < 1.0
            ? fmt::format("; {} counts with probability {:g}, by a secret coin in every round",
                          run.unit == PrivacyUnit::kPerson ? "a person, with all rows of theirs," : "a row",
                          block.sampling_rate)
            : "",
        block.is_symmetric ? " (entries beside the diagonal: sqrt(1/2) of that, and each stands for two)" : ""));
    first = last + 1;
  }
  for (const ReportedSelection& selection : run.selections) {
    const std::string which = selection.groups > 1
                                  ? fmt::format("for each of {} classes {} of", selection.groups, selection.chosen)
                                  : "which of";
    sentences.push_back(fmt::format("{}: {} {} candidates, drawn by the exponential mechanism with epsilon {}{}",
                                    selection.name, which, selection.candidates, upper_figure(selection.epsilon, 4),
                                    run.is_seeded() ? ", seeded" : ""));
  }
  sentences.push_back(fmt::format(
      "model, scores and predictions are computed from these numbers and public knowledge{}, and cost nothing more",
      run.is_chosen_by_validation ? " (the method's setting from exact figures about validation rows)" : ""));
  if (run.silos && run.silos->lost) sentences.push_back(lost_silos_sentence(*run.silos->lost));
  return sentences;
}

std::vector<std::string> holds_for_sentences(const ReportedRun& run) {
  std::vector<std::string> sentences{"whoever reads the model, the report and the ledger"};
  if (run.silos && run.silos->noise == NoiseSource::kDistributed) {
    sentences.push_back(
        (run.silos->colluding == 0
             ? "the coordinator: each silo adds a share of the noise before its sums leave it"
             : fmt::format("the coordinator together with up to {} silo{}: each silo adds a share of the "
                           "noise before its sums leave it, and the others' shares are enough",
                           run.silos->colluding, run.silos->colluding == 1 ? "" : "s")) +
        (has_counted_persons(run) ? ", as long as no silo shows it the key of persons (--person-key)" : "") +
        (run.silos->is_ephemeral ? ", in a simulation alone: identities were ephemeral (no --roster), so that nobody "
                                   "knows who the silos were, or whether they were one"
                                 : ""));
  }
  return sentences;
}

std::vector<std::string> not_for_sentences(const ReportedRun& run) {
  std::vector<std::string> sentences{not_for_sentence(run)};
  if (has_counted_persons(run)) {
    sentences.emplace_back(
        "the other silos, as to who is where: each has learned of whomever it can name how many rows every other silo "
        "has, exactly and without noise, and so whether that person is known there; and how many persons each silo "
        "has (--count-persons)");
    sentences.emplace_back(
        "a coordinator to whom a silo shows the key of persons (--person-key): it learns these counts, too, and may "
        "change them, so that a person in several silos counts for more than this guarantee says, up to as often as "
        "there are silos");
  }
  return sentences;
}

std::vector<std::string> uncovered_sentences(const ReportedRun& run) {
  std::vector<std::string> sentences{
      run.is_tested_on_training_rows ? "figures about test rows, which are exact, and which here are training rows: "
                                       "keep report and page from readers, or take the figures out"
                                     : "figures about test rows, which are exact",
      "running times, file sizes, and the memory, swap and disks of the machines that "
      "computed it",
      "how a run ended: an exit code or a missing model says that a row was refused, or that there was too little "
      "memory",
      "the owner's own logs, terminal, inspect and error messages about rows, and the secrets that noise is drawn from",
      "choices made by looking at private results outside the run: tuning options, picking the best of several runs",
      other_releases_sentence(run),
      "what is true of the population, which a model may reveal about a person who is not in the data"};
  for (const std::string& name : run.public_by_word) {
    sentences.push_back(
        fmt::format("{}, which are public by the word of who ran it: nothing protects what stands in them",
                    name == "public_x" ? "public rows (--public-x)" : "validation rows (--validation-x)"));
  }
  if (run.is_chosen_by_validation)
    sentences.push_back("validation rows: the setting was chosen by exact figures about them");
  return sentences;
}

}  // namespace dpreduce
