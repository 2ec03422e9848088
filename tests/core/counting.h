#pragma once

#include "tandem/ops/ops.h"

namespace tandem {

/// 0, 1, 2, ... in row-major order.
inline Tensor counting(IntArrayRef sizes, DType t = kFloat) {
  Tensor x = empty(sizes, t);
  dispatch(t, [&]<class T>(T) {
    for (int64_t i = 0; i < x.numel(); ++i)
      x.data_ptr<T>()[i] = static_cast<T>(static_cast<float>(i));
  });
  return x;
}

}  // namespace tandem
