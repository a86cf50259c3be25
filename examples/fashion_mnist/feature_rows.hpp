// From scattering coefficients to one feature row an image: standardize within the image, then pool.
//
//   s        81 x 8 x 8 coefficients of an image
//   groups   sets of channels that share one mean and one variance
//   z        (s - mean_g) / sqrt(var_g + 1e-7) for every group g; mean and variance over the group's channels and cells
//   row      z averaged over 2 x 2 cells (grid 4: d = 1296) or z itself (grid 8: d = 5184); channel, row, column
//
// Statistics are those of the image itself, never of the data set: a row depends on its own image alone, and so the
// encoder is public and costs no privacy. Source: [tramer2021] (group normalization of scattering features); the
// number of groups and the variance floor were chosen here, see README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "scattering.hpp"

namespace dpreduce::fashion_mnist {

enum class Standardize {
  kNone,     ///< s as it is
  kChannel,  ///< 81 groups of one channel
  kGroup     ///< 27 groups of three consecutive channels
};
std::string_view name(Standardize standardize);

struct RowSettings {
  Standardize standardize = Standardize::kGroup;
  int grid = 4;  ///< 4 or 8

  std::size_t dimension() const { return static_cast<std::size_t>(kChannels) * grid * grid; }
};

/// row = pool(z) as above. `coefficients`: 5184, overwritten by z. `row`: d. Preconditions: grid is 4 or 8; sizes fit.
/// A group without variance becomes zeros. An assertion fails where a precondition is broken.
void make_row(std::span<float> coefficients, const RowSettings& settings, std::span<float> row);

/// rows[i] = make_row(scattering(image i)), n x d: the same bits for any number of threads. `pixels`: n x 784 bytes.
/// Preconditions: threads >= 1; pixels.size() is a multiple of 784; rows.size() = n d. `on_progress(k)` is called from
/// any thread each time k further rows are done; it must not throw. An assertion fails where a precondition is broken.
void encode(const Scattering& scattering, std::span<const std::uint8_t> pixels, const RowSettings& settings,
            int threads, std::span<float> rows, const std::function<void(std::size_t)>& on_progress);

}  // namespace dpreduce::fashion_mnist
