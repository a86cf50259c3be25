// What is done to rows before a method sees them, for `fit` and `audit`.
#pragma once

#include "common/base/option_table.hpp"
#include "methods/options/row_options.hpp"

namespace dpreduce {

void declare_rows(OptionTable& table, RowOptions& rows);

}  // namespace dpreduce
