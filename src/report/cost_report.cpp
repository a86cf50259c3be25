#include "report/cost_report.hpp"

#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace dpreduce {
namespace {

constexpr const char* kNote = "depends on the number of rows: for the data's owner alone, not for release";
constexpr double kMib = 1 << 20;

double multiply_adds_of(const PhaseWork& phase) {
  return phase.product_macs + phase.round_macs;
}

struct Totals {
  double multiply_adds = 0.0;
  double wire_bytes = 0.0;  // of a rank
};

Totals totals_of(const RunEstimate& cost) {
  Totals totals;
  for (const PhaseWork& phase : cost.phases) {
    totals.multiply_adds += multiply_adds_of(phase);
    if (cost.job.ranks > 1) totals.wire_bytes += 8.0 * (phase.words_up + phase.words_down);
  }
  return totals;
}

}  // namespace

double rounded_up(double value) {
  if (value == 0.0) return 0.0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1.0);
  return std::ceil(value / unit * (1.0 - 1e-12)) * unit;
}

nlohmann::json cost_json(const RunEstimate& cost) {
  const Totals totals = totals_of(cost);
  nlohmann::json phases = nlohmann::json::array();
  for (const PhaseWork& phase : cost.phases) {
    phases.push_back({{"name", phase.name}, {"multiply_adds", rounded_up(multiply_adds_of(phase))}});
  }
  nlohmann::json json{{"for_release", false},
                      {"note", kNote},
                      {"ranks", cost.job.ranks},
                      {"threads", cost.job.threads},
                      {"memory_bytes_per_rank", rounded_up(static_cast<double>(cost.memory_bytes))},
                      {"memory_bytes_available", nullptr},
                      {"wire_bytes_per_rank", totals.wire_bytes},
                      {"wire_bytes", totals.wire_bytes * (cost.job.ranks - 1)},
                      {"multiply_adds", rounded_up(totals.multiply_adds)},
                      {"phases", phases}};
  if (cost.available_bytes) json["memory_bytes_available"] = *cost.available_bytes;
  return json;
}

void print_cost(const RunEstimate& cost) {
  const Totals totals = totals_of(cost);
  fmt::print("cost       {}\n", kNote);
  fmt::print("cost       memory {:.0f} MiB a rank{}\n", rounded_up(static_cast<double>(cost.memory_bytes) / kMib),
             cost.available_bytes
                 ? fmt::format(", of {:.0f} MiB on this machine", static_cast<double>(*cost.available_bytes) / kMib)
                 : "");
  fmt::print("cost       wire {:.3g} MB a rank, {:.3g} MB in all\n", totals.wire_bytes / 1e6,
             totals.wire_bytes * (cost.job.ranks - 1) / 1e6);
  fmt::print("cost       {:.2g} multiply-adds in exact products, on {} {} of {} {}\n", rounded_up(totals.multiply_adds),
             cost.job.ranks, cost.job.ranks == 1 ? "rank" : "ranks", cost.job.threads,
             cost.job.threads == 1 ? "thread" : "threads");
  for (const PhaseWork& phase : cost.phases) {
    fmt::print("cost           {:<20} {:>8.2g} multiply-adds\n", phase.name, rounded_up(multiply_adds_of(phase)));
  }
}

}  // namespace dpreduce
