#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/core/graph.h"
#include "tandem/graph/cse.h"
#include "tandem/graph/dce.h"
#include "tandem/graph/fold.h"
#include "tandem/graph/pipeline.h"
#include "tandem/graph/simplify.h"
#include "tandem/graph/verify.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// What the pass makes of a program; what it leaves behind dead is dropped.
std::string after(Graph (*pass)(Graph), const std::string& before) {
  Graph g = dce(pass(Graph::parse(before)));
  verify(g, "test");
  return g.str();
}

const std::string kHead = "graph(%0, %1)\n%0 = input : float32 [3, 4]\n%1 = input : float32 [4]\n";

// -- dce ------------------------------------------------------------------------------------------

TEST(Dce, DropsWhatNobodyReadsAndKeepsInputs) {
  EXPECT_EQ(after(dce, kHead + "%2 = neg(%0) : float32 [3, 4]\n"
                               "%3 = exp(%2) : float32 [3, 4]\n"
                               "%4 = neg(%1) : float32 [4]\n"
                               "return %2\n"),
            kHead + "%2 = neg(%0) : float32 [3, 4]\nreturn %2\n");
}

TEST(Dce, WhatIsWrittenIsRead) {
  const std::string text = kHead + "%2 = neg(%0) : float32 [3, 4]\nreturn\nwrite %0 <- %2\n";
  EXPECT_EQ(after(dce, text), text);
}

// -- cse ------------------------------------------------------------------------------------------

TEST(Cse, ComputesEqualThingsOnce) {
  EXPECT_EQ(after(cse, kHead + "%2 = exp(%0) : float32 [3, 4]\n"
                               "%3 = exp(%0) : float32 [3, 4]\n"
                               "%4 = mul(%2, %1) : float32 [3, 4]\n"
                               "%5 = mul(%3, %1) : float32 [3, 4]\n"
                               "%6 = add(%4, %5) {a=1, b=0, c=0} : float32 [3, 4]\n"
                               "return %6\n"),
            kHead +
                "%2 = exp(%0) : float32 [3, 4]\n"
                "%3 = mul(%2, %1) : float32 [3, 4]\n"
                "%4 = add(%3, %3) {a=1, b=0, c=0} : float32 [3, 4]\n"
                "return %4\n");
}

TEST(Cse, AttributesThatDifferInABitDiffer) {
  const std::string text = kHead +
                           "%2 = add(%0, %1) {a=0, b=0, c=0} : float32 [3, 4]\n"
                           "%3 = add(%0, %1) {a=-0, b=0, c=0} : float32 [3, 4]\n"
                           "%4 = mul(%2, %3) : float32 [3, 4]\n"
                           "return %4\n";
  EXPECT_EQ(after(cse, text), text);
}

TEST(Cse, ResultsStayApart) {
  const std::string text = kHead +
                           "%2 = exp(%0) : float32 [3, 4]\n"
                           "%3 = exp(%0) : float32 [3, 4]\n"
                           "return %2, %3\n";
  EXPECT_EQ(after(cse, text), text);
}

TEST(Cse, NodesOfSeveralOutputs) {
  const std::string sort =
      "sort(%0) {dim=1, descending=true, k=-1} : float32 [3, 4], int64 [3, 4]\n";
  EXPECT_EQ(after(cse, kHead + "%2 = " + sort + "%3 = " + sort +
                           "%4 = mul(%2.0, %3.0) : float32 [3, 4]\n"
                           "%5 = neg(%3.1) : int64 [3, 4]\n"
                           "return %4, %5\n"),
            kHead + "%2 = " + sort +
                "%3 = mul(%2.0, %2.0) : float32 [3, 4]\n"
                "%4 = neg(%2.1) : int64 [3, 4]\n"
                "return %3, %4\n");
}

TEST(Cse, LeavesRandomNumbersAlone) {
  const std::string draw =
      "random(%0) {fn=0, sizes=[4], dtype=float32, device=cpu, a=0, b=1} : float32 [4]\n";
  const std::string text = "graph(%0)\n%0 = input : int64 [2]\n%1 = " + draw + "%2 = " + draw +
                           "%3 = mul(%1, %2) : float32 [4]\nreturn %3\n";
  EXPECT_EQ(after(cse, text), text);
}

// -- fold -----------------------------------------------------------------------------------------

