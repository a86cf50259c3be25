// The options of a command as data, and checks of their values that several commands share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/described_types.hpp"
#include "common/base/floating_point.hpp"
#include "common/base/standard_output.hpp"

namespace dpreduce {

// Options of a command as data: their names, their help texts, and how their arguments are read.
//
// Nothing here knows how a command line is parsed; the command line, configuration files and documents are made from
// the same table.

/// Number of arguments that follow the name of an option.
enum class OptionValues {
  kNone,
  kOptional,  ///< one, or none: then it is read as an empty word
  kOne,
  kMany
};

/// Parties that give an option in a run among silos, where each party is started by itself.
enum class SetBy {
  kAll,          ///< all parties, and alike: they compare it before anything is spent
  kAllOfFiles,   ///< all parties; one may have the files elsewhere, so that they compare only whether there are some
  kParty,        ///< each for itself, also in its own file (--silo-config)
  kCoordinator,  ///< the coordinator, also in its own file
  kCommandLine   ///< each for itself, in no file of its own
};

/// Range of an option that is a number.
struct OptionRange {
  std::string must = {};  ///< what it must, in words: "be from 1 to 10"; empty if all numbers are allowed
  double least = 0;
  double most = 0;
  bool has_ends = true;      ///< whether these two are allowed
  std::string meaning = {};  ///< what the number is, in the message; empty: nothing

  bool has(double number) const {
    return has_ends ? number >= least && number <= most : number > least && number < most;
  }
};

struct Option {
  std::string names = {};  ///< "--test-x,--x": the first is the usual one; one without dashes need not be written
  std::string help = {};
  std::string type = {};        ///< of a value, in help; empty: a flag
  std::string usual = {};       ///< default, in help; empty: help names none
  std::string group = {};       ///< heading in help; empty: the options of the command
  std::string first_help = {};  ///< one line; not empty: of the first options, which help shows before all others
  OptionValues values = OptionValues::kOne;
  bool is_required = false;
  bool hides_usual = false;              ///< help names no default, though there is one
  std::vector<std::string> writes = {};  ///< it names files that the command writes: with these endings
  char delimiter = '\0';                 ///< splits a word into values; 0: none does
  SetBy set_by = SetBy::kAll;
  bool names_own_rows = false;  ///< a party's: what it may leave out on the command line, and a coordinator has none of
  bool is_of_command_alone = false;  ///< a call from a program has something else in its place, or does without
  bool marks_party = false;          ///< only a party among silos has it; such a party takes no options from rank 0
  bool is_of_sweeps = false;         ///< of a fit, and of many fits that are compared on the same rows
  std::vector<std::string> replaces = {};  ///< required options that may be left out if this one is given
  std::string refused_over_network = {};   ///< not empty: parties over a network must not give it, for this reason

  /// Called with the arguments of its last occurrence (for many values: of all occurrences). Throws UsageError.
  std::function<void(const std::vector<std::string>&)> read = {};
  OptionRange range = {};
  /// Current value as a word; for several words, or for a flag, a text that is not empty. Empty if there is no value.
  /// If absent, an option has the value that was given.
  std::function<std::string()> now = {};
  std::string at_first = {};  ///< `now` when it was declared
  /// Not empty: the argument names a file, and `read` is called with what this returns for its path. Throws BadInput.
  std::function<std::vector<std::string>(const std::string& path)> list_in_file = {};

  /// The arguments that were given, once a command line is read; of a flag "true".
  std::vector<std::string> given = {};
  bool is_given() const { return !given.empty(); }
  bool is_first() const { return !first_help.empty(); }
  /// Current value, or the given arguments, separated by spaces.
  std::string word() const { return now ? now() : fmt::format("{}", fmt::join(given, " ")); }
  /// Returns whether the value differs from the one at declaration, whoever set it.
  bool is_set() const { return word() != at_first; }

  /// The usual name, without dashes.
  std::string_view long_name() const;
  /// Returns whether `name`, with or without its dashes, is one of the names.
  bool is_named(std::string_view name) const;

