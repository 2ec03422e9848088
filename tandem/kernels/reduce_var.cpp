#include <algorithm>
#include <cmath>

#include "tandem/kernels/reduce.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/reduce_simd.h"

namespace tandem::kernels {
namespace {

// Elements of a segment whose mean and deviations are found together, while they are in the cache.
constexpr int64_t kVarBlock = 1024;

struct Moments {
  double n = 0, mean = 0, m2 = 0;
};

// Chan's formula.
Moments join(const Moments& a, const Moments& b) {
  const double n = a.n + b.n, delta = b.mean - a.mean;
  return {n, a.mean + delta * (b.n / n), a.m2 + b.m2 + delta * delta * (a.n * b.n / n)};
}

// The moments of each column of a block of rows; n is the same for all.
struct ColumnMoments {
  double n = 0;
  double* mean = nullptr;
  double* m2 = nullptr;
};

void join_columns(ColumnMoments& a, const ColumnMoments& b, int64_t width) {
  const double n = a.n + b.n, part = b.n / n, both = a.n * b.n / n;
  for (int64_t c = 0; c < width; ++c) {
    const double delta = b.mean[c] - a.mean[c];
    a.mean[c] += delta * part;
    a.m2[c] += b.m2[c] + delta * delta * both;
  }
  a.n = n;
}

template <class C>
class VarReduction {
 public:
  VarReduction(const Array& in, const ReducePlan& plan, double correction, bool take_root,
               const Array* var, const Array* mean)
      : in_(in),
        plan_(plan),
        root_(take_root),
        var_(var),
        mean_(mean),
        sum_(combine_ops<C>(Combine::Sum)) {
    divisor_ = std::max(0.0, static_cast<double>(plan.reduced()) - correction);
  }

  /// Segments that are one run each. Mean and deviations are added up in the order of reduce(), so
  /// that a compiler which takes the op apart gets the same bits.
  void rows() const {
    const int64_t n = plan_.n_inner;
    const C count = static_cast<C>(n), divisor = static_cast<C>(divisor_);
    const bool direct = in_.dtype == dtype_v<C> && unit_stride(plan_.inner);
    parallel_for(0, plan_.n_kept, std::max<int64_t>(1, kGrainElements / n),
                 [&](int64_t begin, int64_t end) {
                   Scratch<C> buffer(direct ? 0 : n);
                   AxesWalk kept(plan_.kept);
                   kept.seek(begin);
                   for (int64_t k = begin; k < end; ++k, kept.next()) {
                     const C* x = direct ? in_.ptr<const C>() + kept.in : buffer.get();
                     if (!direct) fetch(kept.in, 0, n, buffer.get());
                     const C mean = sum_of(x, n) / count;
                     // The mean was rounded: how far it is off is seen in the sum of deviations.
                     const Deviations<C> d = deviations_of(x, n, mean);
                     const C m2 = d.squares - d.sum * d.sum / count;
                     const C var = (m2 < 0 ? C(0) : m2) / divisor;
                     put_value(mean_, kept.out, mean);
                     put_value(var_, kept.out, root_ ? std::sqrt(var) : var);
                   }
                 });
  }

