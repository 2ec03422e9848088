#include "tandem/kernels/reduce_softmax.h"

#include <cmath>
#include <limits>

#include "tandem/kernels/map.h"
#include "tandem/kernels/reduce.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/reduce_simd.h"
#include "tandem/kernels/reduce_softmax_simd.h"

// Note: the same bits as the composites
//   softmax      e / sum(e) with e = exp(x - max(x))
//   log_softmax  (x - max(x)) - log(sum(e))
//   logsumexp    log(sum(exp(x - m))) + m with m = max(x), or 0 where that is infinite
// of pointwise functions and reductions in the compute type: a compiler that takes the ops apart
// gets the same result. Sums add up in the order of reduce(), which is one order where lines are
// the last dimensions and another where they are not; so the latter are worked out as the
// composite.
namespace tandem::kernels {
namespace {

// Lines are the elements along the reduced dimensions, which come last.
struct Lines {
  Axes kept, line;
  int64_t count = 1, length = 1;
};

Lines lines_of(const Array& in, const bool* reduced, const Array& out) {
  Lines l;
  for (int d = 0; d < in.ndim; ++d) {
    if (in.sizes[d] == 1) continue;
    const int64_t out_stride = d < out.ndim ? out.strides[d] : 0;
    const Axis axis = {in.sizes[d], in.strides[d], out_stride};
    if (reduced[d]) {
      l.line.push_back(axis);
      l.length *= axis.size;
    } else {
      l.kept.push_back(axis);
      l.count *= axis.size;
    }
  }
  return l;
}

// True iff no dimension that counts comes after a reduced one.
bool lines_are_last(const Array& in, const bool* reduced) {
  bool seen = false;
  for (int d = 0; d < in.ndim; ++d) {
    if (in.sizes[d] == 1) continue;
    if (seen && !reduced[d]) return false;
    seen |= reduced[d];
  }
  return true;
}

template <class C>
C combined(const C* x, int64_t n, const CombineOps<C>& ops) {
  if (n <= kBlock) return ops.block(x, n);
  Cascade<C, C (*)(C, C)> cascade(ops.join);
  for (int64_t i = 0; i < n; i += kBlock) cascade.push(ops.block(x + i, std::min(kBlock, n - i)));
  return cascade.finish(ops.identity);
}

template <class C>
struct Ops {
  const CombineOps<C>& max = combine_ops<C>(Combine::Max);
  const CombineOps<C>& sum = combine_ops<C>(Combine::Sum);
  const SoftmaxOps<C>& each = softmax_ops<C>();
};

// One line; `e` has room for it. x, e and out may be the same memory, but for log_softmax x and e.
template <class C>
void softmax_line(const Ops<C>& ops, const C* x, C* e, C* out, int64_t n, bool logarithm) {
  const C top = combined(x, n, ops.max);
  ops.each.exp_shifted(x, top, e, n);
  const C total = combined(e, n, ops.sum);
  if (logarithm) {
    ops.each.subtract(x, top, ops.each.log(total), out, n);
  } else {
    ops.each.divide(e, total, out, n);
  }
}

template <class C>
C logsumexp_line(const Ops<C>& ops, const C* x, C* e, int64_t n) {
  C top = combined(x, n, ops.max);
  // Infinities are left to exp and log.
  if (std::isinf(top)) top = 0;
  ops.each.exp_shifted(x, top, e, n);
  return ops.each.log(combined(e, n, ops.sum)) + top;
}

// Calls fn(x, e, walk) for every line: x is the line where it lies or side by side in a buffer, e
// memory for another one.
template <class C, class F>
void for_lines(const Array& in, const Lines& l, const F& fn) {
  const bool direct = in.dtype == dtype_v<C> && unit_stride(l.line);
  parallel_for(0, l.count, std::max<int64_t>(1, 16384 / l.length), [&](int64_t begin, int64_t end) {
    Scratch<C> copy(direct ? 0 : l.length), e(l.length);
    AxesWalk walk(l.kept);
    walk.seek(begin);
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      if (direct) {
        fn(in.ptr<C>() + walk.in, e.get(), walk);
        continue;
      }
      C* to = copy.get();
      for_runs(l.line, 0, l.length, [&](int64_t offset, int64_t stride, int64_t count) {
        load(in.dtype, at(in, walk.in + offset), stride, count, to);
        to += count;
      });
      fn(static_cast<const C*>(copy.get()), e.get(), walk);
    }
  });
}

template <class C>
void run_softmax(const Array& in, const Lines& l, bool logarithm, const Array& out) {
  const Ops<C> ops;
  Axes line_out = l.line;
  for (Axis& a : line_out) a.in = a.out;
  const bool direct = out.dtype == dtype_v<C> && unit_stride(line_out);
  for_lines<C>(in, l, [&](const C* x, C* e, const AxesWalk& walk) {
    if (direct) {
      C* to = out.ptr<C>() + walk.out;
      softmax_line(ops, x, logarithm ? e : to, to, l.length, logarithm);
      return;
    }
    softmax_line(ops, x, e, e, l.length, logarithm);
    const C* from = e;
    for_runs(line_out, 0, l.length, [&](int64_t offset, int64_t stride, int64_t count) {
      store(out.dtype, at_mutable(out, walk.out + offset), stride, count, from);
      from += count;
    });
  });
}

template <class C>
void run_logsumexp(const Array& in, const Lines& l, const Array& out) {
  const Ops<C> ops;
  for_lines<C>(in, l, [&](const C* x, C* e, const AxesWalk& walk) {
    const C result = logsumexp_line(ops, x, e, l.length);
    store(out.dtype, at_mutable(out, walk.out), 1, 1, &result);
  });
}

// Row-major memory of the compute type in the shape of an array.
template <class C>
struct Temporary {
  explicit Temporary(IntArrayRef shape)
      : sizes(shape.begin(), shape.end()),
        strides(contiguous_strides(shape)),
        memory(numel_of(shape)),
        array{memory.get(),
              sizes.data(),
              strides.data(),
              numel_of(shape),
              static_cast<int>(sizes.size()),
              dtype_v<C>,
              true} {}
  Dims sizes, strides;
  Scratch<C> memory;
  Array array;
};

template <class C>
void apply_map(MapFn fn, std::initializer_list<Array> in, const Array& out) {
  map(fn, in.begin(), static_cast<int>(in.size()), out, dtype_v<C>, {1, 1, 1});
}

Dims kept_shape(const Array& in, const bool* reduced) {
  Dims shape(in.shape().begin(), in.shape().end());
  for (int d = 0; d < in.ndim; ++d)
    if (reduced[d]) shape[static_cast<size_t>(d)] = 1;
  return shape;
}

// max and sum(exp(x - max)) with the reduced dimensions kept as 1, and exp(x - max).
template <class C>
struct Parts {
  Parts(const Array& in, const bool* reduced, bool finite)
      : x(in.shape()), e(in.shape()), top(kept_shape(in, reduced)), total(kept_shape(in, reduced)) {
    copy(in, x.array);
    reduce(ReduceFn::Max, x.array, reduced, top.array);
    C* t = top.memory.get();
    for (int64_t i = 0; finite && i < top.array.numel; ++i)
      if (std::isinf(t[i])) t[i] = 0;
    apply_map<C>(MapFn::sub, {x.array, top.array}, x.array);
    apply_map<C>(MapFn::exp, {x.array}, e.array);
    reduce(ReduceFn::Sum, e.array, reduced, total.array);
  }
  Temporary<C> x, e, top, total;  // x: what is left of it after the greatest is taken away
};

template <class C>
void composite_softmax(const Array& in, const bool* reduced, bool logarithm, const Array& out) {
  Parts<C> p(in, reduced, false);
  if (logarithm) {
    apply_map<C>(MapFn::log, {p.total.array}, p.total.array);
    apply_map<C>(MapFn::sub, {p.x.array, p.total.array}, out);
  } else {
    apply_map<C>(MapFn::div, {p.e.array, p.total.array}, out);
  }
}

template <class C>
void composite_logsumexp(const Array& in, const bool* reduced, const Array& out) {
  Parts<C> p(in, reduced, true);
  apply_map<C>(MapFn::log, {p.total.array}, p.total.array);
  apply_map<C>(MapFn::add, {p.total.array, p.top.array}, p.total.array);
  // `out` may have another rank where it has one element.
  Array from = p.total.array;
  if (out.numel == 1) {
    from.ndim = 0;
    Array to = out;
    to.ndim = 0;
    copy(from, to);
  } else {
    copy(from, out);
  }
}

}  // namespace

