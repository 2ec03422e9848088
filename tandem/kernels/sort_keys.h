#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tandem/kernels/reduce_load.h"

/// Elements as unsigned integers that compare the way the elements do.
namespace tandem::kernels {

/// Narrow dtypes have 32-bit keys, the 8-byte ones 64-bit keys.
template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
inline KeyOf<T> sort_key(T v) {
  using K = KeyOf<T>;
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      using Wide = std::make_signed_t<K>;
      return static_cast<K>(static_cast<Wide>(v)) ^ (K(1) << (8 * sizeof(K) - 1));
    } else {
      return static_cast<K>(v);
    }
  } else {
    const Compute<T> x = static_cast<Compute<T>>(v) + 0;  // -0.0 becomes 0.0
    if (x != x) return ~K(0);
    const K bits = std::bit_cast<K>(x);
    const K sign = K(1) << (8 * sizeof(K) - 1);
    return bits & sign ? ~bits : bits | sign;
  }
}

/// Calls fn(T(), Key()) for the C++ type of t and its key.
template <class F>
void dispatch_key(DType t, F&& fn) {
  dispatch(t, [&]<class T>(T v) { fn(v, KeyOf<T>()); });
}

/// keys[i] = key of p[i * stride].
void load_keys(DType t, const void* p, int64_t stride, int64_t n, uint32_t* keys);
void load_keys(DType t, const void* p, int64_t stride, int64_t n, uint64_t* keys);

/// A key with the position that it came from. Comparing the pair makes every order stable.
struct WideEntry {
  uint64_t key;
  int64_t index;
  friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};
inline int64_t index_of(const WideEntry& e) { return e.index; }
inline uint64_t key_of(const WideEntry& e) { return e.key; }
/// A 32-bit key above a 32-bit position: one comparison does both.
struct NarrowEntry {
  uint64_t bits;
  friend bool operator<(NarrowEntry a, NarrowEntry b) { return a.bits < b.bits; }
};
inline int64_t index_of(NarrowEntry e) { return static_cast<int64_t>(e.bits & 0xffffffffu); }
inline uint32_t key_of(NarrowEntry e) { return static_cast<uint32_t>(e.bits >> 32); }

/// Sorts entries ascending. Entries come in order of position. `scratch` has room for n.
void sort_entries(NarrowEntry* e, int64_t n, NarrowEntry* scratch);
void sort_entries(WideEntry* e, int64_t n, WideEntry* scratch);

}  // namespace tandem::kernels
