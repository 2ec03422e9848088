#include "tandem/kernels/map.h"

#include <algorithm>
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
constexpr DType kComputeDType[] = {kFloat, kDouble, kLong};

constexpr Compute compute_of(DType t) {
  if (t == kDouble) return kComputeF64;
  return is_floating(t) ? kComputeF32 : kComputeI64;
}

// How many elements are worth a thread: few where each costs many nanoseconds.
constexpr int64_t grain_of(MapFn fn) { return fn >= MapFn::exp ? 8192 : 32768; }

const InnerTable& make_table() {
  static const InnerTable table = [] {
    InnerTable t;
    enter_arithmetic(t);
    enter_compare(t);
    enter_exponential(t);
    enter_special(t);
    enter_activation(t);
    enter_integers(t);
    return t;
  }();
  return table;
}
// A function-local static alone would cost a guard on every call.
std::atomic<const InnerTable*> g_table{nullptr};
const InnerTable& table() {
  const InnerTable* t = g_table.load(std::memory_order_acquire);
  if (t == nullptr) [[unlikely]] {
    t = &make_table();
    g_table.store(t, std::memory_order_release);
  }
  return *t;
}

// Everything map_general needs to know about one call.
struct Job {
  Inner inner;
  const Array* in;
  const Array& out;
  const MapParams& params;
  int arity;
  DType operand[kMaxArity];  // what the inner loop reads
  DType result;              // what it writes
};

struct Buffers {
  alignas(64) char operand[kMaxArity][kChunk * 8];
  alignas(64) char result[kChunk * 8];
  alignas(64) char raw[kChunk * 8];
};

/// n elements of operand k, `stride` apart, as the inner loop wants them.
const void* prepare(const Job& job, int k, const char* src, int64_t stride, int64_t n,
                    Buffers& buffers) {
  const DType from = job.in[k].dtype, to = job.operand[k];
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
  if (job.result == job.out.dtype) {
    scatter(size_of(job.result), result, dst, stride, n);
    return;
  }
  char* converted = stride == 1 ? dst : buffers.raw;
  convert_fn(job.result, job.out.dtype)(result, converted, n);
  if (stride != 1) scatter(size_of(job.out.dtype), converted, dst, stride, n);
}

// Row by row: an operand that lies side by side is used where it is, one that stands still is a
// scalar.
void run_rows(const Job& job, const Walk& walk, int64_t begin, int64_t end) {
  Buffers buffers;
  const bool out_direct = walk.inner_stride(0) == 1 && job.result == job.out.dtype;
  bool all_direct = out_direct;
  unsigned scalars = 0;
  for (int k = 0; k < job.arity; ++k) {
    const int64_t stride = walk.inner_stride(k + 1);
    if (stride == 0) scalars |= 1u << k;
    all_direct &= stride == 0 || (stride == 1 && job.in[k].dtype == job.operand[k]);
  }
  walk.rows(begin, end, [&](const int64_t* offset, int64_t n) {
    const int64_t piece = all_direct ? n : kChunk;
    for (int64_t i = 0; i < n; i += piece) {
      const int64_t m = std::min(piece, n - i);
      const void* operand[kMaxArity];
      for (int k = 0; k < job.arity; ++k) {
        const int64_t stride = walk.inner_stride(k + 1);
        const char* src = at(job.in[k], offset[k + 1] + i * stride);
        operand[k] = stride == 0 ? prepare(job, k, src, 1, 1, buffers)
                                 : prepare(job, k, src, stride, m, buffers);
      }
      char* dst = at_mutable(job.out, offset[0] + i * walk.inner_stride(0));
      job.inner(out_direct ? dst : buffers.result, operand, m, scalars, job.params);
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
      for (int k = 0; k < job.arity; ++k) {
        const size_t size = size_of(job.in[k].dtype);
        gather(size, at(job.in[k], offset[k + 1]), walk.inner_stride(k + 1),
               collected[k] + done * size, n);
      }
      done += n;
    });
    const void* operand[kMaxArity];
    for (int k = 0; k < job.arity; ++k) operand[k] = prepare(job, k, collected[k], 1, m, buffers);
    job.inner(buffers.result, operand, m, 0, job.params);
    const char* result = buffers.result;
    if (job.result != job.out.dtype) {
      convert_fn(job.result, job.out.dtype)(result, buffers.raw, m);
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

[[gnu::noinline]] void map_general(const Job& job, int64_t grain) {
  if (job.out.numel == 0) return;
  const Walk walk(job.out, job.in, job.arity);
  const bool by_rows = walk.ndim == 1 || walk.inner() >= kShortRow;
  parallel_for(0, walk.numel, grain, [&](int64_t b, int64_t e) {
    if (by_rows) {
      run_rows(job, walk, b, e);
    } else {
      run_chunks(job, walk, b, e);
    }
  });
}

[[gnu::noinline]] void map_contiguous(const Job& job, const void* const* operand, unsigned scalars,
                                      int64_t grain) {
  const size_t result_size = size_of(job.result);
  parallel_for(0, job.out.numel, grain, [&](int64_t b, int64_t e) {
    const void* part[kMaxArity];
    for (int k = 0; k < job.arity; ++k) {
      const int64_t offset =
          scalars >> k & 1 ? 0 : b * static_cast<int64_t>(size_of(job.operand[k]));
      part[k] = static_cast<const char*>(operand[k]) + offset;
    }
    job.inner(job.out.ptr<char>() + b * result_size, part, e - b, scalars, job.params);
  });
}

}  // namespace

void map(MapFn fn, const Array* in, int n_in, const Array& out, DType compute,
         const MapParams& params) {
  const MapInfo& info = map_info(fn);
  const Compute type = compute_of(compute);
  const Inner inner = table().inner[static_cast<int>(fn)][type];
  TANDEM_ASSERT(inner != nullptr && n_in == info.arity, "map: ", info.name, " of ", n_in,
                " operands has no kernel for ", name_of(compute));
  const DType value = kComputeDType[type];
  const DType wanted[kMaxArity] = {info.kind == MapKind::pick ? kBool : value, value, value};
  const DType written = info.kind == MapKind::truth ? kBool : value;
  // The plain case first: everything side by side in the compute type, or a single value. Single
  // values are copied, since `out` may be written over them while they are still needed.
  const int64_t n = out.numel;
  bool plain = out.contiguous && out.dtype == written;
  unsigned scalars = 0;
  const void* operand[kMaxArity];
  alignas(8) char single[kMaxArity][8];
  for (int k = 0; k < n_in; ++k) {
    const Array& x = in[k];
    operand[k] = x.data;
    if (x.numel == n && x.contiguous && x.dtype == wanted[k]) continue;
    if (x.numel == 1 && n > 0) {
      convert_fn(x.dtype, wanted[k])(x.data, single[k], 1);
      operand[k] = single[k];
      scalars |= 1u << k;
      continue;
    }
    plain = false;
  }
  const int64_t grain = grain_of(fn);
  if (plain && n <= grain) return inner(out.data, operand, n, scalars, params);
  const Job job{inner, in, out, params, n_in, {wanted[0], wanted[1], wanted[2]}, written};
  if (!plain) return map_general(job, grain);
  map_contiguous(job, operand, scalars, grain);
}

}  // namespace tandem::kernels
