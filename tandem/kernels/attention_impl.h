#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tandem/base/memory.h"
#include "tandem/kernels/attention.h"
#include "tandem/kernels/attention_simd.h"
#include "tandem/kernels/gemm_impl.h"
#include "tandem/kernels/random_philox.h"

/// What attention.cpp and attention_backward.cpp share.
namespace tandem::kernels::detail {

// A tile of scores has this many queries and keys. It stays in the second cache, and so do the
// queries and keys that it is made of.
inline constexpr int64_t kQueryTile = 64;
inline constexpr int64_t kKeyTile = 256;

/// A distance between rows at which they do not compete for the same lines of the first cache.
template <class C>
int64_t padded(int64_t n) {
  const int64_t ld = (n + 15) / 16 * 16;
  return ld * static_cast<int64_t>(sizeof(C)) % 1024 == 0 ? ld + 16 : ld;
}

/// Memory of one thread for its tiles, cut into pieces.
template <class C>
class Workspace {
 public:
  explicit Workspace(int64_t elements)
      : bytes_(static_cast<size_t>(elements + 16) * sizeof(C)),
        data_(static_cast<C*>(memory::detail::allocate_data(bytes_))) {}
  ~Workspace() { memory::detail::free_data(data_, bytes_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  C* take(int64_t elements) {
    C* piece = data_ + used_;
    used_ += (elements + 15) / 16 * 16;
    return piece;
  }
  static int64_t room(int64_t elements) { return (elements + 15) / 16 * 16; }

 private:
  size_t bytes_;
  C* data_;
  int64_t used_ = 0;
};

/// The matrix of one head in an array [..., rows, cols].
struct Head {
  int64_t offset, row, col;
};
inline Head head_of(const Array& x, int64_t head) {
  Head h{0, x.strides[x.ndim - 2], x.strides[x.ndim - 1]};
  for (int d = x.ndim - 3; d >= 0; --d) {
    h.offset += head % x.sizes[d] * x.strides[d];
    head /= x.sizes[d];
  }
  return h;
}
/// Rows from row `first` on, converted, one after another at a distance of ld.
template <class T, class C>
void pack_rows(const Array& x, const Head& h, int64_t first, int64_t rows, C* dst, int64_t ld) {
  const int64_t cols = x.sizes[x.ndim - 1];
  const T* src = x.ptr<T>() + h.offset + first * h.row;
  for (int64_t i = 0; i < rows; ++i, src += h.row, dst += ld) {
    if constexpr (std::is_same_v<T, C>) {
      if (h.col == 1) {
        std::memcpy(dst, src, static_cast<size_t>(cols) * sizeof(C));
        continue;
      }
    }
    for (int64_t j = 0; j < cols; ++j) dst[j] = static_cast<C>(src[j * h.col]);
  }
}
/// dst[c * dst_ld + r] = src[r * ld + c]
template <class C>
void transpose(const C* src, int64_t ld, int64_t rows, int64_t cols, C* dst, int64_t dst_ld) {
  GemmArgs<C> g{};
  g.n = rows, g.k = cols;
  g.b = src, g.b_row = 1, g.b_col = ld;
  copy_b(g, dst, dst_ld);
}
/// The opposite of pack_rows.
template <class T, class C>
void unpack_rows(const Array& x, int64_t head, int64_t first, int64_t rows, const C* src,
                 int64_t ld) {
  const int64_t cols = x.sizes[x.ndim - 1];
  const Head h = head_of(x, head);
  T* dst = x.ptr<T>() + h.offset + first * h.row;
  for (int64_t i = 0; i < rows; ++i, src += ld, dst += h.row) {
    if constexpr (std::is_same_v<T, C>) {
      if (h.col == 1) {
        std::memcpy(dst, src, static_cast<size_t>(cols) * sizeof(C));
        continue;
      }
    }
    for (int64_t j = 0; j < cols; ++j) dst[j * h.col] = static_cast<T>(src[j]);
  }
}

/// C = alpha * A B + beta * C on the calling thread; rows of B and C are contiguous.
template <class C>
void multiply(int64_t m, int64_t n, int64_t k, const C* a, int64_t a_row, int64_t a_col, const C* b,
              int64_t ldb, C* c, int64_t ldc, C alpha, C beta) {
  if (m == 0 || n == 0) return;
  // Long sums are added up in pieces, which rounds less.
  constexpr int64_t kDepth = 512;
  int64_t p = 0;
  do {
    const int64_t depth = std::min(kDepth, k - p);
    small_gemm(GemmArgs<C>{m, n, depth, a + p * a_col, a_row, a_col, b + p * ldb, ldb, 1, c, ldc,
                           alpha, p == 0 ? beta : C(1)});
    p += kDepth;
  } while (p < k);
}

/// A call in the types that it is stored (T) and computed (C) in.
template <class T, class C>
struct AttentionCall {
  const Attention& a;
  const AttentionOps<C>& ops = attention_ops<C>();
  int64_t queries, keys, width, value_width, heads;
  Dims mask_sizes, mask_strides;  // those of the mask, broadcast to [..., L, S]
  C keep_scale = 1;
  uint64_t keep_limit = 0;

  explicit AttentionCall(const Attention& call) : a(call) {
    const int n = a.q.ndim;
    queries = a.q.sizes[n - 2];
    keys = a.k.sizes[n - 2];
    width = a.q.sizes[n - 1];
    value_width = a.v.sizes[n - 1];
    heads = 1;
    for (int d = 0; d < n - 2; ++d) heads *= a.q.sizes[d];
    if (a.dropout > 0) {
      const double keep = 1 - a.dropout;
      // word / 2^32 < keep, without rounding.
      keep_limit = static_cast<uint64_t>(std::ceil(keep * 0x1p32));
      keep_scale = keep > 0 ? static_cast<C>(1 / keep) : C(0);
    }
    if (a.mask.data == nullptr) return;
    mask_sizes = Dims(a.q.sizes, a.q.sizes + n - 1);
    mask_sizes.push_back(keys);
    mask_strides.resize(static_cast<size_t>(n), 0);
    for (int d = 0; d < a.mask.ndim; ++d)
      if (a.mask.sizes[d] != 1)
        mask_strides[static_cast<size_t>(n - a.mask.ndim + d)] = a.mask.strides[d];
  }

  /// How many keys of the tile from `first_key` on a tile of queries that ends before `end` meets.
  int64_t keys_met(int64_t first_key, int64_t end) const {
    const int64_t n = std::min(kKeyTile, keys - first_key);
    return a.causal ? std::min(n, end - first_key) : n;
  }

  Head mask_head(int64_t head) const {
    if (a.mask.data == nullptr) return {0, 0, 0};
    Array m = a.mask;
    m.ndim = static_cast<int32_t>(mask_sizes.size());
    m.sizes = mask_sizes.data();
    m.strides = mask_strides.data();
    return head_of(m, head);
  }

  /// Scores of query i against n keys from j on, with both masks applied. `room`: n elements.
  void apply_masks(const Head& mask, int64_t i, int64_t j, int64_t n, C* x, C* room) const {
    if (a.mask.data != nullptr && a.mask.dtype == kBool) {
      const uint8_t* m = a.mask.ptr<uint8_t>() + mask.offset + i * mask.row + j * mask.col;
      if (mask.col != 1) {
        auto* bytes = reinterpret_cast<uint8_t*>(room);
        for (int64_t c = 0; c < n; ++c) bytes[c] = m[c * mask.col];
        m = bytes;
      }
      ops.mask(x, m, n);
    } else if (a.mask.data != nullptr) {
      const T* m = a.mask.ptr<T>() + mask.offset + i * mask.row + j * mask.col;
      for (int64_t c = 0; c < n; ++c) room[c] = static_cast<C>(m[c * mask.col]);
      ops.add(x, room, n);
    }
    if (a.causal)
      for (int64_t c = std::max<int64_t>(0, i - j + 1); c < n; ++c)
        x[c] = -std::numeric_limits<C>::infinity();
  }

  /// The weights of a row from key j on with some of them dropped. `words`: kKeyTile of them.
  void drop(int64_t head, int64_t i, int64_t j, int64_t n, const C* x, C* out,
            uint32_t* words) const {
    const auto row = static_cast<uint64_t>(head * queries + i);
    const uint64_t block =
        row * static_cast<uint64_t>(padded_keys(keys) / 4) + static_cast<uint64_t>(j / 4);
    philox_words(a.seed, a.counter + block, (n + 3) / 4, words);
    ops.drop(x, words, keep_limit, keep_scale, out, n);
  }
};

/// fn.operator()<T, C>() for the stored and the computed type.
template <class F>
void with_types(DType t, const F& fn) {
  switch (t) {
    case kDouble:
      return fn.template operator()<double, double>();
    case kHalf:
      return fn.template operator()<Half, float>();
    case kBFloat16:
      return fn.template operator()<BFloat16, float>();
    default:
      return fn.template operator()<float, float>();
  }
}

}  // namespace tandem::kernels::detail
