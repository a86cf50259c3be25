#include "commands/command_line/row_options.hpp"

#include <fmt/format.h>

#include "methods/method_terms.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// "0.02; METHOD 0.05": the usual share, and the methods that take another.
std::string center_shares() {
  std::string shares = fmt::format("{}", kCenterShare);
  for (const MethodEntry* method : all_methods()) {
    if (method->center_share != kCenterShare) shares += fmt::format("; {} {}", method->name, method->center_share);
  }
  return shares;
}

}  // namespace

void declare_rows(OptionTable& table, RowOptions& rows) {
  const std::size_t first = table.options().size();
  table.choice("--normalize", rows.normalize, "scale every row to norm C, or only clip longer ones");
  table.number("--clip", rows.clip_norm, "C: the clip norm");
  table.choice("--center", rows.center,
               fmt::format("center rows by a released mean, or that of --public-x, then scale or clip again; moments "
                           "({}): by the mean in its own release, without scaling again; default: none, or what the "
                           "method stands for",
                           methods_that_take("--center moments")));
  table.number("--center-share", rows.center_share,
               fmt::format("share of mu^2 that the released mean takes ({})", center_shares()));
  table.count("--pca", rows.pca, "project rows on the first k principal components, of --public-x where given")
      .defaults_to("");
  table.number("--pca-share", rows.pca_share, "share of mu^2 that private components take (0.1)");
  table.count("--select", rows.select, "keep the m features in which class means are farthest apart").defaults_to("");
  table.choice("--select-by", rows.select_by,
               fmt::format("distance of class means, or that over the standard deviation (t: {}); default: distance",
                           methods_that_take("--select-by t")));
  table.number("--select-share", rows.select_share,
               "share of mu^2 that the selection takes, where the method does not select by its own release (0.1)");
  table.count("--pool", rows.pool, "average k consecutive features into one");
  for (std::size_t n = first; n < table.options().size(); ++n) table.options()[n].in_group(kMethodGroup);
}

}  // namespace dpreduce
