#pragma once

#include <string>
#include <vector>

#include "tandem/core/tensor.h"

/// How the tool writes numbers and tables.
namespace tandem::cli {

/// "46.8 MB"
std::string bytes_text(double bytes);
/// "1,234 tensors", "1 tensor"
std::string count(int64_t n, const std::string& noun);
/// "float32 [64, 3, 7, 7]"
std::string type_text(const Tensor& t);

/// Rows of cells, printed with columns as wide as their widest cell, two blanks between them.
class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tandem::cli
