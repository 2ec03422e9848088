// Index arithmetic beyond 2^31 elements. Only one test really holds such a tensor, of 2.3 GB.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tandem/base/memory.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// Walking billions of elements takes minutes when every access is watched.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif

constexpr int64_t kOver = (INT64_C(1) << 31) + 5;

TEST(Large, MetaTensorsOfAnySize) {
  const Tensor x = empty({1 << 20, 1 << 20, 1 << 10}, device(kMeta));
  EXPECT_EQ(x.numel(), INT64_C(1) << 50);
  EXPECT_EQ(x.stride(0), INT64_C(1) << 30);
  EXPECT_EQ(x.view({-1}).size(0), INT64_C(1) << 50);
  EXPECT_EQ(x.permute({2, 0, 1}).stride(1), INT64_C(1) << 30);
  EXPECT_EQ(x.slice(0, (1 << 20) - 1).storage_offset(), ((INT64_C(1) << 20) - 1) << 30);
  EXPECT_EQ((x + x).numel(), x.numel());
}

TEST(Large, ExpandedTensorHasMoreElementsThanMemory) {
  const Tensor x = ones({1}, kChar).expand({kOver});
  EXPECT_EQ(x.numel(), kOver);
  EXPECT_EQ(x.nbytes(), static_cast<size_t>(kOver));
  EXPECT_EQ(x.narrow(0, kOver - 3, 3).contiguous()[2].item<int>(), 1);
  EXPECT_EQ(x[kOver - 1].item<int>(), 1);
  const Tensor rows = ones({1, 3}, kChar).expand({kOver, 3});
  EXPECT_EQ(rows.slice(0, kOver - 2).sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(rows.slice(0, 0, kOver, INT64_C(1) << 30).sizes(), (std::vector<int64_t>{3, 3}));
}

TEST(Large, MoreElementsThanMemoryAreSummed) {
  if (kWatched) GTEST_SKIP() << "too slow under sanitizers";
  EXPECT_EQ(ones({1}, kChar).expand({kOver}).sum().item<int64_t>(), kOver);
}

TEST(Large, RealTensorIsWrittenAndReadToItsEnd) {
  if (kWatched) GTEST_SKIP() << "too slow under sanitizers";
  const int64_t pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages * page < 2 * kOver) GTEST_SKIP() << "needs " << 2 * kOver << " bytes of free memory";
  {
    Tensor x = zeros({kOver}, kChar);
    x[kOver - 1].fill_(7);
    x[INT64_C(1) << 31].fill_(5);
    EXPECT_EQ(x[kOver - 1].item<int>(), 7);
    EXPECT_EQ(x.data_ptr<int8_t>()[kOver - 1], 7);
    EXPECT_EQ(x.data_ptr<int8_t>()[INT64_C(1) << 31], 5);
    EXPECT_EQ(x.data_ptr<int8_t>()[0], 0) << "a 32-bit index would have wrapped around to here";
    EXPECT_EQ(x.data_ptr<int8_t>()[5], 0);
    x.add_(1);
    EXPECT_EQ(x.data_ptr<int8_t>()[0], 1);
    EXPECT_EQ(x.data_ptr<int8_t>()[(INT64_C(1) << 31) - 1], 1);
    EXPECT_EQ(x.data_ptr<int8_t>()[kOver - 1], 8);
    // A strided walk whose last offset is beyond 2^31.
    const Tensor sparse = x.slice(0, 4, kOver, INT64_C(1) << 28).contiguous();
    EXPECT_EQ(sparse.numel(), 9);
    EXPECT_EQ(sparse[0].item<int>(), 1);
    EXPECT_EQ(sparse[8].item<int>(), 8);
    // Reductions and index tensors.
    EXPECT_EQ(x.argmax().item<int64_t>(), kOver - 1);
    EXPECT_EQ(x.sum().item<int64_t>(), kOver + 7 + 5);
    EXPECT_EQ(x.index_select(0, tensor({INT64_C(1) << 31}))[0].item<int>(), 6);
    EXPECT_EQ(x.index({tensor({kOver - 1, int64_t{0}})})[0].item<int>(), 8);
    x.index_put_({tensor({kOver - 2})}, 3);
    EXPECT_EQ(x.data_ptr<int8_t>()[kOver - 2], 3);
  }
  memory::trim();
}

}  // namespace
}  // namespace tandem
