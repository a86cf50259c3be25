// What is done to rows before a method sees them, for `fit` and `audit`.
#pragma once

#include "dpreduce/base/option_table.hpp"
#include "dpreduce/methods/options/row_options.hpp"

namespace dpreduce {

void declare_rows(OptionTable& table, RowOptions& rows);

}  // namespace dpreduce
