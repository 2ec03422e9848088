#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "tandem/base/arg.h"

namespace tandem::data {

struct DataLoaderOptions {
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  TANDEM_ARG(size_t, batch_size) = 1;
  /// Threads that make batches; with none the caller's thread does.
  TANDEM_ARG(size_t, workers) = 0;
  /// How many batches may be in the making or waiting; twice the workers unless it is said. This
  /// bounds the memory.
  TANDEM_ARG(std::optional<size_t>, max_jobs);
  /// How long to wait for a batch.
  TANDEM_ARG(std::optional<std::chrono::milliseconds>, timeout);
  /// Batches come in the order of the sampler, however fast the workers are.
  TANDEM_ARG(bool, enforce_ordering) = true;
  /// Leave out the last batch if it is smaller.
  TANDEM_ARG(bool, drop_last) = false;
};

/// The same with everything decided.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& o)
      : batch_size(o.batch_size()),
        workers(o.workers()),
        max_jobs(o.max_jobs().value_or(2 * workers)),
        timeout(o.timeout()),
        enforce_ordering(o.enforce_ordering()),
        drop_last(o.drop_last()) {}
  size_t batch_size, workers, max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering, drop_last;
};

}  // namespace tandem::data
