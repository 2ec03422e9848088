// The checks that every row of the op table goes through, one test for each kind of check and row.
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "tandem/autograd/gradcheck.h"
#include "tandem/base/deterministic.h"
#include "tandem/base/parallel.h"
#include "tandem/core/apply.h"
#include "tandem/core/graph.h"
#include "tests/blocked.h"
#include "tests/ops/op_gradients.h"
#include "tests/ops/row_param.h"

namespace tandem::table {
namespace {

constexpr DType kDTypes[] = {kByte, kChar,  kShort,  kInt,  kLong,
                             kHalf, kFloat, kDouble, kBool, kBFloat16};
constexpr Layout kOtherLayouts[] = {Layout::kStrided, Layout::kTransposed};

std::string trace(const Row& row, const Sample& s, DType t) {
  return str(row.name, ", sample '", s.label, "', ", tandem::name_of(t));
}

class OpTable : public testing::TestWithParam<const Row*> {
 protected:
  const Row& row() const { return *GetParam(); }

  // Calls check(sample, dtype) for each combination that the row supports.
  template <class F>
  void for_samples(const F& check, uint32_t dtypes = kEvery, bool big = false) {
    for (const Sample& s : row().samples) {
      if (s.big && !big) continue;
      for (DType t : kDTypes) {
        if (!(dtypes & bit(t)) || !supports(row(), s, t)) continue;
        SCOPED_TRACE(trace(row(), s, t));
        try {
          check(s, t);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "threw: " << e.what();
        }
        if (HasFailure()) return;  // one report a row says enough
      }
    }
  }
  double tolerance(DType inputs, DType result) const {
    const auto of = [&](DType t) {
      return t == kHalf       ? 2e-3
             : t == kBFloat16 ? 1.6e-2
             : t == kFloat    ? row().tolerance32
                              : row().tolerance64;
    };
    return std::max(of(inputs), of(result));
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpTable, testing::ValuesIn(row_pointers()), test_name);

List require_grad(const Sample& s, List inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (s.inputs[i].kind == Input::kReal) inputs[i].requires_grad_();
  return inputs;
}

std::vector<std::string> all_bytes(const List& tensors) {
  std::vector<std::string> r;
  for (const Tensor& t : tensors) r.push_back(t.defined() ? bytes_of(t) : "undefined");
  return r;
}

// -- values
// -----------------------------------------------------------------------------------------

TEST_P(OpTable, EqualsNaiveReference) {
  for_samples(
      [&](const Sample& s, DType t) {
        if (!reference_of(row(), s) || (s.big && t != kFloat)) return;
        const List results = run(row(), s, make_inputs(row(), s, t));
        const ValuesList expected = reference_of(row(), s)(make_values(row(), s, t));
        ASSERT_EQ(results.size(), expected.size());
        for (size_t k = 0; k < results.size(); ++k)
          EXPECT_EQ(compare(results[k], expected[k], tolerance(t, results[k].dtype())), "")
              << "result " << k << " of inputs" << describe(make_inputs(row(), s, t));
      },
      kEvery, true);
}

TEST_P(OpTable, ResultsHaveTheRightDType) {
  for_samples([&](const Sample& s, DType t) {
    if (row().out == Out::kUnchecked) return;
    DType wanted = t;
    if (row().out == Out::kBool) wanted = kBool;
    if (row().out == Out::kLong) wanted = kLong;
    if (row().out == Out::kFloat && !is_floating(t)) wanted = kFloat;
    if (row().out == Out::kSum && !is_floating(t)) wanted = kLong;
    for (const Tensor& r : run(row(), s, make_inputs(row(), s, t))) EXPECT_EQ(r.dtype(), wanted);
  });
}

TEST_P(OpTable, SixteenBitFloatsAreRoundedFloat32) {
  if (row().unwritten || row().random || row().tolerance16 < 0) return;
  for_samples(
      [&](const Sample& s, DType t) {
        const ValuesList values = make_values(row(), s, t);
        List wide;
        for (size_t i = 0; i < values.size(); ++i)
          wide.push_back(make_tensor(values[i], s.inputs[i].dtype_for(kFloat)));
        const List got = run(row(), s, make_inputs(row(), s, t)), exact = run(row(), s, wide);
        ASSERT_EQ(got.size(), exact.size());
        for (size_t k = 0; k < got.size(); ++k)
          EXPECT_EQ(compare(got[k], read(exact[k]), row().tolerance16), "")
              << "result " << k << " of inputs" << describe(make_inputs(row(), s, t));
      },
      kSixteenBit);
}

TEST_P(OpTable, OtherDTypesAreRefusedByName) {
  if (!row().refuses_others || row().samples.empty()) return;
  const Sample& s = row().samples[0];
  for (DType t : kDTypes) {
    if (row().dtypes & bit(t)) continue;
    SCOPED_TRACE(trace(row(), s, t));
    try {
      run(row(), s, make_inputs(row(), s, t));
      ADD_FAILURE() << "accepts " << tandem::name_of(t);
    } catch (const Error& e) {
      const std::string what = e.what();
      bool named = what.find(row().name.substr(0, row().name.find(' '))) != std::string::npos;
      for (const std::string& op : row().ops) named |= what.find(op) != std::string::npos;
      EXPECT_TRUE(named) << "the error does not name the function: " << what;
    }
  }
}

// An undefined tensor is an argument left out where there may be none, and an error elsewhere.
TEST_P(OpTable, UndefinedInputsDoNoHarm) {
  for (const Sample& s : row().samples) {
    if (s.big) continue;
    const List inputs = make_inputs(row(), s, kFloat);
    for (size_t i = 0; i < inputs.size(); ++i) {
      List some = inputs;
      some[i] = Tensor();
      SCOPED_TRACE(str(row().name, " ", s.label, " without input ", i));
      try {
        run(row(), s, some);
      } catch (const Error& e) {
        EXPECT_FALSE(std::string(e.what()).empty());
      }
    }
  }
}

// -- layouts
// ----------------------------------------------------------------------------------------

TEST_P(OpTable, AnyLayoutGivesTheSameBits) {
  if (row().contiguous_only || row().unwritten) return;
  for_samples(
      [&](const Sample& s, DType t) {
        const ValuesList values = make_values(row(), s, t);
        const List plain = run(row(), s, make_inputs(row(), s, t));
        const auto check = [&](const List& inputs, const std::string& what) {
          const List got = run(row(), s, inputs);
          ASSERT_EQ(got.size(), plain.size()) << what;
          for (size_t k = 0; k < got.size(); ++k) {
            if (row().tolerance_layout > 0) {
              EXPECT_EQ(compare(got[k], read(plain[k]), row().tolerance_layout), "") << what;
              continue;
            }
            EXPECT_EQ(got[k].sizes(), plain[k].sizes()) << what;
            EXPECT_TRUE(bytes_of(got[k]) == bytes_of(plain[k]))
                << what << ": result " << k << " is" << describe({got[k]}) << " instead of"
                << describe({plain[k]}) << " for" << describe(inputs);
          }
          for (const Tensor& x : inputs) EXPECT_TRUE(gaps_intact(x)) << what;
        };
        for (Layout l : kOtherLayouts) {
          check(make_inputs(row(), s, t, l), str("all inputs ", name_of(l)));
          if (values.size() < 2) continue;
          for (size_t i = 0; i < values.size(); ++i) {
            List inputs = make_inputs(row(), s, t);
            inputs[i] = make_tensor(values[i], s.inputs[i].dtype_for(t), l);
            check(inputs, str("input ", i, " ", name_of(l)));
          }
        }
      },
      bit(kFloat) | bit(kDouble) | bit(kInt) | bit(kHalf) | bit(kBool));
}

// An input whose first row stands for all of them, once in memory, against the same written out.
TEST_P(OpTable, ExpandedInputsEqualTheirCopies) {
  if (row().contiguous_only || row().unwritten) return;
  for_samples(
      [&](const Sample& s, DType t) {
        ValuesList values = make_values(row(), s, t);
        for (size_t i = 0; i < values.size(); ++i) {
          Values& v = values[i];
          if (v.sizes.empty() || count(v.sizes) == 0 || v.sizes[0] == 1) continue;
          if (s.inputs[i].all_different) continue;  // ties would be a question of their own
          const int64_t row_size = v.numel() / v.sizes[0];
          Sizes one = v.sizes;
          one[0] = 1;
          const Values first{one, {v.v.begin(), v.v.begin() + row_size}};
          List inputs = make_inputs(row(), s, t), copied = inputs;
          inputs[i] = make_tensor(first, s.inputs[i].dtype_for(t)).expand(v.sizes);
          copied[i] = make_tensor(expand_to(first, v.sizes), s.inputs[i].dtype_for(t));
          List expected, got;
          try {
            expected = run(row(), s, copied);
          } catch (const Error&) {
            continue;  // a singular matrix, say: equal rows do not suit this function
          }
          got = run(row(), s, inputs);
          ASSERT_EQ(got.size(), expected.size());
          for (size_t k = 0; k < got.size(); ++k) {
            if (row().tolerance_layout > 0) {
              EXPECT_EQ(compare(got[k], read(expected[k]), row().tolerance_layout), "");
              continue;
            }
            EXPECT_TRUE(bytes_of(got[k]) == bytes_of(expected[k]))
                << "result " << k << " with input " << i << " expanded is" << describe({got[k]})
                << " instead of" << describe({expected[k]});
          }
        }
      },
      bit(kFloat) | bit(kLong));
}

// -- the meta device
// ----------------------------------------------------------------------------------

TEST_P(OpTable, MetaDeviceInfersTheSameTypes) {
  for_samples([&](const Sample& s, DType t) {
    const List inputs = make_inputs(row(), s, t);
    List meta;
    for (const Tensor& x : inputs) meta.push_back(empty(x.sizes(), x.options().device(kMeta)));
    if (row().dynamic) {
      EXPECT_THROW(run(row(), s, meta), Error);
      return;
    }
    const List results = run(row(), s, inputs), inferred = run(row(), s, meta);
    ASSERT_EQ(results.size(), inferred.size());
    for (size_t k = 0; k < results.size(); ++k) {
      EXPECT_EQ(results[k].sizes(), inferred[k].sizes());
      EXPECT_EQ(results[k].dtype(), inferred[k].dtype());
      EXPECT_TRUE(inputs.empty() || inferred[k].is_meta());
    }
  });
}

// -- threads
// ------------------------------------------------------------------------------------------

TEST_P(OpTable, OneThreadEqualsTwo) {
  if (row().unwritten) return;
  struct Restore {
    int threads = get_num_threads();
    bool deterministic = deterministic_algorithms();
    ~Restore() {
      set_num_threads(threads);
      use_deterministic_algorithms(deterministic);
    }
  } restore;
  use_deterministic_algorithms(true);
  for_samples(
      [&](const Sample& s, DType t) {
        const auto both = [&](int threads) {
          set_num_threads(threads);
          List inputs = make_inputs(row(), s, t);
          const bool grad = s.grad && row().grad != Grad::kNo && is_floating(t);
          if (grad) inputs = require_grad(s, inputs);
          List results = run(row(), s, inputs);
          if (grad) {
            const List from = floating_only(results);
            for (Tensor& g : gradients(from, inputs, some_weights(from), false))
              results.push_back(g);
          }
          return all_bytes(results);
        };
        EXPECT_TRUE(both(1) == both(2));
      },
      bit(kFloat) | bit(kDouble) | bit(kLong) | bit(kBFloat16), true);
}

// -- in place
// -------------------------------------------------------------------------------------------

TEST_P(OpTable, InPlaceEqualsOutOfPlace) {
  for_samples([&](const Sample& s, DType t) {
    const InPlace inplace = inplace_of(row(), s);
    if (!inplace) return;
    const auto seeded = [&](List& a) {
      if (row().random) manual_seed(7);
      inplace(a);
    };
    const Tensor wanted = run(row(), s, make_inputs(row(), s, t)).at(0);
    for (Layout l : {Layout::kContiguous, Layout::kStrided, Layout::kTransposed}) {
      List a = make_inputs(row(), s, t);
      a[0] = make_tensor(make_values(row(), s, t)[0], a[0].dtype(), l);
      const Tensor self = a[0];
      const std::string before = bytes_of(self);
      const int64_t version = self._version();
      const bool fits = wanted.sizes() == self.sizes() && can_cast(wanted.dtype(), self.dtype());
      if (!fits) {
        EXPECT_THROW(seeded(a), Error)
            << "a result of " << wanted.type_of() << " was written into " << self.type_of();
        EXPECT_EQ(bytes_of(self), before) << "a refused call left something behind";
        continue;
      }
      seeded(a);
      EXPECT_TRUE(a[0].is_same(self));
      EXPECT_EQ(self._version(), version + 1);
      Tensor converted = make_tensor(read(wanted), self.dtype());
      EXPECT_TRUE(bytes_of(self) == bytes_of(converted))
          << "in place, " << name_of(l) << ":" << describe({self}) << " instead of"
          << describe({converted}) << " for" << describe(make_inputs(row(), s, t));
      EXPECT_TRUE(gaps_intact(self)) << name_of(l) << ": wrote between the elements";
    }
  });
}

// The gradient through the in-place form, on a whole tensor and on a row of one.
TEST_P(OpTable, InPlaceGradientEqualsOutOfPlace) {
  if (row().grad == Grad::kNo) return;
  for_samples(
      [&](const Sample& s, DType t) {
        const InPlace inplace = inplace_of(row(), s);
        if (!inplace || !s.grad) return;
        const List inputs = require_grad(s, make_inputs(row(), s, t));
        const List plain = run(row(), s, inputs);
        if (plain[0].sizes() != inputs[0].sizes() || plain[0].dtype() != t) return;
        const List weights = some_weights({plain[0]});
        const auto expected = all_bytes(gradients({plain[0]}, inputs, weights, false));

        List a = inputs;
        a[0] = inputs[0].clone();
        if (row().random) manual_seed(7);
        inplace(a);
        EXPECT_TRUE(all_bytes(gradients({a[0]}, inputs, weights, false)) == expected)
            << describe(gradients({a[0]}, inputs, weights, false)) << " instead of"
            << describe(gradients({plain[0]}, inputs, weights, false));

        Sizes two = inputs[0].sizes().vec();
        two.insert(two.begin(), 2);
        List b = inputs;
        const Tensor base = inputs[0].unsqueeze(0).expand(two).clone();
        b[0] = base.select(0, 1);
        if (row().random) manual_seed(7);
        inplace(b);
        EXPECT_TRUE(bytes_of(base.select(0, 1)) == bytes_of(plain[0]));
        EXPECT_TRUE(bytes_of(base.select(0, 0)) == bytes_of(inputs[0]));
        EXPECT_TRUE(all_bytes(gradients({base.select(0, 1)}, inputs, weights, false)) == expected)
            << "through a view of a larger tensor";
      },
      bit(kDouble));
}

// -- gradients
// --------------------------------------------------------------------------------------------

TEST_P(OpTable, GradientEqualsDifferences) {
  if (row().grad == Grad::kNo) return;
  for_samples(
      [&](const Sample& s, DType t) {
        if (!s.grad) return;
        const List inputs = require_grad(s, make_inputs(row(), s, t));
        SCOPED_TRACE("inputs" + describe(inputs));
        gradcheck([&](const List& a) { return run(row(), s, a); }, inputs, 1e-6,
                  row().grad_tolerance, row().grad_tolerance);
      },
      bit(kDouble));
}

TEST_P(OpTable, SecondGradientEqualsDifferences) {
  if (row().grad != Grad::kTwice) return;
  for_samples(
      [&](const Sample& s, DType t) {
        if (!s.grad) return;
        const List inputs = require_grad(s, make_inputs(row(), s, t));
        SCOPED_TRACE("inputs" + describe(inputs));
        gradgradcheck([&](const List& a) { return run(row(), s, a); }, inputs, {}, 1e-6,
                      row().grad_tolerance, row().grad_tolerance);
      },
      bit(kDouble));
}

TEST_P(OpTable, RequiresGradPropagates) {
  for_samples(
      [&](const Sample& s, DType t) {
        bool any = false;
        for (const Input& i : s.inputs) any |= i.kind == Input::kReal;
        for (const Tensor& r : run(row(), s, make_inputs(row(), s, t)))
          EXPECT_FALSE(r.requires_grad()) << "nothing requires a gradient";
        const List inputs = require_grad(s, make_inputs(row(), s, t));
        const List results = run(row(), s, inputs);
        bool some = false;
        for (const Tensor& r : results) {
          some |= r.requires_grad();
          EXPECT_EQ(r.requires_grad(), r.grad_fn() != nullptr);
          EXPECT_TRUE(is_floating(r.dtype()) || !r.requires_grad());
        }
        if (s.grad || row().grad == Grad::kNo) {
          EXPECT_EQ(some, any && row().grad != Grad::kNo);
        }
        NoGradGuard guard;
        for (const Tensor& r : run(row(), s, inputs)) EXPECT_EQ(r.grad_fn(), nullptr);
      },
      bit(kFloat));
}

TEST_P(OpTable, InputsAreNotModified) {
  for_samples(
      [&](const Sample& s, DType t) {
        const List inputs = make_inputs(row(), s, t);
        const auto before = all_bytes(inputs);
        std::vector<int64_t> versions;
        for (const Tensor& x : inputs) versions.push_back(x._version());
        const List results = run(row(), s, inputs);
        EXPECT_TRUE(all_bytes(inputs) == before);
        for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(inputs[i]._version(), versions[i]);
      },
      bit(kFloat) | bit(kLong));
}

// -- which ops a row reaches
// --------------------------------------------------------------------------------

class Witness : public OpObserver {
 public:
  std::set<std::string> seen;
  void ran(const OpDef& op) override { seen.insert(op.name); }
};

void add_nodes(const List& results, std::set<std::string>& names) {
  for (const NodePtr& n : Graph::of(results).nodes) {
    names.insert(n->op->name);
    EXPECT_EQ(n->attr_type, n->op->attrs)
        << "op '" << n->op->name << "' is applied with other attributes than it declares";
  }
}

// Runs all samples forward, in place, backward and twice backward. Gives the ops that ran;
// `differentiated` receives those that stand in a record which a gradient check walks through.
std::set<std::string> reached(const Row& row, std::set<std::string>& differentiated) {
  Witness witness;
  for (const Sample& s : row.samples) {
    if (s.big) continue;
    for (DType t : {kDouble, kFloat, kLong, kBool}) {
      if (!supports(row, s, t)) continue;
      List inputs = make_inputs(row, s, t);
      const bool grad = is_floating(t) && s.grad && row.grad != Grad::kNo;
      if (grad) inputs = require_grad(s, inputs);
      const List results = floating_only(run(row, s, inputs));
      if (const InPlace inplace = inplace_of(row, s)) {
        List a = inputs;
        a[0] = inputs[0].clone();
        try {
          inplace(a);
          if (grad && t == kDouble) add_nodes({a[0]}, differentiated);
        } catch (const Error&) {
        }
      }
      if (!grad || t != kDouble) continue;
      add_nodes(results, differentiated);
      if (row.grad != Grad::kTwice) continue;
      List weights = some_weights(results);
      for (Tensor& w : weights) w.requires_grad_();
      const List grads = gradients(results, inputs, weights, true);
      add_nodes(grads, differentiated);
      gradients(grads, inputs, some_weights(grads), true);
    }
  }
  return witness.seen;
}

TEST_P(OpTable, ReachesItsOps) {
  // Rows without samples are those of blocked convolutions, where there are none; any other fails.
  if (row().samples.empty() && !test::convolutions_are_blocked())
    GTEST_SKIP() << "nothing is blocked on this machine, or in this build";
  std::set<std::string> differentiated;
  const std::set<std::string> seen = reached(row(), differentiated);
  for (const std::string& op : row().ops) {
    EXPECT_NE(find_op(op), nullptr) << "there is no op '" << op << "'";
    EXPECT_TRUE(seen.contains(op)) << row().name << " never runs op '" << op << "'";
  }
}

TEST(OpTableAsAWhole, EveryOpHasARow) {
  std::set<std::string> named;
  for (const Row& row : all_rows()) named.insert(row.ops.begin(), row.ops.end());
  for (const OpDef* op : all_ops())
    EXPECT_TRUE(named.contains(op->name))
        << "op '" << op->name << "' has no row in tests/ops/op_samples";
}

TEST(OpTableAsAWhole, EveryDifferentiableOpIsDifferentiated) {
  std::set<std::string> differentiated;
  for (const Row& row : all_rows()) reached(row, differentiated);
  for (const OpDef* op : all_ops()) {
    if (!op->vjp) continue;
    EXPECT_TRUE(differentiated.contains(op->name))
        << "the gradient of op '" << op->name << "' is not reached by any row";
  }
}

TEST(OpTableAsAWhole, NamesAreUniqueAndThereAreEnough) {
  std::set<std::string> names;
  for (const Row& row : all_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " has two rows";
    const bool elsewhere =
        row.name.starts_with("blocked_convolution") && !test::convolutions_are_blocked();
    EXPECT_EQ(row.samples.empty(), elsewhere) << row.name;
    std::set<std::string> labels;
    for (const Sample& s : row.samples)
      EXPECT_TRUE(labels.insert(s.label).second)
          << row.name << " has two samples '" << s.label << "'";
  }
  EXPECT_GE(names.size(), 150u);
}

}  // namespace
}  // namespace tandem::table
