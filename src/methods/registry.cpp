#include "methods/registry.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/base/option_table.hpp"

namespace dpreduce {

using Entry = const MethodEntry&();

#define METHOD(file) Entry file##_method;
#include "methods/all_methods.inc"
#undef METHOD

std::vector<TakenOption> with_options_of_rounds(std::vector<TakenOption> own) {
  for (const char* option :
       {"--loss", "--iterate", "--warm-start", "--warm-start-share", "--choose", "--choose-share"}) {
    own.push_back({option});
  }
  return own;
}

std::span<const MethodEntry* const> all_methods() {
#define METHOD(file) &file##_method(),
  static const std::array entries{
#include "methods/all_methods.inc"
  };
#undef METHOD
  return entries;
}

bool MethodEntry::takes_option(std::string_view option) const {
  return std::ranges::any_of(takes, [&](const TakenOption& taken) { return taken.option == option; });
}

bool MethodEntry::refuses_option(std::string_view option) const {
  return std::ranges::any_of(refuses, [&](const RefusedOption& refused) { return refused.option == option; });
}

const MethodEntry* find_method(std::string_view name) {
  for (const MethodEntry* entry : all_methods()) {
    if (entry->name == name) return entry;
  }
  for (const MethodEntry* entry : {&evaluate_method(), &release_method()}) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

bool whitens_by_public_rows(const FitOptions& options) {
  return method_entry(options.method).whitens_by_public_rows && !options.data.public_x.empty() &&
         !options.data.has_targets() && options.method.objective == Objective::kAccuracy;
}

const MethodEntry& method_entry(const MethodOptions& options) {
  const MethodEntry* entry = find_method(options.name);
  if (entry != nullptr) return *entry;
  refuse_choice("--method", options.name, all_method_names());
}

std::string all_method_names() {
  return fmt::format("{}", fmt::join(names_where([](const MethodEntry&) { return true; }), "|"));
}

std::vector<std::string_view> names_where(const std::function<bool(const MethodEntry& entry)>& holds) {
  std::vector<std::string_view> names;
  for (const MethodEntry* entry : all_methods()) {
    if (holds(*entry)) names.push_back(entry->name);
  }
  return names;
}

std::string methods_that_take(std::string_view option) {
  return methods_where([&](const MethodEntry& entry) { return entry.takes_option(option); });
}

std::string methods_where(const std::function<bool(const MethodEntry& entry)>& holds) {
  const std::vector<std::string_view> names = names_where(holds);
  std::string all;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (n > 0) all += n + 1 == names.size() ? " or " : ", ";
    all += names[n];
  }
  return all;
}

}  // namespace dpreduce
