#include "commands/config_file.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "commands/keyword_options.hpp"
#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// Throws where the name is no method. `auto` is replaced by a method, and is none: the plan has the one that it has
// become.
void require_method(const std::string& name) {
  std::vector<std::string> names;
  for (const MethodEntry* method : all_methods()) {
    if (method->resolved_by.empty()) names.emplace_back(method->name);
  }
  for (const MethodEntry* method : {&evaluate_method, &release_method}) names.emplace_back(method->name);
  if (std::ranges::find(names, name) != names.end()) return;
  throw UsageError("methods: '{}' is not a method{}; methods are {}", name, did_you_mean(name, names),
                   fmt::join(names, ", "));
}

void require_digest(const std::string& digest) {
  constexpr std::size_t kDigits = 64;
  if (digest.size() == kDigits && digest.find_first_not_of("0123456789abcdef") == std::string::npos) return;
  throw UsageError("models '{}': must be a SHA-256 of 64 lower-case hex digits, as sha256sum prints it", digest);
}

// Throws where a text of the consent is none that it may hold.
void require_texts(const SiloConsent& consent) {
  std::ranges::for_each(consent.methods, require_method);
  std::ranges::for_each(consent.models, require_digest);
  if (consent.least_version.empty() || version_numbers(consent.least_version)) return;
  throw UsageError("least-version '{}': must be a version, as in 1.2.0", consent.least_version);
}

constexpr const char* kCommon = "--config";
constexpr const char* kOwn = "--silo-config";
constexpr const char* kLedger = "--ledger";
constexpr std::ptrdiff_t kOptionsOfRows = 2;  // features and labels

using Arguments = std::vector<std::string>;

// Takes `--config FILE` or `--config=FILE` out of the arguments; empty where there is none.
std::string take_path(Arguments& arguments, const std::string& flag) {
  std::string path;
  for (auto word = arguments.begin(); word != arguments.end();) {
    const bool has_value = word->starts_with(flag + "=");
    if (*word != flag && !has_value) {
      ++word;
      continue;
    }
    if (!path.empty()) throw UsageError("{} is given twice: name one file", flag);
    if (!has_value && word + 1 == arguments.end()) throw UsageError("{} needs a file", flag);
    path = has_value ? word->substr(flag.size() + 1) : *(word + 1);
    if (path.empty()) throw UsageError("{} needs a file", flag);
    word = arguments.erase(word, word + (has_value ? 1 : 2));
  }
  return path;
}

// `flag` names the file in messages.
std::vector<TomlItem> read_items(const std::string& path, const char* flag) {
  const auto refuse = [&](const std::string& fault) { throw UsageError("{} {}: {}", flag, path, fault); };
  return parse_config(text_of_file(path, refuse), path, flag);
}

// "FILE, line 3".
std::string place_of(const TomlItem& item, const std::string& file) {
  return fmt::format("{}, line {}", file, item.line);
}

// The arguments, with the items of a file put in front of their options. An option that is given on the command line
// as well keeps the value that it has there. `places` gets where those stand that were taken from the file.
Arguments with_items(const CommandEntry& root, Arguments arguments, const std::vector<TomlItem>& items,
                     const std::string& file, std::map<std::string, std::string>* places = nullptr) {
  const NamedCommand named = named_command(root, arguments);
  Arguments from_file;
  std::map<const Option*, std::size_t> lines;  // of the options that the file has set so far
  for (const TomlItem& item : items) {
    if (named_command(root, item.section).names != item.section) {
      throw UsageError("{}: [{}] is not a command", place_of(item, file), fmt::join(item.section, "."));
    }
    // Advice for parties of a fit over a network: what differs from parties under a launcher.
    const bool is_of_fit = named.command->role != PartyRole::kNone && item.section == Arguments{"fit"};
    if (!item.section.empty() && item.section != named.names && !is_of_fit) continue;
    const std::string place = place_of(item, file);
    const Option& option = option_of(named.command->options, named.command->name, item, place);
    if (option.is_named(kCommon)) {
      throw UsageError("{}: '{}' cannot be set in a file; give it on the command line", place, item.key);
    }
    const auto [earlier, is_first] = lines.emplace(&option, item.line);
    if (!is_first) {
      throw UsageError("{}: '{}' is set in line {} already; keep one of the two", place, item.key, earlier->second);
    }
    const auto given = arguments_of(option, item, place);
    if (!given || is_given(arguments, option)) continue;
    from_file.push_back(fmt::format("--{}", option.long_name()));
    if (places != nullptr) places->emplace(from_file.back(), place);
    from_file.insert(from_file.end(), given->begin(), given->end());
  }
  arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(named.names.size()), from_file.begin(),
                   from_file.end());
  return arguments;
}

