// dpreduce synth sanitize: rows with noise of their own, for whoever must not see the true ones.
#include <filesystem>

#include "aggregator/release/charged_run.hpp"
#include "commands/commands.hpp"
#include "common/base/version.hpp"
#include "common/data/npy_writer.hpp"
#include "common/data/row_files.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/lifetime.hpp"
#include "fit/resolved_fit.hpp"
#include "report/run_facts.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/sanitized_rows.hpp"

namespace dpreduce {
namespace {

struct SanitizeOptions {
  std::vector<std::string> x;
  std::vector<std::string> y;  // public labels, copied; none: features alone
  std::string out_dir;
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;
  BadRows bad_rows = BadRows::kFail;
  BudgetOptions budget;  // of each record by itself
  std::optional<std::uint64_t> seed;
  std::string ledger;  // where that is charged; empty: nowhere
  std::optional<double> limit_epsilon;
  std::optional<double> limit_delta;
  bool overwrite = false;  // replace what is there already
  OutputFormat format = OutputFormat::kText;
};

SanitizeOptions validated(SanitizeOptions options) {
  if (options.out_dir.empty()) throw UsageError("--out: a folder is needed");
  return options;
}

constexpr std::size_t kRowMemory = std::size_t{64} << 20;
constexpr std::uint64_t kMostLabels = (std::uint64_t{1} << 31) - 1;
constexpr std::uint64_t kLabelsAtOnce = 1 << 16;

constexpr const char* kProtected =
    "each record by itself: its features may be exchanged for any others (local differential privacy)";
std::string not_protected(const SanitizeOptions& options) {
  return fmt::format(
      "labels (copied unchanged), the number of records, and their order; each further run on the same rows is another "
      "release, and mu^2 adds up ({})",
      options.ledger.empty() ? "no ledger is kept" : "on " + options.ledger);
}

// Looks for room for the whole release. Nothing where there is no ledger.
std::unique_ptr<ChargedRun> account_of(const SanitizeOptions& options, const NoisePlan& plan, std::size_t dim) {
  if (options.ledger.empty()) return nullptr;
  const nlohmann::json config{{"release", "sanitised_row"},
                              {"input_dim", dim},
                              {"normalize", to_string(options.normalize)},
                              {"clip_norm", options.clip_norm},
                              {"bad_rows", to_string(options.bad_rows)}};
  std::optional<DataSetBudget> limit;
  if (options.limit_epsilon) limit = data_set_budget(*options.limit_epsilon, *options.limit_delta);
  auto account = std::make_unique<ChargedRun>(
      plan, RunFile(), Charging{.ledger_path = options.ledger, .limit = limit, .seed = options.seed},
      RunTerms{.method = "sanitize",
               .accountant = options.budget.accountant,
               .epsilon = options.budget.epsilon,
               .delta = options.budget.delta,
               .config_digest = to_hex(sha256(json_text(config))),
               .version = version()});
  account->open();
  return account;
}

void write_labels(WorkerRows& rows, NpyWriter& file) {
  std::vector<std::int32_t> labels;
  for (std::uint64_t row = 0; row < rows.range().count; row += labels.size()) {
    labels.resize(std::min(kLabelsAtOnce, rows.range().count - row));
    rows.labels().read_labels(row, labels.size(), kMostLabels, labels);
    file.append(std::span<const std::int32_t>(labels));
  }
}

// x.npy, and y.npy where there are labels, in the folder: both or none. All rows are looked at before they are charged,
// and they are charged before they have noise.
std::vector<std::string> write_rows(const SanitizeOptions& options, WorkerRows& rows, const PlannedRelease& planned,
                                    ChargedRun* account) {
  if (rows.has_label_sets()) {
    throw UsageError(
        "--y: only one class index per row can be copied; leave n x K labels out, and copy their file (labels are "
        "public)");
  }
  MadeFiles made;
  made.make_folder(options.out_dir);
  const auto path = [&](const char* name) { return (std::filesystem::path(options.out_dir) / name).string(); };

  const Existing existing = options.overwrite ? Existing::kReplace : Existing::kKeep;
  NpyWriter x(path("x.npy"), DType::kFloat32, {rows.range().count, rows.dim()}, existing);
  std::optional<NpyWriter> y;
  if (rows.has_labels()) {
    y.emplace(path("y.npy"), DType::kInt64, Shape{rows.range().count}, existing);
    write_labels(rows, *y);
  }
  RandomStream stream =
      (options.seed ? NoiseKey::from_seed(*options.seed) : NoiseKey::from_entropy()).stream("sanitised rows", {});
  const RowTransform transform(
      {.input_dim = rows.dim(), .normalize = options.normalize, .clip_norm = options.clip_norm, .center = {}});
  const StreamPlan plan{kMostLabels, options.bad_rows, kRowMemory, default_threads()};
  const OnChunk unwatched = [](double) {};
  const RowPass pass{rows, transform, plan, unwatched};
  if (account != nullptr) {
    for_each_lattice_chunk(pass, [](const LatticeRows&) {});
    account->begin(planned);
    account->charge_begun();
  }
  std::vector<float> sanitized;
  for_each_lattice_chunk(pass, [&](const LatticeRows& chunk) {
    sanitized.resize(chunk.rows() * chunk.dim());
    sanitize(chunk, planned.block("features").sigma, stream, sanitized);
    x.append(std::span<const float>(sanitized));
  });
  x.commit();
  made.add(path("x.npy"));
  if (y) y->commit();
  made.keep();
  return y ? std::vector{path("x.npy"), path("y.npy")} : std::vector{path("x.npy")};
}

std::string sanitized_text(const nlohmann::json& json) {
  const JsonFields told(json, "rows");
  return text_of(Facts{{"privacy", line_of(promise_facts(told.object("privacy")))}}) +
         text_of(facts_of(told, {{"note", "", Written::kText},
                                 {"protects", "", Written::kText},
                                 {"does_not_protect", "not", Written::kText},
                                 {"sigma", "noise", Written::kAtLeast, "standard deviation on every feature"},
                                 {"clip_norm", "clip norm"}})) +
         fmt::format("{}\n", fmt::join(told.texts("files"), "\n"));
}

void run(const SanitizeOptions& options) {
  WorkerRows rows = WorkerRows::open(options.x, options.y, 0, 1);
  const Lattice lattice{options.clip_norm, rows.dim()};
  const NoisePlan plan =
      make_noise_plan(mu_of(options.budget), Adjacency::kReplaceOne, {sanitized_row_release(rows.dim())});
  const PlannedRelease& planned = plan.release("sanitised_row");
  const std::unique_ptr<ChargedRun> account = account_of(options, plan, rows.dim());
  const std::vector<std::string> files = write_rows(options, rows, planned, account.get());
  if (account) account->finish();
  const double sigma = planned.block("features").sigma / lattice.scale();
  nlohmann::json told{{"private", !options.seed.has_value()},
                      {"privacy", to_json(guarantee_of(options.budget, plan.mu))},
                      {"protects", kProtected},
                      {"does_not_protect", not_protected(options)},
                      {"sigma", sigma},
                      {"files", files},
                      {"clip_norm", options.clip_norm}};
  if (options.seed) told["note"] = "anyone can compute seeded noise: these rows are NOT private";
  print_result(options.format, told, [&] { return sanitized_text(told); });
}

void declare(OptionTable& table, SanitizeOptions& options) {
  table.files("--x", options.x, "features").required();
  table.files("--y", options.y, "labels: public here, copied unchanged");
  table.text("--out", options.out_dir, "folder for x.npy and y.npy").required().typed("DIR");
  table.flag("--overwrite", options.overwrite, "replace existing files");
  table.choice("--normalize", options.normalize, "scale every row to norm C, or only clip longer ones");
  table.number("--clip", options.clip_norm, "C: the clip norm, public").positive();
  table.choice("--bad-rows", options.bad_rows, "rows with NaN or infinity: stop, or take them as zero rows");
  declare_budget(table, options.budget);
  table.begin_group("Privacy");
  table.count("--seed", options.seed, "repeatable noise; the rows are then NOT private");
  table.file("--ledger", options.ledger, "ledger on which the rows are charged, before any of them is written")
      .written();
  table.number("--budget-epsilon", options.limit_epsilon,
               "limit for all runs on this ledger together; beyond it a run is refused (exit 4)");
  table.number("--budget-delta", options.limit_delta, "goes with --budget-epsilon");
  table.begin_group("");
  table.together("--budget-epsilon", "--budget-delta");
  table.needs("--budget-epsilon", "--ledger", "the budget is checked against its charges");
  table.excludes("--seed", "--budget-epsilon",
                 "anyone can compute seeded noise, so the run has no finite epsilon; leave one out");
}

}  // namespace

CommandEntry sanitize_command() {
  return command_reading<SanitizeOptions>(
      "sanitize", "add noise to each record by itself (local differential privacy)", declare,
      [](const auto& options, auto&) { return by_coordinator(run, validated(options)); },
      "  dpreduce synth sanitize --x x.npy --y y.npy --clip 1 --epsilon 8 --delta 1e-6 --out sanitized");
}

}  // namespace dpreduce
