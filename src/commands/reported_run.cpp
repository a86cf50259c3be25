#include "commands/reported_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/accounting/selection_charge.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/data/mapped_file.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLongestName = 80;
// How far the figures of one report may be from each other: each was rounded by itself.
constexpr double kRounding = 1e-9;

// Fields of one report, each with the message that names it.
class ReportFields {
 public:
  explicit ReportFields(const std::string& path) : path_(path) {}

  [[noreturn]] void refuse(const std::string& reason) const {
    throw BadInput(fmt::format("{}: {}; give a file that fit --report wrote", path_, reason));
  }

  const nlohmann::json& field(const nlohmann::json& object, const std::string& name) const {
    if (!object.contains(name)) refuse(fmt::format("not a report of fit: '{}' is missing", name));
    return object.at(name);
  }

  bool flag(const nlohmann::json& object, const std::string& name) const {
    const nlohmann::json& value = field(object, name);
    if (!value.is_boolean()) refuse(fmt::format("'{}' must be true or false", name));
    return value.get<bool>();
  }

  // For the terminal: quotes, control characters and all beyond ASCII escaped.
  std::string text(const nlohmann::json& object, const std::string& name) const {
    const nlohmann::json& value = field(object, name);
    if (!value.is_string()) refuse(fmt::format("'{}' must be a text", name));
    const std::string escaped = ascii_json_text(nlohmann::json(value.get<std::string>().substr(0, kLongestName)));
    return escaped.substr(1, escaped.size() - 2);
  }

  double number(const nlohmann::json& object, const std::string& name, double low, double high) const {
    const nlohmann::json& value = field(object, name);
    if (!value.is_number()) refuse(fmt::format("'{}' must be a number", name));
    const double figure = value.get<double>();
    if (!(figure >= low && figure <= high)) {
      refuse(fmt::format("'{}' is {}, and must be from {} to {}", name, figure, low, high));
    }
    return figure;
  }

  std::uint64_t count(const nlohmann::json& object, const std::string& name) const {
    const nlohmann::json& value = field(object, name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0) {
      refuse(fmt::format("'{}' must be a whole number above 0", name));
    }
    return value.get<std::uint64_t>();
  }

  template <typename E>
  E choice(const nlohmann::json& object, const std::string& name) const {
    const std::string spelling = text(object, name);
    const std::optional<E> chosen = choice_of<E>(spelling);
    if (!chosen) refuse(fmt::format("'{}' is \"{}\", which is unknown", name, spelling));
    return *chosen;
  }

 private:
  std::string path_;
};

constexpr double kSmallestFigure = std::numeric_limits<double>::min();
constexpr double kLargestFigure = std::numeric_limits<double>::max();

std::vector<ReportedBlock> blocks_of(const ReportFields& report, const nlohmann::json& privacy) {
  const nlohmann::json& releases = report.field(privacy, "releases");
  if (!releases.is_array()) report.refuse("'releases' must be a list");
  std::vector<ReportedBlock> blocks;
  for (const nlohmann::json& release : releases) {
    if (!release.is_object()) report.refuse("'releases' must hold objects");
    blocks.push_back({.name = report.text(release, "name"),
                      .release = report.text(release, "release"),
                      .coordinates = report.count(release, "coordinates"),
                      .sensitivity = report.number(release, "sensitivity", kSmallestFigure, kLargestFigure),
                      .sigma = report.number(release, "sigma", kSmallestFigure, kLargestFigure),
                      .sampling_rate = release.contains("sampling_rate")
                                           ? report.number(release, "sampling_rate", kSmallestFigure, 1.0)
                                           : 1.0,
                      .is_symmetric = release.contains("sigma_off_diagonal")});
  }
  return blocks;
}

// Reports of versions without selections have no such field.
std::vector<ReportedSelection> selections_of(const ReportFields& report, const nlohmann::json& privacy) {
  std::vector<ReportedSelection> selections;
  if (!privacy.contains("selections")) return selections;
  const nlohmann::json& listed = privacy["selections"];
  if (!listed.is_array()) report.refuse("'selections' must be a list");
  for (const nlohmann::json& selection : listed) {
    if (!selection.is_object()) report.refuse("'selections' must hold objects");
    selections.push_back({.name = report.text(selection, "name"),
                          .epsilon = report.number(selection, "epsilon", kSmallestFigure, kLargestPureEpsilon),
                          .candidates = report.count(selection, "candidates"),
                          .chosen = selection.contains("chosen") ? report.count(selection, "chosen") : 1,
                          .groups = selection.contains("groups") ? report.count(selection, "groups") : 1});
  }
  return selections;
}

