#include "common/ledger/ledger_line.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/randomness/private_file.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestKey = 4096;
constexpr std::string_view kKeyName = "the ledger's signing key";

// The text that separates these signatures from those of other uses, with the zero at its end.
std::vector<std::byte> signed_part(const std::string& unsigned_line) {
  std::string message("dpreduce ledger line v2");
  message.push_back('\0');
  message += unsigned_line;
  const auto bytes = std::as_bytes(std::span(message));
  return {bytes.begin(), bytes.end()};
}

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
concept IsOptional = requires(T value) {
  value.has_value();
};
template <typename T>
concept IsList = requires(T value) {
  value.emplace_back();
};

template <typename T>
LineJson Members::printed(T& value) {
  if constexpr (std::same_as<T, std::string> || std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return to_string(value);
  } else if constexpr (IsOptional<T>) {
    return value ? printed(*value) : LineJson(nullptr);
  } else if constexpr (IsList<T>) {
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
  } else if constexpr (IsOptional<T>) {
    if (!json.is_null()) read(json, value.emplace());
  } else if constexpr (IsList<T>) {
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

std::filesystem::path signing_key_path(const std::filesystem::path& ledger) {
  return ledger.string() + std::string(kSigningKeyEnding);
}

std::optional<SigningKey> find_signing_key(const std::filesystem::path& ledger) {
  const std::filesystem::path path = signing_key_path(ledger);
  const auto text = read_private_file(path, kKeyName, kLargestKey);
  if (!text) return std::nullopt;
  std::optional<SigningKey> key;
  if (text->size() <= kLargestKey) key = SigningKey::from_pem(*text);
  if (!key) throw BadInput(std::string(kKeyName) + " " + path.string() + ": must hold an Ed25519 private key (PEM)");
  return key;
}

SigningKey find_or_make_signing_key(const std::filesystem::path& ledger) {
  if (std::optional<SigningKey> key = find_signing_key(ledger)) return std::move(*key);
  const std::filesystem::path path = signing_key_path(ledger);
  make_private_file(path, kKeyName, SigningKey::generate().to_pem(), ExistingFile::kWins);
  if (std::optional<SigningKey> key = find_signing_key(ledger)) return std::move(*key);
  throw BadInput(std::string(kKeyName) + " " + path.string() + ": vanished while it was made");
}

std::string with_signature(const std::string& unsigned_line, std::string_view signature) {
  DPREDUCE_ASSERT(unsigned_line.size() > 2 && unsigned_line.back() == '}');
  std::string line = unsigned_line.substr(0, unsigned_line.size() - 1);
  return line.append(R"(,"signature":")").append(signature).append("\"}");
}

std::string sign_line(const std::string& unsigned_line, const SigningKey& key) {
  return with_signature(unsigned_line, to_hex(key.sign(signed_part(unsigned_line))));
}

bool is_signed_by(const std::string& unsigned_line, std::string_view signature, const PublicKey& signer) {
  const std::optional<Signature> bytes = signature_of_hex(signature);
  return bytes && verifies(signer, signed_part(unsigned_line), *bytes);
}

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
