// An .npy file, mapped into memory and read in place; or the same bytes held by somebody else.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/data/array_file.hpp"
#include "common/data/mapped_file.hpp"
#include "common/data/npy_header.hpp"

namespace dpreduce {

class NpyArray final : public ArrayFile {
 public:
  /// Maps the file. Throws BadInput where it cannot be opened, its header cannot be parsed (see parse_npy_header), or
  /// it does not hold exactly the bytes that its shape asks for: a file cut short, or one with something after its end.
  explicit NpyArray(const std::string& path);

  /// Reads `bytes`, which must stay valid as long as this object. Throws the same.
  NpyArray(std::span<const std::byte> bytes, const std::string& name);

  const NpyHeader& header() const { return header_; }

  StoredFloats features_in_place(std::uint64_t first_row, std::uint64_t count) const override;
  void expect_rows(std::uint64_t first_row, std::uint64_t count) const override;
  void release_rows(std::uint64_t first_row, std::uint64_t count) const override;
  FileIdentity identity() const override { return file_identity(name(), 0); }
  bool is_cheap_to_keep_open() const override { return true; }

 private:
  NpyArray(MappedFile file, const std::string& name);
  NpyArray(std::span<const std::byte> bytes, const std::string& name, NpyHeader header);

  std::span<const std::byte> stored_rows(std::uint64_t first_row, std::uint64_t count,
                                         std::vector<std::byte>& scratch) override;

  NpyHeader header_;
  std::span<const std::byte> elements_;
  std::optional<MappedFile> file_;
};

}  // namespace dpreduce