  void segments() const {
    const int64_t each = plan_.reduced(), blocks = ceil_div(plan_.n_inner, kVarBlock);
    const int64_t all = blocks * plan_.n_outer;
    const bool direct = in_.dtype == dtype_v<C> && unit_stride(plan_.inner);
    if (plan_.n_kept < 16 && each >= 4 * kGrainElements) {
      std::vector<Moments> partial(static_cast<size_t>(all));
      AxesWalk kept(plan_.kept);
      for (int64_t k = 0; k < plan_.n_kept; ++k, kept.next()) {
        parallel_for(0, all, kGrainElements / kVarBlock, [&](int64_t begin, int64_t end) {
          AxesWalk outer(plan_.outer);
          outer.seek(begin / blocks);
          for (int64_t i = begin; i < end; ++i) {
            partial[static_cast<size_t>(i)] = block(kept.in + outer.in, i % blocks, direct);
            if ((i + 1) % blocks == 0) outer.next();
          }
        });
        Cascade<Moments, decltype(&join)> cascade(&join);
        for (const Moments& m : partial) cascade.push(m);
        put(kept.out, cascade.finish({}));
      }
      return;
    }
    parallel_for(0, plan_.n_kept, std::max<int64_t>(1, kGrainElements / each),
                 [&](int64_t begin, int64_t end) {
                   AxesWalk kept(plan_.kept), outer(plan_.outer);
                   kept.seek(begin);
                   for (int64_t k = begin; k < end; ++k, kept.next()) {
                     if (all == 1) {
                       put(kept.out, block(kept.in, 0, direct));
                       continue;
                     }
                     Cascade<Moments, decltype(&join)> cascade(&join);
                     outer.seek(0);
                     for (int64_t o = 0; o < plan_.n_outer; ++o, outer.next())
                       for (int64_t b = 0; b < blocks; ++b)
                         cascade.push(block(kept.in + outer.in, b, direct));
                     put(kept.out, cascade.finish({}));
                   }
                 });
  }

  void columns() const {
    const int64_t tiles = ceil_div(plan_.n_columns, kTile), units = plan_.n_kept * tiles;
    const int64_t blocks = ceil_div(plan_.n_inner, kRowBlock), all = blocks * plan_.n_outer;
    const int64_t width = std::min(kTile, plan_.n_columns);
    const int64_t each = all * std::min(kRowBlock, plan_.n_inner) * width;
    if (units < 8 && each >= 4 * kGrainElements) {
      int64_t run = 1;
      while (run * kRowBlock * width < kGrainElements) run *= 2;
      const int64_t runs = ceil_div(all, run);
      Scratch<double> memory(runs * 2 * width);
      std::vector<ColumnMoments> partial(static_cast<size_t>(runs));
      for (int64_t u = 0; u < units; ++u) {
        const Unit unit = locate(u, tiles);
        parallel_for(0, runs, 1, [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            ColumnMoments& m = partial[static_cast<size_t>(r)];
            m = {0, &memory[r * 2 * width], &memory[(r * 2 + 1) * width]};
            add_blocks(unit, r * run, std::min(all, (r + 1) * run), m);
          }
        });
        Counter counter(runs, unit.width);
        for (const ColumnMoments& m : partial) counter.push(m);
        put_columns(unit, counter.finish());
      }
      return;
    }
    parallel_for(0, units, std::max<int64_t>(1, kGrainElements / each),
                 [&](int64_t begin, int64_t end) {
                   double memory[2 * kTile];
                   for (int64_t u = begin; u < end; ++u) {
                     const Unit unit = locate(u, tiles);
                     ColumnMoments m = {0, memory, memory + kTile};
                     add_blocks(unit, 0, all, m);
                     put_columns(unit, m);
                   }
                 });
  }

 private:
  static constexpr int64_t kTile = 128;

  struct Unit {
    int64_t in, out, first, width;
  };

  // The binary counter for rows of moments.
  class Counter {
   public:
    Counter(int64_t pushes, int64_t width)
        : width_(width), memory_(2 * width * counter_levels(pushes)) {
      for (int i = 0; i < counter_levels(pushes); ++i)
        level_.push_back({0, &memory_[2 * i * width], &memory_[(2 * i + 1) * width]});
    }
    void push(const ColumnMoments& m) {
      ColumnMoments row = m;
      size_t at = 0;
      for (uint64_t bits = count_; bits & 1; bits >>= 1, ++at) {
        join_columns(level_[at], row, width_);
        row = level_[at];
      }
      level_[at].n = row.n;
      std::copy_n(row.mean, width_, level_[at].mean);
      std::copy_n(row.m2, width_, level_[at].m2);
      ++count_;
    }
    ColumnMoments finish() {
      ColumnMoments row;
      for (size_t at = 0; (count_ >> at) != 0; ++at) {
        if (!(count_ >> at & 1)) continue;
        if (row.mean) join_columns(level_[at], row, width_);
        row = level_[at];
      }
      return row;
    }

