#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tandem/base/array_ref.h"
#include "tandem/core/generator.h"

/// Which sample this thread works on. Random transforms draw from a generator that depends on the
/// epoch's seed and the sample alone, so that they give the same numbers for any number of workers;
/// and an exception can say which sample it came from.
namespace tandem::data {

/// The generator of the sample at hand. Outside of a data loader it goes on from the default
/// generator.
Generator sample_generator();
/// Its index in the data set, where it has one.
std::optional<size_t> current_sample();

namespace detail {

/// While it lives, this thread makes a batch. `indices` may be empty: then samples count from
/// `first`.
class BatchScope {
 public:
  BatchScope(uint64_t seed, ArrayRef<size_t> indices, size_t first);
  ~BatchScope();
  BatchScope(const BatchScope&) = delete;
  BatchScope& operator=(const BatchScope&) = delete;
};
/// The thread is now at this position of its batch. Without a batch it does nothing.
void at_sample(size_t position);

}  // namespace detail
}  // namespace tandem::data
