#include "common/kernels/integer_kernel.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

template <typename View>
void require_view(const char* name, const View& view) {
  if (view.stride < view.cols) {
    throw UsageError("integer product: {} has stride {}, less than its {} columns", name, view.stride, view.cols);
  }
  if (view.data == nullptr && view.rows * view.cols != 0) {
    throw UsageError("integer product: {} is {} x {} but has no data", name, view.rows, view.cols);
  }
}

void require_depth(const char* what, std::size_t depth_a, std::size_t depth_b) {
  if (depth_a != depth_b) throw UsageError("integer product: a has {} {}, b has {}", depth_a, what, depth_b);
}

void require_result(const Int64View& c, std::size_t rows, std::size_t cols) {
  if (c.rows != rows || c.cols != cols) {
    throw UsageError("integer product: c is {} x {}, must be {} x {}", c.rows, c.cols, rows, cols);
  }
}

void require_threads(unsigned threads) {
  if (threads == 0) throw UsageError("integer product: threads is 0, must be at least 1");
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
  require_depth(a.summed_over == SummedOver::kRows ? "rows" : "columns", a.depth(), b.depth());
  require_result(c, a.columns(), b.columns());
  require_view("a", a.view);
  require_view("b", b.view);
  require_view("c", c);
  require_threads(threads);
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
  require_view("b", b);
  return make_row_factors(b);
}

std::unique_ptr<const RowFactors> IntegerKernel::make_row_factors(const Int16View& b) const {
  return std::make_unique<PlainRowFactors>(*this, b);
}

KnownEnergies IntegerKernel::measure(const Int16View& a, unsigned threads) const {
  require_view("a", a);
  require_threads(threads);
  ThreadTeam team(threads);
  return measured(a, team);
}

KnownEnergies IntegerKernel::measured(const Int16View& /*a*/, ThreadTeam& /*team*/) const {
  return {};
}

void RowFactors::accumulate(const Int16View& a, const Int64View& c) const {
  require_depth("columns", a.cols, b_.cols);
  require_result(c, a.rows, b_.rows);
  require_view("a", a);
  require_view("c", c);
  if (a.rows > 0) add(a, {0, a.rows}, c);
}

void RowFactors::visit(const Int16View& a, ThreadTeam& team, const VisitProducts& visit) const {
  require_depth("columns", a.cols, b_.cols);
  require_view("a", a);
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

void reject_first(const Operand& operand, const Range& depth, const Range& columns) {
  for (std::size_t k = depth.begin; k < depth.end; ++k) {
    for (std::size_t column = columns.begin; column < columns.end; ++column) {
      if (operand.at(k, column) != std::numeric_limits<std::int16_t>::min()) continue;
      const bool by_rows = operand.summed_over == SummedOver::kRows;
      throw UsageError("integer product: row {}, column {} holds -32768; lattice values lie in [-32767, 32767]",
                       by_rows ? k : column, by_rows ? column : k);
    }
  }
}

}  // namespace dpreduce
