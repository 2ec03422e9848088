#include <cmath>
#include <limits>
#include <random>

#include "tandem/kernels/reduce.h"
#include "tests/jit/run_nest.h"

// Kernels that reduce rows or take them by strips, against the eager kernels they stand for.

namespace tandem::jit::test {
namespace {

std::vector<double> row_numbers(int64_t n, unsigned seed, double nan_every = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1.5);
  std::vector<double> result;
  for (int64_t i = 0; i < n; ++i) {
    double x = normal(random);
    if (nan_every > 0 && random() % static_cast<unsigned>(nan_every) == 0)
      x = std::numeric_limits<double>::quiet_NaN();
    if (random() % 50 == 0) x = random() % 2 == 0 ? 0.0 : -0.0;
    result.push_back(x);
  }
  return result;
}

// Eager kernels on buffers of [rows, columns]; a row value is [rows, 1].
struct Eager {
  int64_t rows, columns;

  Array array(Buffer& b, int64_t (&sizes)[2], int64_t (&strides)[2]) const {
    const int64_t across = b.size() / rows;
    sizes[0] = rows;
    sizes[1] = across;
    strides[0] = across;
    strides[1] = 1;
    return {b.bytes.data(), sizes, strides, b.size(), 2, b.dtype, true};
  }
  Buffer map(MapFn fn, std::vector<Buffer*> in, const kernels::MapParams& p = {1, 1, 1}) const {
    int64_t sizes[4][2], strides[4][2];
    std::vector<Array> arrays;
    int64_t across = 1;
    for (size_t k = 0; k < in.size(); ++k) {
      arrays.push_back(array(*in[k], sizes[k], strides[k]));
      across = std::max(across, sizes[k][1]);
    }
    Buffer out(in[0]->dtype, rows * across);
    kernels::map(fn, arrays.data(), static_cast<int>(in.size()), array(out, sizes[3], strides[3]),
                 in[0]->dtype, p);
    return out;
  }
  Buffer reduce(kernels::ReduceFn fn, Buffer& in) const {
    int64_t sizes[2][2], strides[2][2];
    Buffer out(in.dtype, rows);
    const bool dims[] = {false, true};
    kernels::reduce(fn, array(in, sizes[0], strides[0]), dims, array(out, sizes[1], strides[1]));
    return out;
  }
};

TEST(Rows, ReduceInTheOrderOfTheEagerKernel) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 70; ++n) lengths.push_back(n);
  for (const int64_t n : {127, 128, 129, 1000, 4095, 4096, 4097, 8192, 8200, 10000, 12289, 40000})
    lengths.push_back(n);
  const struct {
    Combining combine;
    kernels::ReduceFn fn;
  } kinds[] = {{Combining::sum, kernels::ReduceFn::Sum},
               {Combining::prod, kernels::ReduceFn::Prod},
               {Combining::max, kernels::ReduceFn::Max},
               {Combining::min, kernels::ReduceFn::Min}};
  for (const DType dtype : {kFloat, kDouble, kLong}) {
    for (const auto& kind : kinds) {
      for (const bool heavy : {false, true}) {
        if (heavy && dtype == kLong) continue;
        LoopNest nest;
        nest.operands = {{dtype, Along::unit}, {dtype, Along::still}};
        nest.n_inputs = 1;
        int16_t x = load(nest, 0, lane_type(dtype));
        // A long body keeps the strands in memory.
        if (heavy) x = apply(nest, MapFn::erf, {x}, {1, 1, 1}, lane_type(dtype));
        if (heavy) x = apply(nest, MapFn::tanh, {x}, {1, 1, 1}, lane_type(dtype));
        nest.stores = {reduce(nest, kind.combine, x)};
        const LoopFunction f = function_of(nest);
        for (const int64_t n : lengths) {
          const Eager eager = {3, n};
          Buffer in(dtype, row_numbers(3 * n, static_cast<unsigned>(n), n % 7 == 0 ? 20 : 0));
          Buffer before = in;
          if (heavy) before = eager.map(MapFn::erf, {&before});
          if (heavy) before = eager.map(MapFn::tanh, {&before});
          const Buffer want = eager.reduce(kind.fn, before);
          Buffer got(dtype, 3);
          Call call;
          call.data = {in.bytes.data(), got.bytes.data()};
          call.extents = {3, n};
          call.strides = {n, 1, 1, 0};
          call.run(f, nest, 0, 2);
          call.run(f, nest, 2, 3);
          const int64_t at = first_difference(got, want);
          ASSERT_EQ(at, -1) << name_of(dtype) << " " << static_cast<int>(kind.combine) << " length "
                            << n << (heavy ? " heavy" : "") << ": got " << number_at(got, at)
                            << ", want " << number_at(want, at);
        }
      }
    }
  }
}

