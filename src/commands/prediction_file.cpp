#include "commands/prediction_file.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/data/table_path.hpp"

namespace dpreduce {

PredictionFile::PredictionFile(Writer writer, std::vector<std::string> class_names)
    : writer_(std::move(writer)), class_names_(std::move(class_names)) {}

PredictionFile PredictionFile::of_labels(const std::string& path, const Classifier& classifier, std::uint64_t rows,
                                         std::size_t per_row, Existing existing) {
  if (!is_csv(path)) {
    const Shape shape = per_row == 0 ? Shape{rows} : Shape{rows, per_row};
    return {std::make_unique<NpyWriter>(path, DType::kInt64, shape, existing), {}};
  }
  std::vector<std::string> columns;
  for (std::size_t place = 1; place <= per_row; ++place) columns.push_back(fmt::format("label_{}", place));
  if (per_row == 0) columns = {"label"};
  return {std::make_unique<CsvWriter>(path, columns, existing), classifier.parts().class_names};
}

PredictionFile PredictionFile::of_classes(const std::string& path, const Classifier& classifier, DType dtype,
                                          std::uint64_t rows, Existing existing) {
  const std::vector<std::string>& names = classifier.parts().class_names;
  if (!is_csv(path)) {
    return {std::make_unique<NpyWriter>(path, dtype, Shape{rows, classifier.classes()}, existing), {}};
  }
  std::vector<std::string> columns = names;
  for (std::size_t k = columns.size(); k < classifier.classes(); ++k) columns.push_back(fmt::format("class_{}", k));
  return {std::make_unique<CsvWriter>(path, columns, existing), {}};
}

void PredictionFile::append(std::span<const std::int32_t> classes) {
  if (const auto* npy = std::get_if<std::unique_ptr<NpyWriter>>(&writer_)) return (*npy)->append(classes);
  CsvWriter& csv = *std::get<std::unique_ptr<CsvWriter>>(writer_);
  for (const std::int32_t k : classes) csv.add(name_of_class(class_names_, static_cast<std::size_t>(k)));
}

void PredictionFile::append(std::span<const float> numbers) {
  if (const auto* npy = std::get_if<std::unique_ptr<NpyWriter>>(&writer_)) return (*npy)->append(numbers);
  CsvWriter& csv = *std::get<std::unique_ptr<CsvWriter>>(writer_);
  for (const float number : numbers) csv.add(number);
}

void PredictionFile::append_sets(std::span<const std::byte> sets) {
  if (const auto* npy = std::get_if<std::unique_ptr<NpyWriter>>(&writer_)) return (*npy)->append_stored(sets);
  CsvWriter& csv = *std::get<std::unique_ptr<CsvWriter>>(writer_);
  for (const std::byte entry : sets) csv.add(std::to_integer<std::int64_t>(entry));
}

void PredictionFile::commit() {
  std::visit([](const auto& writer) { writer->commit(); }, writer_);
}

}  // namespace dpreduce
