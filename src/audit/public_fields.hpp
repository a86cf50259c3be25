// What a reader finds in the files of a run, field by field, whatever the files hold: nothing here knows the name of a
// field that might tell something.
//
//     .json, and each line of .jsonl     every value, by its path
//     .safetensors                       every entry of the metadata (JSON inside of it too) and of every tensor; each
//                                        tensor's bytes once more as one word, so that equal tensors show
//     any other text                     every word and number of every line
//
// Numbers are numbers. All else are words, which mean nothing, but may be equal to each other.
//
// Left out is what no claim is about (docs/explanation/privacy.md, "Not covered"): points in time, how long a phase
// took, and what follows from them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

class PublicFields {
 public:
  /// `name` begins the paths of the fields.
  void add_text(const std::string& name, std::string_view text);
  void add_json(const std::string& name, const nlohmann::json& value);
  /// A file, by the ending of its name. Throws BadInput where it cannot be read, or is not what its name says.
  void add_file(const std::string& name, const std::filesystem::path& path);

  const std::vector<std::pair<std::string, double>>& numbers() const { return numbers_; }
  const std::vector<std::pair<std::string, std::string>>& words() const { return words_; }

 private:
  void add_word(const std::string& path, std::string_view word);

  std::vector<std::pair<std::string, double>> numbers_;
  std::vector<std::pair<std::string, std::string>> words_;
};

}  // namespace dpreduce
