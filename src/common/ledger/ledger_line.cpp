#include "common/ledger/ledger_line.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/ledger/field_faults.hpp"
#include "common/ledger/ledger_key.hpp"

namespace dpreduce {
namespace {

using LineJson = nlohmann::ordered_json;

LineJson optional_number(const std::optional<double>& value) {
  return value ? LineJson(*value) : LineJson(nullptr);
}

LineJson blocks_json(const std::vector<LedgerBlock>& blocks) {
  LineJson list = LineJson::array();
  for (const LedgerBlock& block : blocks) {
    LineJson item;
    item["name"] = block.name;
    item["elements"] = block.elements;
    item["sensitivity"] = block.sensitivity;
    item["sigma"] = block.sigma;
    list.push_back(std::move(item));
  }
  return list;
}

LineJson selection_json(const SelectionTerms& terms) {
  LineJson json;
  json["mechanism"] = to_string(terms.mechanism);
  json["epsilon"] = terms.epsilon;
  json["sensitivity"] = terms.sensitivity;
  json["candidates"] = terms.candidates;
  json["groups"] = terms.groups;
  json["chosen"] = terms.chosen;
  return json;
}

LineJson silos_json(const LedgerSilos& silos) {
  LineJson json;
  json["noise"] = to_string(silos.noise);
  if (silos.is_of_silo()) {
    json["silo"] = silos.silo;
  } else {
    json["left"] = silos.left;
  }
  json["threshold"] = silos.threshold;
  json["colluding"] = silos.colluding;
  if (silos.is_ephemeral) json["identities"] = "ephemeral";
  return json;
}

// Reading throws std::invalid_argument, or what nlohmann's JSON throws, where a field is missing or not of its type.
double read_number(const LineJson& json) {
  if (!json.is_number()) throw std::invalid_argument("a number is missing");
  return json.get<double>();
}

std::optional<double> read_optional_number(const LineJson& json) {
  if (json.is_null()) return std::nullopt;
  return read_number(json);
}

std::uint64_t read_count(const LineJson& json) {
  if (!json.is_number_unsigned()) throw std::invalid_argument("a count is not a whole number");
  return json.get<std::uint64_t>();
}

const LineJson& read_list(const LineJson& json) {
  if (!json.is_array()) throw std::invalid_argument("a list is not one");
  return json;
}

std::vector<LedgerBlock> read_blocks(const LineJson& json) {
  std::vector<LedgerBlock> blocks;
  for (const LineJson& block : read_list(json)) {
    blocks.push_back({block.at("name").get<std::string>(), read_count(block.at("elements")),
                      read_number(block.at("sensitivity")), read_number(block.at("sigma"))});
  }
  return blocks;
}

template <typename E>
E read_choice(const LineJson& json) {
  const auto text = json.get<std::string>();
  const std::optional<E> choice = choice_of<E>(text);
  if (!choice) throw std::invalid_argument("'" + text + "' is not a choice that this version knows");
  return *choice;
}

SelectionTerms read_selection(const LineJson& json) {
  SelectionTerms terms;
  terms.mechanism = read_choice<SelectionMechanism>(json.at("mechanism"));
  terms.epsilon = read_number(json.at("epsilon"));
  terms.sensitivity = read_count(json.at("sensitivity"));
  terms.candidates = read_count(json.at("candidates"));
  terms.groups = read_count(json.at("groups"));
  terms.chosen = read_count(json.at("chosen"));
  return terms;
}

LedgerSilos read_silos(const LineJson& json) {
  const bool is_of_silo = json.contains("silo");
  return {read_choice<NoiseSource>(json.at("noise")),
          is_of_silo ? 0 : read_count(json.at("left")),
          read_count(json.at("threshold")),
          read_count(json.at("colluding")),
          is_of_silo ? read_count(json.at("silo")) : 0,
          json.contains("identities")};
}

// "selection" with mu null, or "sampling_rate" and mu; and rho: the end of a charge's line.
void print_cost(LineJson& json, const LedgerEntry& entry) {
  if (entry.selection) {
    json["selection"] = selection_json(*entry.selection);
    json["mu"] = nullptr;
    json["rho"] = rho_of(*entry.selection);
    return;
  }
  if (entry.sampling_rate < 1) json["sampling_rate"] = entry.sampling_rate;
  json["mu"] = entry.mu;
  json["rho"] = entry.mu * entry.mu / 2;
}

void read_cost(const LineJson& json, LedgerEntry& entry) {
  if (json.contains("selection")) {
    entry.selection = read_selection(json.at("selection"));  // that its mu is null shows when it is printed again
  } else {
    entry.mu = read_number(json.at("mu"));
  }
  if (json.contains("sampling_rate")) entry.sampling_rate = read_number(json.at("sampling_rate"));
}

bool is_utc_time(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  return std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                    [](char c, char expected) { return expected == 'd' ? c >= '0' && c <= '9' : c == expected; });
}

void print_terms(LineJson& json, const RunTerms& terms) {
  json["method"] = terms.method;
  json["adjacency"] = to_string(terms.adjacency);
  json["accountant"] = to_string(terms.accountant);
  json["private"] = terms.is_private;
  if (!terms.forfeits.empty()) json["forfeited_by"] = forfeits_json<LineJson>(terms.forfeits);
  if (terms.silos) json["silos"] = silos_json(*terms.silos);
  json["unit"] = to_string(terms.unit);
  json["epsilon"] = optional_number(terms.epsilon);
  json["delta"] = optional_number(terms.delta);
  json["config_digest"] = terms.config_digest;
  json["version"] = terms.version;
}

Forfeits read_forfeits(const LineJson& json) {
  std::optional<Forfeits> forfeits = forfeits_in(json);
  if (!forfeits) throw std::invalid_argument("its forfeited_by is no list of reasons that this version knows");
  return std::move(*forfeits);
}

RunTerms read_terms(const LineJson& json) {
  RunTerms terms;
  terms.method = json.at("method").get<std::string>();
  terms.adjacency = read_choice<Adjacency>(json.at("adjacency"));
  terms.accountant = read_choice<Accountant>(json.at("accountant"));
  terms.is_private = json.at("private").get<bool>();
  if (json.contains("forfeited_by")) terms.forfeits = read_forfeits(json.at("forfeited_by"));
  if (json.contains("silos")) terms.silos = read_silos(json.at("silos"));
  terms.unit = read_choice<PrivacyUnit>(json.at("unit"));
  terms.epsilon = read_optional_number(json.at("epsilon"));
  terms.delta = read_optional_number(json.at("delta"));
  terms.config_digest = json.at("config_digest").get<std::string>();
  terms.version = json.at("version").get<std::string>();
  return terms;
}

std::string_view kind_of(const LedgerEntry&) {
  return "charge";
}
std::string_view kind_of(const Reservation&) {
  return "reservation";
}
std::string_view kind_of(const RunEnd&) {
  return "end";
}
std::string_view kind_of(const LedgerStart&) {
  return "ledger";
}

void print_fields(LineJson& json, const LedgerEntry& entry) {
  json["release"] = entry.release_id;
  print_terms(json, entry.terms);
  json["blocks"] = blocks_json(entry.blocks);
  print_cost(json, entry);
}

void print_fields(LineJson& json, const Reservation& reservation) {
  json["run"] = reservation.run_id;
  print_terms(json, reservation.terms);
  json["releases"] = LineJson::array();
  for (const ReservedRelease& release : reservation.releases) {
    LineJson item;
    item["name"] = release.name;
    item["rounds"] = release.rounds;
    if (release.sampling_rate < 1) item["sampling_rate"] = release.sampling_rate;
    item["mu"] = release.mu;
    json["releases"].push_back(std::move(item));
  }
  json["selections"] = LineJson::array();
  for (const PlannedSelection& selection : reservation.selections) {
    LineJson item;
    item["name"] = selection.name;
    item.update(selection_json(selection.terms));
    json["selections"].push_back(std::move(item));
  }
  if (!reservation.instead_of.empty()) json["instead_of"] = reservation.instead_of;
}

void print_fields(LineJson& json, const RunEnd& end) {
  json["run"] = end.run_id;
  json["outcome"] = to_string(end.outcome);
}

void print_fields(LineJson& json, const LedgerStart& start) {
  json["public_key"] = start.public_key;
  json["version"] = start.version;
}

LedgerEntry read_entry(const LineJson& json) {
  LedgerEntry entry;
  entry.release_id = json.at("release").get<std::string>();
  entry.terms = read_terms(json);
  entry.blocks = read_blocks(json.at("blocks"));
  read_cost(json, entry);
  return entry;
}

Reservation read_reservation(const LineJson& json) {
  Reservation reservation;
  reservation.run_id = json.at("run").get<std::string>();
  reservation.terms = read_terms(json);
  for (const LineJson& item : read_list(json.at("releases"))) {
    ReservedRelease& release = reservation.releases.emplace_back();
    release.name = item.at("name").get<std::string>();
    release.rounds = read_count(item.at("rounds"));
    release.mu = read_number(item.at("mu"));
    if (item.contains("sampling_rate")) release.sampling_rate = read_number(item.at("sampling_rate"));
  }
  for (const LineJson& item : read_list(json.at("selections"))) {
    reservation.selections.push_back({item.at("name").get<std::string>(), read_selection(item)});
  }
  if (json.contains("instead_of")) reservation.instead_of = json.at("instead_of").get<std::string>();
  return reservation;
}

LedgerRecord read_line(const LineJson& json) {
  LedgerRecord record;
  const auto kind = json.at("kind").get<std::string>();
  if (kind == "charge") {
    record.content = read_entry(json);
  } else if (kind == "reservation") {
    record.content = read_reservation(json);
  } else if (kind == "end") {
    record.content = RunEnd{json.at("run").get<std::string>(), read_choice<RunOutcome>(json.at("outcome"))};
  } else if (kind == "ledger") {
    record.content = LedgerStart{json.at("public_key").get<std::string>(), json.at("version").get<std::string>()};
  } else {
    throw std::invalid_argument("its kind is none that this version knows");
  }
  record.utc_time = json.at("time").get<std::string>();
  record.previous_sha256 = json.at("previous").get<std::string>();
  return record;
}

// The line as it must have been printed goes to `canonical`.
LedgerLine read_any_line(const LineJson& json, std::string& canonical) {
  if (read_count(json.at("schema")) != kLedgerSchema) {
    throw std::invalid_argument("its schema is not " + std::to_string(kLedgerSchema) +
                                ", which this version reads; start a new ledger, and count what this one has charged");
  }
  LedgerLine line{read_line(json), json.at("signature").get<std::string>()};
  canonical = with_signature(print_unsigned(line.record), line.signature);
  return line;
}

}  // namespace

