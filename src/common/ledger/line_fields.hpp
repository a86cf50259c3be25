// The parts of lines, to and from JSON.
//
// Reading throws std::invalid_argument, or what nlohmann's JSON throws, where a field is missing or not of its type.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/ledger/ledger_record.hpp"

namespace dpreduce {

using LineJson = nlohmann::ordered_json;

LineJson optional_number(const std::optional<double>& value);
LineJson blocks_json(const std::vector<LedgerBlock>& blocks);
LineJson selection_json(const SelectionTerms& terms);
LineJson silos_json(const LedgerSilos& silos);

double read_number(const LineJson& json);
std::optional<double> read_optional_number(const LineJson& json);
std::uint64_t read_count(const LineJson& json);
std::vector<LedgerBlock> read_blocks(const LineJson& json);
SelectionTerms read_selection(const LineJson& json);
LedgerSilos read_silos(const LineJson& json);
/// The list itself, where it is one.
const LineJson& read_list(const LineJson& json);

template <typename E>
E read_choice(const LineJson& json) {
  const auto text = json.get<std::string>();
  const std::optional<E> choice = choice_of<E>(text);
  if (!choice) throw std::invalid_argument("'" + text + "' is not a choice that this version knows");
  return *choice;
}

/// "selection" with mu null, or "sampling_rate" and mu; and rho: the end of a charge's line.
void print_cost(LineJson& json, const LedgerEntry& entry);
void read_cost(const LineJson& json, LedgerEntry& entry);

}  // namespace dpreduce