TEST(Fold, NumbersStayNumbers) {
  EXPECT_EQ(
      after(fold, kHead + "%2 = full() {sizes=[1000000, 4], dtype=float32, device=cpu, value=3} "
                          ": float32 [1000000, 4]\n"
                          "%3 = constant() {value=weak float64 [] [0.5]} : weak float64 []\n"
                          "%4 = mul(%2, %3) : float32 [1000000, 4]\n"
                          "%5 = slice(%4) {dim=0, start=7, length=3, step=2} : float32 [3, 4]\n"
                          "%6 = mul(%0, %5) : float32 [3, 4]\n"
                          "return %6\n"),
      kHead +
          "%2 = full() {sizes=[3, 4], dtype=float32, device=cpu, value=1.5} : float32 [3, 4]\n"
          "%3 = mul(%0, %2) : float32 [3, 4]\n"
          "return %3\n");
}

TEST(Fold, SmallConstantsAreComputed) {
  EXPECT_EQ(
      after(fold, kHead + "%2 = constant() {value=float32 [4] [1, 2, 3, 4]} : float32 [4]\n"
                          "%3 = constant() {value=float32 [4] [1, 1, 2, 2]} : float32 [4]\n"
                          "%4 = add(%2, %3) {a=10, b=0, c=0} : float32 [4]\n"
                          "%5 = sum(%4) {dims=[0], keepdim=true, dtype=undefined} : float32 [1]\n"
                          "%6 = mul(%0, %5) : float32 [3, 4]\n"
                          "return %6\n"),
      kHead +
          "%2 = constant() {value=float32 [1] [70]} : float32 [1]\n"
          "%3 = mul(%0, %2) : float32 [3, 4]\n"
          "return %3\n");
}

TEST(Fold, LargeResultsAreNotStored) {
  const std::string text =
      "graph(%0)\n%0 = input : float32 [1000, 1000]\n"
      "%1 = constant() {value=float32 [1, 2] [1, 2]} : float32 [1, 2]\n"
      "%2 = copy(%1) {sizes=[1000000, 2], dtype=float32} : float32 [1000000, 2]\n"
      "%3 = view(%2) {sizes=[2, 1000, 1000]} : float32 [2, 1000, 1000]\n"
      "%4 = mul(%0, %3) : float32 [2, 1000, 1000]\n"
      "return %4\n";
  EXPECT_EQ(after(fold, text), text);
}

TEST(Fold, ResultsAreFreshInEachRun) {
  const Graph g =
      dce(fold(Graph::parse("graph()\n%0 = constant() {value=float32 [2] [1, 2]} : float32 [2]\n"
                            "%1 = neg(%0) : float32 [2]\nreturn %1\n")));
  g.run({})[0].zero_();
  EXPECT_EQ(g.run({})[0][1].item<float>(), -2);
}

TEST(Fold, WhatMayRefuseValuesIsLeftToTheRun) {
  const std::string text =
      "graph()\n"
      "%0 = constant() {value=float32 [3] [1, 2, 3]} : float32 [3]\n"
      "%1 = constant() {value=int64 [1] [7]} : int64 [1]\n"
      "%2 = gather(%0, %1) {dim=0} : float32 [1]\n"
      "%3 = neg(%2) : float32 [1]\n"
      "return %3\n";
  EXPECT_EQ(after(fold, text), text);
  EXPECT_THROW(Graph::parse(text).run({}), IndexError);
}

// -- simplify -------------------------------------------------------------------------------------

struct Rule {
  const char* before;  // lines after the inputs; the result is named in `read`
  const char* read;
  const char* after;  // lines, with the result's name at the end
};

// In the end a computed value is returned, so that results of the rules need not be fresh memory.
std::string program(const std::string& lines, const std::string& read) {
  return "graph(%0, %1)\n%0 = input : float32 [3, 4]\n%1 = input : float32 [1, 4]\n" + lines +
         "%90 = exp(" + read + ") : " + "@\nreturn %90\n";
}

std::string type_in(const std::string& lines, const std::string& read) {
  if (read == "%0") return "float32 [3, 4]";
  if (read == "%1") return "float32 [1, 4]";
  const size_t at = lines.rfind(read + " = ");
  const size_t colon = lines.find(" : ", at);
  return lines.substr(colon + 3, lines.find('\n', colon) - colon - 3);
}

std::string complete(const std::string& lines, const std::string& read) {
  std::string text = program(lines, read);
  text.replace(text.find('@'), 1, type_in(lines, read));
  return Graph::parse(text).str();
}