std::string print_unsigned(const LedgerRecord& record) {
  LineJson json;
  json["schema"] = kLedgerSchema;
  std::visit([&](const auto& content) { json["kind"] = kind_of(content); }, record.content);
  json["time"] = record.utc_time;
  json["previous"] = record.previous_sha256;
  std::visit([&](const auto& content) { print_fields(json, content); }, record.content);
  return json_text(json);
}

LedgerLine parse_line(std::string_view line, const std::string& where) {
  if (line.size() > kLongestLedgerLine) {
    throw LedgerCorrupt(where + ": the line is longer than " + std::to_string(kLongestLedgerLine) + " bytes");
  }
  LedgerLine result;
  std::string canonical;
  try {
    result = read_any_line(LineJson::parse(line.begin(), line.end()), canonical);
  } catch (const nlohmann::json::exception&) {
    throw LedgerCorrupt(where + ": not a ledger line: a field is missing or not of its type");
  } catch (const std::invalid_argument& fault) {
    throw LedgerCorrupt(where + ": not a ledger line: " + fault.what());
  }
  const LedgerRecord& record = result.record;
  const std::string fault = std::visit([](const auto& content) { return fault_of(content); }, record.content);
  if (!fault.empty()) throw LedgerCorrupt(where + ": " + fault);
  if (!is_utc_time(record.utc_time)) throw LedgerCorrupt(where + ": time is not of the form 2026-01-31T23:59:59Z");
  if (!is_lower_hex(record.previous_sha256, 64, 64)) {
    throw LedgerCorrupt(where + ": previous is not a SHA-256 in hex");
  }
  if (canonical != line) {
    throw LedgerCorrupt(where +
                        ": the line is not as this library writes it (edited, or rho is not that of its charge)");
  }
  return result;
}

}  // namespace dpreduce
