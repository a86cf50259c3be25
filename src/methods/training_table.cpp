#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/named_classes.hpp"
#include "common/data/sharded_array.hpp"
#include "methods/fit_table.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr const char* kClasses = "--classes";
constexpr const char* kClassNames = "--class-names";
constexpr const char* kTargets = "--targets";
constexpr const char* kTargetRange = "--target-range";

// Numbers of LO,HI or of pairs; none of "private".
std::vector<double> ends_of_ranges(const char* option, const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front() == "private") return {};
  std::vector<double> ends;
  for (const std::string& word : words) ends.push_back(read_number(option, word));
  return ends;
}

// "0.02; METHOD 0.05": the usual share, and the methods that take another.
std::string center_shares() {
  std::string shares = fmt::format("{}", kCenterShare);
  for (const MethodEntry* method : all_methods()) {
    if (method->center_share != kCenterShare) shares += fmt::format("; {} {}", method->name, method->center_share);
  }
  return shares;
}

// A pair of each column, in words.
std::vector<std::string> read_ranges(const std::string& path) {
  ShardedArray file({path}, ArrayRole::kTargets);
  if (file.columns() != 2) {
    throw BadInput("--feature-ranges {}: has {} columns; give LO and HI, one row a column of features", path,
                   file.columns());
  }
  std::vector<std::int32_t> slots(file.rows() * file.columns() * kSlotsPerTarget);
  file.read_labels(0, file.rows(), 0, slots);
  std::vector<std::string> words;
  for (std::size_t place = 0; place < 2 * file.rows(); ++place) {
    words.push_back(fmt::format("{}", target_in(slots, place)));
  }
  return words;
}

void declare_feature_range(OptionTable& table, PreparationOptions& rows) {
  const auto read = [&rows](const std::vector<std::string>& words) {
    rows.finds_ranges = words.size() == 1 && words.front() == "none" ? FindRanges::kNever : FindRanges::kAlways;
    rows.feature_range.clear();
    if (rows.finds_ranges == FindRanges::kNever) return;
    rows.feature_range = ends_of_ranges("--feature-range", words);
    if (!rows.feature_range.empty()) rows.finds_ranges = FindRanges::kNever;
  };
  const auto now = [&rows]() -> std::string {
    if (!rows.feature_range.empty()) return "LO,HI";
    return rows.finds_some() ? std::string(to_string(*rows.finds_ranges)) : std::string();
  };
  table
      .add({.names = "--feature-range",
            .help = "LO,HI of all columns, public; or private: found from noised histograms of each column. Each "
                    "column is clipped to its range and scaled to [-1, 1] before row norms are computed; default: "
                    "none, or the method's default",
            .type = "LO,HI|private|none",
            .values = OptionValues::kMany,
            .delimiter = ',',
            .read = read})
      .shown_as(now);
  table
      .add({.names = "--feature-ranges",
            .help = "the same in a file of LO and HI, one row a column of features",
            .type = "FILE",
            .read = read,
            .list_in_file = read_ranges})
      .of_command_alone(SetBy::kAllOfFiles);
}

// Notes in `given` that the option was given, also where its value is the default.
void note_given(Option& option, std::initializer_list<bool*> given) {
  option.read = [read = std::move(option.read), given = std::vector(given)](const std::vector<std::string>& words) {
    read(words);
    for (bool* const one : given) *one = true;
  };
}

constexpr double kMostRounds = 100000;
constexpr double kSmallestBatch = 1e-9;  // the least that the accountants take
// Outside of these bounds one of the two Gram matrices would get next to nothing of the budget.
constexpr double kLargestAlpha = 1e6;
constexpr double kSmallestAlpha = 1e-6;

// Notes, for the options from the `first` on, which methods take them.
void name_takers(OptionTable& table, std::size_t first) {
  for (std::size_t own = first; own < table.options().size(); ++own) {
    Option& option = table.options()[own].in_group(kMethodGroup);
    option.help += fmt::format(" ({})", takers_with_defaults(option.names));
  }
}

