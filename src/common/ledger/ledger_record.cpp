#include "common/ledger/ledger_record.hpp"

#include "common/accounting/argument_checks.hpp"
#include "common/ledger/field_faults.hpp"

namespace dpreduce {
namespace {

std::string block_fault(const LedgerBlock& block) {
  if (std::string fault = name_fault("a block's name", block.name); !fault.empty()) return fault;
  if (block.elements == 0) return "block " + block.name + ": has no elements";
  if (std::string fault = positive_fault("block " + block.name + ": sensitivity", block.sensitivity); !fault.empty()) {
    return fault;
  }
  return positive_fault("block " + block.name + ": sigma", block.sigma);
}

std::string gaussians_fault(const LedgerEntry& entry) {
  if (entry.blocks.empty()) return "blocks must not be empty";
  for (const LedgerBlock& block : entry.blocks) {
    if (std::string fault = block_fault(block); !fault.empty()) return fault;
  }
  if (std::string fault = sampling_rate_fault(entry.sampling_rate); !fault.empty()) {
    return fault;
  }
  return mu_fault(entry.mu);
}

std::string selection_fault(const LedgerEntry& entry) {
  if (!entry.blocks.empty()) return "a selection has no blocks";
  if (entry.mu != 0) return "mu = " + print_number(entry.mu) + ": a selection has none";
  if (entry.sampling_rate != 1) {
    return "sampling rate = " + print_number(entry.sampling_rate) + ": a selection has none";
  }
  const std::string fault = fault_of(*entry.selection);
  return fault.empty() ? fault : "selection: " + fault;
}

}  // namespace

std::string run_of(const std::string& release_id) {
  return release_id.substr(0, release_id.find('/'));
}

std::string fault_of(const LedgerEntry& entry) {
  std::string fault = name_fault("release id", entry.release_id);
  if (fault.empty()) fault = fault_of(entry.terms);
  if (fault.empty()) fault = entry.selection ? selection_fault(entry) : gaussians_fault(entry);
  return fault;
}

std::string fault_of(const RunEnd& end) {
  return run_id_fault("run", end.run_id);
}

std::string fault_of(const LedgerStart& start) {
  if (!is_lower_hex(start.public_key, 64, 64)) return "public key must be 64 lower-case hex digits";
  return name_fault("version", start.version);
}

}  // namespace dpreduce
