#include "common/ledger/old_ledger_line.hpp"

#include <utility>

#include "common/base/json_text.hpp"
#include "common/ledger/field_faults.hpp"
#include "common/ledger/ledger_line.hpp"

namespace dpreduce {
namespace {

std::string print_old_line(const LedgerRecord& record, const std::string& data_digest) {
  const auto& entry = std::get<LedgerEntry>(record.content);
  const RunTerms& terms = entry.terms;
  LineJson json;
  json["schema"] = kOldLedgerSchema;
  json["release"] = entry.release_id;
  json["time"] = record.utc_time;
  json["previous"] = record.previous_sha256;
  json["method"] = terms.method;
  json["adjacency"] = to_string(terms.adjacency);
  json["accountant"] = to_string(terms.accountant);
  json["private"] = terms.is_private;
  if (terms.silos) json["silos"] = silos_json(*terms.silos);
  json["rounds"] = entry.rounds;
  json["blocks"] = blocks_json(entry.blocks);
  print_cost(json, entry);
  json["epsilon"] = optional_number(terms.epsilon);
  json["delta"] = optional_number(terms.delta);
  json["config_digest"] = terms.config_digest;
  json["data_digest"] = data_digest;
  json["version"] = terms.version;
  return json_text(json);
}

}  // namespace

LedgerRecord read_old_line(const LineJson& json, std::string& canonical) {
  LedgerEntry entry;
  entry.release_id = json.at("release").get<std::string>();
  entry.terms.method = json.at("method").get<std::string>();
  entry.terms.adjacency = read_choice<Adjacency>(json.at("adjacency"));
  entry.terms.accountant = read_choice<Accountant>(json.at("accountant"));
  entry.terms.is_private = json.at("private").get<bool>();
  if (json.contains("silos")) entry.terms.silos = read_silos(json.at("silos"));
  entry.terms.epsilon = read_optional_number(json.at("epsilon"));
  entry.terms.delta = read_optional_number(json.at("delta"));
  entry.terms.config_digest = json.at("config_digest").get<std::string>();
  entry.terms.version = json.at("version").get<std::string>();
  entry.rounds = read_count(json.at("rounds"));
  entry.blocks = read_blocks(json.at("blocks"));
  read_cost(json, entry);
  const auto data_digest = json.at("data_digest").get<std::string>();
  if (const std::string fault = fault_of_digest("data digest", data_digest); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  LedgerRecord record{std::move(entry), json.at("time").get<std::string>(), json.at("previous").get<std::string>()};
  canonical = print_old_line(record, data_digest);
  return record;
}

}  // namespace dpreduce