// Runs a nest of inputs [rows, columns] (unit), [rows] (still) or one value (scalar), all float32.
void run(const LoopNest& nest, LoopFunction f, int64_t rows, int64_t columns,
         std::vector<Buffer>& buffers) {
  Call call;
  for (size_t k = 0; k < nest.operands.size(); ++k) {
    call.data.push_back(buffers[k].bytes.data());
    const Along along = nest.operands[k].along;
    call.strides.push_back(along == Along::unit ? columns : along == Along::still ? 1 : 0);
    call.strides.push_back(along == Along::unit ? 1 : 0);
  }
  call.extents = {rows, columns};
  call.run(f, nest, 0, rows);
}

TEST(Rows, SoftmaxIsThreePassesWithOneKeptRow) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  for (const bool logarithm : {false, true}) {
    LoopNest nest;
    nest.operands = {{kFloat, Along::unit}, {kFloat, Along::unit}};
    nest.n_inputs = 1;
    const int16_t x = load(nest, 0, LaneType::f32);
    const int16_t shifted = apply(nest, MapFn::sub, {x, reduce(nest, Combining::max, x)});
    const int16_t e = apply(nest, MapFn::exp, {shifted});
    const int16_t sum = reduce(nest, Combining::sum, e);
    nest.stores = {logarithm ? apply(nest, MapFn::sub, {shifted, apply(nest, MapFn::log, {sum})})
                             : apply(nest, MapFn::div, {e, sum})};
    const Schedule schedule(nest);
    EXPECT_EQ(schedule.passes.size(), 3u);
    EXPECT_EQ(schedule.scratch.size(), logarithm ? 0u : 1u);
    const LoopFunction f = function_of(nest);
    for (const int64_t n : {1, 2, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 100, 1000, 5000, 9001}) {
      const Eager eager = {4, n};
      Buffer in(kFloat, row_numbers(4 * n, static_cast<unsigned>(n)));
      Buffer top = eager.reduce(kernels::ReduceFn::Max, in);
      Buffer d = eager.map(MapFn::sub, {&in, &top});
      Buffer ex = eager.map(MapFn::exp, {&d});
      Buffer total = eager.reduce(kernels::ReduceFn::Sum, ex);
      Buffer log_total = eager.map(MapFn::log, {&total});
      const Buffer want = logarithm ? eager.map(MapFn::sub, {&d, &log_total})
                                    : eager.map(MapFn::div, {&ex, &total});
      std::vector<Buffer> buffers = {in, Buffer(kFloat, 4 * n)};
      run(nest, f, 4, n, buffers);
      EXPECT_EQ(first_difference(buffers[1], want), -1) << "length " << n;
      // Over its own input: nothing is written before everything was read.
      Call over;
      over.data = {in.bytes.data(), in.bytes.data()};
      over.extents = {4, n};
      over.strides = {n, 1, n, 1};
      over.run(f, nest, 0, 4);
      EXPECT_EQ(first_difference(in, want), -1) << "in place, length " << n;
    }
  }
}

