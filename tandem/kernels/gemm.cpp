// Chooses how a matrix product is computed, and the entry points for raw pointers.
#include <algorithm>
#include <memory>
#include <utility>

#include "tandem/base/deterministic.h"
#include "tandem/base/error.h"
#include "tandem/base/growing_buffer.h"
#include "tandem/base/parallel.h"
#include "tandem/base/processor.h"
#include "tandem/base/signals_wait.h"
#include "tandem/kernels/gemm_impl.h"
#include "tandem/kernels/gemm_parts.h"
#include "tandem/kernels/matmul.h"

// oneDNN's threads are those of an uninstrumented libgomp: the thread sanitizer would see races.
#ifndef TANDEM_THREAD_SANITIZER
#define TANDEM_GEMM_DNNL 1
#include <dnnl.h>
#endif

namespace tandem::kernels::detail {
namespace {

// The constants below were found by bench/matmul.
// Multiplications that a thread should at least have before a second one is woken.
constexpr int64_t kGrain = 128 * 1024;
// A matrix B of at most so many bytes is multiplied without packing: it stays in the second cache.
constexpr int64_t kDirectBytes = 256 * 1024, kHalvesDirectBytes = 8 * 1024 * 1024;
// Fewer rows than this do not pay for packing.
constexpr int64_t kFewRows = 80;
// Multiplications beyond which oneDNN is faster than our own blocks on wide registers: Intel's, and
// AMD's if there are rows enough to fill blocks of six.
constexpr int64_t kWideOwnWork = 256 * 1024, kAmdOwnWork = 2 * 1024 * 1024, kAmdLeastRows = 9;
// Columns that are done together there.
constexpr int64_t kDirectCols = 32;
// Length of a sum kept in one register: longer ones are added up in pieces, which rounds less.
constexpr int64_t kDepth = 512;
// Elements of a matrix that a thread should at least read in a product with a vector.
constexpr int64_t kVectorGrain = 32768;

constinit thread_local GrowingBuffer t_scratch(4096);
constinit thread_local ProductParts* t_parts = nullptr;

/// small_gemm with long sums in pieces. B has contiguous rows unless the whole fits_small.
template <class T>
void small_pieces(const GemmArgs<T>& g) {
  if (g.k <= kDepth) return small_gemm(g);
  GemmArgs<T> piece = g;
  for (int64_t p = 0; p < g.k; p += kDepth) {
    piece.k = std::min(kDepth, g.k - p);
    piece.a = g.a + p * g.a_col;
    piece.b = g.b + p * g.b_row;
    piece.beta = p == 0 ? g.beta : T(1);
    small_gemm(piece);
  }
}

/// True if the product was done: one of the operands is a vector.
template <class T>
bool vector_product(const GemmArgs<T>& g) {
  if (g.m != 1 && g.n != 1) return false;
  if (g.m * g.n * g.k <= kVectorGrain) {
    small_pieces(g);
    return true;
  }
  if (g.m == 1 && g.n == 1 && g.a_col == 1 && g.b_row == 1) {
    const T sum = g.alpha * dot_product(g.k, g.a, g.b);
    *g.c = g.beta == T(0) ? sum : sum + g.beta * *g.c;
    return true;
  }
  if (g.n == 1 && g.a_col == 1 && g.b_row == 1) {
    gemv_dots(g.m, g.k, g.a, g.a_row, g.b, g.c, g.ldc, g.alpha, g.beta);
    return true;
  }
  if (g.m == 1 && g.a_col == 1 && g.b_row == 1) {
    gemv_dots(g.n, g.k, g.b, g.b_col, g.a, g.c, 1, g.alpha, g.beta);
    return true;
  }
  const bool by_row = g.m == 1 && g.b_col == 1 && g.n >= 64;
  const bool by_column = g.n == 1 && g.a_row == 1 && g.ldc == 1 && g.m >= 64;
  if (!by_row && !by_column) return false;
  const int64_t length = by_row ? g.n : g.m;
  const int64_t grain = (std::max<int64_t>(64, kVectorGrain / g.k) + 63) / 64 * 64;
  parallel_for(0, length, grain, [&](int64_t begin, int64_t end) {
    GemmArgs<T> part = g;
    part.c += begin;
    if (by_row) {
      part.b += begin;
      part.n = end - begin;
    } else {
      part.a += begin;
      part.m = end - begin;
    }
    small_pieces(part);
  });
  return true;
}

/// Some rows after the others, so few that what is read of A stays in the cache.
template <class T>
void direct_rows(const GemmArgs<T>& g) {
  constexpr int64_t kRows = 128;
  const int64_t rounds = (g.m + kRows - 1) / kRows;
  for (int64_t i = 0; i < rounds; ++i) {
    const int64_t from = g.m * i / rounds;
    GemmArgs<T> part = g;
    part.m = g.m * (i + 1) / rounds - from;
    part.a += from * g.a_row;
    part.c += from * g.ldc;
    small_pieces(part);
  }
}

/// How far apart rows of a copy of n columns should lie.
int64_t padded(int64_t n, int64_t size) {
  const int64_t ld = (n + 15) / 16 * 16;
  return ld * size % 1024 == 0 ? ld + 16 : ld;
}

/// What decides how a product is made. For a part of one it is that of the whole.
struct Form {
  int64_t m, n, k, size;  // size of an element
  bool a_has_rows, b_has_rows;
  int64_t b_row;

