// TOML 1.0, of configuration files and rosters, as a list of `key = value`.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dpreduce {

/// One `key = value`.
struct TomlItem {
  std::vector<std::string> section;  ///< of [privacy.calibrate], or of privacy.calibrate.key = ..., its two names
  std::string key;
  std::vector<std::string> values;  ///< one; of an array all. Numbers are decimal, truth values true and false
  std::size_t line = 0;             ///< of the key; the first is 1
  std::size_t column = 0;           ///< of the key, in its line
};

/// Error in a text, with the line of the error.
class TomlError : public std::runtime_error {
 public:
  TomlError(std::size_t line, const std::string& what) : std::runtime_error(what), line_(line) {}
  std::size_t line() const { return line_; }

 private:
  std::size_t line_;
};

/// The items of a TOML text, in their order. Throws TomlError where it is no TOML (so also where a key is there twice),
/// and where a value is a date, a time, or an array of arrays or tables.
std::vector<TomlItem> toml_items(const std::string& text);

/// Text of a file of at most 1 MiB. `refuse` is called with what is wrong where it cannot be read or is larger, and
/// throws.
std::string text_of_file(const std::string& path, const std::function<void(const std::string& fault)>& refuse);

}  // namespace dpreduce
