// Public values of a release.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {

/// A noised block, public; copies share its values. sigma is 0 in a non-private run.
class ReleasedBlock {
 public:
  ReleasedBlock(std::string name, std::vector<std::int64_t> values, double sigma)
      : name_(std::move(name)), sigma_(sigma), content_(std::make_shared<Content>(Content{std::move(values), {}})) {}
  const std::string& name() const { return name_; }
  std::span<const std::int64_t> values() const { return content_->values; }
  double sigma() const { return sigma_; }

  /// Eigenvalues of a Gram matrix, once they have been computed (gram_spectrum.hpp); empty before. One thread at a
  /// time.
  std::vector<double>& known_eigenvalues() const { return content_->known_eigenvalues; }

 private:
  struct Content {
    std::vector<std::int64_t> values;
    std::vector<double> known_eigenvalues;
  };

  std::string name_;
  double sigma_;
  std::shared_ptr<Content> content_;
};

/// The blocks of one release; on the coordinator. Other ranks hold one without blocks.
class Release {
 public:
  explicit Release(std::vector<ReleasedBlock> blocks) : blocks_(std::move(blocks)) {}
  /// Throws std::logic_error where there is no block of that name.
  const ReleasedBlock& block(std::string_view name) const {
    const auto found = std::ranges::find(blocks_, name, &ReleasedBlock::name);
    DPREDUCE_ASSERT(found != blocks_.end());
    return *found;
  }
  const std::vector<ReleasedBlock>& blocks() const { return blocks_; }

 private:
  std::vector<ReleasedBlock> blocks_;
};

}  // namespace dpreduce