void softmax(const Array& in, int64_t dim, bool logarithm, const Array& out) {
  if (in.numel == 0) return;
  SmallVector<bool, 8> reduced(static_cast<size_t>(in.ndim), false);
  if (in.ndim > 0) reduced[static_cast<size_t>(dim)] = true;
  const bool last = lines_are_last(in, reduced.data());
  const Lines l = lines_of(in, reduced.data(), out);
  dispatch_compute(out.dtype == kDouble ? kDouble : kFloat, [&]<class C>(C) {
    if constexpr (std::is_floating_point_v<C>) {
      last ? run_softmax<C>(in, l, logarithm, out)
           : composite_softmax<C>(in, reduced.data(), logarithm, out);
    }
  });
}

void logsumexp(const Array& in, const bool* reduced_dims, const Array& out) {
  if (out.numel == 0) return;
  if (in.numel == 0) {
    fill(out, -std::numeric_limits<double>::infinity());
    return;
  }
  const bool last = lines_are_last(in, reduced_dims);
  const Lines l = lines_of(in, reduced_dims, out);
  dispatch_compute(out.dtype == kDouble ? kDouble : kFloat, [&]<class C>(C) {
    if constexpr (std::is_floating_point_v<C>) {
      last ? run_logsumexp<C>(in, l, out) : composite_logsumexp<C>(in, reduced_dims, out);
    }
  });
}

}  // namespace tandem::kernels