#define NUMBER(name, value) \
  name " = constant() {value=weak float64 [] [" value "]} : weak float64 []\n"

const Rule kRules[] = {
    // x * 1, x / 1, x + -0, x - 0; nothing where zeros have signs.
    {NUMBER("%2", "1") "%3 = mul(%0, %2) : float32 [3, 4]\n", "%3", "%0"},
    {NUMBER("%2", "1") "%3 = mul(%2, %0) : float32 [3, 4]\n", "%3", "%0"},
    {NUMBER("%2", "1") "%3 = div(%0, %2) : float32 [3, 4]\n", "%3", "%0"},
    {NUMBER("%2", "-0") "%3 = add(%0, %2) {a=1, b=0, c=0} : float32 [3, 4]\n", "%3", "%0"},
    {NUMBER("%2", "0") "%3 = add(%0, %2) {a=-1, b=0, c=0} : float32 [3, 4]\n", "%3", "%0"},
    {NUMBER("%2", "-0") "%3 = add(%2, %0) {a=1, b=0, c=0} : float32 [3, 4]\n", "%3", "%0"},
    {NUMBER("%2", "0") "%3 = sub(%0, %2) {a=1, b=0, c=0} : float32 [3, 4]\n", "%3", "%0"},
    {NUMBER("%2", "0") "%3 = add(%0, %2) {a=1, b=0, c=0} : float32 [3, 4]\n", "%3", nullptr},
    {NUMBER("%2", "-0") "%3 = sub(%0, %2) {a=1, b=0, c=0} : float32 [3, 4]\n", "%3", nullptr},
    {NUMBER("%2", "0") "%3 = mul(%0, %2) : float32 [3, 4]\n", "%3", nullptr},
    {"%2 = full() {sizes=[3, 4], dtype=float32, device=cpu, value=1} : float32 [3, 4]\n"
     "%3 = mul(%0, %2) : float32 [3, 4]\n",
     "%3", "%0"},
    // A number that makes the result larger or of another type stays.
    {"%2 = full() {sizes=[3, 4], dtype=float32, device=cpu, value=1} : float32 [3, 4]\n"
     "%3 = mul(%1, %2) : float32 [3, 4]\n",
     "%3", nullptr},
    {"%2 = full() {sizes=[3, 4], dtype=float64, device=cpu, value=1} : float64 [3, 4]\n"
     "%3 = mul(%0, %2) : float64 [3, 4]\n",
     "%3", nullptr},
    // Powers of two.
    {NUMBER("%2", "8") "%3 = div(%0, %2) : float32 [3, 4]\n", "%3",
     NUMBER("%2", "0.125") "%3 = mul(%0, %2) : float32 [3, 4]\n%3"},
    {NUMBER("%2", "3") "%3 = div(%0, %2) : float32 [3, 4]\n", "%3", nullptr},
    // Twice is once or never.
    {"%2 = neg(%0) : float32 [3, 4]\n%3 = neg(%2) : float32 [3, 4]\n", "%3", "%0"},
    {"%2 = relu(%0) : float32 [3, 4]\n%3 = relu(%2) : float32 [3, 4]\n", "%3",
     "%2 = relu(%0) : float32 [3, 4]\n%2"},
    {"%2 = neg(%0) : float32 [3, 4]\n%3 = abs(%2) : float32 [3, 4]\n", "%3",
     "%2 = abs(%0) : float32 [3, 4]\n%2"},
    // Signs: sums and differences become each other, and numbers take them over.
    {"%2 = neg(%1) : float32 [1, 4]\n%3 = add(%0, %2) {a=2, b=0, c=0} : float32 [3, 4]\n", "%3",
     "%2 = sub(%0, %1) {a=2, b=0, c=0} : float32 [3, 4]\n%2"},
    {"%2 = neg(%1) : float32 [1, 4]\n%3 = add(%2, %0) {a=1, b=0, c=0} : float32 [3, 4]\n", "%3",
     "%2 = sub(%0, %1) {a=1, b=0, c=0} : float32 [3, 4]\n%2"},
    {"%2 = neg(%1) : float32 [1, 4]\n%3 = add(%2, %0) {a=2, b=0, c=0} : float32 [3, 4]\n", "%3",
     nullptr},
    {"%2 = neg(%1) : float32 [1, 4]\n%3 = sub(%0, %2) {a=2, b=0, c=0} : float32 [3, 4]\n", "%3",
     "%2 = add(%0, %1) {a=2, b=0, c=0} : float32 [3, 4]\n%2"},
    {"%2 = sub(%0, %1) {a=1, b=0, c=0} : float32 [3, 4]\n%3 = neg(%2) : float32 [3, 4]\n", "%3",
     nullptr},
    {"%2 = neg(%0) : float32 [3, 4]\n%3 = neg(%1) : float32 [1, 4]\n"
     "%4 = mul(%2, %3) : float32 [3, 4]\n",
     "%4", "%2 = mul(%0, %1) : float32 [3, 4]\n%2"},
    {"%2 = neg(%0) : float32 [3, 4]\n" NUMBER("%3", "3") "%4 = mul(%3, %2) : float32 [3, 4]\n",
     "%4", NUMBER("%2", "-3") "%3 = mul(%0, %2) : float32 [3, 4]\n%3"},
    {NUMBER("%2", "3") "%3 = mul(%0, %2) : float32 [3, 4]\n%4 = neg(%3) : float32 [3, 4]\n", "%4",
     NUMBER("%2", "-3") "%3 = mul(%0, %2) : float32 [3, 4]\n%3"},
    {"%2 = neg(%0) : float32 [3, 4]\n%3 = mul(%2, %1) : float32 [3, 4]\n", "%3", nullptr},
    // Conversions.
    {"%2 = copy(%0) {sizes=[3, 4], dtype=float32} : float32 [3, 4]\n", "%2", "%0"},
    {"%2 = copy(%0) {sizes=[3, 4], dtype=float64} : float64 [3, 4]\n"
     "%3 = copy(%2) {sizes=[3, 4], dtype=float32} : float32 [3, 4]\n",
     "%3", "%0"},
    {"%2 = copy(%0) {sizes=[3, 4], dtype=float16} : float16 [3, 4]\n"
     "%3 = copy(%2) {sizes=[3, 4], dtype=float32} : float32 [3, 4]\n",
     "%3", nullptr},
    {"%2 = copy_into(%0, %1) {sizes=[3, 4], dtype=float32} : float32 [3, 4]\n", "%2",
     "%2 = copy(%1) {sizes=[3, 4], dtype=float32} : float32 [3, 4]\n%2"},
    {"%2 = fill(%0) {value=2.5} : float32 [3, 4]\n", "%2",
     "%2 = full() {sizes=[3, 4], dtype=float32, device=cpu, value=2.5} : float32 [3, 4]\n%2"},
    // Views.
    {"%2 = permute(%0) {dims=[1, 0]} : float32 [4, 3]\n"
     "%3 = permute(%2) {dims=[1, 0]} : float32 [3, 4]\n",
     "%3", "%0"},
    {"%2 = view(%0) {sizes=[12]} : float32 [12]\n"
     "%3 = view(%2) {sizes=[2, 6]} : float32 [2, 6]\n",
     "%3", "%2 = view(%0) {sizes=[2, 6]} : float32 [2, 6]\n%2"},
    {"%2 = view(%0) {sizes=[12]} : float32 [12]\n"
     "%3 = view(%2) {sizes=[3, 4]} : float32 [3, 4]\n",
     "%3", "%0"},
    {"%2 = expand(%0) {sizes=[3, 4]} : float32 [3, 4]\n", "%2", "%0"},
    {"%2 = slice(%0) {dim=1, start=0, length=4, step=1} : float32 [3, 4]\n", "%2", "%0"},
    {"%2 = slice(%0) {dim=1, start=1, length=3, step=1} : float32 [3, 3]\n"
     "%3 = slice(%2) {dim=1, start=0, length=2, step=2} : float32 [3, 2]\n",
     "%3", "%2 = slice(%0) {dim=1, start=1, length=2, step=2} : float32 [3, 2]\n%2"},
    // A transposed matrix has no rows of its own.
    {"%2 = permute(%0) {dims=[1, 0]} : float32 [4, 3]\n"
     "%3 = copy(%2) {sizes=[4, 3], dtype=float32} : float32 [4, 3]\n",
     "%3", nullptr},
    // Sums of one element each.
    {"%2 = sum(%1) {dims=[0], keepdim=true, dtype=undefined} : float32 [1, 4]\n", "%2", "%1"},
    {"%2 = sum(%1) {dims=[0], keepdim=false, dtype=undefined} : float32 [4]\n", "%2",
     "%2 = view(%1) {sizes=[4]} : float32 [4]\n%2"},
    {"%2 = amax(%1) {dims=[0], keepdim=true} : float32 [1, 4]\n", "%2", "%1"},
    {"%2 = sum_to_size(%0) {sizes=[3, 4]} : float32 [3, 4]\n", "%2", "%0"},
    {"%2 = sum(%0) {dims=[0], keepdim=true, dtype=undefined} : float32 [1, 4]\n", "%2", nullptr},
    // Writes through views.
    {"%2 = neg(%0) : float32 [3, 4]\n"
     "%3 = view_scatter(%0, %2) {chain=[], strides=[]} : float32 [3, 4]\n",
     "%3", "%2 = neg(%0) : float32 [3, 4]\n%2"},
    {"%2 = select(%0) {dim=0, index=1} : float32 [4]\n%3 = neg(%2) : float32 [4]\n"
     "%4 = view_scatter(%0, %3) {chain=[select(dim=0, index=1)], strides=[]} : float32 [3, 4]\n"
     "%5 = select(%4) {dim=0, index=1} : float32 [4]\n",
     "%5", "%2 = select(%0) {dim=0, index=1} : float32 [4]\n%3 = neg(%2) : float32 [4]\n%3"},
    {"%2 = select(%0) {dim=0, index=1} : float32 [4]\n%3 = neg(%2) : float32 [4]\n"
     "%4 = view_scatter(%0, %3) {chain=[select(dim=0, index=1)], strides=[]} : float32 [3, 4]\n"
     "%5 = select(%4) {dim=0, index=2} : float32 [4]\n",
     "%5", "%2 = select(%0) {dim=0, index=2} : float32 [4]\n%2"},
    {"%2 = select(%0) {dim=0, index=1} : float32 [4]\n%3 = neg(%2) : float32 [4]\n"
     "%4 = view_scatter(%0, %2) {chain=[select(dim=0, index=0)], strides=[]} : float32 [3, 4]\n"
     "%5 = view_scatter(%4, %3) {chain=[select(dim=0, index=0)], strides=[]} : float32 [3, 4]\n",
     "%5",
     "%2 = select(%0) {dim=0, index=1} : float32 [4]\n%3 = neg(%2) : float32 [4]\n"
     "%4 = view_scatter(%0, %3) {chain=[select(dim=0, index=0)], strides=[]} : float32 [3, 4]\n"
     "%4"},
};

