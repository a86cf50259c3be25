#include "fit/fit_account.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/accounting/guarantee.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/ledger/ledger.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/silos/payload_archive.hpp"
#include "methods/registry.hpp"
#include "methods/training_method.hpp"

namespace dpreduce {
namespace {

// The ledger can be read, verifies, and can be written, as far as that shows in advance.
void require_usable_ledger(const FitOptions& options) {
  const std::string& path = options.privacy.ledger;
  Ledger::read(path);
  const bool exists = std::filesystem::exists(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (access(exists ? path.c_str() : folder.c_str(), W_OK) != 0) {
    throw BadInput(fmt::format("--ledger {}: cannot be written; choose a folder that exists and is yours", path));
  }
}

// The folder of what the run has released: empty, or of a run with this very binding. On the coordinator.
std::unique_ptr<ReleaseLog> open_log(const FitOptions& options, const nlohmann::json& binding) {
  if (options.output.checkpoint.empty()) return nullptr;
  const LogStart start = options.privacy.resume ? LogStart::kResume : LogStart::kNewRun;
  auto log = std::make_unique<ReleaseLog>(options.output.checkpoint, start, options.output.checkpoint_every);
  log->require_binding(binding);
  return log;
}

// The coordinator's: that of the run to go on with, or a new one. Other ranks' secrets are of this run alone: silos
// that add shares of the noise draw them from these, elsewhere they are never used. Nobody resumes a run among silos.
RunJournal open_journal(const FitOptions& options, const Communicator& ranks, const ReleaseLog* log,
                        const nlohmann::json& binding) {
  if (!ranks.is_coordinator() || ranks.silos() != nullptr) return RunJournal(new_secret(options));
  if (log != nullptr && !log->run_id().empty()) {
    std::optional<RunJournal> journal = RunJournal::of_run(options.privacy.ledger, log->run_id());
    if (journal) return std::move(*journal);
    if (log->recorded() > 0) return RunJournal::of_ended(log->run_id());  // else the run ended before its first release
  }
  const std::string digest = to_hex(sha256(json_text(binding)));
  if (options.privacy.resume) {
    // A run with a checkpoint has written it before its first charge.
    const ResumableJournal which = log != nullptr ? ResumableJournal::kUncharged : ResumableJournal::kAny;
    std::optional<RunJournal> journal = RunJournal::take_over(options.privacy.ledger, digest, which);
    if (journal) return std::move(*journal);
  }
  return RunJournal::make(options.privacy.ledger, digest, new_secret(options));
}

}  // namespace

NoiseKey new_secret(const FitOptions& options) {
  return options.privacy.seed ? NoiseKey::from_seed(*options.privacy.seed) : NoiseKey::from_entropy();
}

std::optional<FitAccount> open_account(const ResolvedFit& fit, Communicator& ranks) {
  if (!fit.plan().noise) return std::nullopt;
  const FitOptions& options = fit.options();
  const nlohmann::json binding = run_binding(options, fit.plan());
  std::unique_ptr<ReleaseLog> log;
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    require_usable_ledger(options);
    log = open_log(options, binding);
  });
  std::optional<RunJournal> journal;
  ranks.together([&] { journal.emplace(open_journal(options, ranks, log.get(), binding)); });
  const std::optional<SiloConsent>& consent = options.silos.consent;
  return FitAccount{
      .charging = {options.privacy.ledger, fit.plan().limit, consent ? consent->most_mu_in_all : std::nullopt},
      .journal = std::move(*journal),
      .is_recorded = !options.output.checkpoint.empty(),
      .log = std::move(log)};
}

std::optional<FitAccount> open_own_account(const ResolvedFit& fit, Communicator& ranks) {
  if (!fit.plan().noise) return std::nullopt;
  std::optional<FitAccount> account;
  ranks.together([&] {
    account.emplace(FitAccount{.charging = {}, .journal = new_secret(fit.options())});
    if (!ranks.is_coordinator()) return;
    account->folder = std::make_unique<PrivateFolder>();
    account->charging.ledger_path = *account->folder / "ledger.jsonl";
  });
  return account;
}

nlohmann::json run_binding(const FitOptions& options, const FitPlan& plan) {
  DPREDUCE_ASSERT(plan.noise.has_value());
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
  binding["noise of the releases"] = {to_hex(sha256(message_of("noise plan", *plan.noise)))};
  if (plan.makes_class_grams()) binding["candidates"] = make_method(options)->candidates();  // each is recorded
  if (!options.data.train.class_names.empty()) binding["class names"] = options.data.train.class_names;
  if (!options.data.train.feature_names.empty()) binding["feature names"] = options.data.train.feature_names;
  binding["models"] = digests_of_models(options.evaluation);
  binding["seed"] = options.privacy.seed ? nlohmann::json(*options.privacy.seed) : nlohmann::json();
  return binding;
}

}  // namespace dpreduce
