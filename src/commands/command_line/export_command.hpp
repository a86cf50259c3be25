// `dpreduce export`: a model in the forms that other programs and readers take.
#pragma once

#include <string>
#include <vector>

#include "common/base/float_width.hpp"
#include "common/data/output_check.hpp"

namespace dpreduce {

struct CommandEntry;

struct ExportOptions {
  std::string model;
  std::string onnx;  ///< empty: none
  FloatWidth onnx_width = FloatWidth::kFloat32;
  std::string card;    ///< empty: none
  std::string report;  ///< of the fit that made the model, for the card; empty: none
  bool overwrite = false;
  bool operator==(const ExportOptions&) const = default;
};

/// The files that are written.
std::vector<NamedPath> exported_files(const ExportOptions& options);

/// Throws UsageError where nothing is asked for, an option goes with another that is not there, or two outputs are one
/// file.
ExportOptions validated(ExportOptions options);

/// The command as the command line sees it.
CommandEntry export_command();

}  // namespace dpreduce
