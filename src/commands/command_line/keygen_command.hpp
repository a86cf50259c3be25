// `dpreduce keygen`: the identity of a party.
#pragma once

#include <string>

#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

struct KeygenOptions {
  std::string out;  ///< of the private half
  std::string name = "silo";
  OutputFormat format = OutputFormat::kText;
  bool operator==(const KeygenOptions&) const = default;
};

/// The command as the command line sees it.
CommandEntry keygen_command();

}  // namespace dpreduce
