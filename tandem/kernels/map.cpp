#include "tandem/kernels/map.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "tandem/base/parallel.h"
#include "tandem/kernels/map_convert.h"
#include "tandem/kernels/map_table.h"
#include "tandem/kernels/map_walk.h"

namespace tandem::kernels {
namespace {

constexpr int kMaxArity = 3;
constexpr int64_t kChunk = 512;  // elements converted at a time: what is in work stays in L1
constexpr int64_t kShortRow = 16;

constexpr Compute compute_of(DType t) {
  if (t == kDouble) return kComputeF64;
  return is_floating(t) ? kComputeF32 : kComputeI64;
}
constexpr DType kComputeDType[] = {kFloat, kDouble, kLong};
constexpr auto kComputeOf = [] {
  std::array<Compute, kNumDTypes + 1> table{};
  for (int i = 0; i <= kNumDTypes; ++i) table[i] = compute_of(static_cast<DType>(i));
  return table;
}();
static_assert(compute_of(kHalf) == kComputeF32 && compute_of(kBool) == kComputeI64);

// How many elements are worth a thread: few where each costs many nanoseconds.
constexpr int32_t grain_of(MapFn fn) { return fn >= MapFn::exp ? 8192 : 32768; }

// What a call needs to know about its function and compute type, in one place.
struct Entry {
  Inner inner = nullptr;
  int32_t grain = 0;
  uint8_t arity = 0;      // 0: no such kernel
  DType first = kFloat;   // what the inner loop reads as operand 0
  DType others = kFloat;  // and as the others
  DType result = kFloat;  // what it writes
  DType operand(int k) const { return k == 0 ? first : others; }
};
struct EntryTable {
  Entry entry[kNumMapFns][kNumComputes];
};

const EntryTable* make_table() {
  static const EntryTable table = [] {
    InnerTable inner;
    enter_arithmetic(inner);
    enter_compare(inner);
    enter_exponential(inner);
    enter_special(inner);
    enter_activation(inner);
    enter_integers(inner);
    EntryTable t;
    for (int i = 1; i < kNumMapFns; ++i) {
      const MapFn fn = static_cast<MapFn>(i);
      const MapInfo& info = map_info(fn);
      for (int c = 0; c < kNumComputes; ++c) {
        if (inner.inner[i][c] == nullptr) continue;
        const DType value = kComputeDType[c];
        t.entry[i][c] = {inner.inner[i][c],
                         grain_of(fn),
                         info.arity,
                         info.kind == MapKind::pick ? kBool : value,
                         value,
                         info.kind == MapKind::truth ? kBool : value};
      }
    }
    return t;
  }();
  return &table;
}
// A function-local static alone would cost a guard on every call.
std::atomic<const EntryTable*> g_table{nullptr};
const Entry& entry_of(MapFn fn, DType compute) {
  const EntryTable* t = g_table.load(std::memory_order_acquire);
  if (t == nullptr) [[unlikely]] {
    t = make_table();
    g_table.store(t, std::memory_order_release);
  }
  return t->entry[static_cast<int>(fn)][kComputeOf[static_cast<int>(compute)]];
}

// Everything the general case needs to know about one call.
struct Job {
  const Entry& entry;
  const Array* in;
  const Array& out;
  const MapParams& params;
};

struct Buffers {
  alignas(64) char operand[kMaxArity][kChunk * 8];
  alignas(64) char result[kChunk * 8];
  alignas(64) char raw[kChunk * 8];
};

/// n elements of operand k, `stride` apart, as the inner loop wants them.
const void* prepare(const Job& job, int k, const char* src, int64_t stride, int64_t n,
                    Buffers& buffers) {
  const DType from = job.in[k].dtype, to = job.entry.operand(k);
  if (from == to) {
    if (stride == 1) return src;
    gather(size_of(from), src, stride, buffers.operand[k], n);
    return buffers.operand[k];
  }
  if (stride != 1) {
    gather(size_of(from), src, stride, buffers.raw, n);
    src = buffers.raw;
  }
  convert_fn(from, to)(src, buffers.operand[k], n);
  return buffers.operand[k];
}

void finish(const Job& job, const char* result, char* dst, int64_t stride, int64_t n,
            Buffers& buffers) {
  if (job.entry.result == job.out.dtype) {
    scatter(size_of(job.entry.result), result, dst, stride, n);
    return;
  }
  char* converted = stride == 1 ? dst : buffers.raw;
  convert_fn(job.entry.result, job.out.dtype)(result, converted, n);
  if (stride != 1) scatter(size_of(job.out.dtype), converted, dst, stride, n);
}

// Row by row: an operand that lies side by side is used where it is, one that stands still is a
// scalar.
void run_rows(const Job& job, const Walk& walk, int64_t begin, int64_t end) {
  Buffers buffers;
  const bool out_direct = walk.inner_stride(0) == 1 && job.entry.result == job.out.dtype;
  bool all_direct = out_direct;
  unsigned scalars = 0;
  for (int k = 0; k < job.entry.arity; ++k) {
    const int64_t stride = walk.inner_stride(k + 1);
    if (stride == 0) scalars |= 1u << k;
    all_direct &= stride == 0 || (stride == 1 && job.in[k].dtype == job.entry.operand(k));
  }
  walk.rows(begin, end, [&](const int64_t* offset, int64_t n) {
    const int64_t piece = all_direct ? n : kChunk;
    for (int64_t i = 0; i < n; i += piece) {
      const int64_t m = std::min(piece, n - i);
      const void* operand[kMaxArity];
      for (int k = 0; k < job.entry.arity; ++k) {
        const int64_t stride = walk.inner_stride(k + 1);
        const char* src = at(job.in[k], offset[k + 1] + i * stride);
        operand[k] = stride == 0 ? prepare(job, k, src, 1, 1, buffers)
                                 : prepare(job, k, src, stride, m, buffers);
      }
      char* dst = at_mutable(job.out, offset[0] + i * walk.inner_stride(0));
      job.entry.inner(out_direct ? dst : buffers.result, operand, m, scalars, job.params);
      if (!out_direct) finish(job, buffers.result, dst, walk.inner_stride(0), m, buffers);
    }
  });
}

// Rows too short to be worth a call each: their elements are collected until there is a chunk.
void run_chunks(const Job& job, const Walk& walk, int64_t begin, int64_t end) {
  Buffers buffers;
  alignas(64) char collected[kMaxArity][kChunk * 8];
  for (int64_t b = begin; b < end; b += kChunk) {
    const int64_t m = std::min(kChunk, end - b);
    int64_t done = 0;
    walk.rows(b, b + m, [&](const int64_t* offset, int64_t n) {
      for (int k = 0; k < job.entry.arity; ++k) {
        const size_t size = size_of(job.in[k].dtype);
        gather(size, at(job.in[k], offset[k + 1]), walk.inner_stride(k + 1),
               collected[k] + done * size, n);
      }
      done += n;
    });
    const void* operand[kMaxArity];
    for (int k = 0; k < job.entry.arity; ++k)
      operand[k] = prepare(job, k, collected[k], 1, m, buffers);
    job.entry.inner(buffers.result, operand, m, 0, job.params);
    const char* result = buffers.result;
    if (job.entry.result != job.out.dtype) {
      convert_fn(job.entry.result, job.out.dtype)(result, buffers.raw, m);
      result = buffers.raw;
    }
    const size_t size = size_of(job.out.dtype);
    done = 0;
    walk.rows(b, b + m, [&](const int64_t* offset, int64_t n) {
      scatter(size, result + done * size, at_mutable(job.out, offset[0]), walk.inner_stride(0), n);
      done += n;
    });
  }
}

void map_general(const Job& job) {
  const Walk walk(job.out, job.in, job.entry.arity);
  const bool by_rows = walk.ndim == 1 || walk.inner() >= kShortRow;
  parallel_for(0, walk.numel, job.entry.grain, [&](int64_t b, int64_t e) {
    if (by_rows) {
      run_rows(job, walk, b, e);
    } else {
      run_chunks(job, walk, b, e);
    }
  });
}

void map_contiguous(const Job& job, const void* const* operand, unsigned scalars) {
  const size_t result_size = size_of(job.entry.result);
  parallel_for(0, job.out.numel, job.entry.grain, [&](int64_t b, int64_t e) {
    const void* part[kMaxArity];
    for (int k = 0; k < job.entry.arity; ++k) {
      const size_t step = scalars >> k & 1 ? 0 : size_of(job.entry.operand(k));
      part[k] = static_cast<const char*>(operand[k]) + b * step;
    }
    job.entry.inner(job.out.ptr<char>() + b * result_size, part, e - b, scalars, job.params);
  });
}

// A plain number in a call is a 0-d double or int64; those two go fast.
void convert_one(const Array& x, DType to, void* dst) {
  if (to == kFloat && x.dtype == kDouble) {
    *static_cast<float*>(dst) = static_cast<float>(*x.ptr<double>());
  } else if (to == kFloat && x.dtype == kLong) {
    *static_cast<float*>(dst) = static_cast<float>(*x.ptr<int64_t>());
  } else {
    convert_fn(x.dtype, to)(x.data, dst, 1);
  }
}

// Contiguous operands of the compute type, single values of any type, or else the general case.
[[gnu::noinline]] void map_any(MapFn fn, const Job& job, int n_in) {
  const Entry& entry = job.entry;
  TANDEM_ASSERT(n_in == entry.arity, "map: ", map_name(fn), " of ", n_in,
                " operands has no kernel for this compute type");
  if (job.out.numel == 0) return;
  bool plain = job.out.contiguous && job.out.dtype == entry.result;
  unsigned scalars = 0;
  const void* operand[kMaxArity];
  // Single values are copied: another thread may write `out` over them before they are read.
  alignas(8) char single[kMaxArity][8];
  for (int k = 0; k < n_in && plain; ++k) {
    const Array& x = job.in[k];
    operand[k] = x.data;
    if (x.numel == job.out.numel && x.contiguous && x.dtype == entry.operand(k)) continue;
    plain = x.numel == 1;
    if (!plain) break;
    convert_one(x, entry.operand(k), single[k]);
    operand[k] = single[k];
    scalars |= 1u << k;
  }
  if (!plain) return map_general(job);
  if (job.out.numel > entry.grain) return map_contiguous(job, operand, scalars);
  entry.inner(job.out.data, operand, job.out.numel, scalars, job.params);
}

// True if operand k can go to the inner loop as it is: all side by side, or a single value.
inline bool fits(const Array& x, DType want, int64_t n, int k, unsigned& scalars) {
  const bool whole = x.numel == n && x.contiguous;
  scalars |= static_cast<unsigned>(!whole) << k;
  return x.dtype == want && (whole || x.numel == 1);
}

}  // namespace

void map(MapFn fn, const Array* in, int n_in, const Array& out, DType compute,
         const MapParams& params) {
  const Entry& entry = entry_of(fn, compute);
  // The small and simple case first. No branch in it depends on anything but the kind of call.
  const int64_t n = out.numel;
  if (out.contiguous && out.dtype == entry.result && n <= entry.grain && n_in == entry.arity) {
    unsigned scalars = 0;
    const void* operand[kMaxArity];
    operand[0] = in[0].data;
    bool ready = fits(in[0], entry.first, n, 0, scalars);
    if (n_in > 1) {
      operand[1] = in[1].data;
      ready &= fits(in[1], entry.others, n, 1, scalars);
      if (n_in > 2) {
        operand[2] = in[2].data;
        ready &= fits(in[2], entry.others, n, 2, scalars);
      }
    }
    if (ready) return entry.inner(out.data, operand, n, scalars, params);
  }
  map_any(fn, {entry, in, out, params}, n_in);
}

}  // namespace tandem::kernels
