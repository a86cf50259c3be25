// An entry of the public registry of deployments of differential privacy (opendp/deployments-registry-data), in its
// form.
//
//     report of fit    what is promised, by which means, for whom       ->  fields that the report knows
//     about.toml       name, curators, use, region, why                 ->  fields that their author alone knows
//
// The file has the registry's own names: its blocks are sections, its fields are keys. What an author says of a field
// that the report knows, too, stands in front of the report's own words.
#pragma once

#include <string>

#include "report/reported_run.hpp"

namespace dpreduce {

/// The entry as YAML (docs/reference/schemas/registry-entry.schema.json), a draft for its author to read.
/// Its tier is 3 where `about` says what was done to the rows before and why the choices were made, else 2.
/// `about_path` names the author's text in messages.
///
/// Throws BadInput where the run is a plan or promises nothing; where `about` is no TOML, has a section or key that is
/// no field of an author, or a value that the registry does not take; and where a field that it must have is missing.
std::string registry_entry(const ReportedRun& run, const std::string& report_path, const std::string& about,
                           const std::string& about_path);

}  // namespace dpreduce
