#include "tandem/kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/kernels/random_philox.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/simd/lane_functions.h"

namespace tandem::kernels {
namespace {

// Elements are made in chunks of this many. Every kind of number uses one counter for 2 or 4
// elements, so a chunk begins at a known counter.
constexpr int64_t kChunk = 1024;

// Fills `out` chunk by chunk: make(first block's counter, blocks, n, values) gives n values from
// whole blocks, kPer elements each.
template <class C, int kPer, class Make>
void fill_chunks(const Array& out, uint64_t counter, const Make& make) {
  const int64_t chunks = ceil_div(out.numel, kChunk);
  Axes axes;
  for (int d = 0; d < out.ndim; ++d)
    if (out.sizes[d] != 1) axes.push_back({out.sizes[d], out.strides[d], 0});
  parallel_for(0, chunks, 8, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[kChunk / kPer * 4];
    C values[kChunk];
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c * kChunk, n = std::min(kChunk, out.numel - first);
      const int64_t blocks = ceil_div(n, kPer);
      make(counter + static_cast<uint64_t>(first / kPer), blocks, words, values);
      if (out.contiguous) {
        store(out.dtype, at_mutable(out, first), 1, n, values);
        continue;
      }
      const C* from = values;
      for_runs(axes, first, n, [&](int64_t offset, int64_t stride, int64_t count) {
        store(out.dtype, at_mutable(out, offset), stride, count, from);
        from += count;
      });
    }
  });
}

double unit53(const uint32_t* w) {
  return static_cast<double>((static_cast<uint64_t>(w[1]) << 32 | w[0]) >> 11) * 0x1p-53;
}

// A float that is below b when it should be, also after rounding to the output's dtype.
float below(float x, float a, float b, DType t) {
  if (t == kHalf) {
    const Half h = x;
    if (static_cast<float>(h) >= b && b > a)
      return Half::from_bits(static_cast<uint16_t>(h.bits + (static_cast<float>(h) > 0 ? -1 : 1)));
    return h;
  }
  if (t == kBFloat16) {
    const BFloat16 h = x;
    if (static_cast<float>(h) >= b && b > a)
      return BFloat16::from_bits(
          static_cast<uint16_t>(h.bits + (static_cast<float>(h) > 0 ? -1 : 1)));
    return h;
  }
  return x >= b && b > a ? std::nextafter(b, a) : x;
}

// C is float or double.
template <class C>
void fill_floats(RandomFn fn, const Array& out, uint64_t seed, uint64_t counter, double a,
                 double b) {
  constexpr int kPer = std::is_same_v<C, float> ? 4 : 2;
  const C ca = static_cast<C>(a), cb = static_cast<C>(b);
  fill_chunks<C, kPer>(out, counter, [&](uint64_t at, int64_t blocks, uint32_t* words, C* x) {
    philox_words(seed, at, blocks, words);
    const int64_t n = blocks * kPer;
    switch (fn) {
      case RandomFn::Uniform:
        uniforms(words, blocks, x);
        if (a != 0 || b != 1)
          for (int64_t i = 0; i < n; ++i) x[i] = x[i] * (cb - ca) + ca;
        // [0, 1) cannot round up; anything else is looked at.
        if constexpr (std::is_same_v<C, float>) {
          if (a != 0 || b != 1 || out.dtype != kFloat)
            for (int64_t i = 0; i < n; ++i) x[i] = below(x[i], ca, cb, out.dtype);
        } else {
          if (a != 0 || b != 1)
            for (int64_t i = 0; i < n; ++i)
              if (x[i] >= b && b > a) x[i] = std::nextafter(b, a);
        }
        return;
      case RandomFn::Normal:
        normals(words, blocks, x);
        if (a != 0 || b != 1)
          for (int64_t i = 0; i < n; ++i) x[i] = x[i] * cb + ca;
        return;
      case RandomFn::LogNormal:
        normals(words, blocks, x);
        for (int64_t i = 0; i < n; ++i) x[i] = std::exp(x[i] * cb + ca);
        return;
      case RandomFn::Exponential:
        exponentials(words, blocks, x);
        for (int64_t i = 0; i < n; ++i) x[i] = x[i] / ca;
        return;
      case RandomFn::Geometric: {
        exponentials(words, blocks, x);
        const C scale = static_cast<C>(-std::log1p(-a));
        for (int64_t i = 0; i < n; ++i)
          x[i] = std::max<C>(1, scale > 0 ? std::ceil(x[i] / scale) : C(1));
        return;
      }
      case RandomFn::Cauchy:
        for (int64_t i = 0; i < n; ++i) {
          double u;
          if constexpr (std::is_same_v<C, float>)
            u = (static_cast<double>(words[i]) + 0.5) * 0x1p-32;
          else
            u = unit53(words + 2 * i) + 0x1p-54;
          x[i] = static_cast<C>(a + b * std::tan(3.14159265358979323846 * (u - 0.5)));
        }
        return;
      default:
        TANDEM_ASSERT(false, "not a distribution of floats");
    }
  });
}