std::optional<ReportedSilos> silos_of(const ReportFields& report, const nlohmann::json& root) {
  if (!root.contains("silos")) return std::nullopt;
  const nlohmann::json& silos = root["silos"];
  if (!silos.is_object()) report.refuse("'silos' must be an object");
  const nlohmann::json& noise = report.field(silos, "noise");
  if (!noise.is_object()) report.refuse("'noise' must be an object");
  const nlohmann::json& colluding = report.field(silos, "colluding");
  if (!colluding.is_number_unsigned()) report.refuse("'colluding' must be a whole number");
  ReportedSilos reported{report.choice<NoiseSource>(noise, "source"), colluding.get<std::uint64_t>(),
                         silos.value("identities", nlohmann::json()) != "roster", std::nullopt};
  if (!silos.contains("lost")) return reported;
  const nlohmann::json& lost = silos["lost"];
  if (!lost.is_array()) report.refuse("'lost' must be a list");
  reported.lost.emplace();
  for (const nlohmann::json& silo : lost) {
    if (!silo.is_object()) report.refuse("'lost' must hold objects");
    reported.lost->push_back({report.text(silo, "name"), report.text(silo, "phase"), report.text(silo, "reason")});
  }
  return reported;
}

bool is_chosen_by_validation(const nlohmann::json& root) {
  return root.contains("choice") && root["choice"].is_object() && root["choice"].contains("by") &&
         root["choice"]["by"] == "validation rows";
}

std::vector<std::string> public_by_word(const ReportFields& report, const nlohmann::json& root) {
  std::vector<std::string> names;
  if (!root.contains("public_by_word")) return names;
  const nlohmann::json& words = root["public_by_word"];
  const auto is_known = [](const nlohmann::json& word) { return word == "public_x" || word == "validation_x"; };
  if (!words.is_array() || !std::ranges::all_of(words, is_known)) {
    report.refuse("'public_by_word' must be a list of 'public_x' and 'validation_x'");
  }
  for (const nlohmann::json& word : words) names.push_back(word.get<std::string>());
  return names;
}

bool is_tested_on_training_rows(const nlohmann::json& root) {
  const auto test = root.find("test");
  return test != root.end() && test->is_object() && test->contains("rows_are_training_rows") &&
         (*test)["rows_are_training_rows"] == true;
}

// Reports of versions whose ledgers were not signed have no such field.
std::optional<LedgerHead> ledger_of(const ReportFields& report, const nlohmann::json& root) {
  if (!root.contains("ledger")) return std::nullopt;
  const nlohmann::json& ledger = root["ledger"];
  if (!ledger.is_object()) report.refuse("'ledger' must be an object");
  LedgerHead head{.public_key = report.text(ledger, "public_key"),
                  .lines = report.count(ledger, "lines"),
                  .last_line_sha256 = report.text(ledger, "last_line_sha256")};
  if (!public_key_of_hex(head.public_key)) report.refuse("'public_key' must be 64 lower-case hex digits");
  if (!public_key_of_hex(head.last_line_sha256)) report.refuse("'last_line_sha256' must be 64 lower-case hex digits");
  return head;
}

// A report with delta 0 may list selections only, whose epsilons, and whose mu^2, add up to what it states.
void check_pure(const ReportFields& report, const ReportedGuarantee& guarantee,
                const std::vector<ReportedBlock>& blocks, const std::vector<ReportedSelection>& selections) {
  if (!blocks.empty()) report.refuse("contradicts itself: delta 0 with Gaussian noise");
  double sum = 0.0;
  double squared_mu = 0.0;
  for (const ReportedSelection& selection : selections) {
    sum += selection.epsilon;
    squared_mu += std::pow(selection_mu(selection.epsilon), 2);
  }
  if (sum > guarantee.epsilon * (1.0 + kRounding)) {
    report.refuse(fmt::format("contradicts itself: selections of epsilon {:g} together, the whole run {:g}", sum,
                              guarantee.epsilon));
  }
  if (std::sqrt(squared_mu) > *guarantee.mu * (1.0 + kRounding)) {
    report.refuse(fmt::format("contradicts itself: selections of mu {:g} together, the whole run {:g}",
                              std::sqrt(squared_mu), *guarantee.mu));
  }
}

// Older reports name no unit: it is a row.
PrivacyUnit reported_unit(const ReportFields& report, const nlohmann::json& privacy) {
  return privacy.contains("unit") ? report.choice<PrivacyUnit>(privacy, "unit") : PrivacyUnit::kRecord;
}

