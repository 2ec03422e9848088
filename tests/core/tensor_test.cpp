#include "tandem/core/tensor.h"

#include <gtest/gtest.h>

#include "tandem/ops/ops.h"
#include "tests/core/counting.h"

namespace tandem {
namespace {

TEST(Tensor, MetadataOfAFreshTensor) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_TRUE(x.defined());
  EXPECT_EQ(x.dim(), 3);
  EXPECT_EQ(x.ndimension(), 3);
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(x.strides(), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(x.size(0), 2);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.stride(1), 4);
  EXPECT_EQ(x.stride(-3), 12);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.dtype(), kFloat);
  EXPECT_EQ(x.scalar_type(), kFloat32);
  EXPECT_EQ(x.itemsize(), 4u);
  EXPECT_EQ(x.element_size(), 4u);
  EXPECT_EQ(x.nbytes(), 96u);
  EXPECT_EQ(x.storage_offset(), 0);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_TRUE(x.is_non_overlapping_and_dense());
  EXPECT_TRUE(x.is_cpu());
  EXPECT_FALSE(x.is_cuda());
  EXPECT_FALSE(x.is_meta());
  EXPECT_TRUE(x.is_floating_point());
  EXPECT_TRUE(x.is_signed());
  EXPECT_FALSE(x.is_complex());
  EXPECT_FALSE(x.is_sparse());
  EXPECT_TRUE(x.has_storage());
  EXPECT_FALSE(x.is_view());
  EXPECT_FALSE(x.requires_grad());
  EXPECT_TRUE(x.is_leaf());
  EXPECT_EQ(x.layout(), kStrided);
  EXPECT_EQ(x.toString(), "CPUFloatType");
  EXPECT_EQ(str(x.device()), "cpu");
}

TEST(Tensor, HandlesShareValues) {
  Tensor a = zeros({3});
  EXPECT_EQ(a.use_count(), 1u);
  Tensor b = a;
  EXPECT_EQ(a.use_count(), 2u);
  EXPECT_TRUE(a.is_same(b));
  b.data_ptr<float>()[1] = 7;
  EXPECT_EQ(a[1].item<float>(), 7);
  b.reset();
  EXPECT_FALSE(b.defined());
  EXPECT_EQ(b.use_count(), 0u);
  EXPECT_EQ(a.use_count(), 1u);
  Tensor c = std::move(a);
  EXPECT_FALSE(a.defined());
  EXPECT_EQ(c[1].item<float>(), 7);
}

TEST(Tensor, ZeroDimensionsAndNoElements) {
  const Tensor s = full(IntArrayRef{}, 2.5);
  EXPECT_EQ(s.dim(), 0);
  EXPECT_EQ(s.numel(), 1);
  EXPECT_EQ(s.sizes().size(), 0u);
  EXPECT_TRUE(s.is_contiguous());
  EXPECT_EQ(s.item<double>(), 2.5);
  EXPECT_THROW(s.size(0), IndexError);
  const Tensor e = zeros({2, 0, 3});
  EXPECT_EQ(e.numel(), 0);
  EXPECT_EQ(e.nbytes(), 0u);
  EXPECT_EQ(e.strides(), (std::vector<int64_t>{3, 3, 1}));
  EXPECT_TRUE(e.is_contiguous());
  EXPECT_THROW(e.item(), Error);
}

TEST(Tensor, ManyDimensions) {
  const Tensor x = ones({1, 2, 1, 2, 1, 2, 1, 2, 1});
  EXPECT_EQ(x.dim(), 9);
  EXPECT_EQ(x.numel(), 16);
  const Tensor y = (x + x).permute({8, 7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{1, 2, 1, 2, 1, 2, 1, 2, 1}));
  EXPECT_EQ(y.contiguous().view({16})[15].item<float>(), 2);
}

TEST(Tensor, OptionsAreKeptAndMerged) {
  const TensorOptions o = TensorOptions().dtype(kDouble).requires_grad(true);
  const Tensor x = zeros({2}, o);
  EXPECT_EQ(x.dtype(), kDouble);
  EXPECT_TRUE(x.requires_grad());
  EXPECT_EQ(x.options().dtype(), kDouble);
  EXPECT_FALSE(x.options().requires_grad())
      << "options() of a tensor does not carry the gradient flag";
  EXPECT_EQ(zeros_like(x).dtype(), kDouble);
  EXPECT_FALSE(zeros_like(x).requires_grad());
  EXPECT_EQ(zeros_like(x, kInt).dtype(), kInt);
  EXPECT_EQ(x.new_zeros({3}).dtype(), kDouble);
  EXPECT_EQ(x.new_zeros({3}, kHalf).dtype(), kHalf);
  EXPECT_EQ(TensorOptions().dtype(), kFloat);
  EXPECT_FALSE(TensorOptions().has_dtype());
  EXPECT_TRUE(TensorOptions(kInt).has_dtype());
  EXPECT_EQ(dtype(kShort).device(kMeta).merge_in(TensorOptions(kLong)).dtype(), kLong);
  EXPECT_TRUE(dtype(kShort).device(kMeta).merge_in(TensorOptions(kLong)).device().is_meta());
  EXPECT_EQ(full({2}, 3).dtype(), kLong) << "full takes the dtype of a whole number";
  EXPECT_EQ(full({2}, 3.0).dtype(), kFloat);
  EXPECT_EQ(full({2}, true).dtype(), kBool);
  EXPECT_EQ(TensorOptions("meta").device(), Device(kMeta));
}

