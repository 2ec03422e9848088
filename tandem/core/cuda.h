#pragma once

#include <cstddef>

/// What programs ask before they use a GPU. There is none.
namespace tandem::cuda {

inline bool is_available() { return false; }
inline bool cudnn_is_available() { return false; }
inline size_t device_count() { return 0; }

}  // namespace tandem::cuda
