#include "tandem/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tandem/kernels/reduce_columns.h"
#include "tandem/kernels/reduce_plan.h"

namespace tandem::kernels {
namespace {

template <class C>
void apply_premap(Premap premap, double p, C* x, int64_t n) {
  switch (premap) {
    case Premap::Abs:
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? -x[i] : x[i];
      break;
    case Premap::NanToZero:
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] == x[i] ? x[i] : C(0);
      break;
    case Premap::AbsPower:
      if constexpr (std::is_floating_point_v<C>) {
        if (p == 3) {
          for (int64_t i = 0; i < n; ++i) x[i] = std::abs(x[i]) * x[i] * x[i];
        } else {
          for (int64_t i = 0; i < n; ++i) x[i] = std::pow(std::abs(x[i]), static_cast<C>(p));
        }
      }
      break;
    default:
      break;
  }
}

template <class C>
struct Job {
  const Array& in;
  const Array& out;
  const ReducePlan& plan;
  const CombineOps<C>& ops;
  Recipe how;
  double p;
  bool direct;  // elements can be combined where they lie

  const C* ptr(int64_t offset) const { return static_cast<const C*>(in.data) + offset; }
  void fetch(int64_t offset, int64_t stride, int64_t n, C* to) const {
    if constexpr (std::is_same_v<C, int64_t>) {
      if (how.premap == Premap::Nonzero) {
        load_nonzero(in.dtype, at(in, offset), stride, n, to);
        return;
      }
    }
    load(in.dtype, at(in, offset), stride, n, to);
    if (how.premap == Premap::Nonzero) {
      for (int64_t i = 0; i < n; ++i) to[i] = to[i] != 0;
    } else if (how.premap != Premap::None) {
      apply_premap(how.premap, p, to, n);
    }
  }
  void put(int64_t offset, C value) const {
    value = finished(how.finish, value, plan.reduced(), p);
    if (out.dtype == dtype_v<C>) {
      out.ptr<C>()[offset] = value;
    } else {
      store(out.dtype, at_mutable(out, offset), 1, 1, &value);
    }
  }
};

// ---- The last group is reduced: one segment after another ----

template <class C>
C block_value(const Job<C>& job, int64_t base, int64_t block) {
  const int64_t from = block * kBlock, n = std::min(kBlock, job.plan.n_inner - from);
  if (job.direct && unit_stride(job.plan.inner)) return job.ops.block(job.ptr(base + from), n);
  if (job.how.premap == Premap::Nonzero && size_of(job.in.dtype) == 1 &&
      unit_stride(job.plan.inner))
    return static_cast<C>(count_nonzero_bytes(at(job.in, base + from), n));
  constexpr int64_t kChunk = 512;
  alignas(64) C strands[kLanes<C>];
  alignas(64) C buffer[kChunk];
  std::fill_n(strands, kLanes<C>, job.ops.identity);
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    C* to = buffer;
    for_runs(job.plan.inner, from + i, m, [&](int64_t offset, int64_t stride, int64_t count) {
      job.fetch(base + offset, stride, count, to);
      to += count;
    });
    job.ops.accumulate(strands, buffer, m);
  }
  return job.ops.fold(strands);
}

template <class C>
C segment_value(const Job<C>& job, int64_t base) {
  const int64_t blocks = ceil_div(job.plan.n_inner, kBlock);
  if (job.plan.n_outer == 1 && blocks == 1) return block_value(job, base, 0);
  Cascade<C, C (*)(C, C)> cascade(job.ops.join);
  AxesWalk outer(job.plan.outer);
  for (int64_t o = 0; o < job.plan.n_outer; ++o, outer.next())
    for (int64_t b = 0; b < blocks; ++b) cascade.push(block_value(job, base + outer.in, b));
  return cascade.finish(job.ops.identity);
}

