#include "common/ledger/ledger_line.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/ledger/ledger_key.hpp"

namespace dpreduce {
namespace {

using LineJson = nlohmann::ordered_json;

// The members of one object, in the order of the line, for both directions: a list of them (members_of) either prints
// its values or reads them. Reading throws std::invalid_argument, or what nlohmann's JSON throws, where a member is
// missing or not of its type.
class Members {
 public:
  enum class Use { kPrint, kRead };
  Members(LineJson& json, Use use) : json_(json), use_(use) {}

  bool reads() const { return use_ == Use::kRead; }
  // Returns whether the object has the member: on reading, by the object itself; on printing, by `is_printed`.
  bool has(const char* name, bool is_printed) const { return reads() ? json_.contains(name) : is_printed; }

  template <typename T>
  void operator()(const char* name, T& value) {
    if (reads()) {
      read(json_.at(name), value);
    } else {
      json_[name] = printed(value);
    }
  }
  // A member that is left out of some lines.
  template <typename T>
  void optional(const char* name, bool is_printed, T& value) {
    if (has(name, is_printed)) (*this)(name, value);
  }
  // A member that follows from others: whether it is right shows when the line that was read is printed again.
  void derived(const char* name, double value) {
    if (!reads()) json_[name] = value;
  }

 private:
  template <typename T>
  static LineJson printed(T& value);
  template <typename T>
  static void read(LineJson& json, T& value);

