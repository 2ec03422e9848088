#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/reduce.h"
#include "tandem/kernels/reduce_softmax.h"

// softmax, log_softmax and logsumexp are, bit for bit, what their composites of pointwise functions
// and reductions give, along any dimension and in any layout.

namespace tandem::kernels {
namespace {

template <class T>
struct Tensor {
  std::vector<int64_t> sizes, strides;
  std::vector<T> values;
  bool contiguous = true;

  explicit Tensor(std::vector<int64_t> shape) : sizes(std::move(shape)), strides(sizes.size()) {
    int64_t n = 1;
    for (size_t d = sizes.size(); d-- > 0; n *= sizes[d]) strides[d] = n;
    values.resize(static_cast<size_t>(n));
  }
  Array array() {
    return {values.data(),
            sizes.data(),
            strides.data(),
            static_cast<int64_t>(values.size()),
            static_cast<int>(sizes.size()),
            dtype_v<T>,
            contiguous};
  }
};

template <class T>
void check_softmax(std::vector<int64_t> shape, size_t dim, bool transposed, bool special) {
  Tensor<T> x(shape);
  std::mt19937 random(static_cast<unsigned>(shape[dim] * 31 + static_cast<int64_t>(dim)));
  std::normal_distribution<double> normal(0, 3);
  for (T& v : x.values) v = static_cast<T>(normal(random));
  if (special) {
    x.values[0] = -std::numeric_limits<T>::infinity();
    x.values[x.values.size() / 2] = std::numeric_limits<T>::infinity();
  }
  if (transposed) {
    std::swap(x.sizes[0], x.sizes[1]);
    std::swap(x.strides[0], x.strides[1]);
    x.contiguous = false;
  }
  std::vector<int64_t> kept = x.sizes;
  kept[dim] = 1;
  bool reduced[8] = {};
  reduced[dim] = true;
  const MapParams one = {1, 1, 1};
  auto run = [&](MapFn fn, std::initializer_list<Array> in, Array out) {
    map(fn, in.begin(), static_cast<int>(in.size()), out, dtype_v<T>, one);
  };
  Tensor<T> top(kept), total(kept), d(x.sizes), e(x.sizes), want(x.sizes), got(x.sizes);
  reduce(ReduceFn::Max, x.array(), reduced, top.array());
  Tensor<T> limited = top;
  run(MapFn::sub, {x.array(), top.array()}, d.array());
  run(MapFn::exp, {d.array()}, e.array());
  reduce(ReduceFn::Sum, e.array(), reduced, total.array());
  auto same = [&](const std::vector<T>& a, const std::vector<T>& b, const char* what) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(T)), 0)
          << what << " along " << dim << " of " << shape[dim] << ": " << a[i] << " and " << b[i];
    }
  };
  run(MapFn::div, {e.array(), total.array()}, want.array());
  softmax(x.array(), static_cast<int64_t>(dim), false, got.array());
  same(got.values, want.values, "softmax");
  run(MapFn::log, {total.array()}, total.array());
  run(MapFn::sub, {d.array(), total.array()}, want.array());
  softmax(x.array(), static_cast<int64_t>(dim), true, got.array());
  same(got.values, want.values, "log_softmax");

  for (T& v : limited.values)
    if (std::isinf(v)) v = 0;
  run(MapFn::sub, {x.array(), limited.array()}, d.array());
  run(MapFn::exp, {d.array()}, e.array());
  reduce(ReduceFn::Sum, e.array(), reduced, total.array());
  run(MapFn::log, {total.array()}, total.array());
  run(MapFn::add, {total.array(), limited.array()}, total.array());
  Tensor<T> result(kept);
  logsumexp(x.array(), reduced, result.array());
  same(result.values, total.values, "logsumexp");
}

TEST(Softmax, EqualsItsComposite) {
  for (const int64_t n : {1, 2, 7, 10, 16, 33, 100, 1000, 4096, 4097, 9000}) {
    check_softmax<float>({3, n}, 1, false, false);
    check_softmax<float>({3, n}, 1, false, true);
    check_softmax<float>({n, 5}, 0, false, true);
    check_softmax<float>({n, 5}, 1, true, false);
    check_softmax<float>({n, 5}, 0, true, false);
    check_softmax<float>({2, n, 3}, 1, false, true);
    check_softmax<double>({3, n}, 1, false, true);
    check_softmax<double>({n, 3}, 0, false, false);
  }
}

}  // namespace
}  // namespace tandem::kernels