TEST(Rows, LayerNormWithMeanAndScaleByRow) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  LoopNest nest;
  nest.operands = {{kFloat, Along::unit},  {kFloat, Along::still}, {kFloat, Along::scalar},
                   {kFloat, Along::still}, {kFloat, Along::unit},  {kFloat, Along::unit}};
  nest.n_inputs = 3;
  const int16_t x = load(nest, 0, LaneType::f32), by_row = load(nest, 1, LaneType::f32),
                eps = load(nest, 2, LaneType::f32);
  ScalarInstr columns{ScalarOp::columns, LaneType::f32};
  const int16_t count = kernels::record(columns, nest.program);
  const int16_t mean = apply(nest, MapFn::div, {reduce(nest, Combining::sum, x), count});
  const int16_t d = apply(nest, MapFn::sub, {x, mean});
  const int16_t var = apply(nest, MapFn::div,
                            {reduce(nest, Combining::sum, apply(nest, MapFn::square, {d})), count});
  const int16_t scale = apply(nest, MapFn::rsqrt, {apply(nest, MapFn::add, {var, eps})});
  const int16_t y = apply(nest, MapFn::mul, {apply(nest, MapFn::mul, {d, scale}), by_row});
  nest.stores = {mean, y, scale};
  const LoopFunction f = function_of(nest);
  for (const int64_t n : {1, 5, 10, 16, 17, 40, 768, 5000}) {
    const int64_t rows = 5;
    const Eager eager = {rows, n};
    Buffer in(kFloat, row_numbers(rows * n, static_cast<unsigned>(n) + 1));
    Buffer w(kFloat, row_numbers(rows, 3)), e(kFloat, std::vector<double>(1, 1e-5));
    Buffer e_rows(kFloat, std::vector<double>(static_cast<size_t>(rows), 1e-5));
    Buffer m = eager.reduce(kernels::ReduceFn::Mean, in);
    Buffer dev = eager.map(MapFn::sub, {&in, &m});
    Buffer squares = eager.map(MapFn::square, {&dev});
    Buffer v = eager.reduce(kernels::ReduceFn::Mean, squares);
    Buffer ve = eager.map(MapFn::add, {&v, &e_rows});
    Buffer s = eager.map(MapFn::rsqrt, {&ve});
    Buffer normal = eager.map(MapFn::mul, {&dev, &s});
    const Buffer want = eager.map(MapFn::mul, {&normal, &w});
    std::vector<Buffer> buffers = {
        in, w, e, Buffer(kFloat, rows), Buffer(kFloat, rows * n), Buffer(kFloat, rows * n)};
    run(nest, f, rows, n, buffers);
    EXPECT_EQ(first_difference(buffers[3], m), -1) << "mean, length " << n;
    EXPECT_EQ(first_difference(buffers[4], want), -1) << "result, length " << n;
    for (int64_t i = 0; i < rows * n; ++i)
      ASSERT_EQ(buffers[5].as<float>()[i], s.as<float>()[i / n]) << "scale, length " << n;
  }
}

TEST(Rows, OneHotByComparingTheColumn) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  // sum(select(column == index, x, 0)): a gather of one element a row.
  LoopNest nest;
  nest.operands = {{kFloat, Along::unit}, {kLong, Along::still}, {kFloat, Along::still}};
  nest.n_inputs = 2;
  const int16_t x = load(nest, 0, LaneType::f32), index = load(nest, 1, LaneType::i64);
  const int16_t column = kernels::record({ScalarOp::column, LaneType::i64}, nest.program);
  const int16_t hit = apply(nest, MapFn::eq, {column, index}, {}, LaneType::i64);
  const int16_t zero = kernels::record({ScalarOp::constant, LaneType::f32}, nest.program);
  nest.stores = {reduce(nest, Combining::sum, apply(nest, MapFn::where, {hit, x, zero}))};
  const LoopFunction f = function_of(nest);
  for (const int64_t n : {3, 10, 16, 50, 5000}) {
    const int64_t rows = 6;
    Buffer in(kFloat, row_numbers(rows * n, 9)), indices(kLong, rows);
    for (int64_t r = 0; r < rows; ++r) indices.as<int64_t>()[r] = r * 7919 % n;
    std::vector<Buffer> buffers = {in, indices, Buffer(kFloat, rows)};
    run(nest, f, rows, n, buffers);
    for (int64_t r = 0; r < rows; ++r)
      EXPECT_EQ(buffers[2].as<float>()[r], in.as<float>()[r * n + r * 7919 % n]) << n;
  }
}