// Throws where the item is no option that a party may set for itself. All others must be the same for all parties, and
// so belong to the common options.
void require_own_item(const CommandEntry& command, const TomlItem& item, const std::string& file, bool is_coordinator) {
  const std::string place = place_of(item, file);
  const OptionTable& options = command.options;
  const SetBy set_by = option_of(options, command.name, item, place).set_by;
  if (set_by == SetBy::kParty || (is_coordinator && set_by == SetBy::kCoordinator)) return;
  if (set_by == SetBy::kCoordinator) {
    throw BadInput("{}: '{}' is an option of the coordinator alone{}; remove it", place, item.key,
                   command.role == PartyRole::kNone ? ", rank 0" : "");
  }
  std::vector<std::string_view> own;
  for (const Option& option : options.options()) {
    if (option.set_by == SetBy::kParty) own.push_back(option.long_name());
  }
  throw BadInput(
      "{}: '{}' must be the same for all parties; set it on the command line or in --config. This file of "
      "one silo may set {}",
      place, item.key, fmt::join(own, ", "));
}

// A file says whose it is by {rank} in its name, or by `silo = 3`, which is taken out of the items: one file for
// several silos would count its rows several times.
void require_owner(std::vector<TomlItem>& items, const std::string& pattern, const std::string& file,
                   std::size_t rank) {
  const auto names_its_silo = std::find_if(
      items.begin(), items.end(), [](const TomlItem& item) { return item.section.empty() && item.key == "silo"; });
  if (names_its_silo == items.end()) {
    if (has_rank(pattern)) return;
    throw BadInput("{}: does not name its silo; put {{rank}} into its file name, or add the line 'silo = {}'", file,
                   rank);
  }
  const std::string owner = names_its_silo->values.empty() ? "" : names_its_silo->values.front();
  if (owner != std::to_string(rank)) {
    throw BadInput("{}: belongs to silo {}, but this is rank {}", file, owner, rank);
  }
  items.erase(names_its_silo);
}

// Takes the items of [consent] out of those of a party's own file; none where it has no such table.
std::optional<SiloConsent> take_consent(std::vector<TomlItem>& items, const std::string& file, bool is_coordinator) {
  const auto of_consent = std::stable_partition(items.begin(), items.end(), [](const TomlItem& item) {
    return item.section.empty() || item.section.front() != kConsentTable;
  });
  if (of_consent == items.end()) return std::nullopt;
  if (is_coordinator) {
    throw BadInput("{}: [{}] is for silos, but this is the coordinator; remove it", place_of(*of_consent, file),
                   kConsentTable);
  }
  const SiloConsent consent = consent_of(std::span(of_consent, items.end()), file);
  items.erase(of_consent, items.end());
  return consent;
}

// A party over a network is who its identity says: its files have no rank.
void require_no_rank(const std::vector<TomlItem>& items, const std::string& file) {
  const auto silo = std::ranges::find(items, "silo", &TomlItem::key);
  if (silo == items.end()) return;
  throw BadInput(
      "{}: 'silo' is the rank of a party under mpirun; over a network --identity names the party, so "
      "remove this line",
      place_of(*silo, file));
}