  Option& required() { return is_required = true, *this; }
  /// Names files that the command writes, with these endings added to the argument.
  Option& written(std::vector<std::string> endings = {""}) { return writes = std::move(endings), *this; }
  Option& in_group(std::string heading) { return group = std::move(heading), *this; }
  Option& typed(std::string word) { return type = std::move(word), *this; }
  Option& defaults_to(std::string word) { return usual = std::move(word), *this; }
  Option& without_default() { return hides_usual = true, defaults_to(""); }
  Option& split_at(char character) { return delimiter = character, *this; }
  Option& said(SetBy who) { return set_by = who, *this; }
  /// Allowed numbers; help prints them.
  Option& from(double least, double most, std::string meaning = {});
  Option& at_least(double least) { return from(least, kInfinity); }
  Option& finite() { return range = {"be a finite number", -kInfinity, kInfinity, false}, *this; }
  Option& positive() { return range = {"be a positive finite number", 0, kInfinity, false}, *this; }
  Option& share() { return range = {"lie between 0 and 1, both excluded", 0, 1, false}, *this; }
  Option& shown_as(std::function<std::string()> word) { return now = std::move(word), at_first = now(), *this; }
  Option& of_own_rows() { return names_own_rows = true, of_command_alone(SetBy::kParty); }
  Option& of_command_alone(SetBy who = SetBy::kAll) { return is_of_command_alone = true, said(who); }
  Option& of_parties() { return marks_party = true, *this; }
  Option& of_sweeps() { return is_of_sweeps = true, *this; }
  Option& replacing(std::vector<std::string> others) { return replaces = std::move(others), *this; }
  Option& not_over_network(std::string why) { return refused_over_network = std::move(why), *this; }
};

/// Relation between two options of a command. A side is an option that is set, "--pca"; an option with one of these
/// values, also in a list, "--loss sigmoid|square"; an option above a number, "--max-labels above 1"; with several
/// arguments, "--model twice"; with {rank} in its value, "--test-x {rank}"; or any of these, "--pca or --center dp".
struct OptionRule {
  enum class Kind { kNeeds, kExcludes, kTogether } kind;
  std::string first;
  std::string second;
  std::string reason = {};    ///< for the message, after a colon
  std::string where = {};     ///< only where this is so as well
  std::string unless = {};    ///< not where this is so
  bool counts_given = false;  ///< a side is also so if it is an option that was given with its default

  OptionRule& only_where(std::string said) { return where = std::move(said), *this; }
  OptionRule& but_not_where(std::string said) { return unless = std::move(said), *this; }
  OptionRule& if_given() { return counts_given = true, *this; }
};

/// Value of an option in words; empty if absent.
template <typename Value>
std::string option_word(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "";
  } else if constexpr (std::is_enum_v<Value>) {
    return std::string(to_string(value));
  } else if constexpr (requires { value.has_value(); }) {
    return value ? option_word(*value) : std::string();
  } else if constexpr (requires { fmt::join(value, " "); } && !std::is_convertible_v<Value, std::string_view>) {
    return fmt::format("{}", fmt::join(value, " "));
  } else {
    return fmt::format("{}", value);
  }
}

/// `text` as a number: decimal, or inf and nan, which ranges refuse. Throws UsageError naming the option.
double read_number(std::string_view option, const std::string& text);
/// `text` as a whole number from 0 to `largest`, also written as 1e3. Throws UsageError naming the option.
std::uint64_t read_count(std::string_view option, const std::string& text, std::uint64_t largest);

/// "a|b|c": all of spellings<E>.
template <typename E>
std::string all_spellings() {
  std::string all;
  for (const auto& [spelling, value] : spellings<E>) {
    if (!all.empty()) all += '|';
    all += spelling;
  }
  return all;
}

/// The choice of this spelling. Throws UsageError with option, text and all spellings.
[[noreturn]] void refuse_choice(std::string_view option, const std::string& text, const std::string& all);
template <typename E>
E read_choice(std::string_view option, const std::string& text) {
  const std::optional<E> chosen = choice_of<E>(text);
  if (!chosen) refuse_choice(option, text, all_spellings<E>());
  return *chosen;
}

/// Options in the order of help. Every function adds an option that writes into `value`, which outlives the table; the
/// default that help shows is the present value. Some take an option with marks, as Option().typed("DIR").required().
class OptionTable {
 public:
  Option& add(Option option);

  /// One goes with the other; one excludes the other; both or none of them. Check makes them good.
  OptionRule& needs(std::string first, std::string second, std::string reason = {}) {
    return rules_.emplace_back(
        OptionRule{OptionRule::Kind::kNeeds, std::move(first), std::move(second), std::move(reason)});
  }
  OptionRule& excludes(std::string first, std::string second, std::string reason) {
    return rules_.emplace_back(
        OptionRule{OptionRule::Kind::kExcludes, std::move(first), std::move(second), std::move(reason)});
  }
  OptionRule& together(std::string first, std::string second) {
    return rules_.emplace_back(OptionRule{OptionRule::Kind::kTogether, std::move(first), std::move(second)});
  }
  const std::deque<OptionRule>& rules() const { return rules_; }
  /// `follow` sets what follows from the options that are given; called once all are read.
  void when_read(std::function<void(const OptionTable&)> follow) { when_read_.push_back(std::move(follow)); }
  /// Sets, after all that is given is read, what follows from it, and checks ranges and rules.
  void settle() const;

