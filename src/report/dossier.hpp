// A dossier: what reviewers of a private model ask, each question with its answer, as Markdown.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/reported_run.hpp"

namespace dpreduce {

/// What `audit --format json` printed, and the name of its file.
struct ReportedAudit {
  nlohmann::json content;
  std::string path;
};

/// Reads it. Throws BadInput where it is no JSON.
ReportedAudit read_audit(const std::string& path);

/// Unit; neighbors; epsilon and delta, and what an attacker gains; composition; utility by class; floating point;
/// timing; threat model; tests by `audit`. Words of the promise are those of privacy explain. Figures about test rows
/// are marked as outside of the guarantee, and left out where they are about training rows. It says nothing of laws.
///
/// Throws BadInput where the run is a plan or promises nothing, and where an audit is of another method or claim.
std::string dossier(const ReportedRun& run, const std::string& report_path, const std::vector<ReportedAudit>& audits);

/// How noise and sums keep clear of floating point, and what times tell: what is true of every run.
std::vector<std::string> floating_point_sentences(const ReportedRun& run);
std::vector<std::string> timing_sentences();

/// How the run's releases add up, and what others add to them.
std::vector<std::string> composition_sentences(const ReportedRun& run);

/// Throws BadInput, naming `path`, unless the run is done and promises something. `what` is to be made of it.
void require_promise(const ReportedRun& run, const std::string& path, const char* what);

}  // namespace dpreduce
