#include "dpreduce/privacy/ledger_record.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/argument_checks.hpp"
#include "dpreduce/privacy/mechanism.hpp"

namespace dpreduce {
namespace {

using Json = nlohmann::ordered_json;

const std::string kNoPrevious(64, '0');

bool is_lower_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool is_hex(std::string_view text, std::size_t shortest, std::size_t longest) {
  return text.size() >= shortest && text.size() <= longest && std::all_of(text.begin(), text.end(), is_lower_hex);
}

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:+/@- ";
  return !text.empty() && text.size() <= 128 && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_utc_time(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  return std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                    [](char c, char expected) { return expected == 'd' ? c >= '0' && c <= '9' : c == expected; });
}

bool is_positive(double value) {
  return value > 0 && std::isfinite(value);
}

std::string fault_of_name(const std::string& field, const std::string& value) {
  if (is_name(value)) return {};
  return field + " must be 1 to 128 letters, digits, spaces or . _ : + / @ -";
}

std::string fault_of_digest(const std::string& field, const std::string& value) {
  if (is_hex(value, 16, 128)) return {};
  return field + " must be 16 to 128 lower-case hex digits";
}

std::string fault_of_positive(const std::string& field, double value) {
  if (is_positive(value)) return {};
  return field + " = " + print_number(value) + " must be a finite number greater than 0";
}

std::string fault_of_block(const LedgerBlock& block) {
  if (std::string fault = fault_of_name("a block's name", block.name); !fault.empty()) return fault;
  if (block.elements == 0) return "block " + block.name + ": has no elements";
  if (std::string fault = fault_of_positive("block " + block.name + ": sensitivity", block.sensitivity);
      !fault.empty()) {
    return fault;
  }
  return fault_of_positive("block " + block.name + ": sigma", block.sigma);
}

std::string fault_of_gaussians(const LedgerEntry& entry) {
  if (entry.rounds == 0) return "rounds = 0 must be at least 1";
  if (entry.blocks.empty()) return "blocks must not be empty";
  for (const LedgerBlock& block : entry.blocks) {
    if (std::string fault = fault_of_block(block); !fault.empty()) return fault;
  }
  if (!(entry.sampling_rate >= kSmallestSamplingRate && entry.sampling_rate <= 1)) {
    return "sampling rate = " + print_number(entry.sampling_rate) + " must be from " +
           print_number(kSmallestSamplingRate) + " to 1";
  }
  if (entry.sampling_rate < 1 && entry.adjacency != Adjacency::kAddRemove) {
    return "sampling rate = " + print_number(entry.sampling_rate) + ": sampled rounds are accounted under add-remove";
  }
  if (std::string fault = fault_of_positive("mu", entry.mu); !fault.empty()) return fault;
  return fault_of_positive("rho = mu^2 / 2", entry.mu * entry.mu / 2);
}

std::string fault_of_selection(const LedgerEntry& entry) {
  if (entry.rounds != 1) return "rounds = " + std::to_string(entry.rounds) + " of a selection must be 1";
  if (!entry.blocks.empty()) return "a selection has no blocks";
  if (entry.mu != 0) return "mu = " + print_number(entry.mu) + ": a selection has none";
  if (entry.sampling_rate != 1)
    return "sampling rate = " + print_number(entry.sampling_rate) + ": a selection has none";
  const std::string fault = fault_of(*entry.selection);
  return fault.empty() ? fault : "selection: " + fault;
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

double read_number(const Json& json) {
  if (!json.is_number()) throw std::invalid_argument("a number is missing");
  return json.get<double>();
}

std::optional<double> read_optional_number(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return read_number(json);
}

std::uint64_t read_count(const Json& json) {
  if (!json.is_number_unsigned()) throw std::invalid_argument("a count is not a whole number");
  return json.get<std::uint64_t>();
}

template <typename E>
E read_choice(const Json& json) {
  const auto text = json.get<std::string>();
  const std::optional<E> choice = choice_of<E>(text);
  if (!choice) throw std::invalid_argument("'" + text + "' is not a choice that this version knows");
  return *choice;
}

SelectionTerms read_selection(const Json& json) {
  SelectionTerms terms;
  terms.mechanism = read_choice<SelectionMechanism>(json.at("mechanism"));
  terms.epsilon = read_number(json.at("epsilon"));
  terms.sensitivity = read_count(json.at("sensitivity"));
  terms.candidates = read_count(json.at("candidates"));
  terms.groups = read_count(json.at("groups"));
  terms.chosen = read_count(json.at("chosen"));
  return terms;
}

Json selection_json(const SelectionTerms& terms) {
  Json json;
  json["mechanism"] = to_string(terms.mechanism);
  json["epsilon"] = terms.epsilon;
  json["sensitivity"] = terms.sensitivity;
  json["candidates"] = terms.candidates;
  json["groups"] = terms.groups;
  json["chosen"] = terms.chosen;
  return json;
}

std::string fault_of_silos(const LedgerSilos& silos) {
  if (silos.threshold >= 1 && silos.colluding < silos.threshold && silos.threshold <= silos.left) return {};
  return "silos: " + std::to_string(silos.left) + " left, threshold " + std::to_string(silos.threshold) + ", " +
         std::to_string(silos.colluding) + " colluding cannot be";
}

LedgerSilos read_silos(const Json& json) {
  return {read_choice<NoiseSource>(json.at("noise")), read_count(json.at("left")), read_count(json.at("threshold")),
          read_count(json.at("colluding"))};
}

Json silos_json(const LedgerSilos& silos) {
  Json json;
  json["noise"] = to_string(silos.noise);
  json["left"] = silos.left;
  json["threshold"] = silos.threshold;
  json["colluding"] = silos.colluding;
  return json;
}

LedgerRecord read_record(const Json& json) {
  if (read_count(json.at("schema")) != kLedgerSchema) {
    throw std::invalid_argument("its schema is not " + std::to_string(kLedgerSchema) + ", the one this version reads");
  }
  LedgerRecord record;
  LedgerEntry& entry = record.entry;
  entry.release_id = json.at("release").get<std::string>();
  record.utc_time = json.at("time").get<std::string>();
  record.previous_sha256 = json.at("previous").get<std::string>();
  entry.method = json.at("method").get<std::string>();
  entry.adjacency = read_choice<Adjacency>(json.at("adjacency"));
  entry.accountant = read_choice<Accountant>(json.at("accountant"));
  entry.is_private = json.at("private").get<bool>();
  if (json.contains("silos")) entry.silos = read_silos(json.at("silos"));
  entry.rounds = read_count(json.at("rounds"));
  if (json.contains("selection")) {
    entry.selection = read_selection(json.at("selection"));  // that its mu is null shows when it is printed again
  } else {
    entry.mu = read_number(json.at("mu"));
  }
  if (json.contains("sampling_rate")) entry.sampling_rate = read_number(json.at("sampling_rate"));
  entry.epsilon = read_optional_number(json.at("epsilon"));
  entry.delta = read_optional_number(json.at("delta"));
  entry.config_digest = json.at("config_digest").get<std::string>();
  entry.data_digest = json.at("data_digest").get<std::string>();
  entry.version = json.at("version").get<std::string>();
  if (!json.at("blocks").is_array()) throw std::invalid_argument("its blocks are not a list");
  for (const Json& block : json.at("blocks")) {
    LedgerBlock& read = entry.blocks.emplace_back();
    read.name = block.at("name").get<std::string>();
    read.elements = read_count(block.at("elements"));
    read.sensitivity = read_number(block.at("sensitivity"));
    read.sigma = read_number(block.at("sigma"));
  }
  return record;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw Error(ExitCode::kInternal, "OpenSSL cannot compute SHA-256");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (unsigned int byte = 0; byte < length; ++byte) {
    hex += kDigits[digest[byte] >> 4];
    hex += kDigits[digest[byte] & 15];
  }
  return hex;
}

std::string fault_of(const LedgerEntry& entry) {
  std::string fault = fault_of_name("release id", entry.release_id);
  if (fault.empty()) fault = fault_of_name("method", entry.method);
  if (fault.empty()) fault = fault_of_name("version", entry.version);
  if (fault.empty()) fault = entry.selection ? fault_of_selection(entry) : fault_of_gaussians(entry);
  if (fault.empty() && entry.epsilon.has_value() != entry.delta.has_value()) {
    fault = "epsilon and delta must be given together or not at all";
  }
  if (fault.empty() && entry.epsilon) fault = fault_of_positive("epsilon", *entry.epsilon);
  if (fault.empty() && entry.delta && !(*entry.delta > 0 && *entry.delta < 1)) {
    fault = "delta = " + print_number(*entry.delta) + " must be between 0 and 1";
  }
  if (fault.empty() && entry.silos) fault = fault_of_silos(*entry.silos);
  if (fault.empty()) fault = fault_of_digest("config digest", entry.config_digest);
  if (fault.empty()) fault = fault_of_digest("data digest", entry.data_digest);
  return fault;
}

std::string print_record(const LedgerRecord& record) {
  const LedgerEntry& entry = record.entry;
  Json json;
  json["schema"] = kLedgerSchema;
  json["release"] = entry.release_id;
  json["time"] = record.utc_time;
  json["previous"] = record.previous_sha256;
  json["method"] = entry.method;
  json["adjacency"] = to_string(entry.adjacency);
  json["accountant"] = to_string(entry.accountant);
  json["private"] = entry.is_private;
  if (entry.silos) json["silos"] = silos_json(*entry.silos);
  json["rounds"] = entry.rounds;
  json["blocks"] = Json::array();
  for (const LedgerBlock& block : entry.blocks) {
    Json item;
    item["name"] = block.name;
    item["elements"] = block.elements;
    item["sensitivity"] = block.sensitivity;
    item["sigma"] = block.sigma;
    json["blocks"].push_back(std::move(item));
  }
  if (entry.selection) {
    json["selection"] = selection_json(*entry.selection);
    json["mu"] = nullptr;
    json["rho"] = rho_of(*entry.selection);
  } else {
    if (entry.sampling_rate < 1) json["sampling_rate"] = entry.sampling_rate;
    json["mu"] = entry.mu;
    json["rho"] = entry.mu * entry.mu / 2;
  }
  json["epsilon"] = optional_number(entry.epsilon);
  json["delta"] = optional_number(entry.delta);
  json["config_digest"] = entry.config_digest;
  json["data_digest"] = entry.data_digest;
  json["version"] = entry.version;
  return json.dump();
}

LedgerRecord parse_record(std::string_view line, const std::string& where) {
  if (line.size() > kLongestLedgerLine) {
    throw LedgerCorrupt(where + ": the line is longer than " + std::to_string(kLongestLedgerLine) + " bytes");
  }
  LedgerRecord record;
  try {
    record = read_record(Json::parse(line.begin(), line.end()));
  } catch (const nlohmann::json::exception&) {
    throw LedgerCorrupt(where + ": not a ledger line: a field is missing or not of its type");
  } catch (const std::invalid_argument& fault) {
    throw LedgerCorrupt(where + ": not a ledger line: " + fault.what());
  } catch (const UsageError& fault) {
    throw LedgerCorrupt(where + ": not a ledger line: an unknown adjacency or accountant");
  }
  if (const std::string fault = fault_of(record.entry); !fault.empty()) throw LedgerCorrupt(where + ": " + fault);
  if (!is_utc_time(record.utc_time)) throw LedgerCorrupt(where + ": time is not of the form 2026-01-31T23:59:59Z");
  if (!is_hex(record.previous_sha256, 64, 64)) throw LedgerCorrupt(where + ": previous is not a SHA-256 in hex");
  if (print_record(record) != line) {
    throw LedgerCorrupt(where +
                        ": the line is not as this library writes it (edited, or rho is not that of its charge)");
  }
  return record;
}

std::vector<LedgerRecord> parse_ledger(std::string_view text, const std::string& source) {
  std::vector<LedgerRecord> records;
  extend_records(records, text, 0, source);
  return records;
}

void extend_records(std::vector<LedgerRecord>& records, std::string_view text, std::size_t verified_length,
                    const std::string& source) {
  std::string expected_previous = next_previous_sha256(text.substr(0, verified_length));
  text.remove_prefix(verified_length);
  while (!text.empty()) {
    const std::string where = source + ":" + std::to_string(records.size() + 1);
    const std::size_t length = text.find('\n');
    if (length == std::string_view::npos) {
      throw LedgerCorrupt(where +
                          ": the last line is torn (no end of line): its writer crashed before its release was made; "
                          "remove that line by hand, after making sure of it");
    }
    const std::string_view line = text.substr(0, length);
    LedgerRecord record = parse_record(line, where);
    if (record.previous_sha256 != expected_previous) {
      throw LedgerCorrupt(where + ": the chain is broken: this line does not follow the one before it (an edit, a " +
                          "missing line or another order)");
    }
    expected_previous = sha256_hex(line);
    records.push_back(std::move(record));
    text.remove_prefix(length + 1);
  }
}

std::string next_previous_sha256(std::string_view text) {
  if (text.empty()) return kNoPrevious;
  DPREDUCE_ASSERT(text.back() == '\n');
  text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return sha256_hex(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

}  // namespace dpreduce