// Few outputs over many elements: all blocks first, in parallel, then the counter.
template <class C>
void reduce_long_segments(const Job<C>& job) {
  const int64_t blocks = ceil_div(job.plan.n_inner, kBlock), n = blocks * job.plan.n_outer;
  Scratch<C> partial(n);
  AxesWalk kept(job.plan.kept);
  for (int64_t k = 0; k < job.plan.n_kept; ++k, kept.next()) {
    parallel_for(0, n, kGrainElements / kBlock, [&](int64_t begin, int64_t end) {
      AxesWalk outer(job.plan.outer);
      outer.seek(begin / blocks);
      for (int64_t i = begin; i < end; ++i) {
        partial[i] = block_value(job, kept.in + outer.in, i % blocks);
        if ((i + 1) % blocks == 0) outer.next();
      }
    });
    Cascade<C, C (*)(C, C)> cascade(job.ops.join);
    for (int64_t i = 0; i < n; ++i) cascade.push(partial[i]);
    job.put(kept.out, cascade.finish(job.ops.identity));
  }
}

// A transposed input: neighbouring outputs lie side by side in memory, so a register takes one
// element of each of them. The strands of one output are then rows of a table; the order stays the
// same.
template <class C>
void reduce_side_by_side(const Job<C>& job) {
  constexpr int64_t kTile = 256;
  const Axis last = job.plan.kept.back();
  Axes head(job.plan.kept.begin(), job.plan.kept.end() - 1);
  const int64_t tiles = ceil_div(last.size, kTile);
  const int64_t units = job.plan.n_kept / last.size * tiles;
  const int64_t blocks = ceil_div(job.plan.n_inner, kBlock);
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (kTile * job.plan.reduced()));
  parallel_for(0, units, grain, [&](int64_t begin, int64_t end) {
    AxesWalk kept(head), outer(job.plan.outer), inner(job.plan.inner);
    Scratch<C> strands(kLanes<C> * kTile);
    alignas(64) C row[kTile];
    std::vector<Cascade<C, C (*)(C, C)>> cascades;
    for (int64_t u = begin; u < end; ++u) {
      kept.seek(u / tiles);
      const int64_t first = u % tiles * kTile, width = std::min(kTile, last.size - first);
      cascades.assign(static_cast<size_t>(width), Cascade<C, C (*)(C, C)>(job.ops.join));
      outer.seek(0);
      for (int64_t o = 0; o < job.plan.n_outer; ++o, outer.next()) {
        inner.seek(0);
        for (int64_t b = 0; b < blocks; ++b) {
          const int64_t n = std::min(kBlock, job.plan.n_inner - b * kBlock);
          std::fill_n(strands.get(), kLanes<C> * kTile, job.ops.identity);
          for (int64_t i = 0; i < n; ++i, inner.next()) {
            const int64_t offset = kept.in + first + outer.in + inner.in;
            const C* from = row;
            if (job.direct) {
              from = job.ptr(offset);
            } else {
              job.fetch(offset, 1, width, row);
            }
            job.ops.add_row(&strands[i % kLanes<C> * kTile], from, width, false);
          }
          for (int64_t half = kLanes<C> / 2; half > 0; half /= 2)
            job.ops.merge(strands.get(), &strands[half * kTile], half * kTile);
          for (int64_t c = 0; c < width; ++c) cascades[static_cast<size_t>(c)].push(strands[c]);
        }
      }
      for (int64_t c = 0; c < width; ++c)
        job.put(kept.out + (first + c) * last.out,
                cascades[static_cast<size_t>(c)].finish(job.ops.identity));
    }
  });
}

// Rows of at most one block at a fixed distance, several for one call.
template <class C>
void reduce_short_rows(const Job<C>& job, int64_t begin, int64_t end) {
  constexpr int64_t kRows = 128;
  C values[kRows];
  const Axis axis = job.plan.kept[0];
  for (int64_t r = begin; r < end; r += kRows) {
    const int64_t n = std::min(kRows, end - r);
    job.ops.blocks(job.ptr(r * axis.in), axis.in, job.plan.n_inner, n, values);
    if (job.how.finish != Finish::None)
      for (int64_t i = 0; i < n; ++i)
        values[i] = finished(job.how.finish, values[i], job.plan.n_inner, job.p);
    store(job.out.dtype, at_mutable(job.out, r * axis.out), axis.out, n, values);
  }
}

