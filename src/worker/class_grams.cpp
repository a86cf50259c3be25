#include "worker/class_grams.hpp"

#include <algorithm>
#include <utility>

#include "common/base/error.hpp"
#include "common/data/array_file.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kPartsBlock = "class_grams";

Statistic sums_beside_parts(const ReleaseRequest& request) {
  std::vector<BlockShape> shape;
  for (const BlockRequest& block : request.blocks) {
    if (block.name != kPartsBlock) shape.push_back({block.name, block.elements});
  }
  return Statistic(std::move(shape));
}

// A quarter of the memory is for chunks on their way from the files, but at least one row.
std::size_t bytes_of_chunks(const StreamPlan& plan, const RowTransform& transform) {
  const std::size_t row =
      bytes_per_row(transform.preprocessing(), plan.labels_per_row) + sizeof(float) * transform.input_dim();
  return std::max(plan.memory_bytes / 4, std::min(plan.memory_bytes, row));
}

// Weights of the rows of range(), in its order, from those unit by unit.
std::vector<RowWeight> in_order_of_rows(std::span<const RowWeight> by_unit, const WorkerRows& rows) {
  const std::vector<std::uint64_t>& places = rows.by_unit().places;
  DPREDUCE_ASSERT(places.size() == by_unit.size());
  std::vector<RowWeight> in_order(by_unit.size());
  for (std::size_t row = 0; row < places.size(); ++row) in_order[places[row] - rows.range().first] = by_unit[row];
  return in_order;
}

// The weights that units' rows have in the A_j.
std::vector<RowWeight> weights_in_class_grams(const ReleaseRequest& request, const StatisticInputs& inputs) {
  std::vector<RowWeight> by_unit;
  by_unit.reserve(inputs.rows.range().count);
  for_each_lattice_chunk(inputs, [&](const LatticeRows& chunk) {
    const std::vector<RowWeight> weights =
        clipped_weights(chunk, UnitSum::kClassGrams, request.rows_per_unit, inputs.plan.threads);
    by_unit.insert(by_unit.end(), weights.begin(), weights.end());
  });
  return in_order_of_rows(by_unit, inputs.rows);
}

struct SummedClass {
  std::uint64_t rows = 0;
  RowDigest digest;
};

// square += q q^T of the rows of a class, in one pass over all rows. `weights`: as for_each_lattice_chunk_of.
SummedClass sum_of_class(std::size_t label, const StatisticInputs& inputs, const RowHasher& hasher,
                         std::span<const RowWeight> weights, std::span<std::int64_t> square) {
  const std::size_t dim = inputs.transform.output_dim();
  WeightedRows weighted(WeightPower::kHalf);
  std::uint64_t found = 0;
  std::vector<RowDigest> digests(inputs.plan.classes, RowDigest{});
  for_each_lattice_chunk_of(
      [=](std::span<const std::int32_t> classes) {
        return std::ranges::find(classes, static_cast<std::int32_t>(label)) != classes.end();
      },
      inputs,
      [&](const LatticeRows& chunk) {
        hasher.accumulate(chunk, chunk.weights(), digests, inputs.plan.threads);
        for (std::size_t row = 0; row < chunk.rows(); ++row) found += chunk.counts(row) ? 1 : 0;
        select_kernel().accumulate_gram(weighted.of(chunk, inputs.plan.threads), {square.data(), dim, dim, dim},
                                        inputs.plan.threads);
      },
      weights);
  return {found, digests[label]};
}

}  // namespace

ClassGrams::ClassGrams(const ReleaseRequest& request, const StatisticInputs& inputs, const RowHasher& hasher,
                       std::vector<std::size_t> order)
    : inputs_(inputs),
      hasher_(hasher),
      dim_(inputs.transform.output_dim()),
      capacity_((inputs.plan.memory_bytes - bytes_of_chunks(inputs.plan, inputs.transform)) /
                (sizeof(std::int16_t) * dim_)),
      order_(std::move(order)),
      sums_(sums_beside_parts(request)),
      counts_(inputs.plan.classes, 0),
      digests_(inputs.plan.classes, RowDigest{}),
      batch_row_(inputs.plan.classes, 0),
      square_(dim_ * dim_),
      weighted_gram_(UnitSum::kGram, request),
      weighted_sums_(UnitSum::kClassSums, request) {
  if (request.clips_units) clipped_rows_ = request.rows_per_unit;
  DPREDUCE_ASSERT(order_.size() <= inputs.plan.classes && hasher.dim() == dim_);
  first_pass();
}

void ClassGrams::first_pass() {
  const std::span<std::int64_t> class_sums = sums_.block(sums_.index_of("class_sums"));
  const bool has_gram = sums_.shape().size() > 1;
  const unsigned threads = inputs_.plan.threads;
  if (clipped_rows_) clipped_.reserve(inputs_.rows.range().count);
  for_each_lattice_chunk(inputs_, [&](const LatticeRows& chunk) {
    digest_first(chunk);
    for (const std::int32_t label : chunk.labels()) {
      if (label != kNoLabel) ++counts_[static_cast<std::size_t>(label)];
    }
    accumulate_class_sums(weighted_sums_.of(chunk, threads), chunk.labels(),
                          {class_sums.data(), counts_.size(), dim_, dim_}, threads);
    if (has_gram) {
      select_kernel().accumulate_gram(weighted_gram_.of(chunk, threads), {square_.data(), dim_, dim_, dim_}, threads);
    }
  });
  if (has_gram) copy_upper_triangle(square_, dim_, sums_.block(sums_.index_of("gram")));
  if (clipped_rows_) clipped_ = in_order_of_rows(clipped_, inputs_.rows);
}