  int64_t work() const { return m * n * k; }
  /// True iff rows of B lie so far apart that they compete for the same few lines of the first
  /// cache, and that matters: with wide registers, here and in oneDNN, it does not.
  bool rows_collide() const {
    return b_has_rows && k > 16 && b_row * size % 1024 == 0 && registers() == Registers::kNarrow;
  }
  /// True iff register blocks read a copy of B, not B itself.
  bool copies_b() const { return !b_has_rows || (rows_collide() && m >= 24); }
  /// True iff a copy of B would take longer than the product.
  bool has_few_rows() const {
    return !b_has_rows && k >= 64 && m < (registers() == Registers::kWide ? 16 : 8);
  }
  /// True iff B has at most so many bytes.
  bool b_fits(int64_t bytes) const { return n * k * size <= bytes; }
  /// True iff both factors are better packed, though B is small: a column of A lies in many pages.
  bool packs_small_b() const {
    return registers() == Registers::kNarrow && b_fits(kDirectBytes) && !a_has_rows && m >= 96 &&
           n >= 64 && k >= 64 && m * k >= 24000;
  }
};

template <class T>
Form form_of(const GemmArgs<T>& g) {
  return {
      g.parts ? g.parts->rows() : g.m, g.n, g.k, sizeof(T), g.a_row != 1, g.b_col == 1, g.b_row};
}

/// How a product is made.
enum class Way {
  kDirect,   // in register blocks straight from the factors, or a copy of B
  kDots,     // as a product of a matrix and a vector for each row of A
  kPacked,   // in register blocks from packed factors
  kLibrary,  // by oneDNN
};

/// The best of our own.
Way own_way(const Form& f) {
  if (f.m <= 4 && f.a_has_rows && !f.b_has_rows) return Way::kDots;
  if (f.packs_small_b()) return Way::kPacked;
  if (registers() == Registers::kWide)
    return f.m < kFewRows || f.b_fits(kDirectBytes) ? Way::kDirect : Way::kPacked;
  // Halves need so little of B for each product that it may come from the third cache.
  const int64_t most = registers() == Registers::kNarrow ? kDirectBytes : kHalvesDirectBytes;
  const int64_t cols = f.copies_b() ? padded(f.n, f.size) : f.n;
  return cols * f.k * f.size <= most ? Way::kDirect : Way::kPacked;
}

/// The best of all; oneDNN has products of float32 only.
Way way_of(const Form& f) {
  const Way own = own_way(f);
  if (f.size != sizeof(float)) return own;
  if (f.has_few_rows()) return Way::kLibrary;
  if (registers() != Registers::kWide) {
    // oneDNN is slow where rows collide, by up to a third.
    const bool large = own == Way::kPacked && !f.packs_small_b() && !f.rows_collide();
    return large ? Way::kLibrary : own;
  }
  // Columns in one strip lie in one piece as they are; fewer leave registers empty.
  const bool one_strip = f.n > 16 && f.n <= 64;
  const bool amd = this_processor().vendor == Processor::Vendor::kAmd && f.m >= kAmdLeastRows;
  return f.work() > (amd ? kAmdOwnWork : kWideOwnWork) && !one_strip ? Way::kLibrary : own;
}

/// True if the product was done: C has so few columns that registers would stay half empty, and
/// A^T has contiguous rows, so that C^T can be worked out instead.
template <class T>
bool narrow_product(const GemmArgs<T>& g) {
  constexpr int64_t kNarrow = 16, kRows = 64;
  if (g.n >= kNarrow || g.m < kRows || g.a_row != 1 || g.beta != T(0)) return false;
  in_parts(g, kRows, g.n, [](const GemmArgs<T>& part) {
    T* transposed = static_cast<T*>(scratch(part.m * part.n * sizeof(T)));
    small_pieces(GemmArgs<T>{part.n, part.m, part.k, part.b, part.b_col, part.b_row, part.a,
                             part.a_col, 1, transposed, part.m, part.alpha, T(0)});
    GemmArgs<T> back = part;
    back.k = part.m;
    back.b = transposed;
    back.b_row = 1;
    back.b_col = part.m;
    copy_b(back, part.c, part.ldc);
  });
  return true;
}

template <class T>
void direct_product(const GemmArgs<T>& g, bool copied) {
  in_parts(g, 1, kDirectCols, [&](GemmArgs<T> part) {
    if (copied) {
      const int64_t ld = padded(part.n, sizeof(T));
      T* copy = static_cast<T*>(scratch(part.k * ld * sizeof(T)));
      copy_b(part, copy, ld);
      part.b = copy;
      part.b_row = ld;
      part.b_col = 1;
    }
    direct_rows(part);
  });
}

/// Few rows of A, with contiguous columns, each by itself; B has contiguous columns too.
template <class T>
void dots_product(const GemmArgs<T>& g) {
  for (int64_t i = 0; i < g.m; ++i)
    gemv_dots(g.n, g.k, g.b, g.b_col, g.a + i * g.a_row, g.c + i * g.ldc, 1, g.alpha, g.beta);
}

// Elements of C below which long sums are cut among oneDNN's threads.
constexpr int64_t kSharedSums = 96 * 96;
// Blocks of which parts of C are made for oneDNN. Those of its own with AVX-512 have 48 columns, but
// on wide registers threads lose more by parts of different size.
constexpr int64_t kDnnlRows = 8;
int64_t dnnl_cols() { return registers() == Registers::kWide ? 16 : 48; }

#ifdef TANDEM_GEMM_DNNL
/// Fills in how oneDNN wants a rows x cols operand; false if it has no contiguous dimension.
bool dnnl_layout(int64_t rows, int64_t cols, int64_t row, int64_t col, char* trans, int64_t* ld) {
  if ((col == 1 || cols == 1) && (row >= cols || rows == 1)) {
    *trans = 'N';
    *ld = rows == 1 ? cols : row;
    return true;
  }
  if ((row == 1 || rows == 1) && (col >= rows || cols == 1)) {
    *trans = 'T';
    *ld = cols == 1 ? rows : col;
    return true;
  }
  return false;
}

bool dnnl_product(const GemmArgs<float>& g) {
  if (deterministic_algorithms()) return false;
  char ta, tb;
  int64_t lda, ldb;
  if (!dnnl_layout(g.m, g.k, g.a_row, g.a_col, &ta, &lda)) return false;
  if (!dnnl_layout(g.k, g.n, g.b_row, g.b_col, &tb, &ldb)) return false;
  const auto multiply = [&](const GemmArgs<float>& part) {
    const LibraryThreads threads;
    const SignalsWait no_handlers;
    const dnnl_status_t status =
        dnnl_sgemm(ta, tb, part.m, part.n, part.k, part.alpha, part.a, lda, part.b, ldb, part.beta,
                   part.c, std::max(part.ldc, part.n));
    TANDEM_ASSERT(status == dnnl_success, "dnnl_sgemm returned ", static_cast<int>(status));
  };
  // Where C is small oneDNN's threads share the sums; where it is not, they wait for each other.
  if (g.m * g.n < kSharedSums)
    multiply(g);
  else
    in_parts(g, kDnnlRows, dnnl_cols(), multiply);
  return true;
}
#else
bool dnnl_product(const GemmArgs<float>&) { return false; }
#endif
bool dnnl_product(const GemmArgs<double>&) { return false; }

/// C = beta * C.
template <class T>
void scale(const GemmArgs<T>& g, double beta) {
  for (int64_t i = 0; i < g.m; ++i) {
    T* c = g.c + i * g.ldc;
    if (beta == 0)
      std::fill_n(c, g.n, T(0));
    else if (beta != 1)
      for (int64_t j = 0; j < g.n; ++j) c[j] = static_cast<T>(beta * static_cast<double>(c[j]));
  }
}

template <class T>
void float_gemm(const GemmArgs<T>& g) {
  if (vector_product(g)) return;
  const Form form = form_of(g);
  if (form.work() <= kGrain && fits_small(g)) return small_pieces(g);
  if (narrow_product(g)) return;
  Way way = way_of(form);
  if (way == Way::kLibrary && !dnnl_product(g)) way = own_way(form);
  if (way == Way::kDots && (g.a_col != 1 || g.b_row != 1)) way = Way::kDirect;
  switch (way) {
    case Way::kDirect:
      return direct_product(g, form.copies_b());
    case Way::kDots:
      return dots_product(g);
    case Way::kPacked:
      return packed_gemm(g);
    case Way::kLibrary:
      return;  // done
  }
}

/// A 16-bit operand as contiguous float32.
template <class T>
std::unique_ptr<float[]> widen(const T* x, int64_t rows, int64_t cols, int64_t row, int64_t col) {
  std::unique_ptr<float[]> out(new float[rows * cols]);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < cols; ++j)
        out[i * cols + j] = static_cast<float>(x[i * row + j * col]);
  });
  return out;
}

