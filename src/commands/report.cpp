// dpreduce report: one page on reports of fit, results of sweeps and ledgers.
#include <array>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "commands/commands.hpp"
#include "common/data/atomic_file.hpp"
#include "common/data/output_check.hpp"
#include "report/page/document.hpp"
#include "report/page/page.hpp"

namespace dpreduce {

void run_command(const ReportOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    for (const std::string& path : options.files) require_not_read(std::array{NamedPath{"--out", options.out}}, path);
    AtomicFile file(options.out, options.overwrite ? Existing::kReplace : Existing::kKeep);
    std::vector<PageDocument> documents;
    for (const std::string& path : options.files) documents.push_back(document_of_file(path));
    file.write(page_of(documents, options.for_public ? Audience::kPublic : Audience::kOwner));
    file.commit();
    fmt::print("wrote {}\n", options.out);
  });
}

}  // namespace dpreduce
