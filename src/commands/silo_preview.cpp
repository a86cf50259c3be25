#include "commands/silo_preview.hpp"

#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "commands/job.hpp"
#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ledger/ledger.hpp"
#include "fit/silo_terms.hpp"
#include "fit/validated_options.hpp"

namespace dpreduce {
namespace {

std::string member_text(const Member& member) {
  return fmt::format("{}, identity {}", member.name, to_hex(member.key));
}

std::string parties_text(const Roster& roster, const SiloTerms& silos, std::uint32_t silo) {
  std::string text = fmt::format("silo       {} of {}: {}\n", silo, silos.silos, member_text(roster.members[silo]));
  text += fmt::format("to         the coordinator {}; nothing goes to anybody else\n", member_text(roster.members[0]));
  for (std::uint32_t other = 1; other <= silos.silos; ++other) {
    if (other != silo) text += fmt::format("beside     silo {}: {}\n", other, member_text(roster.members[other]));
  }
  return text + fmt::format("terms      threshold {}, {} colluding; dpreduce {}; options of digest {}\n",
                            silos.threshold, silos.colluding, version(), short_hex(silos.options));
}

// Masked sums, block by block.
std::string release_text(const PlannedRelease& release, const std::optional<NoiseShares>& shares) {
  std::string text;
  for (const PlannedBlock& block : release.blocks) {
    const std::string noise =
        shares ? fmt::format("own noise {}", lower_figure(shares->share_sigma(block.sigma, block.noise)))
               : fmt::format("no own noise, the coordinator adds {}", lower_figure(block.sigma));
    text += fmt::format("sends      {} {}: {} masked numbers{}; sensitivity {}, {}\n", release.name, block.name,
                        block.elements, release.rounds > 1 ? fmt::format(" in each of {} rounds", release.rounds) : "",
                        upper_figure(block.sensitivity), noise);
  }
  return text + fmt::format("           {}: mu {} in total\n", release.name, upper_figure(release.mu));
}

std::string sent_text(const FitOptions& options, const FitPlan& plan, const SiloTerms& silos) {
  std::string text;
  if (!plan.noise) return text + "sends      sums without noise: NOT private\n";
  const std::optional<NoiseShares> shares = shares_of_silos(options, silos);
  const NoisePlan noise = shares ? shares->guaranteed(*plan.noise) : *plan.noise;
  for (std::size_t place = 0; place < noise.releases.size(); ++place) {
    PlannedRelease release = noise.releases[place];
    release.blocks = plan.noise->releases[place].blocks;  // of which each silo adds its share
    text += release_text(release, shares);
  }
  for (const PlannedSelection& selection : noise.selections) {
    text += fmt::format("sends      {}: utilities of {} candidates, masked; a choice of epsilon {}\n", selection.name,
                        selection.terms.groups * selection.terms.candidates, upper_figure(selection.terms.epsilon));
  }
  if (!shares) {
    return text +
           "guarantee  against readers of what is published, NOT against the coordinator, which could see exact sums\n";
  }
  return text + fmt::format("guarantee  also against the coordinator and {} colluding silos\n", silos.colluding);
}

std::string ledger_text(const FitOptions& options, const ResolvedFit& fit, const SiloTerms& silos) {
  const LedgerState ledger = Ledger::read(options.privacy.ledger);
  const Adjacency adjacency = strictest_adjacency(ledger, options.privacy.adjacency);
  const double delta = options.privacy.budget.delta.value_or(kReportedDelta);
  const Spending before = spending_of_all(ledger, adjacency);
  std::string text;
  const auto add = [&](const char* name, const Spending& spending) {
    text += fmt::format("ledger     {}: {:<9} mu {}, {}\n", options.privacy.ledger, name, upper_figure(mu_of(spending)),
                        spent_text(spending, delta));
  };
  add("before it", before);
  if (!fit.plan().noise || !fit.plan().is_private)
    return text + "ledger     this run is NOT private: it has no finite mu\n";
  const Spending run = spending_of(reservation_at_silo(fit, silos), adjacency);
  add("this run", run);
  add("after it", composed(before, run));
  return text;
}

std::string consent_text(const FitOptions& options, const std::vector<ConsentTerm>& terms) {
  if (!options.silos.consent) return "consent    no [consent]: this silo accepts every run\n";
  std::string text;
  for (const ConsentTerm& term : terms) {
    text += fmt::format("consent    {:<7} {}: {} requested, {} allowed\n", term.is_met ? "passes" : "REFUSES",
                        term.name, term.asked, term.allowed);
  }
  return text;
}

std::string files_text(const FitOptions& options, std::uint32_t silo) {
  std::string text;
  const RowFiles& train = options.data.train;
  for (const auto& [name, files] :
       {std::pair{"train-x", &train.x}, std::pair{train.has_targets ? "targets" : "train-y", &train.y},
        std::pair{"train-person", &train.person}, std::pair{"group", &train.group}}) {
    for (const std::string& file : *files) text += fmt::format("would read --{} {}\n", name, with_rank(file, silo));
  }
  return text;
}

std::string method_text(const FitOptions& options, const ResolvedFit& fit, const Roster& roster) {
  return fmt::format("method     {} on {} features, {} {}; {}, the unit is {}\n", fit.options().method.name, roster.dim,
                     roster.classes, options.data.has_targets() ? "numbers to predict" : "classes",
                     to_string(options.privacy.adjacency), name_of(options.data.unit()));
}

// Throws what the run's first look at its ledger would throw (SiloAccount).
void require_room(const ResolvedFit& fit, const SiloTerms& silos) {
  if (!fit.plan().noise) return;
  Reservation reservation = reservation_at_silo(fit, silos);
  reservation.run_id = "dry-run";
  Ledger(fit.options().privacy.ledger).check(reservation, fit.plan().limit);
}

}  // namespace

void require_classes_of_roster(const FitOptions& options, const Roster& roster) {
  if (roster.classes == options.data.classes) return;
  throw BadInput("--roster {}: declares {} classes, but {} {}", options.silos.roster, roster.classes,
                 options.data.has_targets() ? "targets of a row are" : "--classes is", options.data.classes);
}

ResolvedFit fit_on_roster(FitOptions options, const Roster& roster) {
  if (options.data.has_targets()) options.data.classes = roster.classes;
  require_classes_of_roster(options, roster);
  std::uint64_t public_rows = 0;
  if (may_choose_public_rows(options)) {
    public_rows = WorkerRows::open(options.data.public_x, {}, 0, 1).range().count;
  }
  return ResolvedFit(options, roster.dim, public_rows);
}

std::vector<ConsentTerm> terms_of_silo(const FitOptions& options, const ResolvedFit& fit, const SiloTerms& silos) {
  if (!options.silos.consent) return {};
  return compared_terms(*options.silos.consent, fit, silos, Ledger::read(options.privacy.ledger));
}

void preview_silo(const FitOptions& options, std::uint32_t silo) {
  if (options.silos.roster.empty()) {
    throw UsageError(
        "--dry-run of a silo: give --roster, which declares the parties and the shape of rows, and this party's "
        "--identity");
  }
  if (silo == 0) throw UsageError("--dry-run of a silo: the file of --silo-config is the coordinator's");
  if (options.output.format != OutputFormat::kText)
    throw UsageError("--format json: the --dry-run of a silo has text output only");
  const SiloEntry entry = entry_on_roster(options.silos, static_cast<int>(silo));
  const Roster& roster = *entry.roster;
  const ResolvedFit fit = fit_on_roster(options, roster);
  const std::vector<ConsentTerm> terms = terms_of_silo(options, fit, entry.terms);
  const std::string preview = parties_text(roster, entry.terms, silo) + method_text(options, fit, roster) +
                              sent_text(options, fit.plan(), entry.terms) + ledger_text(options, fit, entry.terms) +
                              consent_text(options, terms) + files_text(options, silo);
  fmt::print("dry run: nothing was sent, no rows were read, nothing was spent\n{}", preview);
  std::fflush(stdout);
  require_met(terms);
  require_room(fit, entry.terms);
}

}  // namespace dpreduce
