#include <cmath>
#include <limits>
#include <random>

#include "tests/jit/run_nest.h"

// Every pointwise function in every type it computes in, against the eager kernel.

namespace tandem::jit::test {
namespace {

using kernels::MapInfo;
using kernels::MapKind;
using kernels::MapParams;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> numbers(bool integers, bool may_be_zero, int64_t n, unsigned seed) {
  const std::vector<double> special = {
      0.0,   -0.0,   1,    -1,    0.5,  -0.5,   2,     -2,      kInf,   -kInf, kNaN,
      1e-45, -1e-40, 3e38, -3e38, 88.7, -103.9, 0.625, -0.62,   1e10,   -1e10, 2.5,
      -2.5,  1.5,    3.0,  1e-7,  20.5, 0.99,   -0.99, 2097153, -1.7e6, 300.25};
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 4);
  std::vector<double> result;
  for (int64_t i = 0; i < n; ++i) {
    double x = random() % 3 == 0 ? special[random() % special.size()] : normal(random);
    if (integers) {
      x = std::isfinite(x) && std::abs(x) < 1e5 ? std::trunc(x * 3) : 17;
      if (x == 0 && !may_be_zero) x = 5;
    }
    result.push_back(x);
  }
  return result;
}

// Division by zero is an error, which has a test of its own.
bool divides(MapFn fn) {
  return fn == MapFn::floor_divide || fn == MapFn::trunc_divide || fn == MapFn::remainder ||
         fn == MapFn::fmod;
}

LoopNest nest_of(MapFn fn, DType compute, const std::vector<Operand>& operands,
                 const MapParams& params, int outer_dims) {
  const MapInfo& info = kernels::map_info(fn);
  LoopNest nest;
  nest.operands = operands;
  nest.n_inputs = info.arity;
  nest.outer_dims = outer_dims;
  std::vector<int16_t> loads;
  for (int k = 0; k < info.arity; ++k) {
    const bool mask = info.kind == MapKind::pick && k == 0;
    loads.push_back(load(nest, k, mask ? LaneType::mask : lane_type(compute)));
  }
  nest.stores = {kernels::record_formula(fn, lane_type(compute), loads, params, nest.program)};
  return nest;
}

void check(MapFn fn, DType compute, DType stored, bool every_length) {
  const MapInfo& info = kernels::map_info(fn);
  const MapParams params = {fn == MapFn::polygamma ? 2.0 : 0.75, 1.5, 0.25};
  std::vector<Operand> operands;
  for (int k = 0; k < info.arity; ++k)
    operands.push_back({info.kind == MapKind::pick && k == 0 ? kBool : stored, Along::unit});
  operands.push_back({info.kind == MapKind::truth ? kBool : stored, Along::unit});
  const LoopNest nest = nest_of(fn, compute, operands, params, 0);
  const LoopFunction f = function_of(nest);
  ASSERT_NE(f, nullptr);
  std::vector<int64_t> lengths = {1, 7, 67};
  if (every_length) {
    lengths.clear();
    for (int64_t n = 1; n <= 70; ++n) lengths.push_back(n);
    lengths.push_back(1000);
  }
  for (const int64_t n : lengths) {
    Call call;
    std::vector<Buffer> in;
    std::vector<Array> arrays;
    const int64_t one = 1;
    for (int k = 0; k < info.arity; ++k)
      in.emplace_back(operands[static_cast<size_t>(k)].dtype,
                      numbers(!is_floating(stored), !(divides(fn) && k == 1), n,
                              static_cast<unsigned>(n * 7 + k)));
    for (Buffer& b : in) {
      arrays.push_back({b.bytes.data(), &n, &one, n, 1, b.dtype, true});
      call.data.push_back(b.bytes.data());
      call.strides.push_back(1);
    }
    // One element more shows who writes beyond the end.
    Buffer want(operands.back().dtype, n + 1), got(operands.back().dtype, n + 1);
    kernels::map(fn, arrays.data(), info.arity,
                 {want.bytes.data(), &n, &one, n, 1, want.dtype, true}, compute, params);
    call.data.push_back(got.bytes.data());
    call.strides.push_back(1);
    call.extents = {n};
    // In two parts, as threads would do it.
    call.run(f, nest, 0, n / 3);
    call.run(f, nest, n / 3, n);
    const int64_t at = first_difference(got, want);
    ASSERT_EQ(at, -1) << info.name << " of " << name_of(stored) << " computed in "
                      << name_of(compute) << ", length " << n << ", of " << number_at(in[0], at)
                      << " and " << number_at(in.back(), at) << ": got " << number_at(got, at)
                      << ", want " << number_at(want, at) << "\n"
                      << nest.str();
  }
}

class EveryFunction : public testing::TestWithParam<int> {};

TEST_P(EveryFunction, EqualsTheEagerKernel) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  const MapFn fn = static_cast<MapFn>(GetParam());
  for (const DType compute : {kFloat, kDouble, kLong}) {
    if (!kernels::has_formula(fn, lane_type(compute))) continue;
    check(fn, compute, compute, compute == kFloat);
    if (compute == kFloat) {
      check(fn, compute, kHalf, false);
      check(fn, compute, kBFloat16, false);
    }
    if (compute == kLong)
      for (const DType t : {kInt, kShort, kChar, kByte}) check(fn, compute, t, false);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryFunction, testing::Range(1, kernels::kNumMapFns),
                         [](const testing::TestParamInfo<int>& i) {
                           return std::string(kernels::map_name(static_cast<MapFn>(i.param)));
                         });

TEST(Map, ConvertsBetweenAllDTypes) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  const DType all[] = {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16};
  const std::vector<double> values = {0,     -0.0, 1,     -1,    0.4,   2.5,   127,   128,  255,
                                      256,   -129, 3e4,   70000, -7e4,  2e9,   3e9,   -3e9, 1e19,
                                      -1e19, kInf, -kInf, kNaN,  1e-42, 65519, 65520, 1e-8, 6e-8};
  const auto n = static_cast<int64_t>(values.size());
  for (const DType from : all) {
    for (const DType to : all) {
      LoopNest nest;
      nest.operands = {{from, Along::unit}, {to, Along::unit}};
      nest.n_inputs = 1;
      nest.outer_dims = 0;
      nest.stores = {load(nest, 0, lane_type(from))};
      const LoopFunction f = function_of(nest);
      Buffer in(from, values), got(to, n), want(to, n);
      kernels::convert(from, in.bytes.data(), to, want.bytes.data(), n);
      Call call;
      call.data = {in.bytes.data(), got.bytes.data()};
      call.strides = {1, 1};
      call.extents = {n};
      call.run(f, nest, 0, n);
      const int64_t at = first_difference(got, want);
      EXPECT_EQ(at, -1) << name_of(from) << " to " << name_of(to) << " of " << number_at(in, at)
                        << ": got " << number_at(got, at) << ", want " << number_at(want, at);
    }
  }
}

TEST(Map, DivisionByZeroThrowsThroughGeneratedCode) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  LoopNest nest =
      nest_of(MapFn::floor_divide, kLong,
              {{kLong, Along::unit}, {kLong, Along::unit}, {kLong, Along::unit}}, {1, 1, 1}, 0);
  const LoopFunction f = function_of(nest);
  Buffer a(kLong, std::vector<double>(9, 7)), b(kLong, {1, 2, 3, 4, 5, 6, 7, 8, 9}), c(kLong, 9);
  Call call;
  call.data = {a.bytes.data(), b.bytes.data(), c.bytes.data()};
  call.strides = {1, 1, 1};
  call.extents = {9};
  // The lanes behind the ninth element hold zeros, which nobody divides by.
  EXPECT_NO_THROW(call.run(f, nest, 0, 9));
  b.as<int64_t>()[8] = 0;
  EXPECT_THROW(call.run(f, nest, 0, 9), Error);
}

}  // namespace
}  // namespace tandem::jit::test
