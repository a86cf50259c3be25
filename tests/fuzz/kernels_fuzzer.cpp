// Every kernel that this processor can run against the reference: any shape, stride and number of threads, values at
// the bound, rows that are all equal.
//
// An input: operation, rows of A, columns of A, columns (or rows) of B, spare stride, threads, how values are made;
// then values, taken again and again.
#include <cstdlib>

#include "common/kernels/integer_kernel.hpp"
#include "tests/common/kernels/reference_kernel.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dpreduce {
namespace {

enum class Fill { kBytes, kAtBound, kSignsAtBound, kEqualRows, kAnything };
constexpr std::array kFills{Fill::kBytes, Fill::kAtBound, Fill::kSignsAtBound, Fill::kEqualRows, Fill::kAnything};

class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint8_t byte() { return bytes_.empty() ? std::uint8_t{0} : bytes_[next_++ % bytes_.size()]; }
  std::size_t below(std::size_t bound) { return (std::size_t{byte()} * 256 + byte()) % bound; }
  std::int16_t word() { return static_cast<std::int16_t>(std::uint16_t(byte() * 256) | byte()); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

struct Matrix {
  std::vector<std::int16_t> values;
  Int16View view;
};

Matrix matrix(Input& input, std::size_t rows, std::size_t cols, std::size_t spare, Fill fill) {
  const std::size_t stride = cols + spare;
  Matrix made{std::vector<std::int16_t>(rows * stride), {}};
  const auto value = [&](std::size_t row, std::size_t col) {
    if (fill == Fill::kBytes) return static_cast<std::int16_t>(input.byte() - 128);
    if (fill == Fill::kAtBound) return std::int16_t{32767};
    if (fill == Fill::kSignsAtBound) return std::int16_t(input.byte() % 2 == 0 ? 32767 : -32767);
    if (fill == Fill::kAnything) return input.word();  // -32768 among them, which must be refused
    return row == 0 ? std::max(input.word(), std::int16_t{-32767}) : made.values[col];
  };
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < stride; ++col) made.values[row * stride + col] = value(row, col);
  }
  made.view = {made.values.data(), rows, cols, stride};
  return made;
}

// C after the product; nothing where the kernel refuses a value.
template <typename Product>
std::vector<std::int64_t> result_of(std::size_t rows, std::size_t cols, std::size_t spare, const Product& product) {
  const std::size_t stride = cols + spare;
  std::vector<std::int64_t> c(rows * stride, std::int64_t{1} << 62);
  if (is_refused<std::logic_error>([&] { product(Int64View{c.data(), rows, cols, stride}); })) return {};
  return c;
}

// C += A^T B, 256 rows at a time, of which the energies are known: a round with few classes.
void add_blocks(const IntegerKernel& kernel, const Int16View& a, const Int16View& b, const Int64View& c,
                unsigned threads) {
  const KnownEnergies energies = kernel.measure(b, threads);
  const Int16View known = energies.with(b);
  for (std::size_t first = 0; first < b.rows; first += 256) {
    const std::size_t count = std::min<std::size_t>(256, b.rows - first);
    kernel.accumulate_product(a.part(first, count), known.part(first, count), c, threads);
  }
}

// C += A B^T, from what is visited, of rows whose energies are known.
void add_visited(const IntegerKernel& kernel, const Int16View& a, const Int16View& b, const Int64View& c,
                 unsigned threads) {
  const KnownEnergies energies = kernel.measure(a, threads);
  ThreadTeam team(threads);
  kernel.row_factors(b)->visit(energies.with(a), team, [&](std::size_t first, const Int64View& products) {
    for (std::size_t row = 0; row < products.rows; ++row) {
      for (std::size_t column = 0; column < c.cols; ++column) {
        std::int64_t& sum = c.row(first + row)[column];
        sum = ring_sum(sum, products.row(row)[column]);
      }
    }
  });
}

}  // namespace
}  // namespace dpreduce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpreduce;
  Input input({data, size});
  const std::size_t operation = input.below(5);
  const std::size_t rows = input.below(4400);  // blocks have 2048
  const std::size_t cols = input.below(rows > 300 ? 60 : 120);
  const std::size_t others = input.below(70);
  const std::size_t spare = input.below(4);
  const auto threads = static_cast<unsigned>(1 + input.below(3));
  Fill fill = kFills[input.below(kFills.size())];
  // Kernels agree about a refused value only where the product has an entry: some measure a side that no product reads.
  const bool is_empty = cols == 0 || (operation != 0 && others == 0);
  if (is_empty && fill == Fill::kAnything) fill = Fill::kBytes;

  // Row products sum over columns: the long side.
  const bool along_rows = operation == 2 || operation == 3;
  const Matrix a = along_rows ? matrix(input, cols, rows, spare, fill) : matrix(input, rows, cols, spare, fill);
  const Matrix b = along_rows ? matrix(input, others, rows, spare, fill) : matrix(input, rows, others, spare, fill);
  const std::size_t width = operation == 0 ? cols : others;
  const auto product = [&](const IntegerKernel& kernel, const Int64View& c) {
    if (operation == 0) kernel.accumulate_gram(a.view, c, threads);
    if (operation == 1) kernel.accumulate_product(a.view, b.view, c, threads);
    if (operation == 2) kernel.accumulate_row_products(a.view, b.view, c, threads);
    if (operation == 3) add_visited(kernel, a.view, b.view, c, threads);
    if (operation == 4) add_blocks(kernel, a.view, b.view, c, threads);
  };
  const std::vector<std::int64_t> expected = result_of(cols, width, spare, [&](const Int64View& c) {
    if (operation == 0) return ReferenceKernel().accumulate_gram(a.view, c);
    if (along_rows) return ReferenceKernel().accumulate_row_products(a.view, b.view, c);
    ReferenceKernel().accumulate_product(a.view, b.view, c);
  });
  for (const IntegerKernel& kernel : supported_kernels()) {
    const auto of_kernel = [&](const Int64View& c) { product(kernel, c); };
    if (result_of(cols, width, spare, of_kernel) != expected) std::abort();
  }
  return 0;
}
