#include "tandem/kernels/index.h"

#include <cstring>

#include "tandem/base/parallel.h"
#include "tandem/kernels/nest.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrain = 32768;  // elements that are worth a thread

bool neighbours(IntArrayRef dims) {
  for (size_t k = 1; k < dims.size(); ++k)
    if (dims[k] != dims[k - 1] + 1) return false;
  return true;
}

bool is_indexed(IntArrayRef dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

[[noreturn, gnu::cold]] void out_of_bounds(int64_t i, int64_t dim, int64_t size) {
  TANDEM_CHECK_INDEX(false, "index ", i, " is out of bounds for dimension ", dim, " with size ",
                     size);
  __builtin_unreachable();
}

// For every element b of the index: how far from x's start the indexed dimensions lead.
std::vector<int64_t> offsets_of(const Array& x, IntArrayRef dims, const Array* index,
                                bool from_end) {
  const int64_t n = index[0].numel;
  std::vector<int64_t> offsets(static_cast<size_t>(n));
  for (size_t k = 0; k < dims.size(); ++k) {
    const Array& a = index[k];
    const int64_t size = x.sizes[dims[k]], stride = x.strides[dims[k]];
    const int64_t lowest = from_end ? -size : 0;
    Nest<1> nest;
    for (int d = 0; d < a.ndim; ++d) nest.add(a.sizes[d], {a.strides[d]});
    nest.close();
    parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
      int64_t* to = offsets.data() + begin;
      nest.rows(begin, end, [&](const int64_t* at, int64_t m) {
        const int64_t* p = a.ptr<const int64_t>() + at[0];
        for (int64_t i = 0; i < m; ++i) {
          int64_t v = p[i * nest.step(0)];
          if (v < lowest || v >= size) out_of_bounds(v, dims[k], size);
          v += v < 0 ? size : 0;
          *to++ += v * stride;
        }
      });
    });
  }
  return offsets;
}

// The three kinds of loops of an indexed array: dimensions before the index's, the index's own, and
// those after. Position 0 is in x, position 1 in the array of indexed_shape.
struct Loops {
  Nest<2> outer, inner;
  Nest<1> middle;  // only the second position: the first is in `offsets`
  std::vector<int64_t> offsets;

  Loops(const Array& x, IntArrayRef dims, const Array* index, const Array& other, bool from_end)
      : offsets(offsets_of(x, dims, index, from_end)) {
    const int64_t place = neighbours(dims) ? dims[0] : 0;
    int64_t o = 0;  // dimension of other
    int64_t d = 0;  // dimension of x
    for (; o < place; ++o, ++d) outer.add(x.sizes[d], {x.strides[d], other.strides[o]});
    for (int i = 0; i < index[0].ndim; ++i, ++o) middle.add(other.sizes[o], {other.strides[o]});
    for (; d < x.ndim; ++d) {
      if (is_indexed(dims, d)) continue;
      inner.add(x.sizes[d], {x.strides[d], other.strides[o]});
      ++o;
    }
    outer.close();
    inner.close();
    middle.close();
  }
  int64_t count() const { return static_cast<int64_t>(offsets.size()); }
};

// Calls fn(in x, in other) for elements [begin, end) of the index at one turn of the outer loops.
template <class F>
void each_index(const Loops& l, const int64_t* outer, int64_t begin, int64_t end, const F& fn) {
  int64_t b = begin;
  l.middle.rows(begin, end, [&](const int64_t* at, int64_t n) {
    for (int64_t i = 0; i < n; ++i, ++b)
      fn(outer[0] + l.offsets[static_cast<size_t>(b)], outer[1] + at[0] + i * l.middle.step(0));
  });
}

}  // namespace

Dims indexed_shape(IntArrayRef x, IntArrayRef dims, IntArrayRef index_shape) {
  const auto place = static_cast<size_t>(neighbours(dims) ? dims[0] : 0);
  Dims shape;
  for (size_t d = 0; d < place; ++d) shape.push_back(x[d]);
  shape.append(index_shape.begin(), index_shape.end());
  for (size_t d = place; d < x.size(); ++d)
    if (!is_indexed(dims, static_cast<int64_t>(d))) shape.push_back(x[d]);
  return shape;
}

