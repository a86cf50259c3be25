#include "common/base/shown_text.hpp"

#include <algorithm>

namespace dpreduce {

std::string shown_text(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(
      shown, [](char character) { return character < ' ' || character > '~'; }, '?');
  return shown;
}

}  // namespace dpreduce