TEST(Tensor, ItemConverts) {
  EXPECT_EQ(full(IntArrayRef{}, 3.75).item<int>(), 3);
  EXPECT_EQ(full({1, 1}, 7, kByte).item<float>(), 7);
  EXPECT_EQ(full({1}, 1, kBool).item<bool>(), true);
  EXPECT_EQ(full({1}, -3, kLong).item<int64_t>(), -3);
  EXPECT_EQ(full({1}, 0.5, kHalf).item<double>(), 0.5);
  EXPECT_EQ(full({1}, 0.5, kBFloat16).item<double>(), 0.5);
  EXPECT_TRUE(full({1}, 0.5).item().isFloatingPoint());
  EXPECT_TRUE(full({1}, 3, kInt).item().isIntegral());
  EXPECT_TRUE(full({1}, true).item().isBoolean());
  EXPECT_TRUE(ones({1}).is_nonzero());
  EXPECT_FALSE(zeros({1, 1}, kInt).is_nonzero());
  EXPECT_THROW(ones({2}).is_nonzero(), Error);
}

TEST(Tensor, AccessorReadsAndWritesThroughStrides) {
  Tensor x = counting({2, 3});
  auto a = x.accessor<float, 2>();
  EXPECT_EQ(a.size(0), 2);
  EXPECT_EQ(a[1][2], 5);
  a[0][1] = 10;
  EXPECT_EQ(x[0][1].item<float>(), 10);
  const Tensor t = x.t();
  auto b = t.accessor<float, 2>();
  EXPECT_EQ(b[2][1], 5);
  EXPECT_EQ(b[1][0], 10);
  EXPECT_EQ(b.stride(0), 1);
}

TEST(Tensor, ContiguityAndLayout) {
  const Tensor x = counting({2, 3});
  const Tensor t = x.t();
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_TRUE(t.is_non_overlapping_and_dense());
  EXPECT_TRUE(t.contiguous().is_contiguous());
  EXPECT_FALSE(t.contiguous().is_alias_of(x));
  EXPECT_TRUE(x.contiguous().is_same(x)) << "nothing to do, nothing done";
  EXPECT_FALSE(x.slice(1, 0, 2).is_contiguous());
  EXPECT_FALSE(x.slice(1, 0, 2).is_non_overlapping_and_dense());
  EXPECT_FALSE(x.expand({2, 2, 3}).is_non_overlapping_and_dense());
  EXPECT_TRUE(x.slice(0, 1, 2).is_contiguous());
  EXPECT_TRUE(zeros({1, 3}).t().is_contiguous()) << "the stride of an extent of 1 does not matter";
  EXPECT_TRUE(zeros({0, 3}).t().is_contiguous());
  EXPECT_TRUE(zeros({2, 3, 4, 5}).permute({0, 3, 1, 2}).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_FALSE(zeros({2, 3, 4, 5}).is_contiguous(MemoryFormat::ChannelsLast));
}

TEST(Tensor, SetDataAndDetach) {
  Tensor x = ones({2}).requires_grad_();
  Tensor y = x * 2;
  const Tensor d = y.detach();
  EXPECT_FALSE(d.requires_grad());
  EXPECT_TRUE(d.is_leaf());
  EXPECT_TRUE(d.is_alias_of(y));
  x.set_data(full({3}, 5.0f));
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{3}));
  EXPECT_TRUE(x.requires_grad());
  y.detach_();
  EXPECT_EQ(y.grad_fn(), nullptr);
}

TEST(Tensor, ResizeKeepsWhatFits) {
  Tensor x = counting({2, 3});
  x.resize_({2, 2});
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(x[1][1].item<float>(), 3);
  x.resize_({5, 5});
  EXPECT_EQ(x.numel(), 25);
  EXPECT_EQ(x[0][3].item<float>(), 3) << "what was there before stays in front";
}

TEST(Tensor, Devices) {
  EXPECT_EQ(Device("cpu"), Device(kCPU));
  EXPECT_EQ(Device("opencl:1").index(), 1);
  EXPECT_EQ(str(Device("opencl:1")), "opencl:1");
  EXPECT_THROW(Device("quantum"), Error);
  EXPECT_THROW(Device("cpu:x"), Error);
  EXPECT_THROW(zeros({1}, Device(kCUDA)), Error);
  const Tensor m = empty({1000000, 1000000}, device(kMeta));
  EXPECT_EQ(m.numel(), INT64_C(1000000000000));
  EXPECT_EQ((m + 1).sizes(), m.sizes());
  EXPECT_TRUE((m + 1).is_meta());
  EXPECT_EQ(m.toString(), "METAFloatType");
}

}  // namespace
}  // namespace tandem
