#include "commands/consent_table.hpp"

#include <algorithm>
#include <vector>

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
  for (const MethodEntry* method : {&evaluate_method(), &release_method()}) names.emplace_back(method->name);
  if (std::ranges::find(names, name) != names.end()) return;
  throw UsageError("methods: '{}' is not a method{}; methods are {}", name, did_you_mean(name, names),
                   fmt::join(names, ", "));
}

void require_digest(const std::string& digest) {
  constexpr std::size_t kDigits = 64;
  if (digest.size() == kDigits && digest.find_first_not_of("0123456789abcdef") == std::string::npos) return;
  throw UsageError("models '{}': must be a SHA-256 of 64 lower-case hex digits, as sha256sum prints it", digest);
}

void require_version(const SiloConsent& consent) {
  if (consent.least_version.empty() || version_numbers(consent.least_version)) return;
  throw UsageError("least-version '{}': must be a version, as in 1.2.0", consent.least_version);
}

}  // namespace

void declare_consent(OptionTable& table, SiloConsent& consent) {
  const auto list = [&](const char* key, const char* help, const char* type, auto read) {
    table.add({.names = key, .help = help, .type = type, .values = OptionValues::kMany, .read = read});
  };
  list("methods", "allowed actions: training methods, evaluate, release", "NAME",
       [&consent](const std::vector<std::string>& names) {
         std::ranges::for_each(names, require_method);
         consent.methods = names;
       });
  list("models", "models that may be evaluated: SHA-256 of each file", "DIGEST",
       [&consent](const std::vector<std::string>& digests) {
         std::ranges::for_each(digests, require_digest);
         consent.models = digests;
       });
  table.count("least-silos", consent.least_silos, "k, silos of the run");
  table.count("least-threshold", consent.least_threshold, "t, silos that must stay to the end");
  table.count("least-colluding", consent.least_colluding, "c, silos that may collude with the coordinator");
  table.count("most-colluding", consent.most_colluding, "c: the noise grows with c");
  table.choice("adjacency", consent.adjacency, "relation of neighboring data sets");
  table.choice("unit", consent.unit, "unit that is protected: a row or a person");
  table.count("rows-per-person", consent.rows_per_person, "B, rows that a person counts for: exactly this number");
  table.count("least-silos-per-person", consent.least_silos_per_person, "s, silos that may have rows of one person");
  table.number("most-clip-norm", consent.most_clip_norm, "C").positive();
  list("losses", "losses that training rounds may use", "softmax|sigmoid|square",
       [&consent](const std::vector<std::string>& names) {
         consent.losses.clear();
         for (const std::string& name : names) consent.losses.push_back(read_choice<Loss>("losses", name));
       });
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
    const std::string place = fmt::format("{}, line {}", file, item.line);
    if (item.section.size() > 1) {
      throw UsageError("{}: {} has no table '{}'", place, name, item.section[1]);
    }
    Option& option = *table.find(option_of(table, name, item, place).long_name());
    if (option.is_given()) throw UsageError("{}: '{}' appears twice", place, item.key);
    option.given = arguments_of(option, item, place).arguments;
    if (option.given.empty()) throw UsageError("{}: '{}' is an empty list", place, item.key);
    try {
      option.read(option.given);
      table.check_ranges();
      require_version(consent);
    } catch (const UsageError& error) {
      throw UsageError("{}: {}", place, error.what());
    }
  }
  return consent;
}

}  // namespace dpreduce