void declare_options_of_sums(OptionTable& table, MethodOptions& options) {
  table.number("--expected-rows", options.expected_rows, "approximate number of training rows, if it is public",
               Option().from(1, kMostExpectedRows).typed("N"));
  table.number("--smallest-share", options.smallest_share,
               "approximate share of the smallest class among training rows, if it is public; default: 1 / K",
               Option().typed("S"));
  table.count("--top-k", options.top_k, "prototypes of a class, chosen among --public-x").at_least(1);
  table.number("--d-min", options.d_min, "lower bound, to which 1 + cos of two rows is clipped").from(0, 2);
  table.number("--d-max", options.d_max, "upper bound, to which 1 + cos of two rows is clipped").from(0, 2);
  table.flag("--shared-gram", options.shared_gram, "one Gram matrix for all classes");
  table.number_or_auto("--alpha", options.alpha, "weight of all rows relative to a class's own rows");
  table.number_or_auto("--lambda", options.lambda, "ridge in units of feature^2; auto: from the noise").positive();
  table
      .number("--gram-share", options.gram_share,
              "share of mu^2 for the Gram matrix; default with --targets 0.4, with rows whitened about --public-x 0.05")
      .share();
  table.number("--isotropy-share", options.isotropy_share,
               "share of mu^2 for a measure of how evenly rows spread over directions: if evenly, class means replace "
               "the rounds; default: not released",
               Option().share());
}

void declare_rounds(OptionTable& table, MethodOptions& options) {
  table
      .count("--rounds", options.rounds,
             "number of steps, each of which releases a sum with a share of mu^2; default on samples at most 400, with "
             "--targets 6")
      .from(1, kMostRounds);
  table.count("--local-steps", options.local_steps, "gradient steps of each silo (rank) on its own rows in a round")
      .from(1, kMostRounds);
  table.number(
      "--batch", options.batch,
      "a row enters a round by a secret coin of this probability (Poisson sampling); accounted by pld, or rdp; "
      "1, the default: all rows",
      Option().from(kSmallestBatch, 1, "the probability of a row to enter a round ").typed("Q"));
  table.choice("--loss", options.loss,
               "loss that training minimizes; default: softmax, or sigmoid with --max-labels above 1");
  table.choice("--iterate", options.iterate,
               "returned weights: those of the last round, or the average of all rounds; default: last");
  table.number(
      "--learning-rate", options.learning_rate,
      "step length: factor of a summed gradient, or change of each entry of W; default: chosen from noised values",
      Option().positive());
  table.number("--radius", options.radius, "largest Frobenius norm of W; default: unbounded").positive();
  table.flag("--warm-start", options.warm_start,
             "release class means first; the rounds then fit the residuals of their predictions");
  table.number("--warm-start-share", options.warm_start_share, "share of mu^2 for those means; default: 0.2").share();
}

// Checks what is neither a range nor about two options alone.
void check_values(const FitOptions& options) {
  const MethodOptions& method = options.method;
  if (method.alpha && !(*method.alpha >= 0.0 && *method.alpha <= kLargestAlpha)) {
    throw UsageError("--alpha {}: must be from 0 to {}; beyond, use --shared-gram", *method.alpha, kLargestAlpha);
  }
  if (method.alpha && *method.alpha > 0.0 && *method.alpha < kSmallestAlpha) {
    throw UsageError("--alpha {}: must be 0 or at least {}", *method.alpha, kSmallestAlpha);
  }
  const double d_min = method.d_min.value_or(0.0);
  const double d_max = method.d_max.value_or(2.0);
  if (!(d_min < d_max)) {
    throw UsageError("--d-min {} and --d-max {}: the lower bound must be below the upper", d_min, d_max);
  }
  if (options.statistics.empty()) return;
  if (options.data.most_labels() > 1 &&
      std::ranges::find(options.statistics, StatisticKind::kClassSizes) != options.statistics.end()) {
    throw UsageError("--statistics class_sizes with --max-labels above 1: sizes are of classes of one class a row");
  }
  if (options.privacy.budget.non_private) {
    throw UsageError("--non-private: statistics without noise are exact sums of private rows, and are not kept");
  }
}

}  // namespace

