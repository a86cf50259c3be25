// The ledger's parser on arbitrary bytes: it ends with a state or with LedgerCorrupt, and what it accepts is canonical.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "common/ledger/ledger_key.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/ledger_state.hpp"

namespace {

void check_file(std::string_view text) {
  dpreduce::LedgerState state;
  try {
    state = dpreduce::LedgerState::of(text, "ledger");
  } catch (const dpreduce::LedgerCorrupt&) {
    return;
  }
  const dpreduce::LedgerHead head = state.head();
  DPREDUCE_ASSERT(head.lines == static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')));
  DPREDUCE_ASSERT(state.line_sha256().size() == head.lines);
  DPREDUCE_ASSERT(state.charges().size() <= head.lines);
  for (const dpreduce::LedgerCharge& charge : state.charges()) {
    DPREDUCE_ASSERT(state.charge(charge.entry.release_id) != nullptr);
  }
  for (const auto& [run, open] : state.open_runs()) {
    DPREDUCE_ASSERT(open.remains.run_id == run && !state.outcome(run));
  }
  DPREDUCE_ASSERT(dpreduce::spending_of(state.charges(), dpreduce::Adjacency::kAddRemove).mu >= 0);
  if (head.lines > 0) dpreduce::require_contains(state, head, "ledger");
}

// A line alone, without the chain and the signatures that random bytes would not get past.
void require_valid_line(std::string_view text) {
  dpreduce::LedgerLine line;
  try {
    line = dpreduce::parse_line(text, "line");
  } catch (const dpreduce::LedgerCorrupt&) {
    return;
  }
  DPREDUCE_ASSERT(dpreduce::with_signature(dpreduce::print_unsigned(line.record), line.signature) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_file(text);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    require_valid_line(text.substr(start, end - start));
    start = end + 1;
  }
  return 0;
}