// Broadcasts, transposes and steps in up to three outer dimensions, of several dtypes.
TEST(Rows, AnyStridesInAnyNumberOfDimensions) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  std::mt19937 random(4);
  const DType dtypes[] = {kFloat, kHalf, kBFloat16, kDouble, kInt, kByte, kBool, kShort};
  for (int round = 0; round < 60; ++round) {
    const int outer = static_cast<int>(random() % 4);
    LoopNest nest;
    nest.n_inputs = 3;
    nest.outer_dims = outer;
    for (int k = 0; k < 4; ++k) {
      const Along along =
          k == 3 ? (random() % 2 ? Along::unit : Along::strided) : static_cast<Along>(random() % 4);
      nest.operands.push_back({k == 3 ? dtypes[random() % 5] : dtypes[random() % 8], along});
    }
    const int16_t a = load(nest, 0, LaneType::f32), b = load(nest, 1, LaneType::f32),
                  c = load(nest, 2, LaneType::f32);
    const int16_t sum = apply(nest, MapFn::add, {a, apply(nest, MapFn::mul, {b, c})});
    nest.stores = {apply(nest, MapFn::maximum, {sum, a})};
    const LoopFunction f = function_of(nest);
    for (int size = 0; size < 4; ++size) {
      Call call;
      int64_t rows = 1;
      for (int d = 0; d < outer; ++d) {
        call.extents.push_back(1 + static_cast<int64_t>(random() % 4));
        rows *= call.extents.back();
      }
      const int64_t columns = 1 + static_cast<int64_t>(random() % 40);
      call.extents.push_back(columns);
      std::vector<Buffer> buffers;
      for (int k = 0; k < 4; ++k) {
        const Operand& o = nest.operands[static_cast<size_t>(k)];
        const bool fixed = o.along == Along::scalar;
        int64_t column_stride = o.along == Along::unit      ? 1
                                : o.along == Along::strided ? 1 + static_cast<int64_t>(random() % 3)
                                                            : 0;
        std::vector<int64_t> strides(static_cast<size_t>(outer) + 1, 0);
        strides.back() = column_stride;
        int64_t span = std::max<int64_t>(1, columns * column_stride);
        for (int d = outer - 1; d >= 0; --d) {
          // What is written is nowhere the same; what is read may stand still.
          if (k == 3 || (!fixed && random() % 3 != 0)) {
            strides[static_cast<size_t>(d)] = span;
            span *= call.extents[static_cast<size_t>(d)];
          }
        }
        call.strides.insert(call.strides.end(), strides.begin(), strides.end());
        buffers.emplace_back(o.dtype, k == 3 ? std::vector<double>(static_cast<size_t>(span), 7)
                                             : row_numbers(span, static_cast<unsigned>(k + round)));
      }
      for (Buffer& buffer : buffers) call.data.push_back(buffer.bytes.data());
      Buffer want = buffers[3];
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < columns; ++j) {
          float x[3];
          int64_t at = 0;
          for (int k = 0; k < 4; ++k) {
            const int64_t* strides = &call.strides[static_cast<size_t>(k * (outer + 1))];
            at = j * strides[outer];
            int64_t rest = r;
            for (int d = outer - 1; d >= 0; --d) {
              at += rest % call.extents[static_cast<size_t>(d)] * strides[d];
              rest /= call.extents[static_cast<size_t>(d)];
            }
            if (k < 3)
              kernels::convert(buffers[static_cast<size_t>(k)].dtype,
                               &buffers[static_cast<size_t>(k)]
                                    .bytes[static_cast<size_t>(at) *
                                           size_of(buffers[static_cast<size_t>(k)].dtype)],
                               kFloat, &x[k], 1);
          }
          const float product = x[1] * x[2], total = x[0] + product;
          const float y = total > x[0] ? total : x[0];
          kernels::convert(kFloat, &y, want.dtype,
                           &want.bytes[static_cast<size_t>(at) * size_of(want.dtype)], 1);
        }
      }
      if (outer == 0) {
        call.run(f, nest, 0, columns / 2);
        call.run(f, nest, columns / 2, columns);
      } else {
        call.run(f, nest, 0, rows / 2);
        call.run(f, nest, rows / 2, rows);
      }
      const int64_t at = first_difference(buffers[3], want);
      ASSERT_EQ(at, -1) << "columns " << columns << ", got " << number_at(buffers[3], at)
                        << ", want " << number_at(want, at) << "\n"
                        << nest.str();
    }
  }
}

