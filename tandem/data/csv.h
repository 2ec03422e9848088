#pragma once

#include <string>
#include <vector>

#include "tandem/data/datasets.h"
#include "tandem/io/csv.h"

namespace tandem::data::datasets {

/// A table, row by row: numbers [columns], and the label without dimensions.
///
///     datasets::CSV iris("iris.csv", "species");
///     datasets::CSV houses("houses.csv", "price", io::CSVOptions().delimiter(';'), kFloat);
class CSV : public Dataset<CSV> {
 public:
  /// `label` is the column that holds what is to be learnt. Int64 labels are classes: whole numbers
  /// stand for themselves; if there is anything else they are names, and numbered in alphabetical
  /// order. Floating-point labels are numbers to be fitted.
  CSV(const std::string& path, const std::string& label, io::CSVOptions options = {},
      DType label_dtype = kLong);
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return static_cast<size_t>(values_.size(0)); }

  /// Names of the columns, and all rows [n, columns].
  const std::vector<std::string>& columns() const { return columns_; }
  const Tensor& values() const { return values_; }
  /// All labels, [n].
  const Tensor& targets() const { return targets_; }
  /// What the classes are called, where they have names.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  std::vector<std::string> columns_, classes_;
  Tensor values_, targets_;
};

}  // namespace tandem::data::datasets