  LineJson& json_;
  Use use_;
};

void members_of(LedgerBlock& block, Members& members) {
  members("name", block.name);
  members("elements", block.elements);
  members("sensitivity", block.sensitivity);
  members("sigma", block.sigma);
}

void members_of(SelectionTerms& terms, Members& members) {
  members("mechanism", terms.mechanism);
  members("epsilon", terms.epsilon);
  members("sensitivity", terms.sensitivity);
  members("candidates", terms.candidates);
  members("groups", terms.groups);
  members("chosen", terms.chosen);
}

void members_of(LedgerSilos& silos, Members& members) {
  members("noise", silos.noise);
  members.optional("silo", silos.is_of_silo(), silos.silo);
  if (!silos.is_of_silo()) members("left", silos.left);
  members("threshold", silos.threshold);
  members("colluding", silos.colluding);
  std::string identities = "ephemeral";
  silos.is_ephemeral = members.has("identities", silos.is_ephemeral);
  members.optional("identities", silos.is_ephemeral, identities);
}

void members_of(RunTerms& terms, Members& members) {
  members("method", terms.method);
  members.optional("asked", !terms.asked.empty(), terms.asked);
  members("adjacency", terms.adjacency);
  members("accountant", terms.accountant);
  members("private", terms.is_private);
  members.optional("forfeited_by", !terms.forfeits.empty(), terms.forfeits);
  members.optional("public_by_word", !terms.public_by_word.empty(), terms.public_by_word);
  members.optional("silos", terms.silos.has_value(), terms.silos);
  members("unit", terms.unit);
  members.optional("data_set", !terms.data_set.empty(), terms.data_set);
  members("epsilon", terms.epsilon);
  members("delta", terms.delta);
  members("config_digest", terms.config_digest);
  members("version", terms.version);
}

void members_of(LedgerEntry& entry, Members& members) {
  members("release", entry.release_id);
  members_of(entry.terms, members);
  members("blocks", entry.blocks);
  members.optional("selection", entry.selection.has_value(), entry.selection);
  members.optional("sampling_rate", !entry.selection && entry.sampling_rate < 1, entry.sampling_rate);
  std::optional<double> no_mu;
  if (entry.selection) {
    members("mu", no_mu);
  } else {
    members("mu", entry.mu);
  }
  members.derived("rho", entry.selection ? rho_of(*entry.selection) : entry.mu * entry.mu / 2);
}

void members_of(ReservedRelease& release, Members& members) {
  members("name", release.name);
  members("rounds", release.rounds);
  members.optional("sampling_rate", release.sampling_rate < 1, release.sampling_rate);
  members("mu", release.mu);
}

void members_of(PlannedSelection& selection, Members& members) {
  members("name", selection.name);
  members_of(selection.terms, members);
}

void members_of(Reservation& reservation, Members& members) {
  members("run", reservation.run_id);
  members_of(reservation.terms, members);
  members("releases", reservation.releases);
  members("selections", reservation.selections);
  members.optional("instead_of", !reservation.instead_of.empty(), reservation.instead_of);
}

void members_of(RunEnd& end, Members& members) {
  members("run", end.run_id);
  members("outcome", end.outcome);
}

void members_of(LedgerStart& start, Members& members) {
  members("public_key", start.public_key);
  members("version", start.version);
}

using Content = decltype(LedgerRecord::content);
constexpr std::array<std::string_view, std::variant_size_v<Content>> kKinds{"charge", "reservation", "end", "ledger"};

Content content_of_kind(std::string_view kind) {
  if (kind == kKinds[0]) return LedgerEntry{};
  if (kind == kKinds[1]) return Reservation{};
  if (kind == kKinds[2]) return RunEnd{};
  if (kind == kKinds[3]) return LedgerStart{};
  throw std::invalid_argument("this version does not know its kind");
}

void members_of(LedgerRecord& record, Members& members) {
  std::uint64_t schema = kLedgerSchema;
  members("schema", schema);
  if (schema != kLedgerSchema) {
    throw std::invalid_argument(
        "its schema is not " + std::to_string(kLedgerSchema) +
        ", the one that this version reads; start a new ledger, and keep counting the charges of this one");
  }
  std::string kind(kKinds[record.content.index()]);
  members("kind", kind);
  if (members.reads()) record.content = content_of_kind(kind);
  members("time", record.utc_time);
  members("previous", record.previous_sha256);
  std::visit([&](auto& content) { members_of(content, members); }, record.content);
}

template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <typename T>
LineJson Members::printed(T& value) {
  if constexpr (std::same_as<T, std::string> || std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return to_string(value);
  } else if constexpr (is_optional<T>) {
    return value ? printed(*value) : LineJson(nullptr);
  } else if constexpr (is_list<T>) {
    LineJson list = LineJson::array();
    for (auto& item : value) list.push_back(printed(item));
    return list;
  } else {
    LineJson object;
    Members members(object, Use::kPrint);
    members_of(value, members);
    return object;
  }
}

template <typename T>
void Members::read(LineJson& json, T& value) {
  if constexpr (std::same_as<T, std::string> || std::same_as<T, bool>) {
    value = json.get<T>();
  } else if constexpr (std::same_as<T, double>) {
    if (!json.is_number()) throw std::invalid_argument("a number is missing");
    value = json.get<double>();
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    if (!json.is_number_unsigned()) throw std::invalid_argument("a count is not a whole number");
    value = json.get<std::uint64_t>();
  } else if constexpr (std::is_enum_v<T>) {
    const auto text = json.get<std::string>();
    const std::optional<T> choice = choice_of<T>(text);
    if (!choice) throw std::invalid_argument("'" + text + "' is a choice that this version does not know");
    value = *choice;
  } else if constexpr (is_optional<T>) {
    if (!json.is_null()) read(json, value.emplace());
  } else if constexpr (is_list<T>) {
    if (!json.is_array()) throw std::invalid_argument("a field that must be a list is not one");
    for (LineJson& item : json) read(item, value.emplace_back());
  } else {
    Members members(json, Use::kRead);
    members_of(value, members);
  }
}

bool is_utc_time(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  return std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                    [](char c, char expected) { return expected == 'd' ? c >= '0' && c <= '9' : c == expected; });
}

}  // namespace

std::string print_unsigned(const LedgerRecord& record) {
  LedgerRecord printed = record;
  LineJson json;
  Members members(json, Members::Use::kPrint);
  members_of(printed, members);
  return json_text(json);
}

LedgerLine parse_line(std::string_view line, const std::string& where) {
  if (line.size() > kLongestLedgerLine) {
    throw LedgerCorrupt(where + ": the line is longer than " + std::to_string(kLongestLedgerLine) + " bytes");
  }
  LedgerLine result;
  std::string canonical;  // as the line must have been printed
  try {
    LineJson json = LineJson::parse(line.begin(), line.end());
    Members members(json, Members::Use::kRead);
    members_of(result.record, members);
    members("signature", result.signature);
    canonical = with_signature(print_unsigned(result.record), result.signature);
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
    throw LedgerCorrupt(
        where +
        ": the line is not in the form that this library writes (it was edited, or rho does not match its charge)");
  }
  return result;
}

}  // namespace dpreduce
