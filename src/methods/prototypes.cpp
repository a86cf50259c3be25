// Class means or chosen public rows as prototypes, whichever serve better: decided by public knowledge alone
// (prototype_choice.hpp). Both are centered by public rows, unless --center says otherwise.
#include "methods/fit_options.hpp"
#include "methods/prototype_choice.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

const MethodEntry& mean_method();
const MethodEntry& public_method();

namespace {

FitOptions resolve_prototypes(FitOptions options, const RowsAhead& rows) {
  options.method.name =
      prefers_means(options, rows.kept_features, rows.public_rows) ? mean_method().name : public_method().name;
  if (!options.rows.center) options.rows.center = Centering::kPublic;
  return options;
}

}  // namespace

const MethodEntry& prototypes_method() {
  static const MethodEntry entry{
      .name = "prototypes",
      .help = "class means or public rows, chosen by public knowledge",
      .takes = {{"--auto"}, {"--expected-rows"}, {"--smallest-share"}},
      .refuses = refused_by_public_choice(),
      .resolve = resolve_prototypes,
      .resolved_by = "budget, classes, features, --expected-rows and --smallest-share: public knowledge",
      .chooses_public_rows = true};
  return entry;
}

}  // namespace dpreduce
