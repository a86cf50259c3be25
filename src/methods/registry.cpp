#include "methods/registry.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

using Entry = const MethodEntry&();

// One line a method, in the order in which help lists them.
#define DPREDUCE_METHODS(METHOD) \
  METHOD(auto_method)            \
  METHOD(mean_method)            \
  METHOD(public_method)          \
  METHOD(ls_method)              \
  METHOD(fc_method)              \
  METHOD(gd_method)              \
  METHOD(adam_method)            \
  METHOD(newton_method)          \
  METHOD(fisher_method)          \
  METHOD(prototypes_method)      \
  METHOD(coinpress_method)       \
  METHOD(global_adapt_method)    \
  METHOD(fedavg_method)

#define DPREDUCE_DECLARE(method) Entry method;
DPREDUCE_METHODS(DPREDUCE_DECLARE)
#undef DPREDUCE_DECLARE

namespace {

std::string listed(const std::vector<std::string_view>& names) {
  std::string all;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (n > 0) all += n + 1 == names.size() ? " or " : ", ";
    all += names[n];
  }
  return all;
}

}  // namespace

std::span<const MethodEntry* const> all_methods() {
#define DPREDUCE_ENTRY(method) &method(),
  static const std::array entries{DPREDUCE_METHODS(DPREDUCE_ENTRY)};
#undef DPREDUCE_ENTRY
  return entries;
}

bool MethodEntry::takes_option(std::string_view option) const {
  return std::any_of(takes.begin(), takes.end(), [&](const TakenOption& taken) { return taken.option == option; });
}

bool MethodEntry::refuses_option(std::string_view option) const {
  return std::any_of(refuses.begin(), refuses.end(),
                     [&](const RefusedOption& refused) { return refused.option == option; });
}

const MethodEntry* find_method(std::string_view name) {
  for (const MethodEntry* entry : all_methods()) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

const MethodEntry& method_entry(const MethodOptions& options) {
  const MethodEntry* entry = find_method(options.name);
  if (entry != nullptr) return *entry;
  throw UsageError(fmt::format("--method {}: must be one of {}", options.name, all_method_names()));
}

std::string all_method_names() {
  std::string all;
  for (const MethodEntry* entry : all_methods()) {
    if (!all.empty()) all += '|';
    all += entry->name;
  }
  return all;
}

std::string methods_that_take(std::string_view option) {
  std::vector<std::string_view> names;
  for (const MethodEntry* entry : all_methods()) {
    if (entry->takes_option(option)) names.push_back(entry->name);
  }
  return listed(names);
}

std::string methods_where(bool (*holds)(const MethodEntry& entry)) {
  std::vector<std::string_view> names;
  for (const MethodEntry* entry : all_methods()) {
    if (holds(*entry)) names.push_back(entry->name);
  }
  return listed(names);
}

}  // namespace dpreduce
