// Compiled and lazy against eager, for every row of the op table: first while kernels are still
// being made, then as machine code; values, in-place forms and gradients. Equal bit for bit.
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/lazy.h"
#include "tandem/jit/kernel_cache.h"
#include "tests/ops/row_param.h"

namespace tandem::table {
namespace {

// Functions that look at values to find a shape or to check them: compile must refuse these.
const std::set<std::string> kLooking = {"bincount", "histc",        "repeat_interleave",
                                        "cov",      "tensor_split", "allclose",
                                        "equal",    "is_nonzero",   "corrcoef"};

class OpCompile : public testing::TestWithParam<const Row*> {
 protected:
  const Row& row() const { return *GetParam(); }

  // Calls check(sample, dtype) for the samples that can be compiled.
  template <class F>
  void each_sample(uint32_t dtypes, const F& check) {
    if (row().dynamic || row().unwritten) return;
    for (const Sample& s : row().samples) {
      if (s.big && s.label != "big") continue;
      for (DType t : {kFloat, kDouble, kHalf, kBFloat16, kLong, kInt, kByte, kBool}) {
        if (!(dtypes & bit(t)) || !supports(row(), s, t)) continue;
        SCOPED_TRACE(str(row().name, ", sample '", s.label, "', ", name_of(t)));
        try {
          check(s, t);
        } catch (const std::exception& e) {
          if (kLooking.contains(row().name) &&
              std::string(e.what()).find("recorded") != std::string::npos)
            return;
          ADD_FAILURE() << "threw: " << e.what();
        }
        if (HasFatalFailure()) return;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpCompile, testing::ValuesIn(row_pointers()), test_name);

void expect_same(const List& got, const List& expected, const char* how) {
  ASSERT_EQ(got.size(), expected.size()) << how;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].defined(), expected[i].defined()) << how << ", result " << i;
    if (!got[i].defined()) continue;
    ASSERT_EQ(str(got[i].type_of()), str(expected[i].type_of())) << how << ", result " << i;
    EXPECT_TRUE(bytes_of(got[i].detach()) == bytes_of(expected[i].detach()))
        << how << ", result " << i << ": " << describe({got[i].detach()}) << "\n instead of "
        << describe({expected[i].detach()});
  }
}

List seeded(const Row& row, const std::function<List(const List&)>& fn, const List& in) {
  if (row.random) manual_seed(7);
  return fn(in);
}

TEST_P(OpCompile, ResultsEqualEager) {
  each_sample(~0u, [&](const Sample& s, DType t) {
    const List in = make_inputs(row(), s, t);
    const auto fn = [&](const List& a) { return fn_of(row(), s)(a); };
    const List eager = seeded(row(), fn, in);
    const auto compiled = compile(fn);
    expect_same(seeded(row(), compiled, in), eager, "compiled, kernels being made");
    jit::wait_idle();
    expect_same(seeded(row(), compiled, in), eager, "compiled");
    // The same program for memory that lies otherwise.
    if (t == kFloat && !row().contiguous_only) {
      const List strided = make_inputs(row(), s, t, Layout::kStrided);
      expect_same(seeded(row(), compiled, strided), eager, "compiled, strided inputs");
    }
    List lazy;
    {
      const LazyGuard guard;
      lazy = seeded(row(), fn, in);
    }
    expect_same(lazy, eager, "lazy");
  });
}

TEST_P(OpCompile, InPlaceEqualsEager) {
  each_sample(bit(kFloat) | bit(kLong), [&](const Sample& s, DType t) {
    const InPlace inplace = inplace_of(row(), s);
    if (!inplace || s.no_inplace) return;
    const auto fn = [&](const List& a) {
      List copy = a;
      inplace(copy);
      return List{copy[0]};
    };
    List eager_in = make_inputs(row(), s, t), in = make_inputs(row(), s, t);
    try {
      seeded(row(), fn, eager_in);
    } catch (const Error&) {
      return;  // broadcasting beyond the tensor's own shape, for instance
    }
    seeded(row(), compile(fn), in);
    expect_same({in[0]}, {eager_in[0]}, "in place");
  });
}

TEST_P(OpCompile, GradientsEqualEager) {
  if (row().grad == Grad::kNo || row().random) return;
  each_sample(bit(kFloat) | bit(kDouble), [&](const Sample& s, DType t) {
    if (!s.grad || s.big) return;
    List in = make_inputs(row(), s, t);
    List targets;
    for (size_t i = 0; i < in.size(); ++i)
      if (s.inputs[i].kind == Input::kReal && is_floating(in[i].dtype()))
        targets.push_back(in[i].set_requires_grad(true));
    const auto fn = [&](const List& a) { return fn_of(row(), s)(a); };
    const auto gradients = [&](const List& outputs) {
      List of, ones;
      for (const Tensor& y : outputs) {
        if (!y.requires_grad()) continue;
        of.push_back(y);
        ones.push_back(ones_like(y) * 0.5);
      }
      if (of.empty() || targets.empty()) return List(targets.size());
      return autograd::grad(of, targets, ones, {}, false, /*allow_unused=*/true);
    };
    const List eager = gradients(fn(in));
    const auto compiled = compile(fn);
    for (const char* how : {"gradient of a compiled call", "gradient by machine code"}) {
      List got = gradients(compiled(in));
      // Where nothing flows, eager has no gradient; a choice made inside a graph has zeros.
      for (size_t i = 0; i < eager.size(); ++i)
        if (!eager[i].defined() && got[i].defined()) got[i] = Tensor();
      expect_same(got, eager, how);
      jit::wait_idle();
    }
  });
}

}  // namespace
}  // namespace tandem::table
