// Figures about test rows that were released with noise, as reports have them: each with its interval.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json_fields.hpp"

namespace dpreduce {

struct ToldFigure {
  std::string name;             ///< "accuracy", "recall of cat"
  std::optional<double> value;  ///< none where the interval leaves out next to nothing
  double low;
  double high;
  double noise;        ///< standard deviation by noise alone
  double least = 0.0;  ///< what the figure may be
  double most = 1.0;
  bool is_share = true;   ///< of what a model gets right; else a loss, or a difference
  bool has_unit = false;  ///< that of the targets, so that it may be of any size
};

/// Figures of the same kind, of each class, group or target; or those that stand alone.
struct ToldList {
  std::string kind;  ///< "recall"; empty of those that stand alone
  std::vector<ToldFigure> figures;
};

/// Longer lists are in the report alone: readers of words get their length.
inline constexpr std::size_t kMostToldByOne = 20;

struct ToldFigures {
  bool is_private;  ///< false: whoever knows a seed, or the rows of the model, may know more
  double level;     ///< probability with which each interval holds
  std::vector<ToldList> lists;
};

/// The member of a report that holds "metrics" with noise: the report itself, where it is an evaluation's, or "test" of
/// a fit's; none where there are no such figures.
std::optional<JsonFields> told_part_of(const JsonFields& report);

/// All figures of it that are one number; none where there are no such figures. Throws BadInput where a member is not
/// as the program writes it.
std::optional<ToldFigures> told_figures(const JsonFields& report);

/// Value, ends of the interval and noise as words: "0.993", "0.980", "1.000", "0.007"; "too little data" in the place
/// of no value.
std::vector<std::string> words_of(const ToldFigure& figure);

/// "0.993, from 0.980 to 1.000, noise 0.007".
std::string text_of(const ToldFigure& figure);

/// Each figure by its name, in such words; of long lists their length.
std::vector<std::pair<std::string, std::string>> told_lines(const ToldFigures& told);

}  // namespace dpreduce
