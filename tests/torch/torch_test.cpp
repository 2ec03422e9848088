// A program as LibTorch's users write them, with all of LibTorch's namespaces and macros.
#include "tandem/torch.h"

#include <gtest/gtest.h>

#include <sstream>

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

TEST(Torch, SmallFunctionsThatProgramsUse) {
  const Tensor x = torch::ones({2, 3});
  EXPECT_EQ(at::size(x, 1), 3);
  EXPECT_EQ(at::_unsafe_view(x, {6}).sizes(), (std::vector<int64_t>{6}));
  EXPECT_EQ(torch::getNumGPUs(), 0u);
  static_assert(std::is_same_v<torch::disable_if_t<false, int>, int>);
  EXPECT_EQ(torch::jit::IValue(std::vector<int64_t>{4, 5}).toIntList()[1], 5);

  EXPECT_FALSE(at::globalContext().hasCUDA());
  at::globalContext().setBenchmarkCuDNN(true);
  at::globalContext().setDeterministicAlgorithms(true, true);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  at::globalContext().setDeterministicAlgorithms(false);
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());

  std::ostringstream out;
  out << x.type();
  EXPECT_EQ(out.str(), "CPUFloatType");
  EXPECT_FALSE(x.type().is_cuda());
  EXPECT_EQ(x.type(), torch::zeros({1}).type());
  EXPECT_FALSE(x.type() == torch::zeros({1}, torch::kInt).type());
  EXPECT_EQ(torch::zeros({2}, torch::zeros({1}, torch::kDouble).type()).dtype(), torch::kDouble);
  EXPECT_EQ(AT_DISPATCH_FLOATING_TYPES(x.type(), "size", [] { return sizeof(scalar_t); }), 4u);
}

