// Reported run: the checked contents of a report of fit or of evaluate --private. Explanation, card and page are made
// from it.
//
//     FittedRun  ->  JSON (fit_report.hpp)  <->  file
//                      |
//                      ReportedRun  ->  words, card, page
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/accounting/budget.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/ledger_record.hpp"
#include "common/ledger/ledger_state.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/model/classifier.hpp"
#include "common/ranks/silo_job.hpp"
#include "report/reported_metrics.hpp"

namespace dpreduce {

// A report's members that are read again are named once, by members_of, for who writes and who reads them. Texts that
// were read are printable ASCII, other bytes escaped.

/// Released block of a run.
struct ReportedBlock : LedgerBlock {
  std::string release{};
  double sampling_rate = 1.0;          ///< sampling rate of the round that released it; 1: all rows
  bool is_symmetric = false;           ///< the upper triangle of a Gram matrix
  std::optional<double> mu{};          ///< as the report has it, rounded up
  std::optional<double> norm{};        ///< of what came out; both or neither, but where a report was edited
  std::optional<double> noise_norm{};  ///< of the noise alone, expected; above 0
  bool is_shown = true;                ///< else charged, and lost with its process
};
void members_of(ReportedBlock& block, JsonMembers& members);

/// Private selection of a run.
struct ReportedSelection : PlannedSelection {
  bool is_shown = true;  ///< as of a block
};
void members_of(ReportedSelection& selection, JsonMembers& members);

/// Blocks grouped into rounds, in the order of their first rounds: blocks of one release that differ only in the number
/// of their round are one group.
std::vector<std::vector<ReportedBlock>> rounds_of(const std::vector<ReportedBlock>& blocks);

/// Privacy guarantee of a run.
struct ReportedGuarantee {
  double epsilon = 0.0;
  double delta = 0.0;
  std::optional<double> mu;  ///< absent if there are sampled rounds
  Adjacency adjacency = Adjacency::kAddRemove;
  std::optional<Accountant> accountant{};  ///< absent from a model file
  PrivacyUnit unit = PrivacyUnit::kRecord;
  std::optional<PersonStatement> person{};  ///< if the unit is a person; a ledger does not state it
};

/// Members of a run among silos with masked sums.
struct ReportedSilos {
  NoiseSource noise = NoiseSource::kCentral;
  std::uint64_t colluding = 0;  ///< c
  bool is_ephemeral = false;    ///< no roster: nobody knows who the parties were
  /// Silos that dropped out. Absent from a report of a plan
  std::optional<std::vector<LostSilo>> lost{};
};
void members_of(LostSilo& lost, JsonMembers& members);
void members_of(ReportedSilos& silos, JsonMembers& members);

void members_of(LedgerHead& head, JsonMembers& members);

/// Returns "auto (by fc)" if `method` was chosen for the requested method `asked`; returns `method` if both are the
/// same, or `asked` is empty.
std::string method_text_of(const std::string& asked, const std::string& method);

/// Kind of document that a run is reported from. A model file holds the promise of its fit and no more; a ledger holds
/// the promise of all its runs.
enum class ReportedOf { kReport, kModel, kLedger };

/// Reported run: the checked contents of one report, model file or ledger.
struct ReportedRun {
  std::string path{};        ///< of the report, model or ledger, as messages name it
  nlohmann::json content{};  ///< the report itself; figures beside the promise are read from it when they are shown
  std::string method{};      ///< printable ASCII, other bytes escaped
  std::string asked{};       ///< value of --method, if `method` was chosen for it; else empty
  bool is_private = false;
  Forfeits forfeits{};         ///< why a run with noise is not private
  bool is_dry_run = false;     ///< plan: nothing was released
  bool is_evaluation = false;  ///< evaluation of an existing model: nothing was trained
  ReportedOf of = ReportedOf::kReport;
  PrivacyUnit unit = PrivacyUnit::kRecord;       ///< unit that the run protects, or would protect
  std::optional<ReportedGuarantee> guarantee{};  ///< absent if the run is not private
  std::vector<ReportedBlock> blocks{};
  std::vector<ReportedSelection> selections{};
  std::optional<ReportedSilos> silos{};
  bool is_chosen_by_validation = false;  ///< --choose with validation rows, which nothing protects
  std::vector<PublicByWord> public_by_word{};
  std::vector<std::string> models{};         ///< promise of each evaluated model for its own rows, in words
  bool is_tested_on_training_rows = false;   ///< test figures are exact figures about training rows
  std::optional<ReportedMetrics> figures{};  ///< noised figures of test rows; nullopt if they are exact or absent
  bool is_on_a_long_tail = false;            ///< experiment: trained on a part of the rows
  std::optional<LedgerHead> ledger{};        ///< state when the report was made; absent if nothing was charged

  /// Returns whether releases have noise. A run without noise is not private either.
  bool has_noise() const { return !blocks.empty() || !selections.empty(); }
  /// Returns the method as readers know it: "ls", or "auto (by fc)".
  std::string method_text() const { return method_text_of(asked, method); }
  bool is_of_persons() const { return guarantee && guarantee->unit == PrivacyUnit::kPerson; }
  bool is_seeded() const { return std::ranges::find(forfeits, Forfeit::kSeed) != forfeits.end(); }
};

/// Largest size of a report in bytes; larger files are refused. A report of 2^20 classes has about 25 MB.
inline constexpr std::size_t kLargestReport = std::size_t{64} << 20;

/// Returns the run that a report is about. `path` names the report in messages. Throws BadInput unless the report is an
/// object with the fields of a report, each in its range, without contradiction: a private run has releases, each with
/// sigma and sensitivity, or selections; mu is at least that of every block; epsilon is at least what mu gives at
/// delta. If delta is 0, epsilon is instead at least that of all selections together, and the run has selections only.
ReportedRun reported_run(nlohmann::json content, const std::string& path);

/// Parses a report and returns its run. Throws BadInput also if the text is not JSON, or values are nested too deep.
ReportedRun parse_report(std::string_view text, const std::string& path);

/// Reads a report file and returns its run. Throws BadInput also if the file cannot be read, is not a regular file, or
/// is larger than kLargestReport.
ReportedRun read_report(const std::string& path);

/// Returns the fit as a model declares it. Throws BadInput, naming `path`, if the model promises something and declares
/// no epsilon.
ReportedRun run_of_model(const Classifier& model, const std::string& path);

/// Returns all runs of a ledger together, as if they were about the same records. Throws BadInput, naming `path`, if no
/// private run has charged anything, or no epsilon bounds their spending.
ReportedRun run_of_ledger(const LedgerState& state, const std::string& path);

}  // namespace dpreduce
