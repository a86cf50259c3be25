#include "report/test_figures.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace dpreduce {

nlohmann::json training_rows_note() {
  return {{"rows_are_training_rows", true},
          {"note", "exact figures about training rows: outside the privacy guarantee, and not to be published"}};
}

nlohmann::json confusion_json(const ConfusionMatrix& matrix) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t true_label = 0; true_label < matrix.classes(); ++true_label) {
    nlohmann::json row = nlohmann::json::array();
    for (std::size_t predicted = 0; predicted < matrix.classes(); ++predicted)
      row.push_back(matrix.count(true_label, predicted));
    rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::json to_json(const TestFigures& figures) {
  return std::visit([](const auto& some) { return to_json(some); }, figures);
}

}  // namespace dpreduce
