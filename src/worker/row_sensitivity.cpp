#include "worker/row_sensitivity.hpp"

#include <algorithm>

namespace dpreduce {

std::vector<LabelExchange> label_exchanges(std::uint64_t classes, std::uint64_t most_labels) {
  if (most_labels == 1) return {{"another row of the same class", 1, 0}, {"another class", 0, 2}};
  std::vector<LabelExchange> corners{{"another row of the same classes", most_labels, 0},
                                     {"other classes", 0, std::min(2 * most_labels, classes)}};
  if (2 * most_labels > classes && most_labels < classes) {
    corners.push_back({"some other classes", 2 * most_labels - classes, 2 * (classes - most_labels)});
  }
  return corners;
}

SensitivityProfile largest_of_each_block(const std::vector<SensitivityProfile>& profiles) {
  SensitivityProfile largest{"another person", profiles.front().squared_l2};
  for (const SensitivityProfile& profile : profiles) {
    for (std::size_t block = 0; block < largest.squared_l2.size(); ++block) {
      largest.squared_l2[block] = std::max(largest.squared_l2[block], profile.squared_l2[block]);
    }
  }
  return largest;
}

}  // namespace dpreduce