TEST(Strips, ALongChainIsCutBetweenItsFunctions) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  // The second is longer in itself: log1p and erf compute in double, and in float64 all are calls.
  const std::vector<MapFn> short_ones = {MapFn::tanh, MapFn::sigmoid, MapFn::exp, MapFn::tanh},
                           long_ones = {MapFn::log1p, MapFn::erf, MapFn::sin, MapFn::tanh};
  const std::pair<DType, std::vector<MapFn>> cases[] = {
      {kFloat, short_ones}, {kFloat, long_ones}, {kDouble, short_ones}, {kDouble, long_ones}};
  for (const auto& [dtype, chain] : cases) {
    LoopNest nest;
    nest.operands = {{dtype, Along::unit}, {dtype, Along::unit}};
    nest.n_inputs = 1;
    nest.outer_dims = 0;
    int16_t y = load(nest, 0, lane_type(dtype));
    for (const MapFn fn : chain) y = apply(nest, fn, {y}, {1, 1, 1}, lane_type(dtype));
    nest.stores = {y};
    const Schedule schedule(nest);
    EXPECT_TRUE(schedule.strips);
    EXPECT_GE(schedule.passes.size(), 3u);
    if (dtype == kFloat && chain == short_ones) {
      EXPECT_EQ(schedule.passes.size(), chain.size());
      EXPECT_EQ(schedule.scratch.size(), chain.size() - 1) << "one value between two functions";
      EXPECT_EQ(schedule.slot_bytes, std::vector<int>{4}) << "all in one place";
    }
    EXPECT_EQ(schedule.scratch_per_column + schedule.scratch_fixed, 0u);
    const LoopFunction f = function_of(nest);
    for (const int64_t n : {1, 7, 8, 33, 255, 256, 257, 300, 512, 513, 1000, 2049}) {
      const Eager eager = {1, n};
      Buffer in(dtype, row_numbers(n, static_cast<unsigned>(n), 20));
      Buffer want = in;
      for (const MapFn fn : chain) want = eager.map(fn, {&want});
      // In two parts, as threads would do it, over its own input and with a guard behind it.
      for (const bool over : {false, true}) {
        Buffer source = in, out(dtype, n + 1);
        source.bytes.resize(out.bytes.size());
        Call call;
        call.data = {source.bytes.data(), over ? source.bytes.data() : out.bytes.data()};
        call.extents = {n};
        call.strides = {1, 1};
        call.run(f, nest, 0, n / 3);
        call.run(f, nest, n / 3, n);
        const Buffer& got = over ? source : out;
        Buffer guarded = want;
        guarded.bytes.resize(got.bytes.size());
        EXPECT_EQ(first_difference(got, guarded), -1)
            << name_of(dtype) << " length " << n << (over ? " in place" : "");
      }
    }
  }
}