TEST(Simplify, Rules) {
  for (const Rule& rule : kRules) {
    const std::string before = complete(rule.before, rule.read);
    std::string wanted = before;
    if (rule.after) {
      const std::string text = rule.after;
      const size_t name = text.rfind('%');
      wanted = complete(text.substr(0, name), text.substr(name));
    }
    EXPECT_EQ(after(simplify, before), wanted) << "before:\n" << before;
  }
}

TEST(Simplify, ResultsStayFreshAndApart) {
  // Each result is memory of its own, as it would be line by line.
  const Graph g = trace(
      [](const Tensor& x) {
        return std::vector<Tensor>{x * 1, x.clone(), x / 1};
      },
      {rand({3})});
  const Graph s = dce(simplify(g.clone()));
  verify(s, "simplify");
  const Tensor x = ones({3});
  const auto results = s.run({x});
  results[0].zero_();
  EXPECT_TRUE(x.equal(ones({3})));
  EXPECT_TRUE(results[1].equal(ones({3})));
  EXPECT_TRUE(results[2].equal(ones({3})));
}

// What nothing is done to still becomes fresh memory, which later views count on.
TEST(Simplify, ViewsOfWhatWasFreshMemoryStayPossible) {
  using Step = Tensor (*)(const Tensor&);
  const Step steps[] = {
      [](const Tensor& x) { return (x.t() * 1).flatten() + 1; },
      [](const Tensor& x) {
        return (x.t() / 1).view({2, 6}) + 1;
      },
      [](const Tensor& x) { return (x.t() - 0).view({12}).exp(); },
      [](const Tensor& x) { return x.t().neg().neg().view({12}).exp(); },
      [](const Tensor& x) {
        return (x.t() * ones({4, 3})).view({12}).exp();
      },
      [](const Tensor& x) { return ((x.t() * 1) * 1).view({12}).exp(); },
      [](const Tensor& x) { return (x.t() * 1).slice(0, 1, 3).view({6}).exp(); },
      [](const Tensor& x) { return (x.t() * 1).t().slice(1, 0, 2).t().view({6}).exp(); },
      [](const Tensor& x) { return where(x.t() > 0, x.t() * 1, x.t() * 1).view({12}).exp(); },
      [](const Tensor& x) {
        const Tensor y = x.t();
        return maximum(y, y).view({12}) + where(y > 0, y, y).view({12});
      },
      [](const Tensor& x) { return (x.slice(1, 0, 2) / 1.0).view({6}).exp(); },
      [](const Tensor& x) {
        return (x[0].expand({3, 4}) * 1).view({12}).exp();
      },
      [](const Tensor& x) { return (x.unfold(1, 2, 1) * 1).view({18}).exp(); },
      [](const Tensor& x) {
        return (x.view({3, 2, 2}).permute({2, 0, 1}) * 1).view({12}).exp();
      },
      [](const Tensor& x) { return x.t().unsqueeze(0).sum({0}, true).view({12}).exp(); },
      [](const Tensor& x) {
        return (x.t() * 1).as_strided({2, 3}, {3, 1}, 3).exp();
      },
      [](const Tensor& x) { return (x.t() * 1).unsqueeze(0).as_strided({5}, {2}, 1).exp(); },
      [](const Tensor& x) { return (x.t() * 1).view(kInt) + 1; },
      [](const Tensor& x) {
        const Tensor y = zeros({4, 3});
        y.slice(0, 0, 4).copy_(x.t());
        return y.view({12}).exp();
      },
      [](const Tensor& x) {
        const Tensor y = zeros({2, 4, 3});
        y[1].copy_(x.t());
        return y[1].view({12}).exp();
      },
      [](const Tensor& x) {
        const Tensor y = zeros({2, 3, 4}) + 1;
        y[1].copy_(x * 2);
        return y[1].as_strided({20}, {1}, 2).exp();
      },
  };
  for (size_t i = 0; i < std::size(steps); ++i) {
    const Tensor x = randn({3, 4});
    const Tensor wanted = steps[i](x);
    const auto compiled = compile([&](const Tensor& t) { return steps[i](t); });
    EXPECT_TRUE(compiled(x).equal(wanted)) << "step " << i;
    const Graph s = dce(simplify(trace([&](const Tensor& t) { return steps[i](t); }, {x})));
    verify(s, "simplify");
    EXPECT_TRUE(s.run({x})[0].equal(wanted)) << "step " << i << '\n' << s;
  }
}