void declare_persons(OptionTable& table, DataOptions& data, const std::string& name) {
  table.files(name, data.train.person,
              "identifier of the person of each row, an integer or a string; the guarantee is then for a person with "
              "any number of rows, instead of a row",
              Option().of_command_alone(SetBy::kParty));
  table.count("--rows-per-person", data.rows_per_person,
              "the number of rows that a person counts for, public: the sum of a person's rows is clipped to B rows, "
              "and statistics that cannot be clipped weight each of m rows by min(1, B / m); default: 1",
              Option().from(1, kMostRowsPerPerson).typed("B"));
}

void declare_training_rows(OptionTable& table, DataOptions& data) {
  table.files("--train-x", data.train.x,
              "features, .npy, .npz, .csv or file.h5:/dataset; globs; {rank} for a worker's own files",
              Option().required().of_own_rows().of_sweeps());
  table.files(
      "--train-y", data.train.y,
      "labels, one per row of the features: integers from 0 to K-1, or names with --class-names, or n x K zeros "
      "and ones with --max-labels",
      Option().required().of_own_rows().of_sweeps());
  declare_targets(table, data.train, kTargets, "--train-y",
                  "numbers to predict, instead of labels: n or n x m floats or integers")
      .of_own_rows()
      .replacing({"--train-y", kClasses});
  declare_persons(table, data, data.train.option("person"));
}

void declare_public_rows(OptionTable& table, DataOptions& data, const std::string& also) {
  table.files("--public-x", data.public_x,
              "public features, in the format of --train-x; used without noise, at no charge" + also,
              Option().of_command_alone(SetBy::kAllOfFiles).of_sweeps());
}

void declare_labels(OptionTable& table, DataOptions& data) {
  declare_classes(table, data.classes, data.train.class_names, "K: public knowledge, never taken from the data")
      .required();
  table.count("--max-labels", data.max_labels,
              "k: largest number of classes of a row, for labels of n x K zeros and ones; public, since the noise is "
              "sized for it");
  table.choice("--bad-rows", data.train.bad_rows,
               "rows with NaN, infinity or more than --max-labels labels: stop, or leave them out of all sums",
               Option().of_sweeps());
}

Option& declare_targets(OptionTable& table, RowFiles& rows, const char* name, const char* labels, const char* help) {
  table.find(labels)->shown_as([&rows] { return rows.has_targets ? std::string() : option_word(rows.y); });
  table.excludes(name, labels, "rows have numbers or classes; give one").if_given();
  return table
      .add({.names = name,
            .help = help,
            .type = "FILE",
            .values = OptionValues::kMany,
            .read =
                [&rows](const std::vector<std::string>& arguments) {
                  rows.y = arguments;
                  rows.has_targets = true;
                }})
      .shown_as([&rows] { return rows.has_targets ? "given" : ""; })
      .replacing({labels});
}

void declare_target_range(OptionTable& table, DataOptions& data) {
  table
      .add({.names = kTargetRange,
            .help = "LO,HI of all targets, or a pair for each, public: numbers outside are clipped to the range; "
                    "default: private, found from noised histograms",
            .type = "LO,HI|private",
            .values = OptionValues::kMany,
            .delimiter = ',',
            .read =
                [&data](const std::vector<std::string>& words) {
                  data.target_range = ends_of_ranges(kTargetRange, words);
                }})
      .shown_as([&data] { return option_word(data.target_range); })
      .replacing({kClasses});
}

Option& declare_classes(OptionTable& table, std::size_t& classes, std::vector<std::string>& names,
                        const std::string& help) {
  Option& counted = table.count(kClasses, classes, help).without_default().of_sweeps();
  table
      .add({.names = kClassNames,
            .help = "public list of classes, one name per line: sets --classes, and labels may be given by name",
            .type = "FILE",
            .read = [&names](const std::vector<std::string>& list) { names = list; },
            .list_in_file = [](const std::string& path) { return read_class_names(path); }})
      .shown_as([&names] { return option_word(names); })
      .of_command_alone(SetBy::kParty)
      .of_sweeps()
      .replacing({kClasses});
  return counted;
}