// Values, a mask, a value by row and two results: what is needed later is kept, by rows of any
// stride.
TEST(Strips, KeepWhatLaterPassesNeed) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  LoopNest nest;
  nest.operands = {{kFloat, Along::unit},
                   {kFloat, Along::still},
                   {kFloat, Along::strided},
                   {kFloat, Along::unit},
                   {kFloat, Along::strided}};
  nest.n_inputs = 3;
  const int16_t x = load(nest, 0, LaneType::f32), by_row = load(nest, 1, LaneType::f32),
                z = load(nest, 2, LaneType::f32);
  const int16_t a = apply(nest, MapFn::tanh, {apply(nest, MapFn::mul, {x, by_row})});
  const int16_t b = apply(nest, MapFn::sigmoid, {apply(nest, MapFn::add, {x, z})});
  ScalarInstr greater{ScalarOp::gt, LaneType::mask};
  greater.a = a;
  greater.b = b;
  const int16_t mask = kernels::record(greater, nest.program);
  const int16_t c = apply(nest, MapFn::exp, {apply(nest, MapFn::sub, {a, b})});
  const int16_t d = apply(nest, MapFn::erf, {c}), e = apply(nest, MapFn::log, {c});
  ScalarInstr pick{ScalarOp::select, LaneType::f32};
  pick.a = mask;
  pick.b = d;
  pick.c = e;
  nest.stores = {kernels::record(pick, nest.program), a};
  const Schedule schedule(nest);
  EXPECT_TRUE(schedule.strips);
  EXPECT_GE(schedule.passes.size(), 3u);
  const LoopFunction f = function_of(nest);
  for (const int64_t n : {1, 9, 40, 256, 259, 700}) {
    const int64_t rows = 3;
    const Eager eager = {rows, n};
    Buffer bx(kFloat, row_numbers(rows * n, 1, 30)), by(kFloat, row_numbers(rows, 2)),
        bz(kFloat, row_numbers(rows * n, 3));
    Buffer xy = eager.map(MapFn::mul, {&bx, &by}), xz = eager.map(MapFn::add, {&bx, &bz});
    Buffer ba = eager.map(MapFn::tanh, {&xy}), bb = eager.map(MapFn::sigmoid, {&xz});
    Buffer ab = eager.map(MapFn::sub, {&ba, &bb});
    Buffer bc = eager.map(MapFn::exp, {&ab});
    Buffer want = eager.map(MapFn::erf, {&bc}), logs = eager.map(MapFn::log, {&bc});
    for (int64_t i = 0; i < rows * n; ++i)
      if (!(ba.as<float>()[i] > bb.as<float>()[i])) want.as<float>()[i] = logs.as<float>()[i];
    // z and the second result lie by columns.
    Buffer across(kFloat, rows * n), got(kFloat, rows * n), second(kFloat, rows * n);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < n; ++i) across.as<float>()[i * rows + r] = bz.as<float>()[r * n + i];
    Call call;
    call.data = {bx.bytes.data(), by.bytes.data(), across.bytes.data(), got.bytes.data(),
                 second.bytes.data()};
    call.extents = {rows, n};
    call.strides = {n, 1, 1, 0, 1, rows, n, 1, 1, rows};
    call.run(f, nest, 0, 1);
    call.run(f, nest, 1, rows);
    EXPECT_EQ(first_difference(got, want), -1) << "length " << n;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < n; ++i) across.as<float>()[i * rows + r] = ba.as<float>()[r * n + i];
    EXPECT_EQ(first_difference(second, across), -1) << "the second result, length " << n;
  }
}

}  // namespace
}  // namespace tandem::jit::test
