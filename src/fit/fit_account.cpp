#include "fit/fit_account.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/ledger/ledger.hpp"
#include "common/ledger/old_journals.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/silos/payload_archive.hpp"
#include "methods/fit_plan.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// Checks that the ledger can be read, verifies, and can be written, as far as that shows in advance.
void require_usable_ledger(const FitOptions& options) {
  const std::string& path = options.privacy.ledger;
  Ledger::read(path);
  if (access(path.c_str(), W_OK) == 0) return;
  if (errno != ENOENT) throw BadInput("--ledger {}: cannot be written: {}", path, std::strerror(errno));
  if (access(std::filesystem::absolute(path).parent_path().c_str(), W_OK) != 0) {
    throw BadInput("--ledger {}: cannot be written; choose a folder that exists and is writable", path);
  }
}

// Reason why the run saves nothing that a later one could go on with; empty where it does.
std::string reason_to_save_nothing(const ResolvedFit& fit) {
  if (fit.options().privacy.seed) return "--seed: a run with repeatable noise has no guarantee";
  if (!fit.plan().is_private) return "a run that is not private has no guarantee";
  if (method_entry(fit.options().method).each_rank_is_a_silo) return "noised gradients stay with their silos";
  return {};
}

// Adds sentences on runs that died beside this one.
void note_the_dead(FitAccount& account, const std::string& ledger, const std::string& config, const LedgerState& state,
                   bool saves) {
  for (const RunFile::DeadRun& dead : RunFile::dead_runs(ledger, state)) {
    const bool is_same = dead.config == config && saves;
    account.notes.push_back(
        fmt::format("run {} ended early with {} release{}: {}; to give it up: `dpreduce ledger release {} --ledger {}`",
                    dead.run_id, dead.releases, dead.releases == 1 ? "" : "s",
                    is_same ? "to resume it, repeat the command with --resume" : "its options differ from this run's",
                    dead.run_id, ledger));
  }
}

// Returns a flat object: the method, its settings and the preprocessing; budget, accountant and every block's noise;
// this version. The object has no number of ranks, threads or rows, and no path. A run file has the object's digest:
// only a run with the same digest resumes from the file. Precondition: the plan has noise.
nlohmann::json run_binding(const FitOptions& options, const FitPlan& plan) {
  nlohmann::json binding = parse_json(plan.config);
  const nlohmann::json settings = binding.at("settings");
  binding.erase("settings");
  binding.update(settings);
  binding["accountant"] = to_string(options.privacy.budget.accountant);
  binding["epsilon"] = or_null(options.privacy.budget.epsilon);
  binding["delta"] = or_null(options.privacy.budget.delta);
  binding["rho"] = or_null(options.privacy.budget.rho);
  binding["mu"] = or_null(options.privacy.budget.mu);
  binding["guarantee"] = to_json(*plan.guarantee);
  binding["private"] = plan.is_private;
  binding["public rows"] = !options.data.public_x.empty();
  binding["noise of the releases"] = {to_hex(sha256(message_of("noise plan", plan.noise.value())))};
  if (plan.makes_class_grams()) {
    binding["candidates"] = make_method(options)->candidates();  // what is made of each is saved
    binding["class_grams"] = "triangles";                        // their form
  }
  if (!options.data.train.class_names.empty()) binding["class names"] = options.data.train.class_names;
  if (!options.data.train.feature_names.empty()) binding["feature names"] = options.data.train.feature_names;
  binding["models"] = digests_of_models(options.evaluation);
  return binding;
}

// Opens the run file on the coordinator, of a run whose ranks trust each other.
void open_run_file(FitAccount& account, const ResolvedFit& fit) {
  const PrivacyOptions& privacy = fit.options().privacy;
  const std::string nothing_saved = reason_to_save_nothing(fit);
  if (privacy.resume && !nothing_saved.empty()) {
    throw UsageError("--resume: this run saves nothing: {}; leave it out", nothing_saved);
  }
  for (const std::string& run : give_up_journals(privacy.ledger)) {
    account.notes.push_back(fmt::format(
        "run {} of an earlier version is given up, and its journal is removed: noise is no longer repeated", run));
  }
  const LedgerState state = Ledger::read(privacy.ledger);
  RunFile::remove_ended(privacy.ledger, state);
  const std::string config = to_hex(sha256(json_text(run_binding(fit.options(), fit.plan()))));
  if (privacy.resume) {
    if (std::optional<RunFile> file = RunFile::take_over(privacy.ledger, config, state)) {
      account.file = std::move(*file);
      account.goes_on = std::ranges::any_of(state.charges(), [&](const LedgerCharge& charge) {
        return account.file.has_run(run_of(charge.entry.release_id));
      });
      return;
    }
  }
  const bool saves = nothing_saved.empty();
  note_the_dead(account, privacy.ledger, config, state, saves);
  account.file = RunFile::make(privacy.ledger, config, saves ? SavesReleases::kYes : SavesReleases::kNo);
}

}  // namespace

std::optional<FitAccount> open_account(const ResolvedFit& fit, Communicator& ranks, Accounts accounts) {
  if (!fit.plan().noise) return std::nullopt;
  const FitOptions& options = fit.options();
  const std::optional<SiloConsent>& consent = options.silos.consent;
  FitAccount account{.charging = {.ledger_path = options.privacy.ledger,
                                  .limit = fit.plan().limit,
                                  .most_mu = consent ? consent->most_mu_in_all : std::nullopt,
                                  .seed = options.privacy.seed}};
  ranks.at_coordinator([&] {
    if (accounts == Accounts::kElsewhere) {
      DPREDUCE_ASSERT(!options.privacy.limit_epsilon);
      account.folder = std::make_unique<PrivateFolder>();
      account.charging.ledger_path = *account.folder / "ledger.jsonl";
      return;
    }
    require_usable_ledger(options);
    if (ranks.silos() == nullptr) open_run_file(account, fit);
  });
  return account;
}

}  // namespace dpreduce