template <class C>
void reduce_segments(const Job<C>& job) {
  const ReducePlan& plan = job.plan;
  const int64_t each = plan.reduced();
  if (!plan.kept.empty() && plan.kept.back().in == 1 && plan.kept.back().size >= 8 &&
      plan.inner.back().in > 1) {
    reduce_side_by_side(job);
    return;
  }
  if (each >= 4 * kGrainElements && plan.n_kept < 16) {
    reduce_long_segments(job);
    return;
  }
  const bool short_rows = job.direct && unit_stride(plan.inner) && plan.n_outer == 1 &&
                          plan.n_inner <= kBlock && plan.kept.size() == 1;
  parallel_for(0, plan.n_kept, std::max<int64_t>(1, kGrainElements / each),
               [&](int64_t begin, int64_t end) {
                 if (short_rows) {
                   reduce_short_rows(job, begin, end);
                   return;
                 }
                 AxesWalk kept(plan.kept);
                 kept.seek(begin);
                 for (int64_t k = begin; k < end; ++k, kept.next())
                   job.put(kept.out, segment_value(job, kept.in));
               });
}

// ---- The last group is kept: rows are added up column by column ----

template <class C>
class ColumnReduction {
 public:
  explicit ColumnReduction(const Job<C>& job)
      : job_(job), plan_(job.plan), wide_(WideRows::of<C>(plan_.n_inner, plan_.n_columns)) {
    // The wide rows of a block are runs of one flat group.
    flat_ = plan_.inner;
    for (const Axis& a : plan_.columns) {
      if (!flat_.empty() && flat_.back().in == a.in * a.size) {
        flat_.back() = {flat_.back().size * a.size, a.in, 0};
      } else {
        flat_.push_back(a);
      }
    }
    direct_ = job.direct && (wide_.copies > 1 ? unit_stride(flat_) : unit_stride(plan_.columns));
    tile_ = direct_ ? 512 : kTileIndirect;
    columns_out_ = plan_.columns;
    for (Axis& a : columns_out_) a.in = a.out;
  }

  void run() {
    const int64_t tiles = wide_.copies > 1 ? 1 : ceil_div(wide_.width, tile_);
    const int64_t units = plan_.n_kept * tiles;
    const int64_t all_blocks = plan_.n_outer * wide_.blocks;
    const int64_t unit_width = std::min(wide_.width, tile_);
    const int64_t each = all_blocks * std::min(kRowBlock, wide_.rows) * unit_width;
    if (units < 8 && each >= 4 * kGrainElements) {
      // Runs of 2^k blocks each give one partial row; a second counter puts these together.
      int64_t run = 1;
      while (run * kRowBlock * unit_width < kGrainElements) run *= 2;
      const int64_t runs = ceil_div(all_blocks, run);
      Scratch<C> partial(runs * unit_width);
      for (int64_t u = 0; u < units; ++u) {
        const Unit unit = locate(u, tiles);
        parallel_for(0, runs, 1, [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            add_blocks(unit, r * run, std::min(all_blocks, (r + 1) * run),
                       &partial[r * unit.width]);
        });
        Counter counter(job_.ops, runs, unit.width);
        for (int64_t r = 0; r < runs; ++r) counter.push(&partial[r * unit.width]);
        finish(unit, counter.finish());
      }
      return;
    }
    parallel_for(0, units, std::max<int64_t>(1, kGrainElements / std::max<int64_t>(each, 1)),
                 [&](int64_t begin, int64_t end) {
                   Scratch<C> total(unit_width);
                   for (int64_t u = begin; u < end; ++u) {
                     const Unit unit = locate(u, tiles);
                     add_blocks(unit, 0, all_blocks, total.get());
                     finish(unit, total.get());
                   }
                 });
  }

 private:
  static constexpr int64_t kTileIndirect = 64;

  // A tile of columns of one index of the kept groups.
  struct Unit {
    int64_t in, out, first, width;
  };

  // The binary counter for rows of partial results.
  class Counter {
   public:
    Counter(const CombineOps<C>& ops, int64_t pushes, int64_t width)
        : ops_(ops), width_(width), stack_(width * counter_levels(pushes)) {}
    void push(C* row) {
      int level = 0;
      for (uint64_t bits = count_; bits & 1; bits >>= 1, ++level) {
        ops_.merge(at_level(level), row, width_);
        row = at_level(level);
      }
      std::memcpy(at_level(level), row, static_cast<size_t>(width_) * sizeof(C));
      ++count_;
    }
    C* finish() {
      C* row = nullptr;
      for (int level = 0; (count_ >> level) != 0; ++level) {
        if (!(count_ >> level & 1)) continue;
        if (row) ops_.merge(at_level(level), row, width_);
        row = at_level(level);
      }
      return row;
    }