// Options of that command in the own file of a party, which has no rank over a network. Its consent goes to
// `configured`. Mistakes are thrown as BadInput: only the file's owner can report and mend them.
std::vector<TomlItem> read_own_file(const CommandEntry& root, const CommandEntry& command, const std::string& pattern,
                                    std::optional<std::size_t> party, ConfiguredArguments& configured) {
  const std::string file = fmt::format("{} {}", kOwn, configured.own_file);
  const bool is_coordinator = party ? *party == 0 : command.role == PartyRole::kCoordinator;
  std::vector<TomlItem> items;
  try {
    items = read_items(configured.own_file, kOwn);
    party ? require_owner(items, pattern, file, *party) : require_no_rank(items, file);
    configured.consent = take_consent(items, file, is_coordinator);
    with_items(root, {command.name}, items, file);  // only to be checked
  } catch (const UsageError& error) {
    throw BadInput(error.what());
  }
  for (const TomlItem& item : items) {
    if (item.section.empty() || item.section == Arguments{"fit"} || item.section == Arguments{command.name})
      require_own_item(command, item, file, is_coordinator);
  }
  return items;
}

// The command that parties among silos are started with: the one that is named, or `fit`.
const CommandEntry& command_of_parties(const CommandEntry& root, const Arguments& arguments) {
  const CommandEntry& named = *named_command(root, arguments).command;
  return named.options.find("--secure-aggregation") != nullptr ? named : *root.command("fit");
}

// How many of the two options that name a party's rows are given.
std::ptrdiff_t rows_given(const CommandEntry& command, const Arguments& arguments) {
  return std::ranges::count_if(command.options.options(), [&](const Option& option) {
    return option.names_own_rows && is_given(arguments, option);
  });
}

// Adds what the own file of that party says, where `common` and the command line name one.
void add_own_file(const CommandEntry& root, ConfiguredArguments& configured, const std::vector<TomlItem>& common,
                  std::optional<std::size_t> party) {
  Arguments& arguments = configured.arguments;
  const bool is_over_network = !party;
  const CommandEntry& command =
      is_over_network ? *named_command(root, arguments).command : command_of_parties(root, arguments);
  Arguments all = with_items(root, arguments, common, fmt::format("{} {}", kCommon, configured.common_file));
  const std::string pattern = take_path(all, kOwn);
  configured.own_file = is_over_network ? pattern : with_rank(pattern, *party);
  if (configured.own_file.empty()) return;
  const Option& ledger = *command.options.find(kLedger);
  const bool are_rows_given_to_all = rows_given(command, arguments) > 0;
  const bool is_ledger_given_to_all = is_given(arguments, ledger);
  const std::vector<TomlItem> own = read_own_file(root, command, pattern, party, configured);
  arguments =
      with_items(root, std::move(arguments), own, fmt::format("{} {}", kOwn, configured.own_file), &configured.places);
  configured.rows_are_own = !are_rows_given_to_all && rows_given(command, arguments) == kOptionsOfRows;
  configured.ledger_is_own = !is_ledger_given_to_all && is_given(arguments, ledger);
}

}  // namespace

void declare_consent(OptionTable& table, SiloConsent& consent) {
  table.files("methods", consent.methods, "allowed actions: training methods, evaluate, release").typed("NAME");
  table.files("models", consent.models, "models that may be evaluated: SHA-256 of each file").typed("DIGEST");
  table.count("least-silos", consent.least_silos, "k, silos of the run");
  table.count("least-threshold", consent.least_threshold, "t, silos that must stay to the end");
  table.count("least-colluding", consent.least_colluding, "c, silos that may collude with the coordinator");
  table.count("most-colluding", consent.most_colluding, "c: the noise grows with c");
  table.choice("adjacency", consent.adjacency, "relation of neighboring data sets");
  table.choice("unit", consent.unit, "unit that is protected: a row or a person");
  table.count("rows-per-person", consent.rows_per_person, "B, rows that a person counts for: exactly this number");
  table.count("least-silos-per-person", consent.least_silos_per_person, "s, silos that may have rows of one person");
  table.number("most-clip-norm", consent.most_clip_norm, "C").positive();
  table.add({.names = "losses",
             .help = "losses that training rounds may use",
             .type = "softmax|sigmoid|square",
             .values = OptionValues::kMany,
             .read = [&consent](const std::vector<std::string>& names) {
               consent.losses.clear();
               for (const std::string& name : names) consent.losses.push_back(read_choice<Loss>("losses", name));
             }});
  table.count("most-rounds", consent.most_rounds, "rounds of one release");
  table.choice("noise", consent.noise, "distributed: central noise is refused; central: either is allowed");
  table.number("most-mu", consent.most_mu, "mu of one run, in Gaussian DP").positive();
  table.number("most-mu-in-all", consent.most_mu_in_all, "mu of all runs on the silo's ledger, including this one")
      .positive();
  table.text("least-version", consent.least_version, "version of dpreduce at every party");
}