ReportedGuarantee guarantee_of(const ReportFields& report, const nlohmann::json& privacy,
                               const std::vector<ReportedBlock>& blocks,
                               const std::vector<ReportedSelection>& selections) {
  ReportedGuarantee guarantee{
      .epsilon = report.number(privacy, "epsilon", 0.0, kLargestFigure),
      .delta = report.number(privacy, "delta", 0.0, 1.0 - std::numeric_limits<double>::epsilon()),
      .mu = std::nullopt,
      .adjacency = report.choice<Adjacency>(privacy, "adjacency"),
      .accountant = report.choice<Accountant>(privacy, "accountant")};
  guarantee.unit = reported_unit(report, privacy);
  if (guarantee.unit == PrivacyUnit::kPerson) {
    guarantee.rows_per_person = report.count(privacy, "rows_per_person");
    // Told where it is not by weights.
    if (privacy.contains("person_bound")) {
      guarantee.person_bound = report.choice<PersonBound>(privacy, "person_bound");
    }
    if (privacy.contains("silos_per_person")) guarantee.silos_per_person = report.count(privacy, "silos_per_person");
    if (privacy.contains("count_persons")) guarantee.counted_persons = report.count(privacy, "count_persons");
  }
  if (report.field(privacy, "mu").is_null()) {
    if (guarantee.delta == 0.0) report.refuse("contradicts itself: delta 0 without mu");
    return guarantee;
  }
  const double mu = report.number(privacy, "mu", kSmallestMu, kLargestMu);
  guarantee.mu = mu;
  if (guarantee.delta == 0.0) {
    check_pure(report, guarantee, blocks, selections);
    return guarantee;
  }
  const double epsilon_of_mu = gdp_epsilon(mu, guarantee.delta);
  if (epsilon_of_mu > guarantee.epsilon * (1.0 + kRounding) + kRounding) {
    report.refuse(fmt::format("contradicts itself: mu {:g} gives epsilon {:g} at delta {:g}, not {:g}", mu,
                              epsilon_of_mu, guarantee.delta, guarantee.epsilon));
  }
  for (const ReportedBlock& block : blocks) {
    const double mu_of_block = block.sensitivity / block.sigma;
    if (mu_of_block <= mu * (1.0 + kRounding)) continue;
    report.refuse(
        fmt::format("contradicts itself: block {} alone has mu {:g}, the whole run {:g}", block.name, mu_of_block, mu));
  }
  return guarantee;
}

// Reports that say none are of a seeded run, where there was noise.
Forfeits forfeits_of(const ReportFields& report, const nlohmann::json& privacy, const ReportedRun& run) {
  if (!privacy.contains("forfeited_by")) {
    return run.is_private || !run.has_noise ? Forfeits{} : Forfeits{Forfeit::kSeed};
  }
  std::optional<Forfeits> forfeits = forfeits_in(privacy["forfeited_by"]);
  if (!forfeits) report.refuse("'forfeited_by' is no list of reasons that this version knows");
  if (run.is_private) report.refuse("contradicts itself: private, and forfeited");
  return std::move(*forfeits);
}

}  // namespace

ReportedRun parse_report(std::string_view text, const std::string& path) {
  const ReportFields report(path);
  const nlohmann::json root = parse_json(text);
  if (root.is_discarded()) report.refuse("not a JSON file");
  if (!root.is_object()) report.refuse("not a report of fit");
  const nlohmann::json& privacy = report.field(root, "privacy");
  if (!privacy.is_object()) report.refuse("'privacy' must be an object");

  ReportedRun run{.method = report.text(root, "method"),
                  .is_private = report.flag(root, "private"),
                  .is_dry_run = root.contains("dry_run") && report.flag(root, "dry_run"),
                  .has_noise = false,
                  .unit = reported_unit(report, privacy),
                  .guarantee = std::nullopt,
                  .blocks = blocks_of(report, privacy),
                  .selections = selections_of(report, privacy),
                  .silos = silos_of(report, root),
                  .is_chosen_by_validation = is_chosen_by_validation(root),
                  .public_by_word = public_by_word(report, root),
                  .is_tested_on_training_rows = is_tested_on_training_rows(root),
                  .is_on_a_long_tail = root.contains("imbalance"),
                  .ledger = ledger_of(report, root)};
  run.has_noise = !run.blocks.empty() || !run.selections.empty();
  run.forfeits = forfeits_of(report, privacy, run);
  if (!run.is_private) return run;
  if (!run.has_noise) report.refuse("contradicts itself: private, but without a release");
  run.guarantee = guarantee_of(report, privacy, run.blocks, run.selections);
  return run;
}

ReportedRun read_report(const std::string& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > kLargestReport) {
    throw BadInput(fmt::format("{}: larger than {} MiB; is it a report of fit?", path, kLargestReport >> 20));
  }
  return parse_report({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace dpreduce
