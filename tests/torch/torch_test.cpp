// A program as LibTorch's users write them, with all of LibTorch's namespaces and macros.
#include "tandem/torch.h"

#include <gtest/gtest.h>

namespace torch {
namespace test {
struct Counter {
  int64_t count = 0;
};
}  // namespace test
namespace nn {
inline int64_t count_parameters(const Module& module) {
  int64_t n = 0;
  for (const at::Tensor& p : module.parameters()) n += p.numel();
  return n;
}
}  // namespace nn
}  // namespace torch

namespace {

using namespace torch;

struct BlockImpl : nn::Module {
  explicit BlockImpl(int64_t width, c10::optional<double> rate = c10::nullopt)
      : linear(nn::LinearOptions(width, width).bias(false)), dropout(rate.value_or(0)) {
    register_module("linear", linear);
    register_module("dropout", dropout);
  }
  at::Tensor forward(at::Tensor x) {
    TORCH_CHECK(x.dim() == 2, "Block wants 2 dimensions, not ", x.dim());
    return dropout(torch::relu(linear(x)) + x);
  }
  nn::Linear linear;
  nn::Dropout dropout;
};
TORCH_MODULE(Block);

struct ScaleOptions {
  TORCH_ARG(double, factor) = 2;
};

TEST(Torch, NamesOfAllNamespacesMeanTheSame) {
  static_assert(std::is_same_v<at::Tensor, torch::Tensor>);
  static_assert(std::is_same_v<torch::optional<int>, c10::optional<int>>);
  torch::test::Counter counter;
  for (const int64_t i : c10::irange(3)) counter.count += i;
  EXPECT_EQ(counter.count, 3);
  EXPECT_EQ(ScaleOptions().factor(3).factor(), 3);
  torch::apply([&](int64_t i) { counter.count += i; }, 4, 5);
  EXPECT_EQ(counter.count, 12);
}

TEST(Torch, ModulesWorkAndPrintAsThere) {
  Block block(3);
  EXPECT_EQ(torch::nn::count_parameters(*block), 9);
  EXPECT_EQ(block(torch::ones({2, 3})).sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(c10::str(*block->linear),
            "torch::nn::Linear(in_features=3, out_features=3, bias=false)");
  try {
    block(torch::ones({3}));
    FAIL();
  } catch (const c10::Error& e) {
    EXPECT_NE(std::string(e.what()).find("Block wants 2 dimensions, not 1"), std::string::npos);
  }
}

TEST(Torch, DispatchGivesTheType) {
  const auto bytes = [](const at::Tensor& t) {
    return AT_DISPATCH_ALL_TYPES(t.scalar_type(), "bytes", [&] { return sizeof(scalar_t); });
  };
  EXPECT_EQ(bytes(torch::zeros({1}, torch::kDouble)), 8u);
  EXPECT_EQ(bytes(torch::zeros({1}, torch::kShort)), 2u);
  EXPECT_THROW(bytes(torch::zeros({1}, torch::kBool)), c10::Error);
}

}  // namespace
