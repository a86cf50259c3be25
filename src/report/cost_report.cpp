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

// At the coordinator, while the others wait.
double eigen_seconds(const PhaseWork& phase, const MachineSpeed& speed) {
  return phase.serial_flops / speed.flops_per_second;
}

struct Totals {
  double multiply_adds = 0.0;
  double serial_flops = 0.0;
  double seconds = 0.0;
  double wire_bytes = 0.0;  // of a rank
};

Totals totals_of(const RunEstimate& cost) {
  Totals totals;
  for (const PhaseWork& phase : cost.phases) {
    totals.multiply_adds += multiply_adds_of(phase);
    totals.serial_flops += phase.serial_flops;
    totals.seconds += seconds_of(phase, cost.speed, cost.job);
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
    phases.push_back({{"name", phase.name},
                      {"multiply_adds", rounded_up(multiply_adds_of(phase))},
                      {"seconds", rounded_up(seconds_of(phase, cost.speed, cost.job))},
                      {"eigen_seconds", rounded_up(eigen_seconds(phase, cost.speed))}});
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
                      {"flops", rounded_up(2.0 * totals.multiply_adds + totals.serial_flops)},
                      {"seconds", rounded_up(totals.seconds)},
                      {"phases", phases},
                      {"calibration",
                       {{"gram_gmac_per_second", cost.speed.product_macs_per_second / 1e9},
                        {"round_gmac_per_second", cost.speed.round_macs_per_second / 1e9},
                        {"rows_per_second", cost.speed.rows_per_second},
                        {"noise_samples_per_second", cost.speed.noise_per_second},
                        {"eigen_gflop_per_second", cost.speed.flops_per_second / 1e9},
                        {"copy_gigabytes_per_second", cost.speed.bytes_per_second / 1e9},
                        {"sum_gigabytes_per_second", nullptr}}}};
  if (cost.available_bytes) json["memory_bytes_available"] = *cost.available_bytes;
  if (cost.job.ranks > 1) {
    json["calibration"]["sum_gigabytes_per_second"] = 8.0 * cost.speed.words_per_second / 1e9;
  }
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
  fmt::print("cost       {:.2g} multiply-adds in exact products, {:.2g} flops in all\n",
             rounded_up(totals.multiply_adds), rounded_up(2.0 * totals.multiply_adds + totals.serial_flops));
  fmt::print("cost       {:.2g} seconds on {} {} of {} {}, by a short calibration; without reading from disk\n",
             rounded_up(totals.seconds), cost.job.ranks, cost.job.ranks == 1 ? "rank" : "ranks", cost.job.threads,
             cost.job.threads == 1 ? "thread" : "threads");
  for (const PhaseWork& phase : cost.phases) {
    fmt::print("cost           {:<20} {:>8.2g} multiply-adds {:>8.2g} s{}\n", phase.name,
               rounded_up(multiply_adds_of(phase)), rounded_up(seconds_of(phase, cost.speed, cost.job)),
               phase.serial_flops > 0.0
                   ? fmt::format(", {:.2g} s of it an eigenproblem", rounded_up(eigen_seconds(phase, cost.speed)))
                   : "");
  }
}

}  // namespace dpreduce