  /// "--a and --where with --loss square": what a rule is about, in words; a side that is so, with the value that it
  /// has.
  std::string text_of(const OptionRule& rule) const;
  /// Returns whether a side of a rule holds. Precondition: the table has its option, else std::logic_error.
  bool holds(std::string_view side) const;
  /// Throws UsageError naming an option that is out of its range, and the range.
  void check_ranges() const;
  /// Throws UsageError naming both sides of a rule that is not kept, and why it is one.
  void check_rules() const;
  /// Sets the heading of all options added from here on, unless they set another; empty: no heading.
  void begin_group(std::string heading) { group_ = std::move(heading); }

  Option& flag(const std::string& names, bool& value, const std::string& help, Option marked = {});
  template <typename Text>
  Option& text(const std::string& names, Text& value, const std::string& help, Option marked = {}) {
    return word(
        names, value, help, "TEXT", [](const std::string& given) { return given; }, std::move(marked));
  }
  /// The path of a file.
  Option& file(const std::string& names, std::string& value, const std::string& help, Option marked = {}) {
    return text(names, value, help, std::move(marked)).typed("FILE");
  }
  /// A text that may be left out.
  Option& optional_text(const std::string& names, std::optional<std::string>& value, std::string help);
  Option& files(const std::string& names, std::vector<std::string>& values, const std::string& help,
                Option marked = {});

  template <typename Number>
  Option& number(const std::string& names, Number& value, const std::string& help, Option marked = {}) {
    const auto read = [names](const std::string& given) { return read_number(names, given); };
    return word(names, value, help, "NUMBER", read, std::move(marked));
  }

  /// A number, or the word auto for the program's own choice.
  Option& number_or_auto(const std::string& names, std::optional<double>& value, const std::string& help);

  /// A list of numbers, separated by commas.
  Option& numbers(const std::string& names, std::vector<double>& values, std::string help);

  /// A number that counts something.
  template <typename Count>
  Option& count(const std::string& names, Count& value, const std::string& help, Option marked = {}) {
    using Number = Plain<Count>;
    const auto read = [names](const std::string& given) {
      return static_cast<Number>(read_count(names, given, std::numeric_limits<Number>::max()));
    };
    return word(names, value, help, "COUNT", read, std::move(marked));
  }

  /// A value of an enumeration.
  template <typename Choice>
  Option& choice(const std::string& names, Choice& value, const std::string& help, Option marked = {}) {
    using E = Plain<Choice>;
    const auto read = [names](const std::string& given) { return read_choice<E>(names, given); };
    return word(names, value, help, all_spellings<E>(), read, std::move(marked));
  }

  /// Marks the option of this name as one of the most used, which help shows first, with this line. Precondition: the
  /// table has it, else std::logic_error.
  void put_first(std::string_view name, std::string line);
  /// Returns whether some options are marked as first ones.
  bool has_first() const;

  const std::deque<Option>& options() const { return options_; }
  std::deque<Option>& options() { return options_; }

  /// The names of all, without dashes.
  std::vector<std::string> long_names() const;

  /// Option of this name, which may have its dashes; null if absent.
  const Option* find(std::string_view name) const;
  Option* find(std::string_view name);

 private:
  // The type of the value that an optional may hold; of any other type itself.
  template <typename Value>
  using Plain = typename decltype(std::optional(std::declval<Value>()))::value_type;

  template <typename Value>
  Option& add_of(const Value& value, Option option) {
    return add(std::move(option)).shown_as([&value] { return option_word(value); });
  }

  // An option with one argument, which `read` makes a value of; an optional has no default that help shows.
  template <typename Value, typename Read>
  Option& word(const std::string& names, Value& value, const std::string& help, std::string type, Read read,
               Option option = {}) {
    option.names = names;
    option.help.insert(0, help);  // before the range, if it is marked with one
    if (option.type.empty()) option.type = std::move(type);
    if (std::is_same_v<Plain<Value>, Value> && !option.hides_usual) option.usual = option_word(value);
    option.read = [&value, read](const std::vector<std::string>& arguments) { value = read(arguments.back()); };
    return add_of(value, std::move(option));
  }

  std::deque<Option> options_;
  std::deque<OptionRule> rules_;
  std::vector<std::function<void(const OptionTable&)>> when_read_;
  std::string group_;  // of options that are added
};

/// --format.
void declare_format(OptionTable& table, OutputFormat& format);

// Checks that several commands share: each throws UsageError naming option, value and limit.

inline constexpr unsigned kMostThreads = 1024;
inline constexpr std::size_t kMostMemoryMib = std::size_t{1} << 20;
inline constexpr double kLargestImbalance = 1e6;

void require_option_between(const char* option, double value, double smallest, double largest);
void require_classes(std::size_t classes);

/// However the two are spelled, and whether they exist yet or not. A device may take several outputs.
bool is_same_file(const std::filesystem::path& first, const std::filesystem::path& second);

}  // namespace dpreduce
