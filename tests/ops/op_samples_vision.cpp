#include "tests/ops/op_table.h"

namespace tandem::table {

void add_vision_rows(std::vector<Row>&) {}

}  // namespace tandem::table