TEST(Torch, ModulesWorkAndPrintAsThere) {
  Block block(3);
  EXPECT_EQ(block->linear->name(), "torch::nn::LinearImpl");
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

TEST(Torch, OtherNamesOfTheSame) {
  static_assert(std::is_same_v<torch::autograd::tensor_list, std::vector<at::Tensor>>);
  static_assert(std::is_same_v<c10::string_view, std::string_view>);
  static_assert(std::is_same_v<torch::IntList, torch::IntArrayRef>);
  static_assert(torch::kU8 == torch::kByte && torch::kI8 == torch::kChar);
  static_assert(torch::kI16 == torch::kShort && torch::kI32 == torch::kInt);
  static_assert(torch::kI64 == torch::kLong && torch::kF16 == torch::kHalf);
  static_assert(torch::kF32 == torch::kFloat && torch::kF64 == torch::kDouble);
  static_assert(TORCH_VERSION_MAJOR == 1 && TORCH_VERSION_MINOR == 13 && TORCH_VERSION_PATCH == 1);
  EXPECT_EQ(std::string(TORCH_VERSION), "1.13.1");
  torch::cuda::manual_seed(1);
  torch::cuda::manual_seed_all(1);
  torch::cuda::synchronize();
  struct Numbers : torch::data::Dataset<Numbers> {
    torch::data::Example<> get(size_t i) override {
      return {torch::full({1}, static_cast<int64_t>(i)), torch::zeros({1})};
    }
    torch::optional<size_t> size() const override { return 3; }
  } numbers;
  torch::data::BatchDataset<Numbers, std::vector<torch::data::Example<>>>& base = numbers;
  EXPECT_EQ(base.get_batch(std::vector<size_t>{2, 1})[0].data.item<int64_t>(), 2);
}

TEST(Torch, VectorsPrintAsThere) {
  std::ostringstream out;
  out << torch::ones({2, 3}).sizes().vec();
  EXPECT_EQ(out.str(), "2 3");
  out.str("");
  out << std::vector<at::Tensor>{torch::ones({2}), torch::zeros({1})};
  EXPECT_EQ(out.str(), " 1\n 1\n[ CPUFloatType{2} ]  0\n[ CPUFloatType{1} ]");
}

TEST(Torch, FunctionsWriteIntoTensors) {
  at::Tensor out = torch::zeros({0});
  const auto is = [](const at::Tensor& t, const at::Tensor& wanted) {
    return t.sizes() == wanted.sizes() && torch::allclose(t.to(torch::kDouble), wanted);
  };
  const auto list = [](std::vector<double> v) { return torch::tensor(v, torch::kDouble); };
  const at::Tensor x = torch::tensor({1.0, 4.0}), y = torch::tensor({2.0, 3.0});
  EXPECT_EQ(&torch::sqrt_out(out, x), &out);
  EXPECT_TRUE(is(out, list({1, 2})));
  EXPECT_TRUE(is(at::add_out(out, x, y, 2), list({5, 10})));
  EXPECT_TRUE(is(at::pow_out(out, x, 2), list({1, 16})));
  EXPECT_TRUE(is(at::mul_out(out, x, out), list({1, 64})));
  EXPECT_TRUE(is(torch::sum_out(out, torch::ones({2, 3}), 1), list({3, 3})));
  EXPECT_TRUE(is(torch::mean_out(out, torch::ones({2, 3}), 1), list({1, 1})));
  EXPECT_TRUE(is(torch::cat_out(out, {x, y}), list({1, 4, 2, 3})));
  EXPECT_TRUE(is(torch::stack_out(out, {x, y}).flatten(), list({1, 4, 2, 3})));
  EXPECT_TRUE(is(torch::arange_out(out, 3), list({0, 1, 2})));
  EXPECT_TRUE(is(torch::zeros_out(out, {2}), list({0, 0})));
  EXPECT_TRUE(is(torch::ones_out(out, {1}), list({1})));
  at::Tensor whole = torch::zeros({0}, torch::kLong);
  torch::max_out(out, whole, torch::tensor({{1.0, 5.0}, {7.0, 2.0}}), 1);
  EXPECT_TRUE(is(out, list({5, 7})));
  EXPECT_TRUE(is(whole, list({1, 0})));
  EXPECT_TRUE(is(torch::arange_out(whole, 1, 4, 2), list({1, 3})));
  EXPECT_EQ(whole.dtype(), torch::kLong);
  EXPECT_THROW(torch::exp_out(whole, x), c10::Error);
  EXPECT_THROW(torch::exp_out(out, torch::ones({1}, torch::requires_grad())), c10::Error);
  torch::NoGradGuard no_grad;
  EXPECT_TRUE(is(torch::neg_out(out, torch::ones({1}, torch::requires_grad())), list({-1})));
}

TEST(Torch, StoragesShowTheirMemory) {
  const at::Tensor x = torch::arange(6, torch::kFloat), part = x.slice(0, 2);
  EXPECT_EQ(x.storage().nbytes(), 24u);
  EXPECT_EQ(part.storage().data(), x.data_ptr());
  EXPECT_EQ(part.storage().data<float>()[5], 5);
  EXPECT_EQ(static_cast<float*>(x.storage().data_ptr().get())[1], 1);
  EXPECT_TRUE(part.storage().is_alias_of(x.storage()));
  EXPECT_FALSE(part.storage().is_alias_of(x.clone().storage()));
  EXPECT_EQ(x.storage().use_count(), 2u);
  EXPECT_TRUE(x.clone().storage().unique());
  EXPECT_EQ(x.storage().device(), torch::kCPU);
  // It is the tensor's as long as somebody looks at it.
  const auto kept = torch::full({2}, 7.0).storage();
  EXPECT_EQ(kept.data<float>()[1], 7);
  torch::Tensor deferred;
  {
    torch::LazyGuard lazy;
    deferred = torch::ones({2}) + 1;
    EXPECT_EQ(deferred.storage().data<float>()[0], 2);
  }
  const at::Tensor meta = torch::ones({2}, torch::kMeta);
  EXPECT_THROW(meta.storage().data(), c10::Error);
}

TEST(Torch, NodesAreSharedPointersToPrograms) {
  std::shared_ptr<torch::autograd::Node> node;
  {
    const at::Tensor x = torch::ones({2}, torch::requires_grad());
    node = (x * 2).sum().grad_fn();
  }
  ASSERT_TRUE(node);
  std::shared_ptr<torch::autograd::Node> next = node->next_edges().at(0).function;
  node.reset();
  EXPECT_EQ(next->name(), "MulBackward");
  const std::shared_ptr<torch::autograd::Node> none = torch::ones({2}).grad_fn();
  EXPECT_FALSE(none);
}

TEST(Torch, SmallNamesOfLibTorch) {
  EXPECT_EQ(torch::ones({1}).device().type(), torch::Device::Type::CPU);
  torch::init_num_threads();
  torch::set_num_interop_threads(2);
  EXPECT_THROW(torch::set_num_interop_threads(0), c10::Error);
  at::Tensor out = torch::empty({0});
  at::linear_out(out, torch::ones({2, 3}), torch::ones({4, 3}), torch::full({4}, 0.5));
  EXPECT_EQ(out.sizes(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(out[1][3].item<float>(), 3.5f);
  at::linear_out(out, torch::ones({2, 3}), torch::ones({4, 3}));
  EXPECT_EQ(out[0][0].item<float>(), 3);
  at::Tensor whole = torch::tensor({12, 18}), other = torch::tensor({8, 4});
  EXPECT_TRUE(torch::equal(torch::gcd_(whole, other), torch::tensor({4, 2})));
  EXPECT_TRUE(torch::equal(torch::lcm_(whole, other), torch::tensor({8, 4})));
  at::Tensor sum = torch::ones({2});
  EXPECT_TRUE(torch::equal(torch::addmv_(sum, torch::ones({2, 3}), torch::ones({3})),
                           torch::full({2}, 4.0)));
  EXPECT_TRUE(torch::is_signed(sum));
  EXPECT_FALSE(torch::is_inference(sum));
  EXPECT_EQ(torch::unsafe_chunk(sum, 2).size(), 2u);
}

}  // namespace