template <class T>
void half_gemm(const GemmArgs<T>& g, double alpha, double beta) {
  const auto a = widen(g.a, g.m, g.k, g.a_row, g.a_col);
  const auto b = widen(g.b, g.k, g.n, g.b_row, g.b_col);
  std::unique_ptr<float[]> c =
      beta == 0 ? std::unique_ptr<float[]>(new float[g.m * g.n]) : widen(g.c, g.m, g.n, g.ldc, 1);
  float_gemm(GemmArgs<float>{g.m, g.n, g.k, a.get(), g.k, 1, b.get(), g.n, 1, c.get(), g.n,
                             static_cast<float>(alpha), static_cast<float>(beta)});
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) g.c[i * g.ldc + j] = static_cast<T>(c[i * g.n + j]);
}

}  // namespace

void* scratch(size_t bytes) { return t_scratch.get(bytes); }

template <class T>
void any_gemm(const GemmArgs<T>& g, double alpha, double beta) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0 || alpha == 0) return scale(g, beta);
  if (t_parts && t_parts->result() != g.c) t_parts->packed = {};
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    GemmArgs<T> args = g;
    args.alpha = static_cast<T>(alpha);
    args.beta = static_cast<T>(beta);
    args.parts = t_parts && t_parts->result() == g.c ? t_parts : nullptr;
    float_gemm(args);
  } else if constexpr (std::is_integral_v<T>) {
    integer_gemm(g, static_cast<int64_t>(alpha), static_cast<int64_t>(beta));
  } else {
    half_gemm(g, alpha, beta);
  }
}