// Masks of dropout: word < p 2^32, without a detour through wider numbers.
void fill_truths(const Array& out, uint64_t seed, uint64_t counter, double p) {
  const auto limit = static_cast<uint64_t>(std::ceil(p * 0x1p32));
  if (limit > UINT32_MAX) {
    std::fill_n(out.ptr<uint8_t>(), out.numel, uint8_t{1});
    return;
  }
  const auto below = static_cast<uint32_t>(limit);
  // Memory of bytes may be any memory to the compiler unless it is told otherwise.
  const auto compare = [below](const uint32_t* __restrict words, uint8_t* __restrict to,
                               int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = words[i] < below;
  };
  parallel_for(0, ceil_div(out.numel, kChunk), 16, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[kChunk];
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c * kChunk, n = std::min(kChunk, out.numel - first);
      philox_words(seed, counter + static_cast<uint64_t>(first / 4), ceil_div(n, 4), words);
      compare(words, out.ptr<uint8_t>() + first, n);
    }
  });
}

// A whole number in [0, range) from 64 bits: the high part of the product.
uint64_t scaled(const uint32_t* w, uint64_t range) {
  const uint64_t bits = static_cast<uint64_t>(w[1]) << 32 | w[0];
  if (range == 0) return bits;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
}

}  // namespace

void fill_random(RandomFn fn, const Array& out, uint64_t seed, uint64_t counter, double a,
                 double b) {
  if (out.numel == 0) return;
  if (fn == RandomFn::Integers) {
    fill_integers(out, seed, counter, static_cast<int64_t>(a),
                  static_cast<uint64_t>(static_cast<int64_t>(b)) -
                      static_cast<uint64_t>(static_cast<int64_t>(a)));
    return;
  }
  if (fn == RandomFn::Bernoulli && out.dtype == kBool && out.contiguous) {
    fill_truths(out, seed, counter, a);
    return;
  }
  if (fn == RandomFn::Bernoulli) {
    fill_chunks<int64_t, 4>(out, counter,
                            [&](uint64_t at, int64_t blocks, uint32_t* words, int64_t* x) {
                              philox_words(seed, at, blocks, words);
                              for (int64_t i = 0; i < 4 * blocks; ++i)
                                x[i] = static_cast<double>(words[i]) * 0x1p-32 < a;
                            });
    return;
  }
  if (out.dtype == kDouble || !is_floating(out.dtype)) {
    fill_floats<double>(fn, out, seed, counter, a, b);
  } else {
    fill_floats<float>(fn, out, seed, counter, a, b);
  }
}

void fill_integers(const Array& out, uint64_t seed, uint64_t counter, int64_t low, uint64_t range) {
  fill_chunks<int64_t, 2>(
      out, counter, [&](uint64_t at, int64_t blocks, uint32_t* words, int64_t* x) {
        philox_words(seed, at, blocks, words);
        for (int64_t i = 0; i < 2 * blocks; ++i)
          x[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + scaled(words + 2 * i, range));
      });
}

void fill_bernoulli(const Array& out, uint64_t seed, uint64_t counter, const Array& p) {
  for (int64_t i = 0; i < p.numel; ++i) {
    double chance;
    load(p.dtype, at(p, offset_of(p, i)), 1, 1, &chance);
    TANDEM_CHECK_AS(ValueError, chance >= 0 && chance <= 1,
                    "bernoulli: expects probabilities in [0, 1], but got ", chance);
  }
  // The numbers are those of fill_random; each is compared with its own probability.
  parallel_for(0, ceil_div(out.numel, kChunk), 8, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[kChunk];
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c * kChunk, n = std::min(kChunk, out.numel - first);
      philox_words(seed, counter + static_cast<uint64_t>(first / 4), ceil_div(n, 4), words);
      for (int64_t i = 0; i < n; ++i) {
        double chance;
        load(p.dtype, at(p, offset_of(p, first + i)), 1, 1, &chance);
        const int64_t hit = static_cast<double>(words[i]) * 0x1p-32 < chance;
        store(out.dtype, at_mutable(out, offset_of(out, first + i)), 1, 1, &hit);
      }
    }
  });
}

namespace {

// Pairs of uniform numbers, as many as are asked for, that belong to one element alone. The upper
// half of the counter, which is 0 for everybody else, tells the pairs of one element apart.
class PairsOfElement {
 public:
  PairsOfElement(uint64_t seed, uint64_t counter, int64_t element)
      : seed_(seed),
        counter_(counter + static_cast<uint64_t>(element) / 2),
        next_(1 + static_cast<uint64_t>(element) % 2) {}
  std::pair<double, double> draw() {
    const PhiloxBlock block = philox(seed_, counter_, next_);
    next_ += 2;
    return {unit53(block.word) + 0x1p-54, unit53(block.word + 2) + 0x1p-54};
  }

