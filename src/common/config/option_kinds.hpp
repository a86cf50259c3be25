// The kinds of options that several commands have: choices, counts, files, budgets.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "dpreduce/config/options.hpp"

namespace dpreduce {

template <typename E>
std::string all_spellings() {
  std::string all;
  for (const auto& [spelling, value] : spellings<E>) {
    if (!all.empty()) all += '|';
    all += spelling;
  }
  return all;
}

template <typename E>
E required_choice(const std::string& names, const std::string& text) {
  const std::optional<E> chosen = choice_of<E>(text);
  if (!chosen) {
    throw CLI::ValidationError(fmt::format("{} {}: must be one of {}", names, text, all_spellings<E>()));
  }
  return *chosen;
}

// An option whose value is one of spellings<E>.
template <typename E>
CLI::Option* add_choice(CLI::App& app, const std::string& names, E& choice, const std::string& help) {
  return app
      .add_option_function<std::string>(
          names, [&choice, names](const std::string& text) { choice = required_choice<E>(names, text); }, help)
      ->type_name(all_spellings<E>())
      ->default_str(std::string(to_string(choice)));
}

// The same, where no word is a choice of its own.
template <typename E>
CLI::Option* add_optional_choice(CLI::App& app, const std::string& names, std::optional<E>& choice,
                                 const std::string& help) {
  return app
      .add_option_function<std::string>(
          names, [&choice, names](const std::string& text) { choice = required_choice<E>(names, text); }, help)
      ->type_name(all_spellings<E>());
}

// A number that counts something. strtoull would take -3 for 2^64 - 3.
template <typename Count>
CLI::Option* add_count(CLI::App& app, const std::string& name, Count& count, const std::string& help) {
  return app.add_option(name, count, help)->type_name("COUNT")->check([name](const std::string& text) {
    return text.starts_with('-') ? fmt::format("{} {}: must not be negative", name, text) : std::string();
  });
}

// A number, or the word auto for the program's own choice.
inline CLI::Option* add_number_or_auto(CLI::App& app, const std::string& name, std::optional<double>& number,
                                       const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&number, name](const std::string& text) {
            number.reset();
            double value = 0.0;
            if (text == "auto") return;
            if (!CLI::detail::lexical_cast(text, value)) {
              throw CLI::ValidationError(fmt::format("{} {}: must be a number or auto", name, text));
            }
            number = value;
          },
          help)
      ->type_name("NUMBER|auto")
      ->default_str("auto");
}

inline void add_format(CLI::App& app, OutputFormat& format) {
  add_choice(app, "--format", format, "what standard output gets");
}

inline CLI::Option* add_files(CLI::App& app, const std::string& names, std::vector<std::string>& files,
                              const std::string& help) {
  return app.add_option(names, files, help)->type_name("FILE");
}

inline void add_stated_budget(CLI::App& app, StatedBudget& budget) {
  app.add_option("--epsilon", budget.epsilon, "privacy budget, with --delta")->group("Privacy");
  app.add_option("--delta", budget.delta, "at most 1 / (10 n) for a public n of your data's size")->group("Privacy");
  app.add_option("--rho", budget.rho, "privacy budget in zCDP")->group("Privacy");
  app.add_option("--mu", budget.mu, "privacy budget in Gaussian DP")->group("Privacy");
}

inline void add_budget(CLI::App& app, BudgetOptions& budget) {
  add_stated_budget(app, budget);
  add_choice(app, "--accountant", budget.accountant,
             "what links epsilon and delta with the noise; gdp and pld are exact")
      ->group("Privacy");
}

// Options may also come from a file; read before parsing (with_config_file), declared for --help.
inline void add_config(CLI::App& app) {
  app.add_option_function<std::string>(
         "--config", [](const std::string&) {}, "TOML file with options of this command")
      ->type_name("FILE");
}

}  // namespace dpreduce
