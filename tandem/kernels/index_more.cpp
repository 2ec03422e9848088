#include <cstring>

#include "tandem/base/parallel.h"
#include "tandem/kernels/index.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/nest.h"
#include "tandem/kernels/sub_array.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrain = 32768;

Nest<1> nest_of(const Array& a) {
  Nest<1> nest;
  for (int d = 0; d < a.ndim; ++d) nest.add(a.sizes[d], {a.strides[d]});
  nest.close();
  return nest;
}

int64_t grains_of(const Array& a) { return (a.numel + kGrain - 1) / kGrain; }

// How many are true in each grain.
std::vector<int64_t> counts_of(const Array& mask) {
  std::vector<int64_t> counts(static_cast<size_t>(grains_of(mask)));
  const Nest<1> nest = nest_of(mask);
  parallel_for(0, grains_of(mask), 1, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      int64_t count = 0;
      nest.rows(g * kGrain, std::min((g + 1) * kGrain, mask.numel),
                [&](const int64_t* at, int64_t n) {
                  const uint8_t* p = mask.ptr<uint8_t>() + at[0];
                  for (int64_t i = 0; i < n; ++i) count += p[i * nest.step(0)] != 0;
                });
      counts[static_cast<size_t>(g)] = count;
    }
  });
  return counts;
}

}  // namespace

int64_t count_true(const Array& mask) {
  int64_t sum = 0;
  for (int64_t c : counts_of(mask)) sum += c;
  return sum;
}

void find_true(const Array& mask, const Array& out) {
  if (mask.numel == 0 || out.numel == 0) return;
  std::vector<int64_t> starts = counts_of(mask);
  int64_t sum = 0;
  for (int64_t& c : starts) sum += std::exchange(c, sum);
  const int64_t width = mask.ndim;
  parallel_for(0, grains_of(mask), 1, [&](int64_t begin, int64_t end) {
    Dims at(static_cast<size_t>(width));
    for (int64_t g = begin; g < end; ++g) {
      int64_t rest = g * kGrain, offset = 0;
      for (int64_t d = width - 1; d >= 0; --d) {
        at[d] = rest % mask.sizes[d];
        rest /= mask.sizes[d];
        offset += at[d] * mask.strides[d];
      }
      int64_t* row = out.ptr<int64_t>() + starts[static_cast<size_t>(g)] * out.strides[0];
      const uint8_t* p = mask.ptr<uint8_t>();
      for (int64_t i = g * kGrain; i < std::min((g + 1) * kGrain, mask.numel); ++i) {
        if (p[offset] != 0) {
          for (int64_t d = 0; d < width; ++d) row[d * out.strides[1]] = at[d];
          row += out.strides[0];
        }
        for (int64_t d = width - 1; d >= 0; --d) {
          offset += mask.strides[d];
          if (++at[d] < mask.sizes[d]) break;
          offset -= at[d] * mask.strides[d];
          at[d] = 0;
        }
      }
    }
  });
}

void triangle(const Array& x, const Array& out, int64_t diagonal, bool upper) {
  if (out.numel == 0) return;
  const int r = x.ndim - 2, c = x.ndim - 1;
  const int64_t rows = x.sizes[r], columns = x.sizes[c];
  Nest<2> matrices;
  for (int d = 0; d < r; ++d) matrices.add(x.sizes[d], {x.strides[d], out.strides[d]});
  matrices.close();
  by_size(size_of(x.dtype), [&]<class T>(T) {
    const int64_t grain = std::max<int64_t>(1, kGrain / columns);
    parallel_for(0, matrices.numel() * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t m = t / rows, i = t % rows;
        matrices.rows(m, m + 1, [&](const int64_t* at, int64_t) {
          const T* p = x.ptr<T>() + at[0] + i * x.strides[r];
          T* q = out.ptr<T>() + at[1] + i * out.strides[r];
          // Columns [0, split) lie below the cut, [split, columns) above it.
          const int64_t split = std::clamp<int64_t>(i + diagonal + (upper ? 0 : 1), 0, columns);
          const int64_t sp = x.strides[c], sq = out.strides[c];
          for (int64_t j = 0; j < split; ++j) q[j * sq] = upper ? T(0) : p[j * sp];
          for (int64_t j = split; j < columns; ++j) q[j * sq] = upper ? p[j * sp] : T(0);
        });
      }
    });
  });
}

