// What a reader finds in the files of a run, field by field, whatever the files hold: nothing here knows the name of a
// field that might tell something.
//
//     .json, and each line of .jsonl     every value, by its path
//     .safetensors                       every entry of the metadata (JSON inside of it too) and of every tensor; each
//                                        tensor's bytes once more as one word, so that equal tensors show
//     any other text                     every word and number of every line
//
// Numbers are numbers. All else are words, which mean nothing, but may be equal to each other. Each digit of a long
// hexadecimal word is a number beside it: what looks drawn may hold a figure.
//
// No field is left out for its name. Of what a run prints, which is for its owner (docs/explanation/privacy.md, "Not
// covered"), seconds are left out where they are some: none below 0, and together no more than the run took.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

/// Lines of text that readers have seen: where one stands again, it is known by its place, and not read again.
using KnownLines = std::set<std::string, std::less<>>;

/// All bytes of a file. Throws BadInput where it cannot be read.
std::string content_of(const std::filesystem::path& path);

class PublicFields {
 public:
  /// `name` begins the paths of the fields.
  void add_text(const std::string& name, std::string_view text, const KnownLines& known = {});
  /// What a run printed that took so many seconds.
  void add_output(const std::string& name, std::string_view text, double seconds);
  void add_json(const std::string& name, const nlohmann::json& value);
  /// A file, by the ending of its name. Throws BadInput where it cannot be read, or is not what its name says.
  void add_file(const std::string& name, const std::filesystem::path& path, const KnownLines& known = {});

  const std::vector<std::pair<std::string, double>>& numbers() const { return numbers_; }
  const std::vector<std::pair<std::string, std::string>>& words() const { return words_; }

 private:
  void add_word(const std::string& path, std::string_view word);
  void add_line(const std::string& path, std::string_view line);

  std::vector<std::pair<std::string, double>> numbers_;
  std::vector<std::pair<std::string, std::string>> words_;
};

}  // namespace dpreduce
