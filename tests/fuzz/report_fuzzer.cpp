// The reader of reports on arbitrary bytes: it ends with a run whose figures are in range and whose names are
// printable, or with BadInput.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "report/reported_run.hpp"

namespace {

void check_printable(const std::string& text) {
  for (const char c : text) DPREDUCE_ASSERT(c >= ' ' && c <= '~');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dpreduce::ReportedRun run;
  try {
    run = dpreduce::parse_report({reinterpret_cast<const char*>(data), size}, "report");
  } catch (const dpreduce::BadInput&) {
    return 0;
  }
  check_printable(run.method);
  DPREDUCE_ASSERT(run.guarantee.has_value() == run.is_private);
  DPREDUCE_ASSERT(run.has_noise() == !run.blocks.empty());
  for (const dpreduce::ReportedBlock& block : run.blocks) {
    check_printable(block.name);
    check_printable(block.release);
    DPREDUCE_ASSERT(block.sigma > 0 && block.sensitivity > 0 && block.coordinates > 0);
  }
  if (run.guarantee) {
    DPREDUCE_ASSERT(run.has_noise() && run.guarantee->delta > 0 && run.guarantee->delta < 1);
    DPREDUCE_ASSERT(run.guarantee->epsilon >= 0 && (!run.guarantee->mu || *run.guarantee->mu > 0));
  }
  return 0;
}
