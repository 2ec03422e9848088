// Pooling and resampling as networks for images have them, written once for both libraries: `torch`
// is whichever was included. Each file that includes this has functions of its own: were they
// shared, both libraries' columns would show the same one.
#pragma once

#include "bench/pool.h"

static std::vector<PoolWorkload> make_pool_workloads() {
  std::vector<PoolWorkload> all;
  const auto add = [&](const char* name, std::vector<int64_t> sizes,
                       std::function<torch::Tensor(const torch::Tensor&)> fn) {
    torch::Tensor x = torch::rand(sizes), leaf = torch::rand(sizes).requires_grad_();
    torch::Tensor g;
    {
      torch::NoGradGuard no_grad;
      g = torch::ones_like(fn(x));
    }
    all.push_back({name,
                   [=] {
                     torch::NoGradGuard no_grad;
                     fn(x);
                   },
                   [=] { torch::autograd::grad({fn(leaf)}, {leaf}, {g}); }});
  };
  add("ResNet-50 max_pool2d 3x3/2, 4x64x112x112", {4, 64, 112, 112},
      [](const torch::Tensor& x) { return torch::max_pool2d(x, 3, 2, 1); });
  add("ResNet-50 adaptive_avg_pool2d 1, 4x2048x7x7", {4, 2048, 7, 7}, [](const torch::Tensor& x) {
    return torch::adaptive_avg_pool2d(x, {1, 1});
  });
  add("VGG max_pool2d 2x2, 4x64x112x112", {4, 64, 112, 112},
      [](const torch::Tensor& x) { return torch::max_pool2d(x, 2); });
  add("LeNet max_pool2d 2x2, 64x20x24x24", {64, 20, 24, 24},
      [](const torch::Tensor& x) { return torch::max_pool2d(x, 2); });
  add("DenseNet avg_pool2d 2x2, 4x128x56x56", {4, 128, 56, 56},
      [](const torch::Tensor& x) { return torch::avg_pool2d(x, 2); });
  add("Inception avg_pool2d 3x3/1, 4x192x35x35", {4, 192, 35, 35},
      [](const torch::Tensor& x) { return torch::avg_pool2d(x, 3, 1, 1); });
  add("VGG adaptive_avg_pool2d 7, 4x512x14x14", {4, 512, 14, 14}, [](const torch::Tensor& x) {
    return torch::adaptive_avg_pool2d(x, {7, 7});
  });
  add("max_pool3d 2x2x2, 2x16x16x56x56", {2, 16, 16, 56, 56},
      [](const torch::Tensor& x) { return torch::max_pool3d(x, 2); });
  add("U-Net nearest x2, 4x64x56x56", {4, 64, 56, 56}, [](const torch::Tensor& x) {
    const std::vector<int64_t> size = {112, 112};
    return torch::upsample_nearest2d(x, torch::IntArrayRef(size));
  });
  add("U-Net bilinear x2, 4x64x56x56", {4, 64, 56, 56}, [](const torch::Tensor& x) {
    const std::vector<int64_t> size = {112, 112};
    return torch::upsample_bilinear2d(x, torch::IntArrayRef(size), true);
  });
  add("images bicubic 256 to 224, 4x3x256x256", {4, 3, 256, 256}, [](const torch::Tensor& x) {
    const std::vector<int64_t> size = {224, 224};
    return torch::upsample_bicubic2d(x, torch::IntArrayRef(size), false);
  });
  const torch::Tensor grid = torch::rand({4, 56, 56, 2}) * 2 - 1;
  add("grid_sampler bilinear, 4x32x56x56", {4, 32, 56, 56},
      [grid](const torch::Tensor& x) { return torch::grid_sampler(x, grid, 0, 0, false); });
  add("reflection_pad2d 3, 4x64x112x112", {4, 64, 112, 112}, [](const torch::Tensor& x) {
    return torch::reflection_pad2d(x, {3, 3, 3, 3});
  });
  add("constant_pad_nd 1, 4x64x56x56", {4, 64, 56, 56}, [](const torch::Tensor& x) {
    return torch::constant_pad_nd(x, {1, 1, 1, 1});
  });
  return all;
}