   private:
    int64_t width_;
    uint64_t count_ = 0;
    Scratch<double> memory_;
    SmallVector<ColumnMoments, 8> level_;
  };

  Unit locate(int64_t u, int64_t tiles) const {
    AxesWalk kept(plan_.kept);
    kept.seek(u / tiles);
    const int64_t first = u % tiles * kTile;
    return {kept.in, kept.out, first, std::min(kTile, plan_.n_columns - first)};
  }

  // n elements of a segment.
  void fetch(int64_t base, int64_t from, int64_t n, C* to) const {
    for_runs(plan_.inner, from, n, [&](int64_t offset, int64_t stride, int64_t count) {
      load(in_.dtype, at(in_, base + offset), stride, count, to);
      to += count;
    });
  }

  C sum_of(const C* x, int64_t n) const {
    return by_blocks<C>(n, sum_.join,
                        [&](int64_t at, int64_t count) { return sum_.block(x + at, count); });
  }
  static Deviations<C> deviations_of(const C* x, int64_t n, C mean) {
    static_assert(kBlock <= kMostDeviations);
    const auto join = [](const Deviations<C>& a, const Deviations<C>& b) {
      return Deviations<C>{a.sum + b.sum, a.squares + b.squares};
    };
    return by_blocks<Deviations<C>>(
        n, join, [&](int64_t at, int64_t count) { return deviations(x + at, count, mean); });
  }

  Moments block(int64_t base, int64_t b, bool direct) const {
    const int64_t from = b * kVarBlock, n = std::min(kVarBlock, plan_.n_inner - from);
    alignas(64) C buffer[kVarBlock];
    const C* x = buffer;
    if (direct)
      x = in_.ptr<const C>() + base + from;
    else
      fetch(base, from, n, buffer);
    // The mean is rounded to C for the second pass; the exact formula takes the rest back out.
    const double exact = static_cast<double>(sum_.block(x, n)) / static_cast<double>(n);
    const C mean = static_cast<C>(exact);
    const double off = exact - static_cast<double>(mean);
    const double m2 = static_cast<double>(squared_deviations(x, n, mean));
    return {static_cast<double>(n), exact, std::max(0.0, m2 - static_cast<double>(n) * off * off)};
  }

  void add_blocks(const Unit& unit, int64_t begin, int64_t end, ColumnMoments& total) const {
    const int64_t blocks = ceil_div(plan_.n_inner, kRowBlock);
    AxesWalk outer(plan_.outer);
    outer.seek(begin / blocks);
    if (end - begin == 1) {
      add_block(unit, unit.in + outer.in, begin % blocks, total);
      return;
    }
    Counter counter(end - begin, unit.width);
    for (int64_t i = begin; i < end; ++i) {
      add_block(unit, unit.in + outer.in, i % blocks, total);
      counter.push(total);
      if ((i + 1) % blocks == 0) outer.next();
    }
    const ColumnMoments all = counter.finish();
    total.n = all.n;
    std::copy_n(all.mean, unit.width, total.mean);
    std::copy_n(all.m2, unit.width, total.m2);
  }

