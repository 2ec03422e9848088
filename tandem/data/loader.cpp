#include "tandem/data/loader.h"

#include <limits>

#include "tandem/ops/ops.h"

namespace tandem::data::detail {

uint64_t epoch_seed() {
  return static_cast<uint64_t>(
      randint(std::numeric_limits<int64_t>::max(), {}, TensorOptions(kLong)).item<int64_t>());
}

}  // namespace tandem::data::detail
