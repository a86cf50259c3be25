#include "common/ledger/line_fields.hpp"

#include <utility>

namespace dpreduce {

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

}  // namespace dpreduce