   private:
    C* at_level(int level) { return &stack_[level * width_]; }
    const CombineOps<C>& ops_;
    int64_t width_;
    uint64_t count_ = 0;
    Scratch<C> stack_;
  };

  Unit locate(int64_t u, int64_t tiles) const {
    AxesWalk kept(plan_.kept);
    kept.seek(u / tiles);
    if (wide_.copies > 1) return {kept.in, kept.out, 0, wide_.width};
    const int64_t first = u % tiles * tile_;
    return {kept.in, kept.out, first, std::min(tile_, wide_.width - first)};
  }

  void add_blocks(const Unit& unit, int64_t begin, int64_t end, C* total) const {
    AxesWalk outer(plan_.outer);
    if (end - begin == 1) {
      outer.seek(begin / wide_.blocks);
      add_block(unit, unit.in + outer.in, begin % wide_.blocks, total);
      return;
    }
    Counter counter(job_.ops, end - begin, unit.width);
    Scratch<C> acc(unit.width);
    outer.seek(begin / wide_.blocks);
    for (int64_t i = begin; i < end; ++i) {
      add_block(unit, unit.in + outer.in, i % wide_.blocks, acc.get());
      counter.push(acc.get());
      if ((i + 1) % wide_.blocks == 0) outer.next();
    }
    std::memcpy(total, counter.finish(), static_cast<size_t>(unit.width) * sizeof(C));
  }

  // Up to kRowBlock rows in one.
  void add_block(const Unit& unit, int64_t base, int64_t block, C* acc) const {
    const int64_t from = block * kRowBlock, n = std::min(kRowBlock, wide_.rows - from);
    alignas(64) C buffer[kRowBlock * kTileIndirect];
    int64_t offset[kRowBlock];
    const C* x = buffer;
    // The last wide row may be short.
    const int64_t elements = plan_.n_inner * plan_.n_columns;
    const int64_t left = wide_.copies > 1 ? std::min(n * wide_.width, elements - from * wide_.width)
                                          : n * wide_.width;
    const int64_t whole = wide_.copies > 1 ? left / wide_.width : n;
    if (direct_) {
      x = job_.ptr(base + unit.first);
      if (wide_.copies > 1) {
        for (int64_t r = 0; r < n; ++r) offset[r] = (from + r) * wide_.width;
      } else {
        int64_t* to = offset;
        for_runs(plan_.inner, from, n, [&](int64_t first, int64_t stride, int64_t count) {
          for (int64_t i = 0; i < count; ++i) *to++ = first + i * stride;
        });
      }
    } else {
      for (int64_t r = 0; r < n; ++r) offset[r] = r * unit.width;
      pack(unit, base, from, n, left, buffer);
    }
    add_wide_rows(job_.ops, acc, x, offset, whole, unit.width, true);
    if (whole < n) {
      if (whole == 0) std::fill_n(acc, unit.width, job_.ops.identity);
      job_.ops.add_row(acc, x + offset[whole], left - whole * wide_.width, false);
    }
  }

  void pack(const Unit& unit, int64_t base, int64_t from, int64_t n, int64_t left,
            C* buffer) const {
    if (wide_.copies > 1) {
      for_runs(flat_, from * wide_.width, left, [&](int64_t offset, int64_t stride, int64_t count) {
        job_.fetch(base + offset, stride, count, buffer);
        buffer += count;
      });
      return;
    }
    pack_tile(plan_, base, from, n, unit.first, unit.width, buffer,
              [&](int64_t offset, int64_t stride, int64_t count, C* to) {
                job_.fetch(offset, stride, count, to);
              });
  }

