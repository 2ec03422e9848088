#include "tandem/kernels/reduce_softmax.h"

#include <cmath>
#include <limits>

#include "tandem/kernels/map.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/reduce_simd.h"

namespace tandem::kernels {
namespace {

// Lines are the elements along the reduced dimensions. They are worked on in groups that fit in the
// first cache, copied side by side, so that short lines fill vectors too and the sums have one
// order for every layout.
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

// Calls fn(first line, lines, buffer) for groups of lines; the buffer has room for them all.
template <class C, class F>
void for_groups(const Lines& l, const F& fn) {
  const int64_t group = std::max<int64_t>(1, 4096 / l.length);
  const int64_t groups = ceil_div(l.count, group);
  parallel_for(0, groups, std::max<int64_t>(1, 16384 / (group * l.length)),
               [&](int64_t begin, int64_t end) {
                 Scratch<C> buffer(group * l.length);
                 Scratch<C> extra(2 * group);
                 for (int64_t g = begin; g < end; ++g)
                   fn(g * group, std::min(group, l.count - g * group), buffer.get(), extra.get());
               });
}

template <class C>
void exponentials_in_place(C* x, int64_t n) {
  const int64_t one = 1;
  const Array a{x, &n, &one, n, 1, dtype_v<C>, true};
  map(MapFn::exp, &a, 1, a, dtype_v<C>);
}

template <class C>
C block_sum(const C* x, int64_t n, const CombineOps<C>& ops) {
  if (n <= kBlock) return ops.block(x, n);
  Cascade<C, C (*)(C, C)> cascade(ops.join);
  for (int64_t i = 0; i < n; i += kBlock) cascade.push(ops.block(x + i, std::min(kBlock, n - i)));
  return cascade.finish(ops.identity);
}

// Lines first .. first + n - 1, one after another.
template <class C>
void load_group(const Array& in, const Lines& l, int64_t first, int64_t n, C* buffer) {
  AxesWalk walk(l.kept);
  walk.seek(first);
  for (int64_t i = 0; i < n; ++i, walk.next()) {
    C* to = buffer + i * l.length;
    for_runs(l.line, 0, l.length, [&](int64_t offset, int64_t stride, int64_t count) {
      load(in.dtype, at(in, walk.in + offset), stride, count, to);
      to += count;
    });
  }
}

template <class C>
void run_softmax(const Array& in, const Lines& l, bool logarithm, const Array& out) {
  const CombineOps<C>& top = combine_ops<C>(Combine::Max);
  const CombineOps<C>& sum = combine_ops<C>(Combine::Sum);
  Axes line_out = l.line;
  for (Axis& a : line_out) a.in = a.out;
  const int64_t length = l.length;
  for_groups<C>(l, [&](int64_t first, int64_t n, C* x, C* extra) {
    load_group(in, l, first, n, x);
    for (int64_t i = 0; i < n; ++i) {
      const C m = block_sum(x + i * length, length, top);
      for (int64_t k = 0; k < length; ++k) x[i * length + k] -= m;
    }
    if (logarithm) {
      Scratch<C> copy(n * length);
      std::copy_n(x, n * length, copy.get());
      exponentials_in_place(copy.get(), n * length);
      for (int64_t i = 0; i < n; ++i) {
        extra[i] = static_cast<C>(
            std::log(static_cast<double>(block_sum(&copy[i * length], length, sum))));
        for (int64_t k = 0; k < length; ++k) x[i * length + k] -= extra[i];
      }
    } else {
      exponentials_in_place(x, n * length);
      for (int64_t i = 0; i < n; ++i) {
        const C s = block_sum(x + i * length, length, sum);
        for (int64_t k = 0; k < length; ++k) x[i * length + k] /= s;
      }
    }
    AxesWalk walk(l.kept);
    walk.seek(first);
    for (int64_t i = 0; i < n; ++i, walk.next()) {
      const C* from = x + i * length;
      for_runs(line_out, 0, length, [&](int64_t offset, int64_t stride, int64_t count) {
        store(out.dtype, at_mutable(out, walk.out + offset), stride, count, from);
        from += count;
      });
    }
  });
}

template <class C>
void run_logsumexp(const Array& in, const Lines& l, const Array& out) {
  const CombineOps<C>& top = combine_ops<C>(Combine::Max);
  const CombineOps<C>& sum = combine_ops<C>(Combine::Sum);
  const int64_t length = l.length;
  for_groups<C>(l, [&](int64_t first, int64_t n, C* x, C* extra) {
    load_group(in, l, first, n, x);
    for (int64_t i = 0; i < n; ++i) {
      C m = block_sum(x + i * length, length, top);
      // Infinities are left to exp and log.
      if (std::isinf(m)) m = 0;
      extra[i] = m;
      for (int64_t k = 0; k < length; ++k) x[i * length + k] -= m;
    }
    exponentials_in_place(x, n * length);
    AxesWalk walk(l.kept);
    walk.seek(first);
    for (int64_t i = 0; i < n; ++i, walk.next()) {
      const double s = static_cast<double>(block_sum(x + i * length, length, sum));
      const C result = static_cast<C>(std::log(s) + static_cast<double>(extra[i]));
      store(out.dtype, at_mutable(out, walk.out), 1, 1, &result);
    }
  });
}

}  // namespace

void softmax(const Array& in, int64_t dim, bool logarithm, const Array& out) {
  if (in.numel == 0) return;
  SmallVector<bool, 8> reduced(static_cast<size_t>(in.ndim), false);
  if (in.ndim > 0) reduced[static_cast<size_t>(dim)] = true;
  const Lines l = lines_of(in, reduced.data(), out);
  if (out.dtype == kDouble) {
    run_softmax<double>(in, l, logarithm, out);
  } else {
    run_softmax<float>(in, l, logarithm, out);
  }
}

void logsumexp(const Array& in, const bool* reduced_dims, const Array& out) {
  if (out.numel == 0) return;
  if (in.numel == 0) {
    fill(out, -std::numeric_limits<double>::infinity());
    return;
  }
  const Lines l = lines_of(in, reduced_dims, out);
  if (out.dtype == kDouble) {
    run_logsumexp<double>(in, l, out);
  } else {
    run_logsumexp<float>(in, l, out);
  }
}

}  // namespace tandem::kernels