#define TANDEM_INSTANTIATE(T, name) template void any_gemm(const GemmArgs<T>&, double, double);
TANDEM_FOR_EACH_DTYPE(TANDEM_INSTANTIATE)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::kernels::detail

namespace tandem::kernels {

ProductParts::ProductParts(int64_t rows)
    : rows_(rows), outer_(std::exchange(detail::t_parts, this)) {}
ProductParts::~ProductParts() {
  detail::t_parts = outer_;
  if (outer_) outer_->packed = {};
}

namespace {

template <class T>
detail::GemmArgs<T> strided(const Gemm& g) {
  return {g.m,
          g.n,
          g.k,
          static_cast<const T*>(g.a),
          g.transa ? 1 : g.lda,
          g.transa ? g.lda : 1,
          static_cast<const T*>(g.b),
          g.transb ? 1 : g.ldb,
          g.transb ? g.ldb : 1,
          static_cast<T*>(g.c),
          g.ldc,
          T(0),
          T(0)};
}

/// part_rows of a product that packs B once for all parts: whole panels of six rows, of which the
/// last thread to be done has as few as possible.
int64_t packed_part_rows(int64_t m, int64_t row_bytes) {
  constexpr int64_t kPanel = 6, kLeast = 8 * kPanel, kBytes = 288 * 1024;
  const int64_t threads = get_num_threads();
  const int64_t most = std::max(kLeast, std::min(m, kBytes / row_bytes) / kPanel * kPanel);
  int64_t best = 0, least = 0;
  for (int64_t rows = most; rows >= kLeast; rows -= kPanel) {
    const int64_t parts = (m + rows - 1) / rows;
    const int64_t longest = (parts + threads - 1) / threads * rows;
    if (best == 0 || longest < least) {
      best = rows;
      least = longest;
    }
  }
  return best < m ? best : 0;
}

/// part_rows of a product that packs B for each part: one for each thread, if oneDNN is given such
/// parts anyway.
PartRows rows_of_each_thread(int64_t m, int64_t n, int64_t k) {
  const detail::Grid grid = detail::grid_for(m, n, k, detail::kDnnlRows, detail::dnnl_cols());
  if (grid.rows < 2 || grid.rows < get_num_threads() || m * n < detail::kSharedSums) return {};
  const int64_t blocks = (m + detail::kDnnlRows - 1) / detail::kDnnlRows;
  return {(blocks + grid.rows - 1) / grid.rows * detail::kDnnlRows, false, true};
}

// A product of more multiplications than this is threaded within, not across the batch.
constexpr int64_t kLargeItem = int64_t{1} << 26;
constexpr int64_t kBatchGrain = 32768;

}  // namespace

void gemm(const Gemm& g) {
  if (g.dtype == kFloat) return detail::any_gemm(strided<float>(g), g.alpha, g.beta);
  dispatch(g.dtype, [&]<class T>(T) { detail::any_gemm(strided<T>(g), g.alpha, g.beta); });
}

PartRows part_rows(DType dtype, int64_t m, int64_t n, int64_t k, bool a_has_rows, bool b_has_rows) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  if (m * n * k < 2 * detail::part_grain()) return {};
  const bool floats = dtype == kFloat || dtype == kDouble;
  const detail::Form form{m, n, k, size, a_has_rows, b_has_rows, n};
  const detail::Way way = detail::way_of(form);
  if (floats && way == detail::Way::kPacked && form.b_fits(detail::kKeptBytes))
    return {packed_part_rows(m, n * size), false};
  const bool direct = floats && way == detail::Way::kDirect && !form.copies_b();
  if (direct && detail::grid_for(m, n, k, 1, detail::kDirectCols).cols > 1) return {};
  // A part should stay in the second cache.
  const int64_t least = direct ? 24 : 192, bytes = (direct ? 384 : 256) << 10;
  const int64_t most = std::max(least, bytes / (n * size));
  if (!direct && (m < 2 * most || most * n * size > 4 * bytes))
    return dtype == kFloat && way == detail::Way::kLibrary ? rows_of_each_thread(m, n, k)
                                                           : PartRows{};
  // As many for each thread, of about the same size.
  const int64_t threads = get_num_threads();
  const int64_t parts = std::max<int64_t>(1, m / most / threads) * threads;
  const int64_t rows = (m + parts - 1) / parts;
  return parts == 1 || rows < least ? PartRows{} : PartRows{rows, !direct};
}

void batched_gemm(const Gemm& g, int64_t batch, int64_t stride_a, int64_t stride_b,
                  int64_t stride_c) {
  if (batch == 1) return gemm(g);
  if (stride_b == 0 && !g.transa && stride_a == g.m * g.lda && stride_c == g.m * g.ldc) {
    Gemm all = g;
    all.m *= batch;
    return gemm(all);
  }
  const int64_t size = static_cast<int64_t>(size_of(g.dtype));
  auto run = [&](int64_t begin, int64_t end) {
    Gemm one = g;
    for (int64_t i = begin; i < end; ++i) {
      one.a = static_cast<const char*>(g.a) + i * stride_a * size;
      one.b = static_cast<const char*>(g.b) + i * stride_b * size;
      one.c = static_cast<char*>(g.c) + i * stride_c * size;
      gemm(one);
    }
  };
  const int64_t work = g.m * g.n * g.k;
  if (work >= kLargeItem || (batch < get_num_threads() && work >= 4 * kBatchGrain))
    return run(0, batch);
  parallel_for(0, batch, std::max<int64_t>(1, kBatchGrain / std::max<int64_t>(1, work)), run);
}

}  // namespace tandem::kernels
