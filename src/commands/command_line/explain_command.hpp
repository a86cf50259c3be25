// `dpreduce privacy explain`: what a report promises.
#pragma once

#include <string>

#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

struct ExplainOptions {
  std::string report;
  OutputFormat format = OutputFormat::kText;
  bool operator==(const ExplainOptions&) const = default;
};

/// The command as the command line sees it.
CommandEntry explain_command();

}  // namespace dpreduce
