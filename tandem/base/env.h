#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Every environment variable that Tandem reads. Each is read once, at its first use.
namespace tandem::env {

/// TANDEM_NUM_THREADS: threads of a parallel region; 0 means "not set" (OMP_NUM_THREADS then
/// counts).
int64_t num_threads();
/// TANDEM_LOG: comma-separated topics to log to standard error.
const std::string& log_topics();
/// True iff `topic` is among them.
bool logs(std::string_view topic);
/// TANDEM_VERIFY: graphs are checked after every pass if it is 1; in debug builds always.
bool verify_graphs();
/// TANDEM_JIT: "off" (or "0") keeps generated code from being made and used.
bool jit_enabled();
/// TANDEM_CACHE: folder for what the next process can use again, such as generated code. Otherwise
/// `tandem` in $XDG_CACHE_HOME or in ~/.cache; empty if there is no such place.
const std::string& cache_dir();
/// TANDEM_FASHION_MNIST: folder of the Fashion-MNIST files.
const std::string& fashion_mnist_dir();

}  // namespace tandem::env