SiloConsent consent_of(std::span<const TomlItem> items, const std::string& file) {
  SiloConsent consent;
  OptionTable table;
  declare_consent(table, consent);
  const std::string name = fmt::format("[{}]", kConsentTable);
  for (const TomlItem& item : items) {
    const std::string place = place_of(item, file);
    if (item.section.size() > 1) {
      throw UsageError("{}: {} has no table '{}'", place, name, item.section[1]);
    }
    Option& option = *table.find(option_of(table, name, item, place).long_name());
    if (option.is_given()) throw UsageError("{}: '{}' appears twice", place, item.key);
    option.given = arguments_of(option, item, place).value();
    if (option.given.empty()) throw UsageError("{}: '{}' is an empty list", place, item.key);
    try {
      option.read(option.given);
      table.check_ranges();
      require_texts(consent);
    } catch (const UsageError& error) {
      throw UsageError("{}: {}", place, error.what());
    }
  }
  return consent;
}

bool is_given(const std::vector<std::string>& arguments, const Option& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    return name.starts_with("--") && option.is_named(name);
  });
}

std::size_t party_of_own_file(const CommandEntry& root, std::vector<std::string> arguments) {
  arguments = with_config_files(root, std::move(arguments)).arguments;
  const std::string path = take_path(arguments, kOwn);
  if (path.empty()) throw UsageError("--dry-run of a silo: name its own file with --silo-config");
  for (const TomlItem& item : read_items(path, kOwn)) {
    if (!item.section.empty() || item.key != "silo" || item.values.size() != 1) continue;
    return read_count("silo", item.values.front(), std::numeric_limits<int>::max());
  }
  throw UsageError("{} {}: does not name its silo; add a line such as 'silo = 1'", kOwn, path);
}

std::vector<TomlItem> parse_config(const std::string& text, const std::string& path, const char* flag) {
  try {
    return toml_items(text);
  } catch (const TomlError& error) {
    throw UsageError("{} {}, line {}: {}", flag, path, error.line(), error.what());
  }
}

ConfiguredArguments with_config_files(const CommandEntry& root, std::vector<std::string> arguments,
                                      std::optional<std::size_t> party) {
  const bool is_over_network = named_command(root, arguments).command->role != PartyRole::kNone;
  ConfiguredArguments configured{.arguments = {}, .common_file = take_path(arguments, kCommon), .own_file = {}};
  const std::string& path = configured.common_file;
  if (const CommandEntry& behind = *named_command(root, arguments).command;
      !is_over_network && behind.role != PartyRole::kNone) {
    throw UsageError("--config {0}: is before {1}; write dpreduce {1} --config {0}", path, behind.name);
  }
  if (!is_over_network && has_rank(path)) {
    throw UsageError("--config {}: must be the same file for all ranks; put a silo's own options into --silo-config",
                     path);
  }
  std::vector<TomlItem> common;
  if (!path.empty()) common = read_items(path, kCommon);
  configured.arguments = std::move(arguments);
  if (is_over_network) party.reset();
  if (is_over_network || party) add_own_file(root, configured, common, party);
  configured.arguments = with_items(root, std::move(configured.arguments), common, fmt::format("{} {}", kCommon, path),
                                    &configured.places);
  if (is_over_network) {
    configured.rows_are_own = configured.ledger_is_own = true;
  } else if (party && *party == 0) {
    configured.rows_are_own |= rows_given(command_of_parties(root, configured.arguments), configured.arguments) == 0;
  }
  return configured;
}

}  // namespace dpreduce