void flip(const Array& x, const Array& out, IntArrayRef dims) {
  if (out.numel == 0) return;
  // Read from the other end: the only place where a stride is negative.
  Nest<2> nest;
  int64_t start = 0;
  for (int d = 0; d < x.ndim; ++d) {
    const bool back = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (back) start += (x.sizes[d] - 1) * x.strides[d];
    nest.add(x.sizes[d], {back ? -x.strides[d] : x.strides[d], out.strides[d]});
  }
  nest.close();
  by_size(size_of(x.dtype), [&]<class T>(T) {
    const int64_t sx = nest.step(0), so = nest.step(1);
    parallel_for(0, x.numel, kGrain, [&](int64_t begin, int64_t end) {
      nest.rows(begin, end, [&](const int64_t* at, int64_t n) {
        const T* p = x.ptr<T>() + start + at[0];
        T* q = out.ptr<T>() + at[1];
        if (sx == 1 && so == 1)
          std::memcpy(q, p, static_cast<size_t>(n) * sizeof(T));
        else
          for (int64_t i = 0; i < n; ++i) q[i * so] = p[i * sx];
      });
    });
  });
}

void concatenate(const Array* in, int n, int64_t dim, const Array& out) {
  bool blocks = out.contiguous;
  for (int i = 0; i < n; ++i) blocks &= in[i].contiguous && in[i].dtype == out.dtype;
  int64_t start = 0;
  if (!blocks) {
    for (int i = 0; i < n; ++i) {
      SubArray part(out);
      part.slice(dim, start, in[i].sizes[dim]);
      start += in[i].sizes[dim];
      if (in[i].numel) copy(in[i], part.array());
    }
    return;
  }
  int64_t outer = 1, inner = static_cast<int64_t>(size_of(out.dtype));
  for (int64_t d = 0; d < dim; ++d) outer *= out.sizes[d];
  for (int64_t d = dim + 1; d < out.ndim; ++d) inner *= out.sizes[d];
  const int64_t line = out.sizes[dim] * inner;  // bytes
  if (line == 0) return;
  std::vector<int64_t> starts(static_cast<size_t>(n) + 1);
  for (int i = 0; i < n; ++i)
    starts[static_cast<size_t>(i) + 1] = starts[static_cast<size_t>(i)] + in[i].sizes[dim] * inner;
  // Bytes [begin, end) of the output, whichever inputs they come from.
  parallel_for(0, outer * line, int64_t{1} << 18, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t o = begin / line, at = begin % line;
      auto i =
          static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), at) - starts.begin()) -
          1;
      for (int64_t p = at; p < line && begin < end; ++i) {
        const int64_t length = starts[i + 1] - starts[i], skip = p - starts[i];
        const int64_t m = std::min(length - skip, end - begin);
        if (m > 0)
          std::memcpy(out.ptr<char>() + begin, in[i].ptr<char>() + o * length + skip,
                      static_cast<size_t>(m));
        p += m;
        begin += m;
      }
    }
  });
}

void roll(const Array& x, const Array& out, int64_t dim, int64_t shift) {
  const int64_t n = x.sizes[dim];
  if (x.numel == 0) return;
  shift = ((shift % n) + n) % n;
  SubArray head(x), tail(x), head_to(out), tail_to(out);
  copy(head.slice(dim, 0, n - shift).array(), head_to.slice(dim, shift, n - shift).array());
  if (shift) copy(tail.slice(dim, n - shift, shift).array(), tail_to.slice(dim, 0, shift).array());
}

}  // namespace tandem::kernels
