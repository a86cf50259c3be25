// Many fits on the same rows, one after the other: methods x budgets x imbalances x seeds, and a table at the end.
//
// An experiment: noise is seeded, so that none of its runs is private; ledgers go with the folder that they are in.
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "common/base/paths.hpp"
#include "common/base/version.hpp"
#include "common/ranks/lifetime.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

struct SweepOptions {
  std::shared_ptr<CommandEntry> fit = std::make_shared<CommandEntry>(fit_command());  // its options are read into it
  std::map<std::string, std::vector<std::string>> of_fit;  // what was given of options of fit
  std::vector<std::string> methods;  // each as it follows --method of fit, with options of its own
  std::vector<double> epsilons;
  bool non_private = false;  // and every method without noise, to compare with
  double delta = 1e-5;
  std::vector<double> ratios{1.0};  // of imbalance
  std::uint64_t seeds = 5;          // 1, ..., seeds, of noise and of long tails
  std::string out = "sweep";        // .csv and .json
  bool overwrite = false;           // replace what is there already
  bool quiet = false;               // no progress and no table
};

// All runs in the order in which they are made, by what they are about. Throws UsageError where one occurs twice.
nlohmann::json runs_of(const SweepOptions& sweep) {
  nlohmann::json budgets = sweep.epsilons;
  if (sweep.non_private) budgets.push_back(nullptr);
  nlohmann::json runs;
  std::set<nlohmann::json> different;
  for (const double ratio : sweep.ratios) {
    for (std::uint64_t seed = 1; seed <= sweep.seeds; ++seed) {
      for (const std::string& method : sweep.methods) {
        for (const nlohmann::json& epsilon : budgets) {
          if (epsilon.is_null() && seed > 1 && ratio == 1.0) continue;  // on all rows a seed decides noise alone
          runs.push_back({{"method", method}, {"epsilon", epsilon}, {"imbalance_ratio", ratio}, {"seed", seed}});
          if (different.insert(runs.back()).second) continue;
          throw UsageError("a run occurs twice: {}; name each method and number once", json_text(runs.back()));
        }
      }
    }
  }
  return runs;
}

bool uses_public_rows(const std::string& word) {
  const MethodEntry* method = find_method(word);
  return (method != nullptr && method->chooses_public_rows) || word == to_string(Centering::kPublic) ||
         word == to_string(Objective::kBalanced) || word == "--pca";
}

