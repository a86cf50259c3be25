// The ledger's parser on arbitrary bytes: it ends with records or with LedgerCorrupt, and what it accepts is canonical.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/ledger_record.hpp"

namespace {

void check_file(std::string_view text) {
  std::vector<dpreduce::LedgerRecord> records;
  try {
    records = dpreduce::parse_ledger(text, "ledger");
  } catch (const dpreduce::LedgerCorrupt&) {
    return;
  }
  std::string printed;
  for (const dpreduce::LedgerRecord& record : records) {
    DPREDUCE_ASSERT(record.previous_sha256 == dpreduce::next_previous_sha256(printed));
    printed += dpreduce::print_record(record) + "\n";
  }
  DPREDUCE_ASSERT(printed == text);
}

// A line alone, without the chain that random bytes would not get past.
void check_line(std::string_view line) {
  dpreduce::LedgerRecord record;
  try {
    record = dpreduce::parse_record(line, "line");
  } catch (const dpreduce::LedgerCorrupt&) {
    return;
  }
  DPREDUCE_ASSERT(dpreduce::fault_of(record.entry).empty());
  DPREDUCE_ASSERT(dpreduce::print_record(record) == line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_file(text);
  check_line(text.substr(0, text.find('\n')));
  return 0;
}
