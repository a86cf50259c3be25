// Fields of many runs as numbers, column by column.
//
// Legend: a path names a field (public_fields.hpp). Columns are fixed by some of the runs, and are for every path in
// them
//
//     of a number   its value (0 where a run has none); whether it is there
//     of a word     whether it is the word of the first of those runs; the place of the first word of the same run that
//                   is equal to it: which fields are equal, and which are not
//
// and over all fields: how many words differ from each other, how many fields there are, and how many have no column.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "audit/attack.hpp"
#include "audit/public_fields.hpp"

namespace dpreduce {

class FieldTable {
 public:
  /// Precondition (asserted): at least one run.
  explicit FieldTable(const std::vector<const PublicFields*>& runs);

  /// A run as a row: as many numbers for any run.
  std::vector<double> row(const PublicFields& run) const;

  /// What a column holds, in words.
  const std::vector<std::string>& columns() const { return columns_; }

 private:
  std::map<std::string, std::size_t> number_places_;  // of the first of its two columns
  std::map<std::string, std::size_t> word_places_;
  std::map<std::string, std::string> words_;  // of the first run
  std::vector<std::string> columns_;
};

}  // namespace dpreduce
