#include <algorithm>
#include <cstring>

#include "tandem/base/parallel.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/map_convert.h"
#include "tandem/kernels/map_walk.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrain = 65536;
constexpr int64_t kChunk = 512;

// n copies of one element, `stride` apart.
template <class T>
void repeat_as(const void* value, void* dst_, int64_t stride, int64_t n) {
  T x;
  memcpy(&x, value, sizeof x);
  T* dst = static_cast<T*>(dst_);
  if (stride == 1) {
    std::fill_n(dst, n, x);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * stride] = x;
  }
}
void repeat(size_t size, const void* value, void* dst, int64_t stride, int64_t n) {
  switch (size) {
    case 1:
      return repeat_as<uint8_t>(value, dst, stride, n);
    case 2:
      return repeat_as<uint16_t>(value, dst, stride, n);
    case 4:
      return repeat_as<uint32_t>(value, dst, stride, n);
    default:
      return repeat_as<uint64_t>(value, dst, stride, n);
  }
}

template <class T>
void strided_as(const void* src_, int64_t from, void* dst_, int64_t to, int64_t n) {
  const T* src = static_cast<const T*>(src_);
  T* dst = static_cast<T*>(dst_);
  for (int64_t i = 0; i < n; ++i) dst[i * to] = src[i * from];
}
void copy_strided(size_t size, const void* src, int64_t from, void* dst, int64_t to, int64_t n) {
  switch (size) {
    case 1:
      return strided_as<uint8_t>(src, from, dst, to, n);
    case 2:
      return strided_as<uint16_t>(src, from, dst, to, n);
    case 4:
      return strided_as<uint32_t>(src, from, dst, to, n);
    default:
      return strided_as<uint64_t>(src, from, dst, to, n);
  }
}

// Row by row, for any pair of types and strides.
void copy_rows(const Array& src, const Array& dst, const Walk& walk, int64_t begin, int64_t end) {
  const int64_t to = walk.inner_stride(0), from = walk.inner_stride(1);
  const size_t size = size_of(dst.dtype);
  const bool same = src.dtype == dst.dtype;
  const ConvertFn convert = convert_fn(src.dtype, dst.dtype);
  alignas(64) char raw[kChunk * 8], converted[kChunk * 8];
  walk.rows(begin, end, [&](const int64_t* offset, int64_t n) {
    const char* s = at(src, offset[1]);
    char* d = at_mutable(dst, offset[0]);
    if (from == 0) {
      convert(s, converted, 1);
      repeat(size, converted, d, to, n);
    } else if (from == 1 && to == 1) {
      convert(s, d, n);
    } else if (same) {
      copy_strided(size, s, from, d, to, n);
    } else {
      const int64_t s_step = from * static_cast<int64_t>(size_of(src.dtype));
      const int64_t d_step = to * static_cast<int64_t>(size);
      for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        const char* piece = s + i * s_step;
        if (from != 1) {
          gather(size_of(src.dtype), piece, from, raw, m);
          piece = raw;
        }
        convert(piece, to == 1 ? d + i * d_step : converted, m);
        if (to != 1) scatter(size, converted, d + i * d_step, to, m);
      }
    }
  });
}

// A transposed plane in tiles, so that both sides are read and written a cache line at a time.
constexpr int64_t kTile = 32;
template <class T>
void transpose_tiles(const T* src, int64_t src_row, T* dst, int64_t dst_row, int64_t rows,
                     int64_t columns) {
  // dst[r * dst_row + c] = src[r + c * src_row]
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    const int64_t r1 = std::min(rows, r0 + kTile);
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t c1 = std::min(columns, c0 + kTile);
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c) dst[r * dst_row + c] = src[r + c * src_row];
    }
  }
}
void transpose_plane(size_t size, const void* src, int64_t src_row, void* dst, int64_t dst_row,
                     int64_t rows, int64_t columns) {
  const auto as = [&]<class T>(T) {
    transpose_tiles(static_cast<const T*>(src), src_row, static_cast<T*>(dst), dst_row, rows,
                    columns);
  };
  switch (size) {
    case 1:
      return as(uint8_t());
    case 2:
      return as(uint16_t());
    case 4:
      return as(uint32_t());
    default:
      return as(uint64_t());
  }
}

