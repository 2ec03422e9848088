#include <algorithm>
#include <numeric>

#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/sort.h"
#include "tandem/kernels/sort_keys.h"

namespace tandem::kernels {
namespace {

// The elements in row-major order as 64-bit keys.
std::vector<uint64_t> flat_keys(const Array& in) {
  std::vector<uint64_t> keys(static_cast<size_t>(in.numel));
  Odometer<1> walk(in.shape(), {in.strides});
  dispatch(in.dtype, [&]<class T>(T) {
    const T* p = in.ptr<const T>();
    for (size_t i = 0; i < keys.size(); ++i, walk.next()) {
      keys[i] = sort_key(p[walk.offset[0]]);
      if constexpr (!std::is_integral_v<T>)
        if (p[walk.offset[0]] != p[walk.offset[0]]) keys[i] = ~uint64_t{0};
    }
  });
  return keys;
}

// Two nans are different, though their keys are the same.
bool same(const Array& in, uint64_t a, uint64_t b) {
  return a == b && !(is_floating(in.dtype) && a == ~uint64_t{0});
}

void start(Unique& u, int64_t number) {
  u.first.push_back(number);
  u.counts.push_back(0);
}

}  // namespace

Unique unique(const Array& in) {
  const std::vector<uint64_t> keys = flat_keys(in);
  const size_t n = keys.size();
  std::vector<WideEntry> e(n), scratch(n);
  for (size_t i = 0; i < n; ++i) e[i] = {keys[i], static_cast<int64_t>(i)};
  if (n > 0) sort_entries(e.data(), static_cast<int64_t>(n), scratch.data());
  Unique u;
  u.inverse.resize(n);
  for (size_t i = 0; i < n; ++i) {
    if (i == 0 || !same(in, e[i].key, e[i - 1].key)) start(u, e[i].index);
    ++u.counts.back();
    u.inverse[static_cast<size_t>(e[i].index)] = static_cast<int64_t>(u.first.size()) - 1;
  }
  return u;
}

Unique unique_consecutive(const Array& in) {
  const std::vector<uint64_t> keys = flat_keys(in);
  Unique u;
  u.inverse.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || !same(in, keys[i], keys[i - 1])) start(u, static_cast<int64_t>(i));
    ++u.counts.back();
    u.inverse[i] = static_cast<int64_t>(u.first.size()) - 1;
  }
  return u;
}

Unique unique_slices(const Array& in, int64_t dim, bool consecutive) {
  // Slice after slice: the dimension moved to the front.
  Dims sizes = {in.sizes[dim]}, strides = {in.strides[dim]};
  for (int d = 0; d < in.ndim; ++d) {
    if (d == dim) continue;
    sizes.push_back(in.sizes[d]);
    strides.push_back(in.strides[d]);
  }
  Array moved = in;
  moved.sizes = sizes.data();
  moved.strides = strides.data();
  const std::vector<uint64_t> keys = flat_keys(moved);
  const size_t n = static_cast<size_t>(in.sizes[dim]);
  const size_t width = n == 0 ? 0 : keys.size() / n;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  if (!consecutive)
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const uint64_t* pa = keys.data() + a * width;
      const uint64_t* pb = keys.data() + b * width;
      return std::lexicographical_compare(pa, pa + width, pb, pb + width);
    });
  Unique u;
  u.inverse.resize(n);
  for (size_t i = 0; i < n; ++i) {
    bool equal = i > 0;
    for (size_t k = 0; equal && k < width; ++k)
      equal = same(in, keys[order[i] * width + k], keys[order[i - 1] * width + k]);
    if (!equal) start(u, static_cast<int64_t>(order[i]));
    ++u.counts.back();
    u.inverse[order[i]] = static_cast<int64_t>(u.first.size()) - 1;
  }
  return u;
}

}  // namespace tandem::kernels
