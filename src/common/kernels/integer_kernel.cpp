#include "common/kernels/integer_kernel.hpp"

#include <algorithm>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Returns whether rows do not overlap, and there are values.
template <typename View>
bool is_whole(const View& view) {
  return view.stride >= view.cols && (view.data != nullptr || view.rows * view.cols == 0);
}

// B as it lies, by the kernel's products of any two.
class PlainRowFactors final : public RowFactors {
 public:
  PlainRowFactors(const IntegerKernel& kernel, const Int16View& b) : RowFactors(b, kBlockRows), kernel_(kernel) {}

 private:
  static constexpr std::size_t kBlockRows = 1024;

  void add(const Int16View& a, const Range& rows, const Int64View& c) const override {
    kernel_.accumulate_row_products({a.row(rows.begin), rows.size(), a.cols, a.stride}, factors(), c);
  }

  const IntegerKernel& kernel_;
};

}  // namespace

void IntegerKernel::accumulate_checked(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                                       unsigned threads) const {
  DPREDUCE_ASSERT(a.depth() == b.depth() && c.rows == a.columns() && c.cols == b.columns());
  DPREDUCE_ASSERT(is_whole(a.view) && is_whole(b.view) && is_whole(c) && threads >= 1);
  if (a.depth() != 0 && a.columns() != 0 && b.columns() != 0) accumulate(a, b, part, c, threads);
}

void IntegerKernel::accumulate_product(const Int16View& a, const Int16View& b, const Int64View& c,
                                       unsigned threads) const {
  accumulate_checked({a, SummedOver::kRows}, {b, SummedOver::kRows}, ProductPart::kFull, c, threads);
}

void IntegerKernel::accumulate_gram(const Int16View& a, const Int64View& c, unsigned threads) const {
  accumulate_checked({a, SummedOver::kRows}, {a, SummedOver::kRows}, ProductPart::kUpperTriangle, c, threads);
}

void IntegerKernel::accumulate_row_products(const Int16View& a, const Int16View& b, const Int64View& c,
                                            unsigned threads) const {
  accumulate_checked({a, SummedOver::kColumns}, {b, SummedOver::kColumns}, ProductPart::kFull, c, threads);
}

std::unique_ptr<const RowFactors> IntegerKernel::row_factors(const Int16View& b) const {
  DPREDUCE_ASSERT(is_whole(b));
  return make_row_factors(b);
}

std::unique_ptr<const RowFactors> IntegerKernel::make_row_factors(const Int16View& b) const {
  return std::make_unique<PlainRowFactors>(*this, b);
}

KnownEnergies IntegerKernel::measure(const Int16View& a, unsigned threads) const {
  DPREDUCE_ASSERT(is_whole(a) && threads >= 1);
  ThreadTeam team(threads);
  return measured(a, team);
}

KnownEnergies IntegerKernel::measured(const Int16View& /*a*/, ThreadTeam& /*team*/) const {
  return {};
}

void RowFactors::accumulate(const Int16View& a, const Int64View& c) const {
  DPREDUCE_ASSERT(a.cols == b_.cols && c.rows == a.rows && c.cols == b_.rows && is_whole(a) && is_whole(c));
  if (a.rows > 0) add(a, {0, a.rows}, c);
}

void RowFactors::visit(const Int16View& a, ThreadTeam& team, const VisitProducts& visit) const {
  DPREDUCE_ASSERT(a.cols == b_.cols && is_whole(a));
  team.for_each((a.rows + block_rows_ - 1) / block_rows_, [&](std::size_t block) {
    const Range rows{block * block_rows_, std::min((block + 1) * block_rows_, a.rows)};
    thread_local std::vector<std::int64_t> kept;           // from block to block, as its pages are
    std::vector<std::int64_t> products = std::move(kept);  // `visit` may ask for products itself
    products.assign(rows.size() * b_.rows, 0);
    const Int64View c{products.data(), rows.size(), b_.rows, b_.rows};
    add(a, rows, c);
    visit(rows.begin, c);
    kept = std::move(products);
  });
}

}  // namespace dpreduce
