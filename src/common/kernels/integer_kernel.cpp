#include "common/kernels/integer_kernel.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {
namespace {

std::string shape(std::size_t rows, std::size_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

template <typename View>
void check_view(const char* name, const View& view) {
  if (view.stride < view.cols) {
    throw UsageError(std::string("integer product: ") + name + " has stride " + std::to_string(view.stride) +
                     ", less than its " + std::to_string(view.cols) + " columns");
  }
  if (view.data == nullptr && view.rows * view.cols != 0) {
    throw UsageError(std::string("integer product: ") + name + " is " + shape(view.rows, view.cols) +
                     " but has no data");
  }
}

void check_depth(const char* what, std::size_t depth_a, std::size_t depth_b) {
  if (depth_a != depth_b) {
    throw UsageError(std::string("integer product: a has ") + std::to_string(depth_a) + " " + what + ", b has " +
                     std::to_string(depth_b));
  }
}

void check_result(const Int64View& c, std::size_t rows, std::size_t cols) {
  if (c.rows != rows || c.cols != cols) {
    throw UsageError("integer product: c is " + shape(c.rows, c.cols) + ", must be " + shape(rows, cols));
  }
}

void check_threads(unsigned threads) {
  if (threads == 0) throw UsageError("integer product: threads is 0, must be at least 1");
}

bool is_empty(const Operand& a, const Operand& b) {
  return a.depth() == 0 || a.columns() == 0 || b.columns() == 0;
}

}  // namespace

void IntegerKernel::accumulate_product(const Int16View& a, const Int16View& b, const Int64View& c,
                                       unsigned threads) const {
  check_depth("rows", a.rows, b.rows);
  check_result(c, a.cols, b.cols);
  check_view("a", a);
  check_view("b", b);
  check_view("c", c);
  check_threads(threads);
  const Operand left{a, SummedOver::kRows};
  const Operand right{b, SummedOver::kRows};
  if (!is_empty(left, right)) accumulate(left, right, ProductPart::kFull, c, threads);
}

void IntegerKernel::accumulate_gram(const Int16View& a, const Int64View& c, unsigned threads) const {
  check_result(c, a.cols, a.cols);
  check_view("a", a);
  check_view("c", c);
  check_threads(threads);
  const Operand both{a, SummedOver::kRows};
  if (!is_empty(both, both)) accumulate(both, both, ProductPart::kUpperTriangle, c, threads);
}

void IntegerKernel::accumulate_row_products(const Int16View& a, const Int16View& b, const Int64View& c,
                                            unsigned threads) const {
  check_depth("columns", a.cols, b.cols);
  check_result(c, a.rows, b.rows);
  check_view("a", a);
  check_view("b", b);
  check_view("c", c);
  check_threads(threads);
  const Operand left{a, SummedOver::kColumns};
  const Operand right{b, SummedOver::kColumns};
  if (!is_empty(left, right)) accumulate(left, right, ProductPart::kFull, c, threads);
}

void IntegerKernel::for_each_row_products(const Int16View& a, const Int16View& b, const VisitProducts& visit,
                                          unsigned threads) const {
  check_depth("columns", a.cols, b.cols);
  check_view("a", a);
  check_view("b", b);
  check_threads(threads);
  if (a.rows > 0) visit_row_products(a, b, visit, threads);
}

void IntegerKernel::visit_row_products(const Int16View& a, const Int16View& b, const VisitProducts& visit,
                                       unsigned threads) const {
  constexpr std::size_t kBlockRows = 1024;
  ThreadTeam team(threads);
  team.for_each((a.rows + kBlockRows - 1) / kBlockRows, [&](std::size_t block) {
    const std::size_t first = block * kBlockRows;
    const Int16View rows{a.row(first), std::min(kBlockRows, a.rows - first), a.cols, a.stride};
    std::vector<std::int64_t> products(rows.rows * b.rows);
    const Int64View c{products.data(), rows.rows, b.rows, b.rows};
    accumulate_row_products(rows, b, c);
    visit(first, c);
  });
}

void reject_value(const Operand& operand, std::size_t k, std::size_t column) {
  const bool by_rows = operand.summed_over == SummedOver::kRows;
  throw UsageError("integer product: row " + std::to_string(by_rows ? k : column) + ", column " +
                   std::to_string(by_rows ? column : k) + " holds -32768; lattice values lie in [-32767, 32767]");
}

void reject_first(const Operand& operand, const Range& depth, const Range& columns) {
  for (std::size_t k = depth.begin; k < depth.end; ++k) {
    for (std::size_t column = columns.begin; column < columns.end; ++column) {
      if (operand.at(k, column) == std::numeric_limits<std::int16_t>::min()) reject_value(operand, k, column);
    }
  }
}

}  // namespace dpreduce
