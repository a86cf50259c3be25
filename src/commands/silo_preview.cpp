#include "commands/silo_preview.hpp"

#include <cstdio>

#include "commands/job.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/ledger/ledger.hpp"
#include "common/ledger/spending.hpp"
#include "common/silos/parties.hpp"
#include "fit/silo_terms.hpp"
#include "report/ledger_report.hpp"
#include "report/plan_report.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

void require_classes_of_roster(const FitOptions& options, const Roster& roster) {
  if (roster.classes == options.data.classes) return;
  throw BadInput("--roster {}: declares {} classes, but {} {}", options.silos.roster, roster.classes,
                 options.data.has_targets() ? "targets of a row are" : "--classes is", options.data.classes);
}

// The fit for rows as the roster describes them. `options` are a party's, validated.
ResolvedFit fit_on_roster(FitOptions options, const Roster& roster) {
  if (options.data.has_targets()) options.data.classes = roster.classes;
  require_classes_of_roster(options, roster);
  std::uint64_t public_rows = 0;
  if (may_choose_public_rows(options)) {
    public_rows = WorkerRows::open(options.data.public_x, {}, 0, 1).range().count;
  }
  return ResolvedFit(options, roster.dim, public_rows);
}

// Terms of the silo's consent, compared with that fit and its own ledger; none where it has no consent.
std::vector<ConsentTerm> terms_of_silo(const FitOptions& options, const ResolvedFit& fit, const SiloTerms& silos) {
  if (!options.silos.consent) return {};
  return compared_terms(*options.silos.consent, fit, silos, Ledger::read(options.privacy.ledger));
}

Facts facts_of_parties(const FitOptions& options, const Roster& roster, const SiloTerms& silos, std::uint32_t silo) {
  Facts facts;
  for (std::uint32_t party = 0; party <= silos.silos; ++party) {
    facts.push_back({party == 0      ? "to"
                     : party == silo ? "this is"
                                     : "beside",
                     fmt::format("{}, identity {}", roster.party_text(party), to_hex(roster.members[party].key))});
  }
  facts.push_back({"rows", fmt::format("{} features, {} {}; what is sent goes to the coordinator alone", roster.dim,
                                       roster.classes, options.data.has_targets() ? "numbers to predict" : "classes")});
  facts.push_back({"terms", fmt::format("threshold {}, {} colluding; dpreduce {}; options of digest {}",
                                        silos.threshold, silos.colluding, version(), short_hex(silos.options))});
  return facts;
}

// The owner of the noise, against whom it holds, and the silo's ledger before this run and after it.
Facts facts_of_account(const ResolvedFit& fit, const std::optional<Reservation>& charges,
                       const std::optional<NoiseShares>& shares, const SiloTerms& silos, std::uint32_t silo) {
  Facts facts;
  if (!charges) {
    facts.push_back({"own noise", "none, and the coordinator adds none: exact sums go to it"});
  } else {
    const NoiseSource source = shares ? NoiseSource::kDistributed : NoiseSource::kCentral;
    facts.push_back({"own noise", shares ? fmt::format("at least {} of each noise above: {} such shares add up to it",
                                                       lower_figure(1.0 / std::sqrt(shares->honest)), shares->honest)
                                         : "none: the coordinator adds the noise"});
    facts.push_back({"guarantee", silos_text({source, 0, silos.threshold, silos.colluding, silo})});
  }
  const PrivacyOptions& privacy = fit.options().privacy;
  const LedgerState ledger = Ledger::read(privacy.ledger);
  const Adjacency adjacency = strictest_adjacency(ledger, privacy.adjacency);
  const auto add = [&](std::string_view when, const Spending& spending) {
    const std::string spent = spent_text(spending, privacy.budget.delta.value_or(kReportedDelta));
    facts.push_back(
        {"ledger", fmt::format("{}: {:<9} mu {}, {}", privacy.ledger, when, upper_figure(mu_of(spending)), spent)});
  };
  const Spending before = spending_of_all(ledger, adjacency);
  add("before it", before);
  if (!fit.plan().is_private) {
    facts.push_back({"ledger", "this run is NOT private: it has no finite mu"});
    return facts;
  }
  const Spending run = spending_of(*charges, adjacency);
  add("this run", run);
  add("after it", composed(before, run));
  return facts;
}

