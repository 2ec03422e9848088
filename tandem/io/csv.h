#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::io {

struct CSVOptions {
  TANDEM_ARG(char, delimiter) = ',';
  /// What fields may stand in that hold delimiters, ends of lines, or itself written twice.
  TANDEM_ARG(char, quote) = '"';
  /// The first line holds the names of the columns. Otherwise they are called "0", "1", ...
  TANDEM_ARG(bool, header) = true;
  /// The columns of numbers that are wanted, in this order; all if it is empty.
  TANDEM_ARG(std::vector<std::string>, columns) = {};
  /// A column that is read as text, if it has a name.
  TANDEM_ARG(std::string, text_column) = {};
  /// Fields that mean that there is no number.
  TANDEM_ARG(std::vector<std::string>, missing) = {"", "NA", "N/A", "NaN", "nan", "null", "?"};
  /// The number for them. Unless one is given, NaN; for whole numbers they are then errors.
  TANDEM_ARG(std::optional<double>, fill) = std::nullopt;
  TANDEM_ARG(DType, dtype) = kFloat;
};

struct CSVTable {
  /// Of the columns of `values`.
  std::vector<std::string> names;
  /// [rows, columns]
  Tensor values;
  /// The text column, where one was asked for.
  std::vector<std::string> text;
  /// On which line of the file each row begins, from 1 on.
  std::vector<size_t> lines;
};

/// A table of numbers from a text file. Empty lines are skipped; a field that is not what it should
/// be is an error that names its line and column.
CSVTable read_csv(const std::string& path, const CSVOptions& options = {});
/// The same for a text that is in memory; errors call it `name`.
CSVTable parse_csv(std::string_view text, const CSVOptions& options = {},
                   const std::string& name = "csv");

}  // namespace tandem::io
