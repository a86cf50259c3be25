#include "report/sweep_results.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

// The number that a run has under this name, and `none` where it has none.
double number_of(const nlohmann::json& run, const char* name, double none) {
  const auto number = run.find(name);
  return number != run.end() && number->is_number() ? number->get<double>() : none;
}

std::string csv_figure(const nlohmann::json& test, const char* name) {
  const double figure = number_of(test, name, std::nan(""));
  return std::isnan(figure) ? "" : fmt::format("{:.6f}", figure);
}

}  // namespace

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

std::string csv_of_sweep(const nlohmann::json& results) {
  std::string csv =
      "method,trained_by,epsilon,delta,imbalance_ratio,seed,accuracy,balanced_accuracy,minority_accuracy,seconds\n";
  for (const nlohmann::json& run : results["runs"]) {
    const nlohmann::json& test = run["test"];
    const nlohmann::json& epsilon = run["epsilon"];
    csv += fmt::format(
        "{},{},{},{},{},{},{},{},{},{:.3f}\n", run["method"].get<std::string>(), run["trained_by"].get<std::string>(),
        epsilon.is_null() ? "" : fmt::format("{}", epsilon.get<double>()),
        epsilon.is_null() ? "" : fmt::format("{}", results["delta"].get<double>()),
        run["imbalance_ratio"].get<double>(), run["seed"].get<std::uint64_t>(), csv_figure(test, "accuracy"),
        csv_figure(test, "balanced_accuracy"), csv_figure(test, "minority_accuracy"), run["seconds"].get<double>());
  }
  return csv;
}

void print_sweep(const nlohmann::json& results) {
  using Figures = std::pair<std::vector<double>, std::vector<double>>;  // balanced, and of the minority
  std::map<std::tuple<double, std::string, double>, Figures> groups;
  for (const nlohmann::json& run : results["runs"]) {
    auto& [balanced, minority] =
        groups[{run["imbalance_ratio"].get<double>(),
                method_text_of(run["method"].get<std::string>(), run["trained_by"].get<std::string>()),
                number_of(run, "epsilon", std::numeric_limits<double>::infinity())}];
    balanced.push_back(number_of(run["test"], "balanced_accuracy", 0.0));
    minority.push_back(number_of(run["test"], "minority_accuracy", std::nan("")));
  }
  fmt::print("imbalance  epsilon  balanced  minority  method (medians over {} seeds)\n",
             results["seeds"].get<std::uint64_t>());
  for (const auto& [key, figures] : groups) {
    const auto& [ratio, method, epsilon] = key;
    const double minority = median_of(figures.second);
    fmt::print("{:>9}  {:>7}  {:>8.3f}  {:>8}  {}\n", ratio, epsilon, median_of(figures.first),
               std::isnan(minority) ? "-" : fmt::format("{:.3f}", minority), method);
  }
}

}  // namespace dpreduce
