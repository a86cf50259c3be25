// Which tensors a file of torch.save has.
//
// A pickle is a program for a stack machine, and may call anything. Here none is run: only those instructions are
// read of which torch.save makes a tensor, or a dictionary of tensors, and only the names in them; all else is refused.
// Source: PyTorch, torch/serialization.py (format 3) and torch/_utils.py; Python, pickletools.py, protocol 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dpreduce {

struct StoredTensor {
  std::string name;          ///< its key in the dictionary; empty where it is alone
  std::string storage;       ///< "torch.FloatStorage"
  std::string key;           ///< of the member that holds its elements, data/KEY
  std::uint64_t offset = 0;  ///< of the first, in elements
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> strides;  ///< in elements, as many
};

/// The tensors of a pickle, in its order. Other values of a dictionary, such as numbers, are left out. Throws BadInput
/// naming `name` where there is anything but the above.
std::vector<StoredTensor> tensors_of_pickle(std::span<const std::byte> pickle, const std::string& name);

}  // namespace dpreduce
