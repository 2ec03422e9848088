#include "tandem/jit/functions.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tandem/kernels/reduce_simd.h"
#include "tandem/kernels/scalar_expr.h"
#include "tandem/kernels/simd/lane_functions.h"

namespace tandem::jit {
namespace {

namespace libm = kernels::libm;

template <auto F, class T>
void call1(T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<T>(F(x[i]));
}
template <auto F, class T>
void call2(T* x, const T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<T>(F(x[i], y[i]));
}
template <auto F, class T>
void patch(T* to, const T* x, uint64_t bits, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (bits >> i & 1) to[i] = static_cast<T>(F(x[i]));
}

// The binary counter of kernels/reduce_plan.h, in memory that the generated code gives.
template <class T>
struct Counter {
  uint64_t count;
  T stack[63];
};
static_assert(sizeof(Counter<double>) == 512);

template <class T, kernels::Combine combine>
void push(Counter<T>* counter, T value) {
  const auto join = kernels::combine_ops<T>(combine).join;
  int level = 0;
  for (uint64_t bits = counter->count; bits & 1; bits >>= 1, ++level)
    value = join(counter->stack[level], value);
  counter->stack[level] = value;
  ++counter->count;
}
template <class T, kernels::Combine combine>
T finish(Counter<T>* counter) {
  const auto join = kernels::combine_ops<T>(combine).join;
  T value{};
  bool any = false;
  for (int level = 0; level < 63; ++level) {
    if (!(counter->count >> level & 1)) continue;
    value = any ? join(counter->stack[level], value) : counter->stack[level];
    any = true;
  }
  return value;
}

struct Entry {
  const char* name;
  void* address;
};
template <class F>
void* address(F* f) {
  return reinterpret_cast<void*>(f);
}

const Entry kEntries[] = {{"memcpy", address<void*(void*, const void*, size_t)>(&std::memcpy)},
#define TANDEM_CASE(f)                                            \
  {"tandem_call_f32_" #f, address(&call1<&libm::f, float>)},      \
      {"tandem_call_f64_" #f, address(&call1<&libm::f, double>)}, \
      {"tandem_patch_f32_" #f, address(&patch<&libm::f, float>)}, \
      {"tandem_patch_f64_" #f, address(&patch<&libm::f, double>)},
                          TANDEM_LANE_FUNCTIONS_F64_1(TANDEM_CASE)
#undef TANDEM_CASE
#define TANDEM_CASE(f)                                       \
  {"tandem_call_f32_" #f, address(&call2<&libm::f, float>)}, \
      {"tandem_call_f64_" #f, address(&call2<&libm::f, double>)},
                              TANDEM_LANE_FUNCTIONS_F64_2(TANDEM_CASE)
#undef TANDEM_CASE
#define TANDEM_CASE(f) {"tandem_call_f32_" #f, address(&call2<&libm::f, float>)},
                                  TANDEM_LANE_FUNCTIONS_F32_2(TANDEM_CASE)
#undef TANDEM_CASE
#define TANDEM_CASE(f) {"tandem_call_i64_" #f, address(&call1<&libm::f, int64_t>)},
                                      TANDEM_LANE_FUNCTIONS_I64_1(TANDEM_CASE)
#undef TANDEM_CASE
#define TANDEM_CASE(f) {"tandem_call_i64_" #f, address(&call2<&libm::f, int64_t>)},
                                          TANDEM_LANE_FUNCTIONS_I64_2(TANDEM_CASE)
#undef TANDEM_CASE
#define TANDEM_CASE(type, T, name, combine)                                       \
  {"tandem_push_" #type "_" #name, address(&push<T, kernels::Combine::combine>)}, \
      {"tandem_finish_" #type "_" #name, address(&finish<T, kernels::Combine::combine>)},
#define TANDEM_CASES(type, T)    \
  TANDEM_CASE(type, T, sum, Sum) \
  TANDEM_CASE(type, T, prod, Prod) TANDEM_CASE(type, T, max, Max) TANDEM_CASE(type, T, min, Min)
                                              TANDEM_CASES(f32, float) TANDEM_CASES(f64, double)
                                                  TANDEM_CASES(i64, int64_t)
#undef TANDEM_CASES
#undef TANDEM_CASE
};

}  // namespace

void* find_function(std::string_view symbol) {
  for (const Entry& e : kEntries)
    if (symbol == e.name) return e.address;
  return nullptr;
}

}  // namespace tandem::jit
