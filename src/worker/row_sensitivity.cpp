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

}  // namespace dpreduce
