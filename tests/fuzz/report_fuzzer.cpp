// The reader of reports on arbitrary bytes: it ends with a run whose figures are in range and whose names are
// printable, or with BadInput.
#include "report/reported_run.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace dpreduce;

void check_printable(const std::string& text) {
  for (const char c : text) DPREDUCE_ASSERT(c >= ' ' && c <= '~');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReportedRun run;
  if (is_refused<BadInput>([&] { run = parse_report(text, "report"); })) return 0;
  check_printable(run.method);
  DPREDUCE_ASSERT(run.guarantee.has_value() == run.is_private);
  DPREDUCE_ASSERT(run.has_noise() == !run.blocks.empty());
  for (const ReportedBlock& block : run.blocks) {
    check_printable(block.name);
    check_printable(block.release);
    DPREDUCE_ASSERT(block.sigma > 0 && block.sensitivity > 0 && block.elements > 0);
  }
  if (run.guarantee) {
    DPREDUCE_ASSERT(run.has_noise() && run.guarantee->delta > 0 && run.guarantee->delta < 1);
    DPREDUCE_ASSERT(run.guarantee->epsilon >= 0 && (!run.guarantee->mu || *run.guarantee->mu > 0));
  }
  return 0;
}
