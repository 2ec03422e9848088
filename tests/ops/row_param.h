#pragma once

#include <gtest/gtest.h>

#include <cctype>

#include "tests/ops/op_table.h"

/// The rows of the op table as GoogleTest's parameters.
namespace tandem::table {

inline std::vector<const Row*> row_pointers() {
  std::vector<const Row*> r;
  for (const Row& row : all_rows()) r.push_back(&row);
  return r;
}

inline std::string test_name(const testing::TestParamInfo<const Row*>& info) {
  std::string name;
  for (char c : info.param->name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

}  // namespace tandem::table