// True if dst runs along its last dimension and src along another one; then that one's index.
int transposed_dim(const Walk& walk) {
  if (walk.ndim < 2 || walk.inner_stride(0) != 1 || walk.inner_stride(1) <= 1) return -1;
  if (walk.inner() < 8) return -1;
  for (int d = walk.ndim - 2; d >= 0; --d)
    if (walk.strides[1][d] == 1 && walk.sizes[d] >= 8) return d;
  return -1;
}

void copy_transposed(const Array& src, const Array& dst, const Walk& walk, int dim) {
  // Planes are (dim, last); what is left is walked through plane by plane. A band of kTile rows of
  // a plane is one piece of work.
  const int last = walk.ndim - 1;
  const size_t size = size_of(dst.dtype);
  const int64_t rows = walk.sizes[dim], columns = walk.sizes[last];
  const int64_t bands = (rows + kTile - 1) / kTile;
  const int64_t planes = walk.numel / (rows * columns);
  const int64_t grain = std::max<int64_t>(1, kGrain / (std::min(rows, kTile) * columns));
  parallel_for(0, planes * bands, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i / bands, from = 0, to = 0;
      for (int d = walk.ndim - 1; d >= 0; --d) {
        if (d == dim || d == last) continue;
        const int64_t index = rest % walk.sizes[d];
        rest /= walk.sizes[d];
        to += index * walk.strides[0][d];
        from += index * walk.strides[1][d];
      }
      const int64_t r = i % bands * kTile;
      transpose_plane(size, at(src, from + r), walk.strides[1][last],
                      at_mutable(dst, to + r * walk.strides[0][dim]), walk.strides[0][dim],
                      std::min(kTile, rows - r), columns);
    }
  });
}

void fill_with(const Array& dst, const void* value) {
  const size_t size = size_of(dst.dtype);
  if (dst.contiguous) {
    parallel_for(0, dst.numel, kGrain, [&](int64_t b, int64_t e) {
      repeat(size, value, dst.ptr<char>() + b * size, 1, e - b);
    });
    return;
  }
  if (dst.numel == 0) return;
  const Walk walk(dst, nullptr, 0);
  parallel_for(0, walk.numel, kGrain, [&](int64_t b, int64_t e) {
    walk.rows(b, e, [&](const int64_t* offset, int64_t n) {
      repeat(size, value, at_mutable(dst, offset[0]), walk.inner_stride(0), n);
    });
  });
}

}  // namespace

void copy(const Array& src, const Array& dst) {
  if (src.contiguous && dst.contiguous && src.numel == dst.numel) {
    const ConvertFn convert = convert_fn(src.dtype, dst.dtype);
    const int64_t from = size_of(src.dtype), to = size_of(dst.dtype);
    if (src.data == dst.data && src.dtype == dst.dtype) return;
    parallel_for(0, dst.numel, kGrain, [&](int64_t b, int64_t e) {
      convert(src.ptr<char>() + b * from, dst.ptr<char>() + b * to, e - b);
    });
    return;
  }
  if (dst.numel == 0) return;
  const Walk walk(dst, &src, 1);
  if (src.dtype == dst.dtype) {
    if (const int dim = transposed_dim(walk); dim >= 0) {
      return copy_transposed(src, dst, walk, dim);
    }
  }
  parallel_for(0, walk.numel, kGrain,
               [&](int64_t b, int64_t e) { copy_rows(src, dst, walk, b, e); });
}

void fill(const Array& dst, double value) {
  alignas(8) char x[8];
  convert_fn(kDouble, dst.dtype)(&value, x, 1);
  fill_with(dst, x);
}
void fill(const Array& dst, int64_t value) {
  alignas(8) char x[8];
  convert_fn(kLong, dst.dtype)(&value, x, 1);
  fill_with(dst, x);
}

void convert(DType from, const void* src, DType to, void* dst, int64_t n) {
  convert_fn(from, to)(src, dst, n);
}

}  // namespace tandem::kernels
