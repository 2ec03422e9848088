#include <algorithm>
#include <limits>

#include "tandem/kernels/reduce.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/reduce_simd.h"

namespace tandem::kernels {
namespace {

template <class C>
bool better(C best, C value, bool least) {
  return (least ? value < best : best < value) || (value != value && best == best);
}

template <class C>
struct Found {
  C value;
  int64_t index = -1;  // -1: nothing yet
  void take(C v, int64_t i, bool least) {
    if (index < 0 || better(value, v, least)) {
      value = v;
      index = i;
    }
  }
};

template <class C>
class ArgReduction {
 public:
  ArgReduction(const Array& in, const ReducePlan& plan, bool least, const Array* values,
               const Array* indices)
      : in_(in),
        plan_(plan),
        least_(least),
        values_(values),
        indices_(indices),
        ops_(combine_ops<C>(least ? Combine::Min : Combine::Max)) {}

  void segments() const {
    const int64_t each = plan_.n_inner, blocks = ceil_div(each, kBlock);
    if (plan_.n_kept < 16 && each >= 4 * kGrainElements) {
      std::vector<Found<C>> found(static_cast<size_t>(blocks));
      AxesWalk kept(plan_.kept);
      for (int64_t k = 0; k < plan_.n_kept; ++k, kept.next()) {
        parallel_for(0, blocks, kGrainElements / kBlock, [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b)
            found[static_cast<size_t>(b)] =
                search(kept.in, b * kBlock, std::min(each, (b + 1) * kBlock));
        });
        Found<C> best = found[0];
        for (const Found<C>& f : found) best.take(f.value, f.index, least_);
        put(kept.out, best);
      }
      return;
    }
    parallel_for(0, plan_.n_kept, std::max<int64_t>(1, kGrainElements / each),
                 [&](int64_t begin, int64_t end) {
                   AxesWalk kept(plan_.kept);
                   kept.seek(begin);
                   for (int64_t k = begin; k < end; ++k, kept.next())
                     put(kept.out, search(kept.in, 0, each));
                 });
  }

  void columns() const {
    const int64_t tiles = ceil_div(plan_.n_columns, kTile), units = plan_.n_kept * tiles;
    const int64_t each = plan_.n_inner * std::min(kTile, plan_.n_columns);
    parallel_for(0, units, std::max<int64_t>(1, kGrainElements / each),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t u = begin; u < end; ++u) column_tile(u / tiles, u % tiles * kTile);
                 });
  }

 private:
  static constexpr int64_t kTile = 256;

  Found<C> search(int64_t base, int64_t from, int64_t to) const {
    constexpr int64_t kChunk = 1024;
    alignas(64) C buffer[kChunk];
    const bool direct = in_.dtype == dtype_v<C> && unit_stride(plan_.inner);
    Found<C> best;
    for (int64_t i = from; i < to;) {
      const int64_t n = std::min(direct ? kBlock : kChunk, to - i);
      const C* x = buffer;
      if (direct) {
        x = in_.ptr<const C>() + base + i;
      } else {
        C* p = buffer;
        for_runs(plan_.inner, i, n, [&](int64_t offset, int64_t stride, int64_t count) {
          load(in_.dtype, at(in_, base + offset), stride, count, p);
          p += count;
        });
      }
      const C value = ops_.block(x, n);
      if (best.index < 0 || better(best.value, value, least_))
        best = {value, i + find_first(x, n, value)};
      if (best.value != best.value) break;
      i += n;
    }
    return best;
  }

  void column_tile(int64_t k, int64_t first) const {
    const int64_t width = std::min(kTile, plan_.n_columns - first);
    const bool direct = in_.dtype == dtype_v<C> && unit_stride(plan_.columns);
    AxesWalk kept(plan_.kept), row(plan_.inner), column(plan_.columns);
    kept.seek(k);
    C best[kTile], buffer[kTile];
    int64_t where[kTile];
    for (int64_t r = 0; r < plan_.n_inner; ++r, row.next()) {
      const C* x = buffer;
      const int64_t base = kept.in + row.in;
      if (direct) {
        x = in_.ptr<const C>() + base + first;
      } else {
        C* p = buffer;
        for_runs(plan_.columns, first, width, [&](int64_t offset, int64_t stride, int64_t count) {
          load(in_.dtype, at(in_, base + offset), stride, count, p);
          p += count;
        });
      }
      if (r == 0) {
        std::copy_n(x, width, best);
        std::fill_n(where, width, int64_t{0});
      } else {
        arg_row(best, where, x, r, width, least_);
      }
    }
    column.seek(first);
    for (int64_t c = 0; c < width; ++c, column.next())
      put(kept.out + column.out, {best[c], where[c]});
  }

  // The plan's output is the row-major number of the result.
  void put(int64_t number, const Found<C>& found) const {
    if (values_)
      store(values_->dtype, at_mutable(*values_, offset_of(*values_, number)), 1, 1, &found.value);
    if (indices_) indices_->ptr<int64_t>()[offset_of(*indices_, number)] = found.index;
  }

  const Array& in_;
  const ReducePlan& plan_;
  bool least_;
  const Array* values_;
  const Array* indices_;
  const CombineOps<C>& ops_;
};

}  // namespace

void arg_reduce(const Array& in, int64_t dim, bool least, const Array* values,
                const Array* indices) {
  SmallVector<bool, 8> reduced(static_cast<size_t>(in.ndim), dim < 0);
  if (dim >= 0 && dim < in.ndim) reduced[static_cast<size_t>(dim)] = true;
  Dims sizes(in.shape());
  for (int d = 0; d < in.ndim; ++d)
    if (reduced[static_cast<size_t>(d)]) sizes[static_cast<size_t>(d)] = 1;
  const Dims strides = contiguous_strides(sizes);
  const Array numbers = {nullptr, sizes.data(), strides.data(), numel_of(sizes), in.ndim,
                         kLong,   true};
  if (numbers.numel == 0) return;
  ReducePlan plan = plan_reduction(in, reduced.data(), numbers);
  TANDEM_ASSERT(plan.reduced() > 0, "arg_reduce over nothing");
  // A transposed input is read row by row all the same: the order does not matter here.
  if (!plan.by_columns && !plan.kept.empty() && plan.kept.back().in == 1 &&
      plan.inner.back().in > 1) {
    plan.columns.push_back(plan.kept.back());
    plan.kept.pop_back();
    plan.n_columns = plan.columns[0].size;
    plan.n_kept /= plan.n_columns;
    plan.by_columns = true;
  }
  dispatch_compute(in.dtype, [&]<class C>(C) {
    const ArgReduction<C> work(in, plan, least, values, indices);
    plan.by_columns ? work.columns() : work.segments();
  });
}

}  // namespace tandem::kernels
