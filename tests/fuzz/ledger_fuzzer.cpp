// The ledger's parser on arbitrary bytes: it ends with a state or with LedgerCorrupt, and what it accepts is canonical.
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/ledger_state.hpp"
#include "common/ledger/spending.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace dpreduce;

void check_file(std::string_view text) {
  LedgerState state;
  if (is_refused<LedgerCorrupt>([&] { state.extend(text, "ledger"); })) return;
  const LedgerHead head = state.head();
  DPREDUCE_ASSERT(head.lines == static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')));
  DPREDUCE_ASSERT(state.line_sha256().size() == head.lines);
  DPREDUCE_ASSERT(state.charges().size() <= head.lines);
  for (const LedgerCharge& charge : state.charges()) {
    DPREDUCE_ASSERT(state.charge(charge.entry.release_id) != nullptr);
  }
  for (const auto& [run, open] : state.open_runs()) {
    DPREDUCE_ASSERT(open.remains.run_id == run && !state.outcome(run));
  }
  DPREDUCE_ASSERT(spending_of(state.charges(), Adjacency::kAddRemove).mu >= 0);
  if (head.lines > 0) require_contains(state, head, "ledger");
}

// A line alone, without the chain and the signatures that random bytes would not get past.
void require_valid_line(std::string_view text) {
  LedgerLine line;
  if (is_refused<LedgerCorrupt>([&] { line = parse_line(text, "line"); })) return;
  DPREDUCE_ASSERT(with_signature(print_unsigned(line.record), line.signature) == text);
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