TEST(Simplify, ResultsLieAsTheyWouldLineByLine) {
  const auto f = compile([](const Tensor& x) { return x.exp().t() * 1; });
  EXPECT_TRUE(f(randn({3, 4})).is_contiguous());
}

TEST(Simplify, NothingIsCopiedForThoseWhoReadAnyLayout) {
  const Graph g = trace(
      [](const Tensor& x) { return ((x.t() * 1).unsqueeze(0).slice(1, 0, 2) / 1).neg().exp(); },
      {rand({3, 4})});
  for (const NodePtr& n : dce(simplify(g.clone())).nodes)
    EXPECT_TRUE(n->op->view || n->op == &kInputOp || n->op->name == std::string("neg") ||
                n->op->name == std::string("exp"))
        << n->op->name;
}

TEST(Simplify, InPlaceUpdatesOfAViewLeaveOneWrite) {
  const Graph g = trace(
      [](const Tensor& x) {
        Tensor y = x * 2;
        Tensor row = y[1];
        for (int i = 0; i < 5; ++i) row.mul_(row + 1);
        return y;
      },
      {rand({3, 4})});
  const Graph s = optimise(g, {.without = {"fuse", "schedule"}});
  int scatters = 0;
  for (const NodePtr& n : s.nodes) scatters += n->op->name == std::string("view_scatter");
  EXPECT_EQ(scatters, 1) << s;
  const Tensor x = rand({3, 4});
  EXPECT_TRUE(s.run({x})[0].equal(g.run({x})[0]));
}