void declare_rows(OptionTable& table, PreparationOptions& rows) {
  table.begin_group(kMethodGroup);
  declare_feature_range(table, rows);
  note_given(table.choice("--normalize", rows.normalize, "scale every row to norm C, or only clip longer ones"),
             {&rows.sets_length});
  note_given(table.number("--clip", rows.clip_norm, "C: the clip norm").positive(),
             {&rows.sets_length, &rows.sets_clip});
  table.choice(
      "--center", rows.center,
      fmt::format(
          "center rows by a released mean, or by the mean of --public-x, then scale or clip again; moments ({}): by "
          "the mean in the method's own release, without scaling again; default: none, or the method's default",
          methods_that_take("--center moments")));
  table.number("--center-share", rows.center_share,
               fmt::format("share of mu^2 for the released mean, in two steps ({})", center_shares()),
               Option().share());
  table.count("--pca", rows.pca, "project rows on the first k principal components, those of --public-x if given")
      .without_default();
  table.number("--pca-share", rows.pca_share, "share of mu^2 for private components (0.1)").share();
  table.count("--select", rows.select, "keep the m features in which class means are farthest apart").without_default();
  table.choice("--select-by", rows.select_by,
               fmt::format("select by the distance of class means, or by this distance over the standard deviation (t: "
                           "{}); default: distance",
                           methods_that_take("--select-by t")));
  table.number("--select-share", rows.select_share,
               "share of mu^2 for the selection, unless the method selects from its own release (0.1)",
               Option().share());
  table.count("--pool", rows.pool, "average k consecutive features into one").at_least(1);
  table.begin_group("");
}

void check_method(const FitOptions& options, const OptionTable& table) {
  const MethodEntry& method = method_entry(options.method);
  if (!method.trains && options.evaluation.models.empty() && options.statistics.empty()) {
    refuse_choice("--method", options.method.name, all_method_names());
  }
  for (const RefusedOption& refused : method.refuses) {
    if (!table.holds(refused.option)) continue;
    throw UsageError("--method {} with {}: {}", method.name, refused.option, refused.reason);
  }
  for (const MethodEntry* other : all_methods()) {
    for (const TakenOption& taken : other->takes) {
      if (method.takes_option(taken.option) || !table.holds(taken.option)) continue;
      throw UsageError("{} goes with --method {}", taken.option, methods_that_take(taken.option));
    }
  }
  check_values(options);
}

std::string takers_with_defaults(std::string_view option) {
  std::vector<std::string> takers;
  for (const MethodEntry* entry : all_methods()) {
    for (const TakenOption& taken : entry->takes) {
      if (taken.option != option) continue;
      takers.push_back(fmt::format("{}{}{}", entry->name, taken.usual.empty() ? "" : " ", taken.usual));
    }
  }
  return fmt::format("{}", fmt::join(takers, ", "));
}

void declare_method(OptionTable& table, MethodOptions& options) {
  table
      .add({.names = "--method",
            .help = "training method",
            .type = all_method_names(),
            .usual = options.name,
            .read =
                [&options](const std::vector<std::string>& arguments) {
                  options.name = arguments.back();
                  method_entry(options);  // throws if there is none
                }})
      .shown_as([&options] { return options.name; })
      .in_group(kMethodGroup);
  const std::size_t first = table.options().size();
  table.choice("--objective", options.objective,
               "accuracy over rows, or balanced over classes: scores adjusted by noised class sizes, or prototypes of "
               "--public-x where noise would hide the smallest classes");
  table.choice("--metric", options.metric, "nearest direction, or nearest center");
  table.flag("--auto", options.adaptive, "the method makes this choice itself");
  declare_options_of_sums(table, options);
  declare_rounds(table, options);
  name_takers(table, first);
}

void declare_choice(OptionTable& table, MethodOptions& options) {
  const std::size_t first = table.options().size();
  table.flag("--choose", options.choose,
             "try several ridges, alphas or iterates of one release; keep the best on --validation-x, or a private "
             "choice by training rows, which is charged");
  table.number("--choose-share", options.choose_share, "share of mu^2 for a choice by training rows; default: 0.02")
      .share();
  name_takers(table, first);
}

}  // namespace dpreduce