void index(const Array& x, IntArrayRef dims, const Array* index, const Array& out, bool from_end) {
  // Looks for indices out of bounds even where nothing is copied.
  const Loops l(x, dims, index, out, from_end);
  if (out.numel == 0) return;
  const int64_t count = l.count(), inner = l.inner.numel();
  by_size(size_of(x.dtype), [&]<class T>(T) {
    const T* from = x.ptr<T>();
    T* to = out.ptr<T>();
    const int64_t sx = l.inner.step(0), so = l.inner.step(1);
    const bool block = sx == 1 && so == 1;
    parallel_for(0, l.outer.numel() * count, std::max<int64_t>(1, kGrain / inner),
                 [&](int64_t begin, int64_t end) {
                   // Turn `begin` may be in the middle of one pass over the index.
                   while (begin < end) {
                     const int64_t turn = begin / count, first = begin % count;
                     const int64_t n = std::min(count - first, end - begin);
                     l.outer.rows(turn, turn + 1, [&](const int64_t* outer, int64_t) {
                       if (inner == 1) {
                         each_index(l, outer, first, first + n,
                                    [&](int64_t a, int64_t b) { to[b] = from[a]; });
                         return;
                       }
                       each_index(l, outer, first, first + n, [&](int64_t a, int64_t b) {
                         l.inner.rows(0, inner, [&](const int64_t* at, int64_t m) {
                           const T* p = from + a + at[0];
                           T* q = to + b + at[1];
                           if (block)
                             std::memcpy(q, p, static_cast<size_t>(m) * sizeof(T));
                           else
                             for (int64_t i = 0; i < m; ++i) q[i * so] = p[i * sx];
                         });
                       });
                     });
                     begin += n;
                   }
                 });
  });
}

namespace {

// Elements may be met twice, so one thread goes through the whole index; threads share the outer
// loops and parts of the inner ones.
template <class T, class F>
void put(const Loops& l, T* to, const T* from, const F& combine) {
  const int64_t count = l.count(), inner = l.inner.numel(), turns = l.outer.numel();
  const int64_t sx = l.inner.step(0), so = l.inner.step(1);
  const int64_t part =
      std::clamp<int64_t>(kGrain / std::max<int64_t>(count, 1), 64, inner < 64 ? 64 : inner);
  const int64_t parts = (inner + part - 1) / part;
  const int64_t work = std::max<int64_t>(1, count * std::min(part, inner));
  parallel_for(0, turns * parts, std::max<int64_t>(1, kGrain / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t turn = t / parts, first = t % parts * part;
                   const int64_t last = std::min(inner, first + part);
                   l.outer.rows(turn, turn + 1, [&](const int64_t* outer, int64_t) {
                     if (inner == 1) {
                       each_index(l, outer, 0, count,
                                  [&](int64_t a, int64_t b) { combine(to[a], from[b]); });
                       return;
                     }
                     each_index(l, outer, 0, count, [&](int64_t a, int64_t b) {
                       l.inner.rows(first, last, [&](const int64_t* at, int64_t m) {
                         T* p = to + a + at[0];
                         const T* q = from + b + at[1];
                         if (sx == 1 && so == 1)
                           for (int64_t i = 0; i < m; ++i) combine(p[i], q[i]);
                         else
                           for (int64_t i = 0; i < m; ++i) combine(p[i * sx], q[i * so]);
                       });
                     });
                   });
                 }
               });
}

}  // namespace

void index_put(const Array& x, IntArrayRef dims, const Array* index, const Array& src,
               bool accumulate, bool from_end) {
  const Loops l(x, dims, index, src, from_end);
  if (src.numel == 0) return;
  if (!accumulate) {
    by_size(size_of(x.dtype),
            [&]<class T>(T) { put(l, x.ptr<T>(), src.ptr<const T>(), [](T& a, T b) { a = b; }); });
    return;
  }
  dispatch(x.dtype, [&]<class T>(T) {
    put(l, x.ptr<T>(), src.ptr<const T>(), [](T& a, T b) {
      if constexpr (std::is_same_v<T, bool>)
        a = a || b;
      else if constexpr (std::is_integral_v<T>)
        a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      else if constexpr (sizeof(T) == 2)
        a = T(static_cast<float>(a) + static_cast<float>(b));
      else
        a += b;
    });
  });
}

}  // namespace tandem::kernels
