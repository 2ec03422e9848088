#pragma once

#include <cstdint>
#include <vector>

/// The convolutions of a ResNet-50 for images of 224 x 224, each with how often it occurs.
struct ConvShape {
  int64_t in, out, size, kernel, stride, groups, times;
  int64_t padding() const { return kernel / 2; }
  int64_t result() const { return (size + 2 * padding() - kernel) / stride + 1; }
  /// Billions of additions and multiplications for one image.
  double gflop() const {
    return 2e-9 * static_cast<double>(out * (in / groups) * kernel * kernel * result() * result());
  }
};

inline std::vector<ConvShape> resnet_shapes() {
  return {{3, 64, 224, 7, 2, 1, 1},    {64, 64, 56, 1, 1, 1, 1},    {64, 64, 56, 3, 1, 1, 3},
          {64, 256, 56, 1, 1, 1, 4},   {256, 64, 56, 1, 1, 1, 2},   {256, 128, 56, 1, 1, 1, 1},
          {128, 128, 56, 3, 2, 1, 1},  {128, 512, 28, 1, 1, 1, 4},  {256, 512, 56, 1, 2, 1, 1},
          {512, 128, 28, 1, 1, 1, 3},  {128, 128, 28, 3, 1, 1, 3},  {512, 256, 28, 1, 1, 1, 1},
          {256, 256, 28, 3, 2, 1, 1},  {256, 1024, 14, 1, 1, 1, 6}, {512, 1024, 28, 1, 2, 1, 1},
          {1024, 256, 14, 1, 1, 1, 5}, {256, 256, 14, 3, 1, 1, 5},  {1024, 512, 14, 1, 1, 1, 1},
          {512, 512, 14, 3, 2, 1, 1},  {512, 2048, 7, 1, 1, 1, 3},  {1024, 2048, 14, 1, 2, 1, 1},
          {2048, 512, 7, 1, 1, 1, 2},  {512, 512, 7, 3, 1, 1, 2}};
}

#ifdef TANDEM_BENCH_LIBTORCH
#include <functional>
namespace libtorch_bench {
/// Functions that compute y, the gradient by x and that by the weight once.
struct Conv {
  std::function<void()> y, x, w;
};
Conv conv(const ConvShape& shape, int64_t batch);
}  // namespace libtorch_bench
#endif
