#include "tandem/kernels/sort_keys.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::kernels {
namespace {

template <class Key>
void load_any(DType t, const void* from, int64_t stride, int64_t n, Key* keys) {
  dispatch(t, [&]<class T>(T) {
    if constexpr (std::is_same_v<KeyOf<T>, Key>) {
      const T* p = static_cast<const T*>(from);
      for (int64_t i = 0; i < n; ++i) keys[i] = sort_key(p[i * stride]);
    } else {
      TANDEM_ASSERT(false, "sort keys of the wrong width");
    }
  });
}

// Least significant digit first, 8 bits a pass; a pass in which all digits agree is skipped.
template <class Entry>
void radix_sort(Entry* e, int64_t n, Entry* scratch) {
  constexpr int kPasses = static_cast<int>(sizeof(key_of(Entry())));
  int64_t counts[kPasses][256] = {};
  for (int64_t i = 0; i < n; ++i) {
    auto key = key_of(e[i]);
    for (int pass = 0; pass < kPasses; ++pass) ++counts[pass][key >> (8 * pass) & 255];
  }
  Entry* from = e;
  Entry* to = scratch;
  for (int pass = 0; pass < kPasses; ++pass) {
    int64_t* count = counts[pass];
    if (count[key_of(from[0]) >> (8 * pass) & 255] == n) continue;
    int64_t at = 0;
    for (int digit = 0; digit < 256; ++digit) at += std::exchange(count[digit], at);
    for (int64_t i = 0; i < n; ++i) to[count[key_of(from[i]) >> (8 * pass) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != e) std::memcpy(static_cast<void*>(e), from, static_cast<size_t>(n) * sizeof(Entry));
}

template <class Entry>
void sort_any(Entry* e, int64_t n, Entry* scratch) {
  constexpr int64_t kWorthCounting = 64 * static_cast<int64_t>(sizeof(key_of(Entry())));
  if (n >= kWorthCounting) {
    radix_sort(e, n, scratch);
  } else {
    std::sort(e, e + n);
  }
}

}  // namespace

void load_keys(DType t, const void* p, int64_t stride, int64_t n, uint32_t* keys) {
  load_any(t, p, stride, n, keys);
}
void load_keys(DType t, const void* p, int64_t stride, int64_t n, uint64_t* keys) {
  load_any(t, p, stride, n, keys);
}

void sort_entries(NarrowEntry* e, int64_t n, NarrowEntry* scratch) { sort_any(e, n, scratch); }
void sort_entries(WideEntry* e, int64_t n, WideEntry* scratch) { sort_any(e, n, scratch); }

}  // namespace tandem::kernels