// Distinguishes later passes from this one.
void ClassGrams::digest_first(const LatticeRows& chunk) {
  const unsigned threads = inputs_.plan.threads;
  if (!clipped_rows_) return hasher_.accumulate(chunk, chunk.weights(), digests_, threads);
  const std::vector<RowWeight> weights = clipped_weights(chunk, UnitSum::kClassGrams, *clipped_rows_, threads);
  clipped_.insert(clipped_.end(), weights.begin(), weights.end());
  hasher_.accumulate(chunk, weights, digests_, threads);
}

void ClassGrams::next(std::span<std::int64_t> triangle) {
  DPREDUCE_ASSERT(next_ < order_.size() && triangle.size() == triangle_elements(dim_));
  const std::size_t label = order_[next_];
  if (counts_[label] == 0) {
    std::fill(triangle.begin(), triangle.end(), 0);
    ++next_;
    return;
  }
  std::fill(square_.begin(), square_.end(), 0);
  if (counts_[label] > capacity_) {
    const SummedClass streamed = sum_of_class(label, inputs_, hasher_, clipped_, square_);
    check_unchanged(label, streamed.rows, streamed.digest);
  } else {
    if (next_ >= batch_end_) load_batch();
    const Int16View rows{batch_.data() + batch_row_[label] * dim_, counts_[label], dim_, dim_};
    select_kernel().accumulate_gram(rows, {square_.data(), dim_, dim_, dim_}, inputs_.plan.threads);
  }
  ++next_;
  copy_upper_triangle(square_, dim_, triangle);
}

// The rows of as many of the next classes as the memory holds; a class that it does not hold at all ends the batch.
void ClassGrams::load_batch() {
  std::vector<bool> is_in_batch(counts_.size(), false);
  std::size_t rows = 0;
  for (batch_end_ = next_; batch_end_ < order_.size(); ++batch_end_) {
    const std::size_t label = order_[batch_end_];
    if (counts_[label] > capacity_ - rows) break;
    is_in_batch[label] = true;
    batch_row_[label] = rows;
    rows += counts_[label];
  }
  if (batch_.size() < rows * dim_) {
    batch_ = {};  // given back first, so that there are never two
    batch_.resize(rows * dim_);
  }

  std::vector<std::uint64_t> found(counts_.size(), 0);
  std::vector<RowDigest> digests(counts_.size());
  StreamPlan plan = inputs_.plan;
  plan.memory_bytes = bytes_of_chunks(inputs_.plan, inputs_.transform);
  const auto is_wanted = [&](std::int32_t label) { return is_in_batch[static_cast<std::size_t>(label)]; };
  for_each_lattice_chunk_of(
      [&](std::span<const std::int32_t> classes) { return std::ranges::any_of(classes, is_wanted); },
      RowPass{inputs_.rows, inputs_.transform, plan, inputs_.on_chunk},
      [&](const LatticeRows& chunk) {
        hasher_.accumulate(chunk, chunk.weights(), digests, inputs_.plan.threads);
        const Int16View weighted = weighted_.of(chunk, inputs_.plan.threads);
        for (std::size_t row = 0; row < chunk.rows(); ++row) {
          for (const std::int32_t of_row : chunk.classes_of(row)) {
            const auto label = static_cast<std::size_t>(of_row);
            if (!is_in_batch[label]) continue;
            if (found[label]++ == counts_[label]) check_unchanged(label, found[label], digests[label]);
            const auto place = (batch_row_[label] + found[label] - 1) * dim_;
            std::copy_n(weighted.data + row * weighted.stride, dim_,
                        batch_.begin() + static_cast<std::ptrdiff_t>(place));
          }
        }
      },
      clipped_);
  for (std::size_t place = next_; place < batch_end_; ++place) {
    check_unchanged(order_[place], found[order_[place]], digests[order_[place]]);
  }
}

void ClassGrams::check_unchanged(std::size_t label, std::uint64_t count, const RowDigest& digest) const {
  if (count == counts_[label] && digest == digests_[label]) return;
  throw BadInput(std::string("the training rows changed while they were read; run again on files that do not change") +
                 kForOwnerOnly);
}

RowDigest gram_of_class(std::size_t label, const ReleaseRequest& request, const StatisticInputs& inputs,
                        const RowHasher& hasher, std::span<std::int64_t> triangle) {
  const std::size_t dim = inputs.transform.output_dim();
  SecretVector<std::int64_t> square(dim * dim);
  std::vector<RowWeight> clipped;
  if (request.clips_units) clipped = weights_in_class_grams(request, inputs);
  const SummedClass summed = sum_of_class(label, inputs, hasher, clipped, square);
  copy_upper_triangle(square, dim, triangle);
  return summed.digest;
}

}  // namespace dpreduce
