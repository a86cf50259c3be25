// Common content of files of models and statistics: preprocessing of rows, privacy statement, names of classes and
// features.
//
// Metadata: format, format_version, version (of the library), method, classes, input_dim, pool, normalize, clip_norm,
// center_factor where it is not 1, threshold, class_names and feature_names where there are any, privacy (a JSON object
// as a string); targets in the place of classes where rows have numbers. Tensors: feature_center and feature_scale
// [d_in], target_center and target_scale [m], center [d], selected [m], projection [k, d] and projection_largest [k]
// where rows have them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/json_fields.hpp"
#include "common/base/text.hpp"
#include "common/data/safetensors.hpp"
#include "common/model/classifier.hpp"

namespace dpreduce {

/// Ends a complaint about such a file.
inline constexpr const char* kIsOfDpreduce = "; was this file written by dpreduce?";

/// Members of a privacy statement, of files and reports. The unit is named only where it is a person: so models of rows
/// have the bytes that they had before there were persons.
void members_of(PrivacyStatement& privacy, JsonMembers& members);

/// Privacy statement of such a file: "private", and of a private one its figures, adjacency, and if the unit is a
/// person "unit" and what goes with it; else "forfeited_by", if there is anything.
nlohmann::json statement_json(const std::optional<PrivacyStatement>& privacy, const Forfeits& forfeits);

/// The metadata of such a file: all but weights of `parts`.
std::map<std::string, std::string> released_metadata(const ClassifierParts& parts, std::string_view format,
                                                     std::uint64_t format_version);

/// The tensors of rows' constants.
void add_row_constants(SafetensorsFile& file, const Preprocessing& preprocessing);

/// Takes a parsed file apart; every complaint is a BadInput that names the file.
class ReleasedFileReader {
 public:
  ReleasedFileReader(SafetensorsFile file, std::string_view source);

  /// Throws unless the file is of `format`, in a version from 1 to `latest`.
  void require_format(std::string_view format, std::uint64_t latest) const;
  /// Reads all parts but weights and link.
  ClassifierParts read_parts();
  /// Throws where a tensor is left.
  void require_all_taken() const;

  bool has(const std::string& key) const { return metadata_.has(key); }
  bool has_tensor(const std::string& name) const { return file_.tensors.contains(name); }
  std::string text(const std::string& key) const { return metadata_.with(key).text(key); }
  template <typename E>
  E choice(const std::string& key) const {
    return metadata_.choice<E>(key);
  }
  template <typename Number>
  Number number(const std::string& key) const {
    const std::string digits = text(key);
    const std::optional<Number> value = plain_number<Number>(digits);
    if (!value) fail(fmt::format("{} is {}, which is not a number in range", key, in_quotes(digits)));
    return *value;
  }

  std::vector<std::string> names(const std::string& key) const;
  const Tensor& tensor(const std::string& name) const;
  /// The entries of the tensor, which is then no longer there. Throws unless it is of their type and has this shape.
  template <typename Number>
  std::vector<Number> take(const std::string& name, const std::vector<std::uint64_t>& shape) {
    return entries_of<Number>(taken(name, dtype_of<Number>(), shape));
  }
  [[noreturn]] void fail(std::string_view reason) const { metadata_.refuse(std::string(reason)); }

 private:
  void read_row_constants(Preprocessing& preprocessing);
  std::vector<double> projection(std::uint64_t pooled_dim);
  Tensor taken(const std::string& name, DType type, const std::vector<std::uint64_t>& shape);
  void read_privacy(ClassifierParts& parts) const;

  SafetensorsFile file_;
  std::string source_;
  nlohmann::json texts_;  // the metadata
  JsonFields metadata_;
};

}  // namespace dpreduce