// -- verify ---------------------------------------------------------------------------------------

std::string verified(const Graph& g) {
  try {
    verify(g, "some pass");
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "fine";
}

TEST(Verify, NamesThePassAndTheNode) {
  const std::string text = kHead +
                           "%2 = neg(%0) : float32 [3, 4]\n"
                           "%3 = mul(%2, %1) : float32 [3, 4]\n"
                           "return %3\nwrite %0 <- %3\n";
  EXPECT_EQ(verified(Graph::parse(text)), "fine");

  Graph g = Graph::parse(text);
  g.nodes[3]->outputs()[0].sizes = {4, 3};
  EXPECT_EQ(
      verified(g),
      "after some pass: node %3 (mul): output 0 is float32 [4, 3], infer says float32 [3, 4]");
  g = Graph::parse(text);
  std::swap(g.nodes[2], g.nodes[3]);
  EXPECT_EQ(verified(g),
            "after some pass: node %2 (mul): reads neg, which does not come before it");
  g = Graph::parse(text);
  g.nodes[3]->inputs()[1].index = 1;
  EXPECT_EQ(verified(g), "after some pass: node %3 (mul): reads output 1 of input, which has 1");
  g = Graph::parse(text);
  g.nodes[3]->inputs()[1] = {};
  EXPECT_EQ(verified(g), "after some pass: node %3 (mul): an input is missing");
  g = Graph::parse(text);
  g.inputs.pop_back();
  EXPECT_EQ(verified(g), "after some pass: node %1 (input): is not listed as an input");
  g = Graph::parse(text);
  g.inputs.push_back(g.nodes[2]);
  EXPECT_EQ(verified(g), "after some pass: input 2 is not an input node");
  g = Graph::parse(text);
  g.writes[0].input = 1;
  EXPECT_EQ(verified(g),
            "after some pass: a write of float32 [3, 4] to input 1, which is float32 [4]");
  g = Graph::parse(text);
  g.writes[0].output = 7;
  EXPECT_EQ(verified(g), "after some pass: a write of output 7 to input 0, which do not exist");
  g = Graph::parse(text);
  g.nodes.pop_back();
  EXPECT_EQ(verified(g), "after some pass: output 0 is not a value of the graph");
  g = Graph::parse(text);
  g.nodes.push_back(g.nodes[3]);
  EXPECT_EQ(verified(g), "after some pass: node %4 (mul): is listed twice");
  g = Graph::parse(text);
  g.captured = {ones({2})};
  EXPECT_EQ(verified(g),
            "after some pass: captured tensor 0 is float32 [2], its input float32 [4]");
}

// -- pipeline -------------------------------------------------------------------------------------

TEST(Pipeline, ReportsWhatEachPassDid) {
  const Graph g =
      trace([](const Tensor& x) { return (x * 1 + x * 1).exp() * x.exp(); }, {rand({3})});
  PipelineReport report;
  const Graph best = optimise(g, {}, &report);
  ASSERT_EQ(report.passes.size(), pass_names().size());
  for (size_t i = 0; i < report.passes.size(); ++i)
    EXPECT_STREQ(report.passes[i].name, pass_names()[i]);
  EXPECT_EQ(report.nodes_before, g.nodes.size());
  EXPECT_EQ(report.nodes_after, best.nodes.size());
  EXPECT_NE(str(report).find("simplify: "), std::string::npos) << report;
  optimise(g, {.without = {"simplify"}}, &report);
  EXPECT_EQ(report.passes.size(), pass_names().size() - 1);
}

TEST(Pipeline, DoesNotChangeWhatItWasGiven) {
  const Graph g = trace([](const Tensor& x) { return (x * 1).exp() + 2 * x.exp(); }, {rand({3})});
  const std::string before = g.str();
  optimise(g);
  EXPECT_EQ(g.str(), before);
}

TEST(Pipeline, IsFast) {
  // About 300 nodes: a network with backward and update.
  std::vector<Tensor> w;
  for (int i = 0; i < 12; ++i) w.push_back(rand({8, 8}).requires_grad_());
  const Graph g = trace(
      [&](const Tensor& x) {
        Tensor h = x;
        for (const Tensor& m : w) h = tanh(h.mm(m) * 0.5 + 1) / 2;
        const auto grads = autograd::grad({h.sum()}, w);
        NoGradGuard no_grad;
        for (size_t i = 0; i < w.size(); ++i) w[i].sub_(grads[i] * 0.1);
        return h.detach();
      },
      {rand({4, 8})});
  EXPECT_GT(g.nodes.size(), 200u);
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    PipelineReport report;
    optimise(g, {.without = {"fuse", "schedule"}}, &report);
    best = std::min(best, report.microseconds);
  }
  std::cout << g.nodes.size() << " nodes, " << best << " us\n";
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(best, 1000);
#endif
}

}  // namespace
}  // namespace tandem
