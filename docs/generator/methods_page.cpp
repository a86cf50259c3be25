#include <fmt/format.h>

#include "docs/generator/pages.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr const char* kBegin =
    R"(An option that is not in the first table goes with every method that does not refuse it. A number after an option is the
method's own default.

| method | what it does | options of its own |
|---|---|---|
)";

std::string row_of(const MethodEntry& method) {
  std::string takes;
  for (const TakenOption& taken : method.takes) {
    takes += fmt::format("{}`{}`{}", takes.empty() ? "" : ", ", taken.option,
                         taken.usual.empty() ? "" : fmt::format(" {}", taken.usual));
  }
  return fmt::format("| `{}` | {} | {} |\n", method.name, table_cell(std::string(method.help)), table_cell(takes));
}

std::string refusals() {
  std::string text;
  for (const MethodEntry* method : all_methods()) {
    for (const RefusedOption& refused : method->refuses) {
      text +=
          fmt::format("| `{}` | `{}` | {} |\n", method->name, refused.option, table_cell(std::string(refused.reason)));
    }
  }
  return text;
}

std::string kind(const char* property, bool (*holds)(const MethodEntry&)) {
  std::string names;
  for (const MethodEntry* method : all_methods()) {
    if (holds(*method)) names += fmt::format("{}`{}`", names.empty() ? "" : ", ", method->name);
  }
  return fmt::format("| {} | {} |\n", property, names);
}

std::string kinds() {
  return kind("Its scores are log probabilities, which `--objective balanced` may adjust.",
              [](const MethodEntry& method) { return method.scores_are_adjustable; }) +
         kind("It multiplies rows by a square matrix.", [](const MethodEntry& method) { return method.whitens_rows; }) +
         kind("It selects features by its own release, at no charge.",
              [](const MethodEntry& method) { return method.selects_features; }) +
         kind("It releases only which public rows stand for a class, and is pure.",
              [](const MethodEntry& method) { return method.chooses_public_rows; }) +
         kind("It takes each rank for a silo.", [](const MethodEntry& method) { return method.each_rank_is_a_silo; });
}

}  // namespace

Page methods_page() {
  std::string text = kBegin;
  for (const MethodEntry* method : all_methods()) text += row_of(*method);
  text += "\n| method | refuses | because |\n|---|---|---|\n" + refusals();
  text += "\n| property | methods |\n|---|---|\n" + kinds();
  return {"reference/methods.md", text};
}

}  // namespace dpreduce
