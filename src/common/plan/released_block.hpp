// The values that a release makes public.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dpreduce {

/// A noised block, public. sigma is 0 in a non-private run.
class ReleasedBlock {
 public:
  ReleasedBlock(std::string name, std::vector<std::int64_t> values, double sigma)
      : name_(std::move(name)), values_(std::move(values)), sigma_(sigma) {}
  const std::string& name() const { return name_; }
  std::span<const std::int64_t> values() const { return values_; }
  double sigma() const { return sigma_; }

 private:
  std::string name_;
  std::vector<std::int64_t> values_;
  double sigma_;
};

/// The blocks of one release; on the coordinator. Other ranks hold one without blocks.
class Release {
 public:
  explicit Release(std::vector<ReleasedBlock> blocks) : blocks_(std::move(blocks)) {}
  /// Throws std::logic_error where there is no block of that name.
  const ReleasedBlock& block(std::string_view name) const;
  const std::vector<ReleasedBlock>& blocks() const { return blocks_; }

 private:
  std::vector<ReleasedBlock> blocks_;
};

}  // namespace dpreduce