 private:
  uint64_t seed_, counter_, next_;
};

// Small rates: the first k at which the distribution function exceeds a uniform number.
double poisson_by_search(double rate, double uniform) {
  double k = 0, chance = std::exp(-rate);
  while (uniform > chance && chance > 0x1p-54) {
    uniform -= chance;
    k += 1;
    chance *= rate / k;
  }
  return k;
}

// Hörmann's transformed rejection (PTRS, 1993), for rates of 10 and more.
double poisson_by_rejection(double rate, PairsOfElement& pairs) {
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const auto [first, v] = pairs.draw();
    const double u = first - 0.5, edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / edge + b) * u + rate + 0.43);
    if (edge >= 0.07 && v <= accept) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    const double hat = std::log(v * inverse_alpha / (a / (edge * edge) + b));
    if (hat <= k * log_rate - rate - libm::lgamma(k + 1)) return k;
  }
}

double poisson(double rate, PairsOfElement pairs) {
  if (rate == 0 || std::isinf(rate)) return rate;
  return rate < 10 ? poisson_by_search(rate, pairs.draw().first)
                   : poisson_by_rejection(rate, pairs);
}

}  // namespace

void fill_poisson(const Array& out, uint64_t seed, uint64_t counter, const Array& rates) {
  parallel_for(0, ceil_div(out.numel, kChunk), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * kChunk; i < std::min(end * kChunk, out.numel); ++i) {
      double rate;
      load(rates.dtype, at(rates, offset_of(rates, i)), 1, 1, &rate);
      TANDEM_CHECK_AS(ValueError, rate >= 0,
                      "poisson: invalid Poisson rate, expected rate to be non-negative, got ",
                      rate);
      const double drawn = poisson(rate, PairsOfElement(seed, counter, i));
      store(out.dtype, at_mutable(out, offset_of(out, i)), 1, 1, &drawn);
    }
  });
}

void fill_permutation(const Array& out, uint64_t seed, uint64_t counter) {
  const int64_t n = out.numel;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  constexpr int64_t kBlocks = 256;
  alignas(64) uint32_t words[4 * kBlocks];
  for (int64_t i = 0; i < n; ++i) {
    const int64_t within = i % (2 * kBlocks);
    if (within == 0) philox_words(seed, counter + static_cast<uint64_t>(i / 2), kBlocks, words);
    const int64_t j =
        i + static_cast<int64_t>(scaled(words + 2 * within, static_cast<uint64_t>(n - i)));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  for (int64_t i = 0; i < n; ++i)
    store(out.dtype, at_mutable(out, offset_of(out, i)), 1, 1, &order[static_cast<size_t>(i)]);
}

void fill_multinomial(const Array& weights, bool replacement, uint64_t seed, uint64_t counter,
                      const Array& out) {
  const int64_t n = weights.sizes[weights.ndim - 1], k = out.sizes[out.ndim - 1];
  const int64_t rows = weights.ndim == 2 ? weights.sizes[0] : 1;
  auto fail = [](const char* why) { TANDEM_CHECK_AS(ValueError, false, "multinomial: ", why); };
  std::vector<double> w(static_cast<size_t>(n));
  std::vector<std::pair<double, int64_t>> race;
  for (int64_t r = 0; r < rows; ++r) {
    double total = 0;
    int64_t possible = 0;
    for (int64_t i = 0; i < n; ++i) {
      double x;
      load(weights.dtype, at(weights, offset_of(weights, r * n + i)), 1, 1, &x);
      if (!(x >= 0) || std::isinf(x))
        fail("probability tensor contains either `inf`, `nan` or element < 0");
      total += x;
      possible += x > 0;
      w[static_cast<size_t>(i)] = replacement ? total : x;
    }
    if (!(total > 0)) fail("invalid multinomial distribution (sum of probabilities <= 0)");
    if (!replacement && possible < k)
      fail(
          "invalid multinomial distribution (with replacement=false, not enough non-negative "
          "category to sample)");
    int64_t* to = out.ptr<int64_t>();
    if (replacement) {
      for (int64_t s = 0; s < k; ++s) {
        const PhiloxBlock block = philox(seed, counter + static_cast<uint64_t>(r * k + s) / 2, 0);
        const double u = unit53(block.word + 2 * ((r * k + s) % 2)) * total;
        int64_t i = std::upper_bound(w.begin(), w.end(), u) - w.begin();
        // Rounding may lead to the end or to a weight of zero there.
        i = std::min(i, n - 1);
        while (i > 0 && w[static_cast<size_t>(i)] == w[static_cast<size_t>(i - 1)]) --i;
        to[offset_of(out, r * k + s)] = i;
      }
      continue;
    }
    // The first k of a race in which runner i arrives after an exponential time of rate w[i].
    race.clear();
    for (int64_t i = 0; i < n; ++i) {
      const PhiloxBlock block = philox(seed, counter + static_cast<uint64_t>(r * n + i) / 2, 0);
      const double u = unit53(block.word + 2 * ((r * n + i) % 2)) + 0x1p-54;
      const double x = w[static_cast<size_t>(i)];
      race.emplace_back(x > 0 ? -std::log(u) / x : std::numeric_limits<double>::infinity(), i);
    }
    std::partial_sort(race.begin(), race.begin() + k, race.end());
    for (int64_t s = 0; s < k; ++s)
      to[offset_of(out, r * k + s)] = race[static_cast<size_t>(s)].second;
  }
}

}  // namespace tandem::kernels
