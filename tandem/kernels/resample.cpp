#include "tandem/kernels/resample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/kernels/nest.h"
#include "tandem/kernels/packed.h"
#include "tandem/kernels/pool_windows.h"
#include "tandem/kernels/resample_simd.h"

namespace tandem::kernels {
namespace {

// One dimension: which elements each element of the result is made of, and how much of each.
template <class C>
struct Taps {
  std::vector<int64_t> begin;  // of each element's taps; one more at the end
  std::vector<int32_t> at;
  std::vector<C> weight;
  bool identity = false;  // True iff each element is made of the one in its place alone
  bool pairs = false;     // True iff each has exactly two taps

  int64_t count(int64_t o) const {
    return begin[static_cast<size_t>(o) + 1] - begin[static_cast<size_t>(o)];
  }
  // The most elements between an element's first tap and its last, both included.
  int64_t reach() const {
    int64_t most = 1;
    for (size_t o = 0; o + 1 < begin.size(); ++o) {
      if (begin[o] == begin[o + 1]) continue;
      const auto [low, high] =
          std::minmax_element(at.begin() + begin[o], at.begin() + begin[o + 1]);
      most = std::max<int64_t>(most, *high - *low + 1);
    }
    return most;
  }
  void add(int64_t i, C w) {
    at.push_back(static_cast<int32_t>(i));
    weight.push_back(w);
  }
};

template <class C>
C cubic_near(C x, C a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class C>
C cubic_far(C x, C a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class C>
C step_of(int64_t in, int64_t out, const Resampling& how, const std::optional<double>& scale) {
  if (how.align_corners && how.mode != ResampleMode::Nearest &&
      how.mode != ResampleMode::NearestExact)
    return out > 1 ? static_cast<C>(in - 1) / static_cast<C>(out - 1) : C(0);
  // A scale that is next to nothing must not lead to numbers that are none.
  if (scale && *scale > 0) return static_cast<C>(std::min(1.0 / *scale, 0x1p40));
  return static_cast<C>(in) / static_cast<C>(out);
}

template <class C>
C fraction(C x, int64_t whole) {
  return std::clamp<C>(x - static_cast<C>(whole), C(0), C(1));
}

template <class C>
void add_smooth(Taps<C>& taps, int64_t o, int64_t in, C step, const Resampling& how) {
  const bool cubic = how.mode == ResampleMode::Cubic;
  const C half = C(0.5);
  const C support = (cubic ? C(2) : C(1)) * std::max(step, C(1));
  const C shrink = step >= 1 ? C(1) / step : C(1);
  const C center = step * (static_cast<C>(o) + half);
  const int64_t first =
      std::clamp<int64_t>(static_cast<int64_t>(center - support + half), 0, in - 1);
  const int64_t end =
      std::clamp<int64_t>(static_cast<int64_t>(center + support + half), first + 1, in);
  const size_t start = taps.weight.size();
  C total = 0;
  for (int64_t i = first; i < end; ++i) {
    const C x = std::abs((static_cast<C>(i) - center + half) * shrink);
    C w = 0;
    if (cubic)
      w = x < 1 ? cubic_near<C>(x, C(-0.5)) : x < 2 ? cubic_far<C>(x, C(-0.5)) : C(0);
    else
      w = x < 1 ? 1 - x : C(0);
    taps.add(i, w);
    total += w;
  }
  if (total != 0)
    for (size_t t = start; t < taps.weight.size(); ++t) taps.weight[t] /= total;
}

template <class C>
Taps<C> make_taps(int64_t in, int64_t out, const Resampling& how,
                  const std::optional<double>& scale) {
  Taps<C> taps;
  const C step = step_of<C>(in, out, how, scale), half = C(0.5);
  taps.begin.push_back(0);
  for (int64_t o = 0; o < out; ++o) {
    const C at = static_cast<C>(o);
    // Indices beyond int64 do not come up: the step is at most `in` or made harmless below.
    const auto whole = [in](C x) {
      return x >= static_cast<C>(in) ? in - 1 : x >= 0 ? static_cast<int64_t>(x) : int64_t{0};
    };
    if (how.antialias) {
      add_smooth(taps, o, in, std::min(step, static_cast<C>(in)), how);
    } else if (how.mode == ResampleMode::Nearest || how.mode == ResampleMode::NearestExact) {
      const C x = how.mode == ResampleMode::Nearest ? at * step : (at + half) * step;
      taps.add(std::min(whole(static_cast<C>(std::floor(static_cast<float>(x)))), in - 1), C(1));
    } else if (how.mode == ResampleMode::Linear) {
      if (in == out) {
        taps.add(o, C(1));
      } else {
        const C x = how.align_corners ? step * at : std::max<C>(step * (at + half) - half, C(0));
        const int64_t i = std::min(whole(x), in - 1);
        const C rest = fraction(x, i);
        taps.add(i, 1 - rest);
        taps.add(std::min(i + 1, in - 1), rest);
      }
    } else if (in == out && step == 1) {
      taps.add(o, C(1));
    } else {
      C x = how.align_corners ? step * at : step * (at + half) - half;
      x = std::clamp<C>(x, C(-2), static_cast<C>(in) + 2);
      const auto i = static_cast<int64_t>(std::floor(x));
      const C t = fraction(x, i), a = C(-0.75);
      const C w[4] = {cubic_far<C>(t + 1, a), cubic_near<C>(t, a), cubic_near<C>(1 - t, a),
                      cubic_far<C>(2 - t, a)};
      for (int64_t k = 0; k < 4; ++k) taps.add(std::clamp<int64_t>(i - 1 + k, 0, in - 1), w[k]);
    }
    taps.begin.push_back(static_cast<int64_t>(taps.at.size()));
  }
  taps.identity = in == out;
  taps.pairs = true;
  for (int64_t o = 0; o < out; ++o) {
    taps.identity = taps.identity && taps.count(o) == 1 && taps.at[static_cast<size_t>(o)] == o &&
                    taps.weight[static_cast<size_t>(o)] == 1;
    taps.pairs = taps.pairs && taps.count(o) == 2;
  }
  return taps;
}

// The same the other way round: what each of `in` elements is part of, in their order.
template <class C>
Taps<C> transposed(const Taps<C>& taps, int64_t in) {
  const auto out = static_cast<int64_t>(taps.begin.size()) - 1;
  Taps<C> result;
  result.begin.assign(static_cast<size_t>(in) + 1, 0);
  for (const int32_t i : taps.at) ++result.begin[static_cast<size_t>(i) + 1];
  for (size_t i = 0; i < static_cast<size_t>(in); ++i) result.begin[i + 1] += result.begin[i];
  result.at.resize(taps.at.size());
  result.weight.resize(taps.at.size());
  std::vector<int64_t> next = result.begin;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t t = taps.begin[static_cast<size_t>(o)]; t < taps.begin[static_cast<size_t>(o) + 1];
         ++t) {
      const auto to =
          static_cast<size_t>(next[static_cast<size_t>(taps.at[static_cast<size_t>(t)])]++);
      result.at[to] = static_cast<int32_t>(o);
      result.weight[to] = taps.weight[static_cast<size_t>(t)];
    }
  result.identity = taps.identity;
  result.pairs = true;
  for (int64_t i = 0; i < in; ++i) result.pairs = result.pairs && result.count(i) == 2;
  return result;
}

template <class C>
struct AllTaps {
  Taps<C> dim[3];
  AllTaps(const PoolShape& s, const Resampling& how) {
    for (int d = 0; d < 3; ++d) {
      // Dimensions that are not there have extent 1 on both sides and stay as they are.
      dim[d] = make_taps<C>(s.in[d], s.out[d], how, how.scales[d]);
    }
  }
};

// A row of x resampled along the columns.
template <class C>
void stretch_row(const Taps<C>& taps, const C* x, int64_t n, C* out) {
  if (taps.identity) {
    std::copy_n(x, n, out);
    return;
  }
  if (taps.pairs) {
    resample_ops<C>().two_taps(x, taps.at.data(), taps.weight.data(), n, out);
    return;
  }
  const int32_t* at = taps.at.data();
  const C* weight = taps.weight.data();
  auto t = static_cast<size_t>(taps.begin[0]);
  for (int64_t o = 0; o < n; ++o) {
    const auto end = static_cast<size_t>(taps.begin[static_cast<size_t>(o) + 1]);
    C sum = t < end ? x[at[t]] * weight[t] : C(0);
    for (++t; t < end; ++t) sum += x[at[t]] * weight[t];
    t = end;
    out[o] = sum;
  }
}

// Rows of x resampled along the columns, kept while the rows of the result still need them.
template <class C>
class StretchedRows {
 public:
  StretchedRows(const AllTaps<C>& taps, const PoolShape& s)
      : taps_(taps),
        s_(s),
        depth_(taps.dim[0].reach()),
        height_(taps.dim[1].reach()),
        tags_(static_cast<size_t>(depth_ * height_), -1),
        data_(taps.dim[2].identity ? 0 : static_cast<size_t>(depth_ * height_ * s.out[2])) {}

  const C* row(const C* x, int64_t plane, int64_t z, int64_t y) {
    const int64_t number = (plane * s_.in[0] + z) * s_.in[1] + y;
    if (taps_.dim[2].identity) return x + number * s_.in[2];
    const int64_t slot = z % depth_ * height_ + y % height_;
    C* to = data_.data() + slot * s_.out[2];
    if (tags_[static_cast<size_t>(slot)] != number) {
      stretch_row(taps_.dim[2], x + number * s_.in[2], s_.out[2], to);
      tags_[static_cast<size_t>(slot)] = number;
    }
    return to;
  }

 private:
  const AllTaps<C>& taps_;
  const PoolShape& s_;
  int64_t depth_, height_;
  std::vector<int64_t> tags_;
  std::vector<C> data_;
};

// Calls fn(z, y, weight) for each row of x that row (z, y) of the result is made of.
template <class C, class F>
void each_row(const AllTaps<C>& taps, const OutputRow& at, const F& fn) {
  const Taps<C>&dz = taps.dim[0], &dy = taps.dim[1];
  for (int64_t i = dz.begin[static_cast<size_t>(at.z)]; i < dz.begin[static_cast<size_t>(at.z) + 1];
       ++i)
    for (int64_t j = dy.begin[static_cast<size_t>(at.y)];
         j < dy.begin[static_cast<size_t>(at.y) + 1]; ++j)
      fn(dz.at[static_cast<size_t>(i)], dy.at[static_cast<size_t>(j)],
         dz.weight[static_cast<size_t>(i)] * dy.weight[static_cast<size_t>(j)]);
}

template <class C>
void resample_rows(const C* x, const PoolShape& s, const AllTaps<C>& taps, C* out) {
  parallel_for(0, s.planes * s.out[0] * s.out[1], pool_grain(s.out[2] * 2),
               [&](int64_t begin, int64_t end) {
                 StretchedRows<C> rows(taps, s);
                 std::vector<const C*> parts;
                 std::vector<C> weights;
                 OutputRow at(s, begin);
                 for (int64_t r = begin; r < end; ++r, at.next(s)) {
                   parts.clear();
                   weights.clear();
                   each_row(taps, at, [&](int64_t z, int64_t y, C weight) {
                     parts.push_back(rows.row(x, at.plane, z, y));
                     weights.push_back(weight);
                   });
                   resample_ops<C>().combine(parts.data(), weights.data(),
                                             static_cast<int64_t>(parts.size()), s.out[2],
                                             out + r * s.out[2]);
                 }
               });
}

// Here rows come first and columns then: gradients are mostly those of larger images.
template <class C>
void resample_rows_transposed(const C* g, const PoolShape& s, const AllTaps<C>& forward, C* out) {
  AllTaps<C> taps = forward;
  for (int d = 0; d < 3; ++d) taps.dim[d] = transposed(forward.dim[d], s.in[d]);
  PoolShape image = s;  // whose rows are made
  std::swap(image.in, image.out);
  const auto some_rows = [&](int64_t begin, int64_t end) {
    std::vector<C> row(static_cast<size_t>(s.out[2]));
    std::vector<const C*> parts;
    std::vector<C> weights;
    OutputRow at(image, begin);
    for (int64_t r = begin; r < end; ++r, at.next(image)) {
      parts.clear();
      weights.clear();
      each_row(taps, at, [&](int64_t z, int64_t y, C weight) {
        parts.push_back(g + ((at.plane * s.out[0] + z) * s.out[1] + y) * s.out[2]);
        weights.push_back(weight);
      });
      if (parts.empty())
        std::fill(row.begin(), row.end(), C(0));
      else
        resample_ops<C>().combine(parts.data(), weights.data(), static_cast<int64_t>(parts.size()),
                                  s.out[2], row.data());
      stretch_row(taps.dim[2], row.data(), s.in[2], out + r * s.in[2]);
    }
  };
  parallel_for(0, s.planes * s.in[0] * s.in[1], pool_grain(s.out[2] * 4), some_rows);
}

// Elements are only moved: any dtype, no arithmetic.
template <class T, class C>
void pick_rows(const T* x, const PoolShape& s, const AllTaps<C>& taps, T* out) {
  parallel_for(
      0, s.planes * s.out[0] * s.out[1], pool_grain(s.out[2]), [&](int64_t begin, int64_t end) {
        const int32_t* columns = taps.dim[2].at.data();
        OutputRow at(s, begin);
        for (int64_t r = begin; r < end; ++r, at.next(s)) {
          const int64_t z = taps.dim[0].at[static_cast<size_t>(at.z)],
                        y = taps.dim[1].at[static_cast<size_t>(at.y)];
          const T* row = x + ((at.plane * s.in[0] + z) * s.in[1] + y) * s.in[2];
          T* to = out + r * s.out[2];
          // The same row again: neighbours of one plane in the same range.
          if (r > begin && at.y > 0 && taps.dim[1].at[static_cast<size_t>(at.y) - 1] == y) {
            std::copy_n(to - s.out[2], s.out[2], to);
            continue;
          }
          for (int64_t i = 0; i < s.out[2]; ++i) to[i] = row[columns[i]];
        }
      });
}

template <class F>
void on_packed(const Array& in, const Array& out, const F& fn) {
  const auto run = [&]<class C>(C) {
    const Packed from(in, dtype_v<C>);
    PackedOutput to(out, dtype_v<C>);
    fn(from.as<C>(), to.as<C>());
    to.commit();
  };
  if (in.dtype == kDouble)
    run(double());
  else
    run(float());
}

}  // namespace

void resample(const Array& x, const PoolShape& s, const Resampling& how, const Array& out) {
  if (out.numel == 0) return;
  if (how.mode == ResampleMode::Nearest || how.mode == ResampleMode::NearestExact) {
    const Packed from(x, x.dtype);
    PackedOutput to(out, out.dtype);
    by_size(size_of(x.dtype), [&]<class T>(T) {
      if (x.dtype == kDouble)
        pick_rows<T>(from.as<T>(), s, AllTaps<double>(s, how), to.as<T>());
      else
        pick_rows<T>(from.as<T>(), s, AllTaps<float>(s, how), to.as<T>());
    });
    to.commit();
    return;
  }
  on_packed(x, out,
            [&]<class C>(const C* in, C* to) { resample_rows<C>(in, s, AllTaps<C>(s, how), to); });
}

void resample_transposed(const Array& g, const PoolShape& s, const Resampling& how,
                         const Array& out) {
  if (out.numel == 0) return;
  on_packed(g, out, [&]<class C>(const C* in, C* to) {
    resample_rows_transposed<C>(in, s, AllTaps<C>(s, how), to);
  });
}

}  // namespace tandem::kernels
