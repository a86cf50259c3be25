// dpreduce fit: train a classifier, and write model and report.
#include "commands/commands.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

std::string methods_footer() {
  std::string footer = "Methods:\n";
  for (const MethodEntry* method : all_methods()) footer += fmt::format("  {:<13} {}\n", method->name, method->help);
  return footer;
}

void declare(OptionTable& table, FitOptions& options) {
  declare_fit(table, options);
  // A first fit needs these options, and no more: --help shows them.
  table.put_first("--train-x", "features: .npy, .npz, .safetensors, .csv, f.h5:/name, or a pattern");
  table.put_first("--train-y", "labels: one integer from 0 to K-1 per row");
  table.put_first("--classes", "K, the number of classes: public");
  table.put_first("--class-names", "names of classes, one per line, for labels that are names");
  table.put_first("--test-x", "test features, on which accuracy is reported");
  table.put_first("--test-y", "their labels");
  table.put_first("--method", "training method: auto suits most data");
  table.put_first("--center", "center rows: none, public or dp, by a released mean");
  table.put_first("--epsilon", "privacy budget for each record");
  table.put_first("--delta", "with --epsilon: at most 1 / (10 n), for a public n");
  table.put_first("--ledger", "file that records all spending");
  table.put_first("--out", "the model");
  table.put_first("--report", "JSON report of the run and its guarantee");
  table.put_first("--dry-run", "print noise, expected error and cost; spend nothing");
}

}  // namespace

CommandEntry fit_command() {
  CommandEntry command = command_reading<FitOptions>(
      "fit", "train a classifier and write model and report", declare,
      [](FitOptions fit, const ParsedCommand& parsed) {
        take_party(fit.silos, parsed, fit.data.train.class_names);
        return FitCommand{validated(std::move(fit))};
      },
      "  dpreduce fit --train-x x.npy --train-y y.npy --classes 10 --epsilon 1 --delta 1e-6\n"
      "  mpirun -n 8 dpreduce fit --train-x 'x_*.npy' --train-y 'y_*.npy' --classes 1000 --center dp --mu 0.5 --report "
      "r.json\n"
      "  mpirun -n 3 dpreduce fit --train-x 'silo{rank}/x.npy' --train-y 'silo{rank}/y.npy' --classes 10 --rho 0.1\n"
      "  mpirun -n 6 dpreduce fit --secure-aggregation --threshold 4 --train-x 'silo{rank}/x.npy' --train-y "
      "'silo{rank}/y.npy' --classes 10 --mu 1\n"
      "  mpirun -n 6 dpreduce fit --secure-aggregation --config common.toml --silo-config 'silo{rank}.toml'\n"
      "  dpreduce fit --train-x x.npy --train-y y.npy --classes 10 --mu 1 [--resume after a crash]\n"
      "  dpreduce fit --method public --public-x p.npy --train-x x.npy --train-y y.npy --classes 10 --epsilon 1\n"
      "  dpreduce fit --config run.toml --dry-run",
      methods_footer());
  command.first_footer =
      "Examples:\n"
      "  dpreduce fit --train-x x.npy --train-y y.npy --classes 10 --epsilon 1 --delta 1e-6\n"
      "  mpirun -n 8 dpreduce fit --train-x 'x_*.npy' --train-y 'y_*.npy' --classes 10 \\\n"
      "    --epsilon 1 --delta 1e-6 --report report.json";
  return command;
}

}  // namespace dpreduce
