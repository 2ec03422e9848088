// vmap against a loop over the samples, for every row of the op table: each subset of the inputs is
// batched in turn, values and gradients are compared.
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "tandem/compile/vmap.h"
#include "tests/ops/op_gradients.h"
#include "tests/ops/row_param.h"

namespace tandem::table {
namespace {

constexpr int64_t kSamples = 3;

// Functions that look at values to find a shape or to check them; vmap must refuse these by name.
const std::set<std::string> kLooking = {};
// Ops that have no rule for all samples at once; those of blocked layouts only passes make.
const std::set<std::string> kOneByOne = {"histc",
                                         "while_loop_gradient",
                                         "while_loop_gradient_gradient",
                                         "to_blocked_weight",
                                         "from_blocked_weight",
                                         "blocked_convolution",
                                         "blocked_convolution_add",
                                         "blocked_convolution_input",
                                         "blocked_convolution_weight"};

class OpVmap : public testing::TestWithParam<const Row*> {
 protected:
  const Row& row() const { return *GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(All, OpVmap, testing::ValuesIn(row_pointers()), test_name);

// One call of a row with some inputs batched.
struct Case {
  const Row& row;
  const Sample& sample;
  std::vector<List> inputs;  // by sample
  uint32_t batched;          // by input

  bool is_batched(size_t i) const { return batched >> i & 1; }
  const Tensor& input(size_t k, size_t i) const { return inputs[is_batched(i) ? k : 0][i]; }

  List loop(size_t k) const {
    List in;
    for (size_t i = 0; i < inputs[0].size(); ++i) in.push_back(input(k, i));
    return run(row, sample, in);
  }
  // The samples of input i, along dimension 0, or the one it has.
  Tensor joined(size_t i) const {
    if (!is_batched(i)) return inputs[0][i];
    List parts;
    for (const List& in : inputs) parts.push_back(in[i]);
    return stack(parts);
  }
  List together(const List& args, const InDims& dims) const {
    if (row.random) manual_seed(7);
    return vmap([&](const List& a) { return fn_of(row, sample)(a); }, dims)(args);
  }
};

std::vector<List> make_samples(const Row& row, const Sample& s, DType t) {
  std::vector<List> all;
  for (int64_t k = 0; k < kSamples; ++k) {
    Row other;
    other.name = row.name + std::string(static_cast<size_t>(k), '#');
    all.push_back(make_inputs(other, s, t));
  }
  return all;
}

// All subsets of few inputs; of many each alone and all together.
std::vector<uint32_t> subsets(size_t n) {
  std::vector<uint32_t> masks;
  const uint32_t all = (1u << n) - 1;
  if (n <= 3) {
    for (uint32_t m = 1; m <= all; ++m) masks.push_back(m);
  } else {
    for (size_t i = 0; i < n; ++i) masks.push_back(1u << i);
    masks.push_back(all);
  }
  return masks;
}

void check_values(const Case& c, DType t) {
  std::vector<List> expected(1);
  for (size_t k = 0; k < kSamples; ++k) {
    const List one = c.loop(k);
    expected.resize(one.size());
    for (size_t o = 0; o < one.size(); ++o) expected[o].push_back(one[o]);
  }
  List args;
  InDims dims;
  for (size_t i = 0; i < c.inputs[0].size(); ++i) {
    args.push_back(c.joined(i));
    dims.push_back(none);
    if (!c.is_batched(i)) continue;
    // Where there is more than one place for the samples, not always the first.
    dims.back() = i % 2 == 1 || args[i].dim() < 2 ? 0 : 1;
    if (*dims.back() == 1) args[i] = args[i].movedim(0, 1).contiguous();
  }
  List got;
  try {
    got = c.together(args, dims);
  } catch (const Error& e) {
    const bool looks = kLooking.contains(c.row.name) || c.row.dynamic;
    EXPECT_TRUE(looks && std::string(e.what()).find("cannot be looked at") != std::string::npos)
        << "threw: " << e.what();
    return;
  }
  ASSERT_EQ(got.size(), expected.size());
  for (size_t o = 0; o < got.size(); ++o) {
    const Tensor wanted = stack(expected[o]);
    ASSERT_EQ(got[o].sizes(), wanted.sizes()) << "result " << o;
    ASSERT_EQ(got[o].dtype(), wanted.dtype()) << "result " << o;
    if (c.row.random || c.row.unwritten) continue;
    const DType r = wanted.dtype();
    const double tolerance = t == kFloat || r == kFloat ? c.row.tolerance32 : c.row.tolerance64;
    EXPECT_EQ(compare(got[o], read(wanted), tolerance), "")
        << "result " << o << " of" << describe(args);
  }
}

void expect_same_batch(const List& got, const List& wanted, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(compare(got[i].detach(), read(wanted[i].detach()), tolerance), "") << what << i;
}

void check_gradients(Case c) {
  List sources;
  for (List& in : c.inputs)
    for (size_t i = 0; i < in.size(); ++i)
      if (c.sample.inputs[i].kind == Input::kReal) sources.push_back(in[i].requires_grad_());
  const bool twice = c.row.grad == Grad::kTwice;
  // The same weights for all samples.
  const List weights = some_weights(floating_only(c.loop(0)));
  List wanted;
  for (size_t k = 0; k < kSamples; ++k) {
    const List grads = gradients(floating_only(c.loop(k)), sources, weights, twice);
    for (size_t i = 0; i < grads.size(); ++i) {
      if (k == 0) wanted.push_back(grads[i]);
      if (k != 0) wanted[i] = wanted[i] + grads[i];
    }
  }
  List args;
  InDims dims;
  for (size_t i = 0; i < c.inputs[0].size(); ++i) {
    args.push_back(c.joined(i));
    dims.push_back(none);
    if (c.is_batched(i)) dims.back() = 0;
  }
  const List together = floating_only(c.together(args, dims));
  List repeated;
  for (size_t o = 0; o < together.size(); ++o)
    repeated.push_back(weights[o].expand(together[o].sizes()));
  const List got = gradients(together, sources, repeated, twice);
  const double tolerance = std::max(1e-9, c.row.tolerance64);
  expect_same_batch(got, wanted, tolerance, "gradient ");
  if (!twice) return;
  const List again = some_weights(wanted);
  expect_same_batch(gradients(got, sources, again, false), gradients(wanted, sources, again, false),
                    10 * tolerance, "second gradient ");
}

TEST_P(OpVmap, EqualsALoopOverTheSamples) {
  for (const Sample& s : row().samples) {
    if (s.big || s.inputs.empty()) continue;
    for (DType t : {kDouble, kFloat, kLong, kBool}) {
      if (!supports(row(), s, t)) continue;
      const std::vector<List> inputs = make_samples(row(), s, t);
      for (uint32_t mask : subsets(s.inputs.size())) {
        SCOPED_TRACE(str(row().name, ", sample '", s.label, "', ", tandem::name_of(t),
                         ", batched inputs ", mask));
        try {
          check_values({row(), s, inputs, mask}, t);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "threw: " << e.what();
        }
        if (HasFailure()) return;
      }
    }
  }
  for (const std::string& op : vmap_fallbacks())
    EXPECT_TRUE(kOneByOne.contains(op)) << op << " ran one sample after the other";
}

TEST_P(OpVmap, GradientEqualsThatOfALoop) {
  if (row().grad == Grad::kNo || row().random || kLooking.contains(row().name) || row().dynamic)
    return;
  for (const Sample& s : row().samples) {
    if (s.big || s.inputs.empty() || !s.grad || !supports(row(), s, kDouble)) continue;
    for (uint32_t mask : subsets(s.inputs.size())) {
      SCOPED_TRACE(str(row().name, ", sample '", s.label, "', batched inputs ", mask));
      try {
        check_gradients({row(), s, make_samples(row(), s, kDouble), mask});
      } catch (const std::exception& e) {
        ADD_FAILURE() << "threw: " << e.what();
      }
      if (HasFailure()) return;
    }
  }
}

TEST(OpVmapAsAWhole, EveryOpHasARule) {
  // These take no tensor that could be batched.
  const std::set<std::string> sources = {"full",         "arange", "eye",
                                         "tril_indices", "input",  "constant"};
  for (const OpDef* op : all_ops()) {
    if (op->map != MapFn{0} || op->dynamic || sources.contains(op->name)) continue;
    if (kOneByOne.contains(op->name)) continue;
    EXPECT_NE(op->batch, nullptr) << "op '" << op->name << "' has no batching rule";
  }
}

}  // namespace
}  // namespace tandem::table
