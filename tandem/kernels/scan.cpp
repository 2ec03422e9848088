#include "tandem/kernels/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tandem/kernels/reduce_plan.h"

namespace tandem::kernels {
namespace {

// A step: acc takes x at position i. Returns what to write.
template <class A>
struct AddStep {
  static A start() { return 0; }
  static A step(A& acc, A x) {
    if constexpr (std::is_integral_v<A>)
      acc = static_cast<A>(static_cast<uint64_t>(acc) + static_cast<uint64_t>(x));
    else
      acc += x;
    return acc;
  }
};
template <class A>
struct MulStep {
  static A start() { return 1; }
  static A step(A& acc, A x) {
    if constexpr (std::is_integral_v<A>)
      acc = static_cast<A>(static_cast<uint64_t>(acc) * static_cast<uint64_t>(x));
    else
      acc *= x;
    return acc;
  }
};
struct LogStep {
  static double start() { return -std::numeric_limits<double>::infinity(); }
  static double step(double& acc, double x) {
    if (acc != acc || x != x) {
      acc = acc != acc ? acc : x;
    } else {
      const double high = std::max(acc, x), low = std::min(acc, x);
      // Equal infinities would give nan by subtraction.
      acc = std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
    }
    return acc;
  }
};

constexpr int64_t kTile = 256;

// The dimensions other than the scanned one. `extra` are the strides of the indices.
struct Lines {
  Lines(const Array& in, int64_t dim, const Array& out, const Array* indices, bool reverse) {
    for (int d = 0; d < in.ndim; ++d) {
      if (d == dim || in.sizes[d] == 1) continue;
      sizes.push_back(in.sizes[d]);
      in_strides.push_back(in.strides[d]);
      out_strides.push_back(out.strides[d]);
      index_strides.push_back(indices ? indices->strides[d] : 0);
      count *= in.sizes[d];
    }
    length = in.ndim == 0 ? 1 : in.sizes[dim];
    in_step = in.ndim == 0 ? 0 : in.strides[dim];
    out_step = in.ndim == 0 ? 0 : out.strides[dim];
    index_step = in.ndim == 0 || !indices ? 0 : indices->strides[dim];
    if (reverse) {
      // From the last element backwards.
      for (auto [base, step] : {std::pair(&in_base, &in_step), std::pair(&out_base, &out_step),
                                std::pair(&index_base, &index_step)}) {
        *base = (length - 1) * *step;
        *step = -*step;
      }
    }
    // Neighbouring lines lie nearer in memory than neighbouring elements of a line.
    across = !sizes.empty() && in_strides.back() < std::abs(in_step);
  }
  Dims sizes, in_strides, out_strides, index_strides;
  int64_t count = 1, length, in_step, out_step, index_step;
  int64_t in_base = 0, out_base = 0, index_base = 0;
  bool across;
};

// Calls fn(in, out, index offsets, width) for groups of neighbouring lines.
template <class F>
void for_lines(const Lines& lines, const F& fn) {
  const int64_t last = lines.across ? lines.sizes.back() : 1;
  const int64_t tiles = ceil_div(last, kTile), heads = lines.count / last;
  Dims sizes = lines.sizes, in = lines.in_strides, out = lines.out_strides,
       index = lines.index_strides;
  if (lines.across)
    for (Dims* d : {&sizes, &in, &out, &index}) d->pop_back();
  const int64_t each = std::max<int64_t>(1, lines.length * std::min(last, kTile));
  parallel_for(
      0, heads * tiles, std::max<int64_t>(1, 8192 / each), [&](int64_t begin, int64_t end) {
        Odometer<3> walk(sizes, {in.data(), out.data(), index.data()});
        for (int64_t u = begin; u < end; ++u) {
          walk.seek(u / tiles);
          const int64_t first = u % tiles * kTile;
          const int64_t width = lines.across ? std::min(kTile, last - first) : 1;
          fn(lines.in_base + walk.offset[0] + first * (lines.across ? lines.in_strides.back() : 0),
             lines.out_base + walk.offset[1] +
                 first * (lines.across ? lines.out_strides.back() : 0),
             lines.index_base + walk.offset[2] +
                 first * (lines.across ? lines.index_strides.back() : 0),
             width);
        }
      });
}

// A is the type of the accumulator: double or int64_t.
template <class Step, class A>
void run(const Array& in, const Array& out, const Lines& lines) {
  for_lines(lines, [&](int64_t from, int64_t to, int64_t, int64_t width) {
    A buffer[kTile];
    if (!lines.across) {
      A acc = Step::start();
      for (int64_t i = 0; i < lines.length; i += kTile) {
        const int64_t n = std::min(kTile, lines.length - i);
        load(in.dtype, at(in, from + i * lines.in_step), lines.in_step, n, buffer);
        for (int64_t k = 0; k < n; ++k) buffer[k] = Step::step(acc, buffer[k]);
        store(out.dtype, at_mutable(out, to + i * lines.out_step), lines.out_step, n, buffer);
      }
      return;
    }
    A acc[kTile];
    std::fill_n(acc, width, Step::start());
    for (int64_t i = 0; i < lines.length; ++i) {
      load(in.dtype, at(in, from + i * lines.in_step), lines.in_strides.back(), width, buffer);
      for (int64_t k = 0; k < width; ++k) Step::step(acc[k], buffer[k]);
      store(out.dtype, at_mutable(out, to + i * lines.out_step), lines.out_strides.back(), width,
            acc);
    }
  });
}

template <class C>
void run_extreme(const Array& in, const Array& out, const Array* indices, const Lines& lines,
                 bool least) {
  auto takes = [least](C best, C x) {
    return x != x || (best == best && (least ? x <= best : x >= best));
  };
  for_lines(lines, [&](int64_t from, int64_t to, int64_t index, int64_t width) {
    C buffer[kTile], best[kTile];
    int64_t where[kTile];
    if (!lines.across) {
      C top{};
      int64_t at_index = 0;
      for (int64_t i = 0; i < lines.length; i += kTile) {
        const int64_t n = std::min(kTile, lines.length - i);
        load(in.dtype, at(in, from + i * lines.in_step), lines.in_step, n, buffer);
        for (int64_t k = 0; k < n; ++k) {
          if (i + k == 0 || takes(top, buffer[k])) {
            top = buffer[k];
            at_index = i + k;
          }
          buffer[k] = top;
          where[k] = at_index;
        }
        store(out.dtype, at_mutable(out, to + i * lines.out_step), lines.out_step, n, buffer);
        if (indices)
          store(kLong, at_mutable(*indices, index + i * lines.index_step), lines.index_step, n,
                where);
      }
      return;
    }
    for (int64_t i = 0; i < lines.length; ++i) {
      load(in.dtype, at(in, from + i * lines.in_step), lines.in_strides.back(), width, buffer);
      for (int64_t k = 0; k < width; ++k) {
        if (i == 0 || takes(best[k], buffer[k])) {
          best[k] = buffer[k];
          where[k] = i;
        }
      }
      store(out.dtype, at_mutable(out, to + i * lines.out_step), lines.out_strides.back(), width,
            best);
      if (indices)
        store(kLong, at_mutable(*indices, index + i * lines.index_step), lines.index_strides.back(),
              width, where);
    }
  });
}

}  // namespace

void scan(ScanFn fn, const Array& in, int64_t dim, const Array& out, const Array* indices,
          bool reverse) {
  if (in.numel == 0) return;
  const Lines lines(in, dim, out, indices, reverse);
  const bool whole = !is_floating(out.dtype);
  switch (fn) {
    case ScanFn::Sum:
      return whole ? run<AddStep<int64_t>, int64_t>(in, out, lines)
                   : run<AddStep<double>, double>(in, out, lines);
    case ScanFn::Prod:
      return whole ? run<MulStep<int64_t>, int64_t>(in, out, lines)
                   : run<MulStep<double>, double>(in, out, lines);
    case ScanFn::LogSumExp:
      return run<LogStep, double>(in, out, lines);
    case ScanFn::Max:
    case ScanFn::Min:
      dispatch_compute(in.dtype, [&]<class C>(C) {
        run_extreme<C>(in, out, indices, lines, fn == ScanFn::Min);
      });
  }
}

void recurrence(const Array& a, const Array& b, int64_t dim, bool reverse, const Array& out) {
  if (a.numel == 0) return;
  // The third array of the walk is b.
  const Lines lines(a, dim, out, &b, reverse);
  for_lines(lines, [&](int64_t from, int64_t to, int64_t added, int64_t width) {
    double x[kTile], y[kTile], acc[kTile];
    if (!lines.across) {
      double last = 0;
      for (int64_t i = 0; i < lines.length; i += kTile) {
        const int64_t n = std::min(kTile, lines.length - i);
        load(a.dtype, at(a, from + i * lines.in_step), lines.in_step, n, x);
        load(b.dtype, at(b, added + i * lines.index_step), lines.index_step, n, y);
        for (int64_t k = 0; k < n; ++k) {
          // What comes before the first counts as 0, whatever it is multiplied by.
          last = i + k == 0 ? y[k] : y[k] + x[k] * last;
          acc[k] = last;
        }
        store(out.dtype, at_mutable(out, to + i * lines.out_step), lines.out_step, n, acc);
      }
      return;
    }
    for (int64_t i = 0; i < lines.length; ++i) {
      load(a.dtype, at(a, from + i * lines.in_step), lines.in_strides.back(), width, x);
      load(b.dtype, at(b, added + i * lines.index_step), lines.index_strides.back(), width, y);
      for (int64_t k = 0; k < width; ++k) acc[k] = i == 0 ? y[k] : y[k] + x[k] * acc[k];
      store(out.dtype, at_mutable(out, to + i * lines.out_step), lines.out_strides.back(), width,
            acc);
    }
  });
}

}  // namespace tandem::kernels
