#include "common/base/option_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "common/base/error.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

std::string_view without_dashes(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  return name;
}

}  // namespace

bool Option::is_named(std::string_view name) const {
  name = without_dashes(name);
  std::string_view rest = names;
  while (true) {
    const std::size_t comma = rest.find(',');
    if (without_dashes(rest.substr(0, comma)) == name) return true;
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 1);
  }
}

Option& Option::from(double least, double most, std::string meaning) {
  const std::string words =
      std::isinf(most) ? fmt::format("at least {}", least) : fmt::format("from {} to {}", least, most);
  help += fmt::format(" ({})", words);
  range = {"be " + words, least, most, true, std::move(meaning)};
  return *this;
}

std::string_view Option::long_name() const {
  return without_dashes(std::string_view(names).substr(0, names.find(',')));
}

double read_number(std::string_view option, const std::string& text) {
  const std::optional<double> number = number_of(text);
  if (!number) throw UsageError("{} {}: must be a number", option, text);
  return *number;
}

std::uint64_t read_count(std::string_view option, const std::string& text, std::uint64_t largest) {
  if (text.starts_with('-')) throw UsageError("{} {}: must not be negative", option, text);
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  bool is_large = error == std::errc::result_out_of_range;
  if (stop != end || error == std::errc::invalid_argument) {
    const std::optional<double> number =
        text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0 ? std::nullopt : number_of(text);
    if (!number || std::floor(*number) != *number) {
      throw UsageError("{} {}: must be a whole number", option, text);
    }
    is_large = *number >= kTwoTo64;
    if (!is_large) count = static_cast<std::uint64_t>(*number);
  }
  if (is_large || count > largest) throw UsageError("{} {}: must be at most {}", option, text, largest);
  return count;
}

void refuse_choice(std::string_view option, const std::string& text, const std::string& all) {
  throw UsageError("{} {}: must be one of {}{}", option, text, all, did_you_mean(text, parts_of(all, '|')));
}

std::vector<std::string> OptionTable::long_names() const {
  std::vector<std::string> names;
  for (const Option& option : options_) names.emplace_back(option.long_name());
  return names;
}

Option& OptionTable::add(Option option) {
  if (option.group.empty()) option.group = group_;
  options_.push_back(std::move(option));
  return options_.back();
}

Option& OptionTable::flag(const std::string& names, bool& value, const std::string& help, Option marked) {
  marked.names = names;
  marked.help = help;
  marked.values = OptionValues::kNone;
  marked.read = [&value](const std::vector<std::string>&) { value = true; };
  return add_of(value, std::move(marked));
}

Option& OptionTable::optional_text(const std::string& names, std::optional<std::string>& value, std::string help) {
  return add({.names = names,
              .help = std::move(help),
              .type = "TEXT",
              .values = OptionValues::kOptional,
              .read = [&value](const std::vector<std::string>& arguments) { value = arguments.back(); }})
      .shown_as([&value] { return value ? "given " + *value : std::string(); });
}

Option& OptionTable::files(const std::string& names, std::vector<std::string>& values, const std::string& help,
                           Option marked) {
  marked.names = names;
  marked.help = help;
  marked.type = "FILE";
  marked.values = OptionValues::kMany;
  marked.read = [&values](const std::vector<std::string>& arguments) { values = arguments; };
  return add_of(values, std::move(marked));
}

Option& OptionTable::number_or_auto(const std::string& names, std::optional<double>& value, const std::string& help) {
  const auto read = [names](const std::string& given) {
    const std::optional<double> number = number_of(given);
    if (!number && given != "auto") throw UsageError("{} {}: must be a number or auto", names, given);
    return number;
  };
  return word(names, value, help, "NUMBER|auto", read).defaults_to("auto");
}

Option& OptionTable::numbers(const std::string& names, std::vector<double>& values, std::string help) {
  const auto read = [&values, names](const std::vector<std::string>& arguments) {
    values.clear();
    for (const std::string& argument : arguments) values.push_back(read_number(names, argument));
  };
  return add_of(values, {.names = names,
                         .help = std::move(help),
                         .type = "NUMBER,...",
                         .usual = values.empty() ? std::string() : fmt::format("{}", fmt::join(values, ",")),
                         .values = OptionValues::kMany,
                         .delimiter = ',',
                         .read = read});
}