  void add_block(const Unit& unit, int64_t base, int64_t b, ColumnMoments& m) const {
    const int64_t from = b * kRowBlock, n = std::min(kRowBlock, plan_.n_inner - from);
    alignas(64) C buffer[kRowBlock * kTile];
    alignas(64) C sum[kTile], squares[kTile];
    int64_t offset[kRowBlock];
    const C* x = buffer;
    if (in_.dtype == dtype_v<C> && unit_stride(plan_.columns)) {
      x = in_.ptr<const C>() + base + unit.first;
      int64_t* to = offset;
      for_runs(plan_.inner, from, n, [&](int64_t first, int64_t stride, int64_t count) {
        for (int64_t i = 0; i < count; ++i) *to++ = first + i * stride;
      });
    } else {
      for (int64_t r = 0; r < n; ++r) offset[r] = r * unit.width;
      pack_tile(plan_, base, from, n, unit.first, unit.width, buffer,
                [&](int64_t at_offset, int64_t stride, int64_t count, C* to) {
                  load(in_.dtype, at(in_, at_offset), stride, count, to);
                });
    }
    int64_t r = 0;
    for (; r + kRowsAtOnce <= n; r += kRowsAtOnce)
      sum_.add_rows(sum, x, offset + r, unit.width, r == 0);
    for (; r < n; ++r) sum_.add_row(sum, x + offset[r], unit.width, r == 0);
    for (int64_t c = 0; c < unit.width; ++c) {
      m.mean[c] = static_cast<double>(sum[c]) / static_cast<double>(n);
      sum[c] = static_cast<C>(m.mean[c]);
      squares[c] = 0;
    }
    for (r = 0; r < n; ++r) add_squared_deviations(squares, x + offset[r], sum, unit.width);
    for (int64_t c = 0; c < unit.width; ++c) {
      const double off = m.mean[c] - static_cast<double>(sum[c]);
      m.m2[c] = std::max(0.0, static_cast<double>(squares[c]) - static_cast<double>(n) * off * off);
    }
    m.n = static_cast<double>(n);
  }

  void put_columns(const Unit& unit, const ColumnMoments& m) const {
    AxesWalk column(plan_.columns);
    column.seek(unit.first);
    for (int64_t c = 0; c < unit.width; ++c, column.next())
      put(unit.out + column.out, {m.n, m.mean[c], m.m2[c]});
  }

  template <class V>
  static void put_value(const Array* to, int64_t number, V value) {
    if (to) store(to->dtype, at_mutable(*to, offset_of(*to, number)), 1, 1, &value);
  }

  void put(int64_t number, const Moments& m) const {
    put_value(mean_, number, m.mean);
    if (!var_) return;
    double var = m.m2 / divisor_;
    // max() above swallows a nan; it shows in the mean.
    if (m.mean != m.mean || std::isinf(m.mean)) var = std::nan("");
    put_value(var_, number, root_ ? std::sqrt(var) : var);
  }

  const Array& in_;
  const ReducePlan& plan_;
  bool root_;
  const Array* var_;
  const Array* mean_;
  const CombineOps<C>& sum_;
  double divisor_;
};

}  // namespace

void var_mean(const Array& in, const bool* reduced_dims, double correction, bool take_root,
              const Array* var, const Array* mean) {
  Dims sizes(in.shape());
  for (int d = 0; d < in.ndim; ++d)
    if (reduced_dims[d]) sizes[static_cast<size_t>(d)] = 1;
  const Dims strides = contiguous_strides(sizes);
  const Array numbers = {nullptr, sizes.data(), strides.data(), numel_of(sizes), in.ndim,
                         kLong,   true};
  if (numbers.numel == 0) return;
  const ReducePlan plan = plan_reduction(in, reduced_dims, numbers);
  dispatch_compute(in.dtype, [&]<class C>(C) {
    if constexpr (std::is_integral_v<C>) {
      TANDEM_ASSERT(false, "var_mean of integers");
    } else {
      if (plan.reduced() == 0) {
        const double nan = std::nan("");
        for (const Array* out : {var, mean})
          for (int64_t i = 0; out && i < numbers.numel; ++i)
            store(out->dtype, at_mutable(*out, offset_of(*out, i)), 1, 1, &nan);
        return;
      }
      const VarReduction<C> work(in, plan, correction, take_root, var, mean);
      if (plan.by_columns)
        work.columns();
      else if (plan.n_outer == 1 && plan.n_inner <= kLongestVarRow)
        work.rows();
      else
        work.segments();
    }
  });
}

}  // namespace tandem::kernels
