#pragma once

#include <cstdint>

#include "tandem/kernels/reduce.h"

namespace tandem::kernels {

/// A reduction over the rows of [rows, columns], float32 or float64 and of more than one column,
/// that are made a few at a time: combined in the order of `reduce` over the leading dimension,
/// hence the same bits.
///
///   parallel: for each block, for each chunk of its rows, in order: make them, then add(...)
///   then finish(...)
class RowReduction {
 public:
  RowReduction(ReduceFn fn, DType dtype, int64_t rows, int64_t columns);

  /// Rows are in blocks of so many, which may be worked out in any order.
  int64_t block_rows() const { return block_rows_; }
  int64_t blocks() const { return blocks_; }
  /// Rows that are added at once, but for the last of a block; divides block_rows.
  int64_t chunk_rows() const { return chunk_rows_; }
  int64_t rows() const { return rows_; }
  /// Of a row.
  int64_t bytes() const { return columns_ * size_; }
  /// What all blocks need for their results.
  int64_t partial_bytes() const { return blocks_ * width_ * size_; }

  /// Rows [from, from + n) lie at x: a chunk.
  void add(void* partials, int64_t from, int64_t n, const void* x) const;
  /// One value a column, once all blocks are there.
  void finish(void* partials, void* out) const;

 private:
  template <class C>
  void add_chunk(C* partials, int64_t from, int64_t n, const C* x) const;
  template <class C>
  void finish_all(C* partials, C* out) const;

  ReduceFn fn_;
  DType dtype_;
  int64_t rows_, columns_, size_;
  int64_t copies_, width_, blocks_, block_rows_, chunk_rows_;
};

}  // namespace tandem::kernels
