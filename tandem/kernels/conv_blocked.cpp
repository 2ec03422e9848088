// Between row-major tensors and the blocked layouts of convolutions.
#include <algorithm>

#include "tandem/base/error.h"
#include "tandem/base/parallel.h"
#include "tandem/kernels/conv_impl.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrain = 32768;  // elements for a thread
constexpr int64_t B = kChannelBlock;

int64_t grain_of(int64_t elements_each) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements_each));
}

/// to[p * B + c] = from[c * ld + p] for eight c and n p, or the other way round.
template <bool kBlock, class T>
void turn(const T* from, T* to, int64_t n, int64_t ld) {
  // Eight positions at a time keep both sides in whole lines.
  int64_t p = 0;
  for (; p + B <= n; p += B)
    for (int64_t i = 0; i < B; ++i)
      for (int64_t c = 0; c < B; ++c)
        if constexpr (kBlock)
          to[(p + i) * B + c] = from[c * ld + p + i];
        else
          to[i * ld + p + c] = from[(p + c) * B + i];
  for (; p < n; ++p)
    for (int64_t c = 0; c < B; ++c)
      if constexpr (kBlock)
        to[p * B + c] = from[c * ld + p];
      else
        to[c * ld + p] = from[p * B + c];
}

template <bool kBlock, class T>
void turn_all(int64_t batch, int64_t channels, int64_t positions, const T* x, T* y) {
  const int64_t blocks = batch * channels / B;
  // Large images are cut, so that one of few channels has work for all threads.
  const int64_t piece = 4096, pieces = (positions + piece - 1) / piece;
  parallel_for(0, blocks * pieces, grain_of(B * std::min(piece, positions)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t block = i / pieces * B * positions, p = i % pieces * piece;
                   const int64_t n = std::min(piece, positions - p);
                   const T* from = x + block + (kBlock ? p : p * B);
                   T* to = y + block + (kBlock ? p * B : p);
                   turn<kBlock, T>(from, to, n, positions);
                 }
               });
}

/// Values are only moved: all dtypes of one size are alike.
template <bool kBlock>
void turn_bytes(DType dtype, int64_t batch, int64_t channels, int64_t positions, const void* x,
                void* y) {
  const auto run = [&]<class T>(T) {
    turn_all<kBlock>(batch, channels, positions, static_cast<const T*>(x), static_cast<T*>(y));
  };
  switch (size_of(dtype)) {
    case 1:
      return run(uint8_t());
    case 2:
      return run(uint16_t());
    case 4:
      return run(uint32_t());
    default:
      return run(uint64_t());
  }
}

/// Calls fn(place in row-major order, place in `order`) for all weights of a block of eight
/// outputs.
template <class F>
void weight_block(WeightOrder order, int64_t block, int64_t in, int64_t places, const F& fn) {
  const int64_t row = in * places, first = block * B * row;
  switch (order) {
    case WeightOrder::in_out:
    case WeightOrder::out_in:
      for (int64_t ib = 0; ib < in / B; ++ib)
        for (int64_t k = 0; k < places; ++k)
          for (int64_t u = 0; u < B; ++u)
            for (int64_t v = 0; v < B; ++v) {
              const int64_t o = order == WeightOrder::in_out ? v : u;
              const int64_t i = order == WeightOrder::in_out ? u : v;
              fn(first + o * row + (ib * B + i) * places + k,
                 first + ((ib * places + k) * B + u) * B + v);
            }
      return;
    case WeightOrder::plain_in:
    case WeightOrder::depthwise:
      for (int64_t k = 0; k < places; ++k)
        for (int64_t i = 0; i < in; ++i)
          for (int64_t o = 0; o < B; ++o)
            fn(first + o * row + i * places + k, first + (k * in + i) * B + o);
      return;
    case WeightOrder::winograd:
    case WeightOrder::winograd_turned:
      TANDEM_ASSERT(false, "transformed weights are not a reordering");
  }
}

}  // namespace

void to_blocked(DType dtype, int64_t batch, int64_t channels, int64_t positions, const void* x,
                void* y) {
  turn_bytes<true>(dtype, batch, channels, positions, x, y);
}
void from_blocked(DType dtype, int64_t batch, int64_t channels, int64_t positions, const void* x,
                  void* y) {
  turn_bytes<false>(dtype, batch, channels, positions, x, y);
}

void to_blocked_weight(WeightOrder order, int64_t out, int64_t in, int64_t places, const float* w,
                       float* to) {
  if (order == WeightOrder::winograd || order == WeightOrder::winograd_turned)
    return detail::winograd_weight(order == WeightOrder::winograd_turned, out, in, w, to);
  parallel_for(0, out / B, grain_of(B * in * places), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      weight_block(order, b, in, places, [&](int64_t i, int64_t j) { to[j] = w[i]; });
  });
}
void from_blocked_weight(WeightOrder order, int64_t out, int64_t in, int64_t places, const float* w,
                         float* to) {
  parallel_for(0, out / B, grain_of(B * in * places), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      weight_block(order, b, in, places, [&](int64_t i, int64_t j) { to[i] = w[j]; });
  });
}

}  // namespace tandem::kernels
