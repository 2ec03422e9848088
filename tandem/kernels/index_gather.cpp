#include <cmath>

#include "tandem/base/parallel.h"
#include "tandem/kernels/index.h"
#include "tandem/kernels/nest.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrain = 32768;

[[noreturn, gnu::cold]] void out_of_bounds(int64_t i, int64_t dim, int64_t size) {
  TANDEM_CHECK_INDEX(false, "index ", i, " is out of bounds for dimension ", dim, " with size ",
                     size);
  __builtin_unreachable();
}

int64_t checked(int64_t i, int64_t dim, int64_t size) {
  if (i < 0 || i >= size) [[unlikely]]
    out_of_bounds(i, dim, size);
  return i;
}

// A 0-d array is a 1-d one with one element.
struct AtLeast1d {
  int64_t one = 1, step = 1;
  Array array;
  explicit AtLeast1d(const Array& a) : array(a) {
    if (a.ndim > 0) return;
    array.sizes = &one;
    array.strides = &step;
    array.ndim = 1;
  }
};

}  // namespace

void gather_along(const Array& x_in, int64_t dim, const Array& index_in, const Array& out_in) {
  if (out_in.numel == 0) return;
  const AtLeast1d x1(x_in), index1(index_in), out1(out_in);
  const Array &x = x1.array, &index = index1.array, &out = out1.array;
  const int64_t size = x.sizes[dim], stride = x.strides[dim];
  Nest<3> nest;  // in x without the indexed dimension, in index, in out
  for (int d = 0; d < index.ndim; ++d)
    nest.add(index.sizes[d], {d == dim ? 0 : x.strides[d], index.strides[d], out.strides[d]});
  nest.close();
  by_size(size_of(x.dtype), [&]<class T>(T) {
    const int64_t sx = nest.step(0), si = nest.step(1), so = nest.step(2);
    parallel_for(0, index.numel, kGrain, [&](int64_t begin, int64_t end) {
      nest.rows(begin, end, [&](const int64_t* at, int64_t n) {
        const T* p = x.ptr<T>() + at[0];
        const int64_t* k = index.ptr<int64_t>() + at[1];
        T* q = out.ptr<T>() + at[2];
        for (int64_t i = 0; i < n; ++i)
          q[i * so] = p[i * sx + checked(k[i * si], dim, size) * stride];
      });
    });
  });
}

namespace {

// Only elements of one line along `dim` can be met twice. A line is one thread's; where the last
// dimension is another one, several lines go side by side.
template <class T, class F>
void scatter_loops(const Array& x, int64_t dim, const Array& index, const Array& src,
                   const F& combine) {
  const int64_t size = x.sizes[dim], stride = x.strides[dim];
  const int last = index.ndim - 1;
  const bool along_last = dim == last;
  Nest<3> lines;
  for (int d = 0; d < last; ++d)
    if (d != dim) lines.add(index.sizes[d], {x.strides[d], index.strides[d], src.strides[d]});
  lines.close();
  const int64_t length = index.sizes[dim], width = along_last ? 1 : index.sizes[last];
  const int64_t part = std::max<int64_t>(64, kGrain / std::max<int64_t>(length, 1));
  const int64_t parts = (width + part - 1) / part;
  const int64_t si = index.strides[dim], ss = src.strides[dim];
  const int64_t work = std::max<int64_t>(1, length * std::min(part, width));
  parallel_for(0, lines.numel() * parts, std::max<int64_t>(1, kGrain / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t first = t % parts * part, n = std::min(part, width - first);
                   lines.rows(t / parts, t / parts + 1, [&](const int64_t* at, int64_t) {
                     T* p = x.ptr<T>() + at[0];
                     const int64_t* k = index.ptr<int64_t>() + at[1];
                     const T* q = src.ptr<T>() + at[2];
                     if (along_last) {
                       for (int64_t i = 0; i < length; ++i)
                         combine(p[checked(k[i * si], dim, size) * stride], q[i * ss]);
                       return;
                     }
                     const int64_t wx = x.strides[last], wi = index.strides[last],
                                   ws = src.strides[last];
                     for (int64_t i = 0; i < length; ++i)
                       for (int64_t j = first; j < first + n; ++j)
                         combine(p[j * wx + checked(k[i * si + j * wi], dim, size) * stride],
                                 q[i * ss + j * ws]);
                   });
                 }
               });
}

// Results as if computed in the compute type: nan wins in Min and Max.
template <class T>
T combined(ScatterFn fn, T a, T b) {
  if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
    return T(combined<float>(fn, static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return fn == ScatterFn::Add || fn == ScatterFn::Max ? a || b : a && b;
  } else {
    if (fn == ScatterFn::Min || fn == ScatterFn::Max) {
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return NAN;
      }
      return fn == ScatterFn::Min ? std::min(a, b) : std::max(a, b);
    }
    if constexpr (std::is_integral_v<T>) {
      const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<T>(fn == ScatterFn::Add ? x + y : x * y);
    } else {
      return fn == ScatterFn::Add ? a + b : a * b;
    }
  }
}

}  // namespace

namespace {
// All of them, before anything is written: a refused scatter leaves its target as it was.
void check_indices(const Array& index, int64_t dim, int64_t size) {
  Nest<1> nest;
  for (int d = 0; d < index.ndim; ++d) nest.add(index.sizes[d], {index.strides[d]});
  nest.close();
  const int64_t step = nest.step(0);
  parallel_for(0, index.numel, kGrain, [&](int64_t begin, int64_t end) {
    nest.rows(begin, end, [&](const int64_t* at, int64_t n) {
      const int64_t* k = index.ptr<int64_t>() + at[0];
      for (int64_t i = 0; i < n; ++i) checked(k[i * step], dim, size);
    });
  });
}
}  // namespace

void scatter_along(ScatterFn fn, const Array& x_in, int64_t dim, const Array& index_in,
                   const Array& src_in) {
  if (index_in.numel == 0) return;
  const AtLeast1d x1(x_in), index1(index_in), src1(src_in);
  const Array &x = x1.array, &index = index1.array, &src = src1.array;
  check_indices(index, dim, x.sizes[dim]);
  if (fn == ScatterFn::Set) {
    by_size(size_of(x.dtype),
            [&]<class T>(T) { scatter_loops<T>(x, dim, index, src, [](T& a, T b) { a = b; }); });
    return;
  }
  dispatch(x.dtype, [&]<class T>(T) {
    if (fn == ScatterFn::Add)
      scatter_loops<T>(x, dim, index, src, [](T& a, T b) { a = combined(ScatterFn::Add, a, b); });
    else
      scatter_loops<T>(x, dim, index, src, [fn](T& a, T b) { a = combined(fn, a, b); });
  });
}

}  // namespace tandem::kernels