std::vector<std::string> split_at_spaces(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// The fit of a run: the words after `dpreduce` that would make it, parsed. Throws UsageError where options follow a
// method that a sweep has of its own: there they would count for nothing, or for all runs.
FitOptions fit_of(const SweepOptions& sweep, const nlohmann::json& run) {
  const std::string entry = run["method"];
  const std::vector<std::string> method = split_at_spaces(entry);
  if (method.empty()) throw UsageError("--methods: one of them is empty; name a method");
  CommandEntry fit = fit_command();
  for (const std::string& word : method) {
    const Option* option = fit.options.find(word.substr(0, word.find('=')));
    if (option == nullptr || option->group == kMethodGroup || option->is_named("accountant")) continue;
    throw UsageError("--methods '{}': {} is not about training, and may not follow a method", entry, word);
  }
  const std::string seed = json_text(run["seed"]);
  const std::string ratio = json_text(run["imbalance_ratio"]);
  std::string rest = fmt::format("--seed {} --method {}", seed, entry);
  if (run["imbalance_ratio"] != 1.0) rest += fmt::format(" --imbalance-ratio {} --imbalance-seed {}", ratio, seed);
  rest += run["epsilon"].is_null() ? " --non-private"
                                   : fmt::format(" --epsilon {} --delta {}", json_text(run["epsilon"]), sweep.delta);
  std::vector<std::string> words{"fit", "--quiet"};
  for (const auto& [name, values] : sweep.of_fit) {
    if (name == "--public-x" && std::ranges::none_of(method, uses_public_rows)) continue;
    words.push_back(name);
    words.insert(words.end(), values.begin(), values.end());
  }
  for (std::string& word : split_at_spaces(rest)) words.push_back(std::move(word));
  const RunnableCommand command =
      parse_command_line({.name = "dpreduce", .help = {}, .commands = {fit_command()}, .needs_command = true}, words);
  const FitCommand* const made = command.target<FitCommand>();
  if (made == nullptr) throw UsageError("--methods '{}': asks for help, not for a fit", entry);
  return made->options;
}

constexpr std::array kColumns{"method",   "trained_by",        "epsilon",           "delta",  "imbalance_ratio", "seed",
                              "accuracy", "balanced_accuracy", "minority_accuracy", "seconds"};

// The line of a run in the table; figures that there are not are left empty.
std::string line_of(const nlohmann::json& run, double delta) {
  nlohmann::json figures = run["test"];
  figures.update(run);
  if (!run["epsilon"].is_null()) figures["delta"] = delta;
  std::string line;
  for (const char* column : kColumns) {
    const nlohmann::json cell = figures.value(column, nlohmann::json(""));
    line += cell.is_string() ? cell.get<std::string>() : cell.is_null() ? "" : json_text(cell);
    line += column == kColumns.back() ? '\n' : ',';
  }
  return line;
}

// Makes the fit of `run`, whose files begin with `stem`, and adds its result to `run` and to the table, at the
// coordinator. Collective.
void make(FitOptions fit, const std::string& stem, double delta, nlohmann::json& run, std::string& csv,
          Communicator& ranks) {
  fit.output.out = stem + ".model";
  fit.output.report = stem + ".json";
  fit.privacy.ledger = stem + ".jsonl";
  const auto began = std::chrono::steady_clock::now();
  fit_and_write(fit, ranks);
  ranks.at_coordinator([&] {
    const nlohmann::json report = nlohmann::json::parse(std::ifstream(fit.output.report));
    run["trained_by"] = report["method"];
    run["test"] = report["test"];
    run["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    csv += line_of(run, delta);
  });
}

// The results, as OUT.json has them, at the coordinator. Collective.
nlohmann::json swept(const SweepOptions& sweep, Communicator& ranks) {
  const PrivateFolder own;
  const std::string folder = ranks.trusted().broadcast(own.path().string());
  const std::array outputs{NamedPath{"--out", sweep.out + ".csv"}, NamedPath{"--out", sweep.out + ".json"}};
  const bool is_told = ranks.is_coordinator() && !sweep.quiet;
  std::string csv = fmt::format("{}\n", fmt::join(kColumns, ","));
  nlohmann::json results;
  std::vector<FitOptions> fits;
  std::optional<AtomicFile> files[2];
  ranks.together([&] {
    results = {{"version", version()},       {"private", false},      {"methods", sweep.methods},
               {"epsilons", sweep.epsilons}, {"delta", sweep.delta},  {"imbalance_ratios", sweep.ratios},
               {"seeds", sweep.seeds},       {"runs", runs_of(sweep)}};
    for (const nlohmann::json& run : results["runs"]) fits.push_back(fit_of(sweep, run));
    for (const auto& [name, patterns] : sweep.of_fit) {
      if (!name.ends_with("-x") && !name.ends_with("-y")) continue;
      for (const std::string& path : expand_paths(patterns, static_cast<std::size_t>(ranks.rank()))) {
        require_not_read(outputs, split_array_path(path).file);
      }
    }
    if (!ranks.is_coordinator()) return;
    const Existing existing = sweep.overwrite ? Existing::kReplace : Existing::kKeep;
    for (std::size_t file = 0; file < outputs.size(); ++file) files[file].emplace(outputs[file].path, existing);
  });
  std::size_t told = 0;  // bytes of the table: the heading is printed with the first line
  for (std::size_t place = 0; place < fits.size(); ++place) {
    make(std::move(fits[place]), fmt::format("{}/{}", folder, place), sweep.delta, results["runs"][place], csv, ranks);
    if (is_told) fmt::print("{}", csv.substr(told));
    told = csv.size();
  }
  ranks.at_coordinator([&] {
    files[0]->write(csv);
    files[1]->write(json_text(results, 2) + "\n");
    for (auto& file : files) file->commit();
  });
  if (is_told) fmt::print("{} runs, none of them private: {}\n", fits.size(), outputs[1].path);
  return results;
}

SweepOptions asked_sweep(SweepOptions sweep, const ParsedCommand& parsed) {
  for (const Option& option : parsed.options.options()) {
    if (option.is_of_sweeps && option.is_given()) sweep.of_fit[fmt::format("--{}", option.long_name())] = option.given;
  }
  return sweep;
}

void declare(OptionTable& table, SweepOptions& options) {
  for (const Option& of_fit : options.fit->options.options()) {
    if (!of_fit.is_of_sweeps) continue;
    Option& option = table.add(of_fit).in_group("");
    option.first_help.clear();
    option.is_of_command_alone = false;  // Python gives files, of memory
  }
  for (const char* name : {"--test-x", "--test-y"}) table.find(name)->required();
  table.files("--methods", options.methods, "list of methods, each with its options, as after --method of fit")
      .typed("TEXT,...")
      .split_at(',')
      .required();
  table.numbers("--epsilons", options.epsilons, "budgets, each with --delta").positive().required();
  table.flag("--non-private", options.non_private, "also fit each method without noise, for comparison");
  table.number("--delta", options.delta, "delta of each budget; not used by pure methods");
  table.numbers("--imbalance", options.ratios, "ratios of long tails, as --imbalance-ratio of fit; 1: all rows")
      .from(1, kLargestImbalance);
  table.count("--seeds", options.seeds, "repetitions of each run, with seeds 1, 2, ... for noise and long tail")
      .from(1, 1e6);
  table.file("--out", options.out, "writes OUT.csv, one line a run, and OUT.json").written({".csv", ".json"});
  table.flag("--overwrite", options.overwrite, "replace existing files");
  table.flag("--quiet", options.quiet, "print no table; warnings and errors stay");
}

}  // namespace

CommandEntry sweep_command() {
  return command_reading<SweepOptions>(
      "sweep", "compare many fits on the same rows in one table: an experiment, not private", declare,
      [](const SweepOptions& options, const ParsedCommand& parsed) -> RunnableCommand {
        return [sweep = asked_sweep(options, parsed)](Communicator& ranks) { swept(sweep, ranks); };
      },
      "  dpreduce sweep --train-x x.npy --train-y y.npy --test-x tx.npy --test-y ty.npy --classes 10 --public-x p.npy "
      "\\\n    --methods 'mean --center public,public,auto' --epsilons 0.1,1,8 --imbalance 1,10,100 --seeds 3\n"
      "  mpirun -n 4 dpreduce sweep ... --methods 'ls --shared-gram --center dp,fc --center dp' --epsilons 1 --out two",
      {},
      [](const SweepOptions& options, const ParsedCommand& parsed) {
        require_single_process();
        SweepOptions sweep = asked_sweep(options, parsed);
        sweep.quiet = true;
        Communicator alone = Communicator::alone();
        return json_text(swept(sweep, alone));
      });
}

}  // namespace dpreduce