// The terms of the silo's owner, and its files.
Facts facts_of_owner(const FitOptions& options, const std::vector<ConsentTerm>& terms, std::uint32_t silo) {
  Facts facts;
  if (!options.silos.consent) facts.push_back({"consent", "no [consent]: this silo accepts every run"});
  for (const ConsentTerm& term : terms) {
    facts.push_back({"consent", fmt::format("{:<7} {}: {} requested, {} allowed", term.is_met ? "passes" : "REFUSES",
                                            term.name, term.asked, term.allowed)});
  }
  const RowFiles& train = options.data.train;
  for (const auto& [name, files] :
       {std::pair{"train-x", &train.x}, std::pair{train.has_targets ? "targets" : "train-y", &train.y},
        std::pair{"train-person", &train.person}, std::pair{"group", &train.group}}) {
    for (const std::string& file : *files) {
      facts.push_back({"would read", fmt::format("--{} {}", name, with_rank(file, silo))});
    }
  }
  return facts;
}

}  // namespace

void require_silos(const FitOptions& options, const Communicator& ranks) {
  if (!options.silos.secure_aggregation || ranks.silos() != nullptr) return;
  throw UsageError(
      "--secure-aggregation: start it with mpirun -n, one rank for the coordinator and one for each of at least 2 "
      "silos");
}

void require_consent(const FitOptions& options, Communicator& ranks) {
  SiloJob* const silos = ranks.silos();
  if (silos == nullptr || ranks.is_coordinator() || !silos->entry().roster) return;
  PartyLog* const log = silos->entry().log;
  if (!options.silos.consent) {
    if (log != nullptr) log->line("no [consent] in --silo-config: this silo accepts every run");
    return;
  }
  try {
    const std::vector<ConsentTerm> terms =
        terms_of_silo(options, fit_on_roster(options, *silos->entry().roster), silos->entry().terms);
    require_met(terms);
    if (log != nullptr) log->line(fmt::format("consent: all {} terms are met", terms.size()));
  } catch (const Error& error) {
    silos->refuse(error.code());
    throw;
  }
}

void require_on_roster(const FitOptions& options, const Communicator& ranks) {
  if (ranks.silos() != nullptr && ranks.silos()->entry().roster)
    require_classes_of_roster(options, *ranks.silos()->entry().roster);
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
  const ResolvedFit fit = fit_on_roster(options, *entry.roster);
  const std::vector<ConsentTerm> terms = terms_of_silo(options, fit, entry.terms);
  const std::optional<NoiseShares> shares = shares_of_silos(options, entry.terms);
  std::string charged;
  std::optional<Reservation> charges;
  if (fit.plan().noise) {
    charges = reservation_at_silo(fit, entry.terms);
    charged = text_of(remains_table("charges    of this run, on the silo's own ledger", *charges));
  }
  fmt::print("dry run: nothing was sent, no rows were read, nothing was spent\n{}{}{}{}{}",
             text_of(facts_of_parties(options, *entry.roster, entry.terms, silo)),
             dry_run_text(dry_run_json(fit.options(), fit.plan())), charged,
             text_of(facts_of_account(fit, charges, shares, entry.terms, silo)),
             text_of(facts_of_owner(options, terms, silo)));
  std::fflush(stdout);
  require_met(terms);
  if (!charges) return;
  charges->run_id = "dry-run";  // throws what the run's first look at its ledger would throw (SiloAccount)
  Ledger(options.privacy.ledger).check(*charges, fit.plan().limit);
}

}  // namespace dpreduce