bool OptionTable::holds(std::string_view side) const {
  constexpr std::string_view kOr = " or ";
  if (const std::size_t end = side.find(kOr); end != std::string_view::npos) {
    return holds(side.substr(0, end)) || holds(side.substr(end + kOr.size()));
  }
  const std::size_t space = std::min(side.find(' '), side.size());
  const Option* const option = find(side.substr(0, space));
  if (option == nullptr) throw std::logic_error(fmt::format("dpreduce: internal error: no option is '{}'", side));
  if (space == side.size()) return option->is_set();
  const std::string word = option->word();
  const std::string_view words = side.substr(space + 1);
  if (words == "twice") return option->given.size() > 1;
  if (words == "{rank}") return has_rank(word);
  constexpr std::string_view kAbove = "above ";
  if (words.starts_with(kAbove)) {
    const double least = *number_of(std::string(words.substr(kAbove.size())));
    return number_of(word).value_or(least) > least;
  }
  std::string own = fmt::format(" {} ", word);
  std::ranges::replace(own, ',', ' ');
  return std::ranges::any_of(parts_of(words, '|'), [&](const std::string& one) {
    return own.find(fmt::format(" {} ", one)) != std::string::npos;
  });
}

std::string OptionTable::text_of(const OptionRule& rule) const {
  const auto shown = [&](const std::string& side) {
    const std::size_t space = side.find(' ');
    if (side.find('|') == std::string::npos) return side;
    if (holds(side)) return fmt::format("{} {}", side.substr(0, space), find(side.substr(0, space))->word());
    return fmt::format("{}", fmt::join(parts_of(side, '|'), " or "));
  };
  const bool excludes = rule.kind == OptionRule::Kind::kExcludes;
  const std::string where =
      rule.where.empty() ? "" : fmt::format(" {} {}", excludes ? "and" : "with", shown(rule.where));
  return fmt::format("{}{} {} {}", shown(rule.first), where, excludes ? "with" : "goes with", shown(rule.second));
}

void OptionTable::settle() const {
  for (const auto& follow : when_read_) follow(*this);
  check_ranges();
  check_rules();
}

void OptionTable::check_ranges() const {
  for (const Option& option : options_) {
    if (option.range.must.empty()) continue;
    for (const std::string& word : parts_of(option.now(), ' ')) {
      const std::optional<double> number = number_of(word);
      if (!number || option.range.has(*number)) continue;
      const std::string_view name = std::string_view(option.names).substr(0, option.names.find(','));
      throw UsageError("{} {}: {}must {}", name, word, option.range.meaning, option.range.must);
    }
  }
}

void OptionTable::check_rules() const {
  for (const OptionRule& rule : rules_) {
    const auto is_so = [&](const std::string& side) {
      const Option* const option = rule.counts_given ? find(side) : nullptr;
      return (option != nullptr && option->is_given()) || holds(side);
    };
    const bool has_first = is_so(rule.first);
    const bool has_second = is_so(rule.second);
    const bool is_kept = rule.kind == OptionRule::Kind::kTogether
                             ? has_first == has_second
                             : !has_first || has_second == (rule.kind == OptionRule::Kind::kNeeds);
    if (is_kept || !(rule.where.empty() || holds(rule.where)) || (!rule.unless.empty() && holds(rule.unless))) continue;
    if (rule.kind == OptionRule::Kind::kTogether) {
      throw UsageError("{} and {} go together: {} is missing", rule.first, rule.second,
                       has_first ? rule.second : rule.first);
    }
    throw UsageError(text_of(rule) + (rule.reason.empty() ? "" : ": " + rule.reason));
  }
}

void OptionTable::put_first(std::string_view name, std::string line) {
  Option* const option = find(name);
  if (option == nullptr) throw std::logic_error(fmt::format("dpreduce: internal error: there is no option {}", name));
  option->first_help = std::move(line);
}

bool OptionTable::has_first() const {
  return std::any_of(options_.begin(), options_.end(), [](const Option& option) { return option.is_first(); });
}

const Option* OptionTable::find(std::string_view name) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const Option& option) { return option.is_named(name); });
  return found == options_.end() ? nullptr : &*found;
}

Option* OptionTable::find(std::string_view name) {
  return const_cast<Option*>(static_cast<const OptionTable&>(*this).find(name));
}

void declare_format(OptionTable& table, OutputFormat& format) {
  table.choice("--format", format, "what standard output gets").of_command_alone(SetBy::kCommandLine);
}

namespace {

constexpr std::size_t kMostClasses = std::size_t{1} << 20;

}  // namespace

void require_option_between(const char* option, double value, double smallest, double largest) {
  if (!(value >= smallest && value <= largest)) {
    throw UsageError("{} {}: must be from {} to {}", option, value, smallest, largest);
  }
}

void require_classes(std::size_t classes) {
  if (classes < 2 || classes > kMostClasses) {
    throw UsageError("--classes {}: must be from 2 to {}{}", classes, kMostClasses,
                     classes == 0 ? "; give the number of classes, or their names" : "");
  }
}

bool is_same_file(const std::filesystem::path& first, const std::filesystem::path& second) {
  std::error_code error;
  if (std::filesystem::is_character_file(first, error)) return false;
  const auto plain = [&](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return plain(first) == plain(second) || std::filesystem::equivalent(first, second, error);
}

}  // namespace dpreduce