  void finish(const Unit& unit, C* total) const {
    fold_copies(job_.ops, total, wide_.copies, plan_.n_columns);
    const int64_t n = wide_.copies > 1 ? plan_.n_columns : unit.width;
    if (job_.how.finish != Finish::None)
      for (int64_t i = 0; i < n; ++i)
        total[i] = finished(job_.how.finish, total[i], plan_.reduced(), job_.p);
    for_runs(columns_out_, unit.first, n, [&](int64_t offset, int64_t stride, int64_t count) {
      store(job_.out.dtype, at_mutable(job_.out, unit.out + offset), stride, count, total);
      total += count;
    });
  }

  const Job<C>& job_;
  const ReducePlan& plan_;
  const WideRows wide_;
  int64_t tile_;
  bool direct_;
  Axes flat_, columns_out_;
};

template <class C>
void run(const Recipe& how, const Array& in, const bool* reduced_dims, const Array& out, double p) {
  const ReducePlan plan = plan_reduction(in, reduced_dims, out);
  const CombineOps<C>& ops = combine_ops<C>(how.combine);
  const bool direct = in.dtype == dtype_v<C> && how.premap == Premap::None;
  const Job<C> job = {in, out, plan, ops, how, p, direct};
  if (plan.n_kept == 0 || plan.n_columns == 0) return;
  if (plan.reduced() == 0) {
    Odometer<1> walk(out.shape(), {out.strides});
    for (int64_t i = 0; i < out.numel; ++i, walk.next())
      job.put(walk.offset[0], ops.identity + C(0));  // -0.0 becomes 0.0
    return;
  }
  if (plan.by_columns) {
    ColumnReduction<C>(job).run();
  } else {
    reduce_segments(job);
  }
}

// Small contiguous arrays reduced over their first or their last dimensions: the same order as
// above, without a plan. Returns false if this is not such a case.
template <class C>
bool run_small(const Recipe& how, const Array& in, const bool* reduced_dims, const Array& out,
               double p) {
  const CombineOps<C>& ops = combine_ops<C>(how.combine);
  C* to = out.ptr<C>();
  int64_t count = in.numel;
  if (out.numel == 1) {
    *to = ops.block(in.ptr<C>(), in.numel);
  } else {
    if (!out.contiguous) return false;
    // Extents of the leading dimensions of one kind, and of the others, which must be of the other
    // kind.
    int d = 0;
    while (d < in.ndim && in.sizes[d] == 1) ++d;
    const bool first_reduced = reduced_dims[d];
    int64_t outer = 1, inner = 1;
    for (; d < in.ndim && (in.sizes[d] == 1 || reduced_dims[d] == first_reduced); ++d)
      outer *= in.sizes[d];
    for (; d < in.ndim; ++d) {
      if (in.sizes[d] != 1 && reduced_dims[d] == first_reduced) return false;
      inner *= in.sizes[d];
    }
    if (inner == 1) return false;
    if (first_reduced) {
      if (outer > kRowBlock || (inner < kLanes<C> && outer >= kRowBlock)) return false;
      int64_t offset[kRowBlock];
      for (int64_t r = 0; r < outer; ++r) offset[r] = r * inner;
      add_wide_rows(ops, to, in.ptr<C>(), offset, outer, inner, true);
      count = outer;
    } else {
      ops.blocks(in.ptr<C>(), inner, inner, outer, to);
      count = inner;
    }
  }
  if (how.finish != Finish::None)
    for (int64_t i = 0; i < out.numel; ++i) to[i] = finished(how.finish, to[i], count, p);
  return true;
}

}  // namespace

void reduce(ReduceFn fn, const Array& in, const bool* reduced_dims, const Array& out, double p) {
  const Recipe how = recipe(fn, p);
  if (in.contiguous && in.dtype == out.dtype && in.numel <= kBlock && in.numel > 0 &&
      how.premap == Premap::None) {
    if (in.dtype == kFloat && run_small<float>(how, in, reduced_dims, out, p)) return;
    if (in.dtype == kDouble && run_small<double>(how, in, reduced_dims, out, p)) return;
  }
  // Whether something is zero is asked of the element itself, not of what it would convert to.
  const bool count = how.premap == Premap::Nonzero;
  dispatch_compute(count ? kLong : out.dtype,
                   [&]<class C>(C) { run<C>(how, in, reduced_dims, out, p); });
}

}  // namespace tandem::kernels
