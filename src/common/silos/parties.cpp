#include "common/silos/parties.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/base/toml_items.hpp"
#include "common/randomness/private_file.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestIdentity = 4096;

[[noreturn]] void refuse(std::string_view option, const std::filesystem::path& path, const std::string& what) {
  throw BadInput("{} {}: {}", option, path.string(), what);
}

}  // namespace

std::string short_hex(const PublicKey& digest) {
  constexpr std::size_t kShownDigits = 16;
  return to_hex(digest).substr(0, kShownDigits);
}

Identity load_identity(const std::filesystem::path& path, std::string_view option) {
  const auto text = read_private_file(path, option, kLargestIdentity);
  if (!text) refuse(option, path, "cannot be opened: no such file; dpreduce keygen makes one");
  if (text->size() > kLargestIdentity) refuse(option, path, "is not an identity: larger than 4 KiB");
  std::optional<Identity> key = Identity::from_pem(*text);
  if (!key) refuse(option, path, "is not an identity: must hold an Ed25519 private key (dpreduce keygen makes one)");
  return std::move(*key);
}

void save_new_identity(const Identity& identity, const std::filesystem::path& path, std::string_view option) {
  make_private_file(path, option, identity.to_pem(), ExistingFile::kRefused);
}

namespace {

constexpr std::size_t kLargestDim = std::size_t{1} << 24;
constexpr std::size_t kMostClasses = std::size_t{1} << 20;
constexpr std::size_t kLongestName = 64;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw BadInput("--roster {}: {}", path, what);
}

std::size_t number_of(const std::string& text, std::size_t largest, const std::string& what, const std::string& path) {
  const auto number = plain_number<std::size_t>(text);
  if (number && *number >= 1 && *number <= largest) return *number;
  refuse(path, fmt::format("{} = {}: must be a whole number from 1 to {}", what, text, largest));
}

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

using GivenMember = std::map<std::string, std::string>;  // its fields

Member member_of(const GivenMember& stated, const std::string& section, const std::string& path) {
  for (const auto& [field, value] : stated) {
    if (field != "name" && field != "key") refuse(path, fmt::format("[{}]: '{}' is unknown", section, field));
  }
  const auto field = [&](const std::string& name) {
    const auto found = stated.find(name);
    if (found == stated.end()) refuse(path, fmt::format("[{}]: '{}' is missing", section, name));
    return found->second;
  };
  Member member;
  member.name = field("name");
  if (!is_name(member.name)) {
    refuse(path, fmt::format("[{}]: a name is 1 to {} letters, digits, '.', '_' or '-'", section, kLongestName));
  }
  const std::optional<PublicKey> key = public_key_of_hex(field("key"));
  if (!key) refuse(path, fmt::format("[{}]: a key is 64 hex digits in lower case, from dpreduce keygen", section));
  member.key = *key;
  return member;
}

// A roster as it is read, item by item.
struct GivenRoster {
  Roster roster;  // without members
  GivenMember coordinator;
  std::map<std::size_t, GivenMember> silos;
};

void add_item(GivenRoster& stated, const TomlItem& item, const std::string& path) {
  if (item.values.size() != 1) refuse(path, fmt::format("line {}: '{}' must have one value", item.line, item.key));
  const std::string& value = item.values.front();
  if (item.section.empty() && item.key == "dim") {
    stated.roster.dim = number_of(value, kLargestDim, "dim", path);
  } else if (item.section.empty() && item.key == "classes") {
    stated.roster.classes = number_of(value, kMostClasses, "classes", path);
  } else if (item.section == std::vector<std::string>{"coordinator"}) {
    stated.coordinator[item.key] = value;
  } else if (item.section.size() == 2 && item.section[0] == "silo") {
    const std::size_t number = number_of(item.section[1], kMostSilos, "[silo.N] with N", path);
    if (!stated.silos[number].emplace(item.key, value).second) {
      refuse(path, fmt::format("line {}: [silo.{}]: '{}' appears twice", item.line, number, item.key));
    }
  } else {
    refuse(path, fmt::format("line {}: '{}{}{}' is unknown", item.line, fmt::join(item.section, "."),
                             item.section.empty() ? "" : ".", item.key));
  }
}

void require_distinct(const std::vector<Member>& members, const std::string& path) {
  std::set<std::string> names;
  std::set<PublicKey> keys;
  for (const Member& member : members) {
    if (!names.insert(member.name).second) refuse(path, fmt::format("name \"{}\" appears twice", member.name));
    if (!keys.insert(member.key).second) refuse(path, fmt::format("key of \"{}\" appears twice", member.name));
  }
}

}  // namespace

std::string Roster::party_text(std::uint32_t party) const {
  const std::string role = party == 0 ? "the coordinator" : fmt::format("silo {}", party);
  const std::string name = party < members.size() ? members[party].name : "";
  return name.empty() ? role : fmt::format("{} ({})", role, name);
}

PublicKey Roster::digest() const {
  std::string text = fmt::format("dpreduce roster v1\ndim {}\nclasses {}\n", dim, classes);
  for (const Member& member : members) text += fmt::format("{} {}\n", member.name, to_hex(member.key));
  return sha256(text);
}

Roster parse_roster(const std::string& text, const std::string& path) {
  std::vector<TomlItem> items;
  try {
    items = toml_items(text);
  } catch (const TomlError& error) {
    refuse(path, fmt::format("line {}: {}", error.line(), error.what()));
  }
  GivenRoster stated;
  for (const TomlItem& item : items) add_item(stated, item, path);
  Roster roster = std::move(stated.roster);
  if (roster.dim == 0) refuse(path, "'dim' is missing: the number of features of a row");
  if (roster.classes == 0) refuse(path, "'classes' is missing");
  roster.members.push_back(member_of(stated.coordinator, "coordinator", path));
  for (const auto& [number, silo] : stated.silos) {
    if (number != roster.members.size()) {
      refuse(path, fmt::format("[silo.{}] is missing: silos are numbered from 1 without gaps", roster.members.size()));
    }
    roster.members.push_back(member_of(silo, fmt::format("silo.{}", number), path));
  }
  if (roster.silos() < 2) refuse(path, fmt::format("{} silos: must be at least 2", roster.silos()));
  require_distinct(roster.members, path);
  return roster;
}

Roster read_roster(const std::string& path) {
  return parse_roster(text_of_file(path, [&](const std::string& fault) { refuse(path, fault); }), path);
}

}  // namespace dpreduce
