#include "tandem/kernels/reduce_rows.h"

#include <algorithm>

#include "tandem/base/error.h"
#include "tandem/kernels/reduce_columns.h"

namespace tandem::kernels {

RowReduction::RowReduction(ReduceFn fn, DType dtype, int64_t rows, int64_t columns)
    : fn_(fn),
      dtype_(dtype),
      rows_(rows),
      columns_(columns),
      size_(static_cast<int64_t>(size_of(dtype))) {
  TANDEM_ASSERT(dtype == kFloat || dtype == kDouble, "reduce: rows of ", dtype);
  TANDEM_ASSERT(columns > 1 && recipe(fn, 2).premap == Premap::None, "reduce: not made for rows");
  const WideRows wide =
      dtype == kFloat ? WideRows::of<float>(rows, columns) : WideRows::of<double>(rows, columns);
  copies_ = wide.copies;
  width_ = wide.width;
  blocks_ = wide.blocks;
  block_rows_ = kRowBlock * copies_;
  // What is made should still be in the first cache when it is added. Eight wide rows are one step.
  constexpr int64_t kChunkBytes = 16 << 10;
  int64_t steps = kRowBlock / kRowsAtOnce;
  while (steps > 1 && steps * kRowsAtOnce * width_ * size_ > kChunkBytes) steps /= 2;
  chunk_rows_ = steps * kRowsAtOnce * copies_;
}

template <class C>
void RowReduction::add_chunk(C* partials, int64_t from, int64_t n, const C* x) const {
  const CombineOps<C>& ops = combine_ops<C>(recipe(fn_, 2).combine);
  C* acc = partials + from / block_rows_ * width_;
  const bool first = from % block_rows_ == 0;
  const int64_t elements = n * columns_, whole = elements / width_, rest = elements % width_;
  int64_t offset[kRowBlock];
  for (int64_t r = 0; r < whole; ++r) offset[r] = r * width_;
  add_wide_rows(ops, acc, x, offset, whole, width_, first);
  if (rest == 0) return;
  // The last wide row is short.
  if (first && whole == 0) std::fill_n(acc, width_, ops.identity);
  ops.add_row(acc, x + whole * width_, rest, false);
}

template <class C>
void RowReduction::finish_all(C* partials, C* out) const {
  const Recipe how = recipe(fn_, 2);
  const CombineOps<C>& ops = combine_ops<C>(how.combine);
  // As the binary counter does it, in place.
  for (int64_t step = 1; step < blocks_; step *= 2)
    for (int64_t b = 0; b + step < blocks_; b += 2 * step)
      ops.merge(partials + b * width_, partials + (b + step) * width_, width_);
  fold_copies(ops, partials, copies_, columns_);
  for (int64_t c = 0; c < columns_; ++c) out[c] = finished(how.finish, partials[c], rows_, 2.0);
}

void RowReduction::add(void* partials, int64_t from, int64_t n, const void* x) const {
  if (dtype_ == kFloat)
    add_chunk(static_cast<float*>(partials), from, n, static_cast<const float*>(x));
  else
    add_chunk(static_cast<double*>(partials), from, n, static_cast<const double*>(x));
}

void RowReduction::finish(void* partials, void* out) const {
  if (dtype_ == kFloat)
    finish_all(static_cast<float*>(partials), static_cast<float*>(out));
  else
    finish_all(static_cast<double*>(partials), static_cast<double*>(out));
}

}  // namespace tandem::kernels
