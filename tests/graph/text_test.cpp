#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/core/graph.h"
#include "tandem/core/view_chain.h"
#include "tandem/graph/verify.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// Reads the text, checks that it is written again as it was, and that nothing is lost on the way.
Graph round_trip(const std::string& text) {
  Graph g = Graph::parse(text);
  EXPECT_EQ(g.str(), text);
  const Graph again = Graph::parse(g.str());
  EXPECT_TRUE(same(g, again)) << text;
  EXPECT_EQ(structural_hash(g), structural_hash(again));
  verify(g, "parse");
  return g;
}

Graph round_trip(const Graph& g) {
  const Graph again = Graph::parse(g.str());
  EXPECT_TRUE(same(g, again)) << g << again;
  EXPECT_EQ(structural_hash(g), structural_hash(again));
  EXPECT_EQ(g.str(), again.str());
  verify(again, "parse");
  return again;
}

TEST(GraphText, ReadsWhatItWrites) {
  const Graph g = round_trip(
      "graph(%0, %1) captured(%2)\n"
      "%0 = input \"x\" : float32 [3, 4]\n"
      "%1 = input : float32 [4]\n"
      "%2 = input \"w\" : float32 [4]\n"
      "%3 = add(%0, %1) {a=1, b=0, c=0} : float32 [3, 4]\n"
      "%4 = sum(%3) {dims=[0], keepdim=false, dtype=undefined} : float32 [4]\n"
      "%5 = mul(%4, %2) : float32 [4]\n"
      "return %4, %5\n"
      "write %2 <- %5\n");
  EXPECT_EQ(g.n_args(), 2u);
  EXPECT_EQ(g.captured.size(), 1u);
  EXPECT_EQ(g.n_results, 2u);
  ASSERT_EQ(g.writes.size(), 1u);
  EXPECT_EQ(g.writes[0].input, 2u);
  const Tensor x = ones({3, 4}), y = ones({4}), w = full({4}, 3.f);
  const auto results = g.run({x, y, w});
  EXPECT_TRUE(results[0].equal(full({4}, 6.f)));
  EXPECT_TRUE(results[1].equal(full({4}, 18.f)));
  EXPECT_TRUE(w.equal(full({4}, 18.f)));  // written
}

TEST(GraphText, SeveralOutputs) {
  round_trip(
      "graph(%0)\n"
      "%0 = input : float32 [5]\n"
      "%1 = sort(%0) {dim=0, descending=true, k=-1} : float32 [5], int64 [5]\n"
      "return %1.1, %1.0\n");
}

TEST(GraphText, NothingAtAll) {
  const Graph g = round_trip("graph()\nreturn\n");
  EXPECT_TRUE(g.run({}).empty());
}

TEST(GraphText, BlanksCommentsAndAnyNumbersAreRead) {
  const Graph g = Graph::parse(
      "# a comment\n\n  graph( %7 )   # and another\n\n"
      "\t%7=input:float32[2]\r\n%100   =  neg(%7):float32[2] # end\n return %100");
  EXPECT_EQ(g.str(),
            "graph(%0)\n%0 = input : float32 [2]\n%1 = neg(%0) : float32 [2]\nreturn %1\n");
}

TEST(GraphText, NumbersReadBackAsTheyWere) {
  // The shortest text of each, and those that print alike at six digits.
  for (const double v : {0.0, -0.0, 1.0, 0.1, 1.0 / 3, 1e-5, 123456789.125, 5e-324,
                         1.7976931348623157e308, std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(), 0.1 + 0.2}) {
    const Graph g = trace([&](const Tensor& x) { return x.clamp_min(v); }, {ones({2})});
    round_trip(g);
    const Graph full_one =
        trace([&](const Tensor& x) { return x + full({2}, v, kDouble); }, {ones({2})});
    round_trip(full_one);
  }
  const Graph nan = trace([](const Tensor& x) { return x + full({2}, std::nan("")); }, {ones({2})});
  round_trip(nan);
}

TEST(GraphText, ConstantsOfEveryDtype) {
  for (const DType t :
       {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble})
    for (const int64_t n : {0, 1, 7, 64, 65, 200}) {
      const Tensor values = (rand({n}) * 10).to(t);
      Graph g;
      append(g, kConstantOp, {}, ConstantAttrs{{values}});
      g.outputs.push_back({g.nodes[0], 0});
      g.n_results = 1;
      const Graph again = round_trip(g);
      EXPECT_TRUE(again.run({})[0].equal(values)) << name_of(t) << ' ' << n;
    }
}

TEST(GraphText, ConstantsKeepOddBits) {
  // A NaN with a payload, a signed one, both zeros, infinities, the smallest number.
  const uint32_t bits[] = {0x7fc00001, 0xffc00000, 0x80000000, 0, 0x7f800000, 0xff800000, 1};
  Tensor t = empty({7});
  std::memcpy(t.data_ptr(), bits, sizeof(bits));
  for (const Tensor& part : {t, t.slice(0, 2, 7)}) {
    Graph g;
    append(g, kConstantOp, {}, ConstantAttrs{{part}});
    g.outputs.push_back({g.nodes[0], 0});
    g.n_results = 1;
    const Tensor again = round_trip(g).run({})[0];
    EXPECT_EQ(std::memcmp(again.data_ptr(), part.contiguous().data_ptr(), again.nbytes()), 0);
  }
}

TEST(GraphText, ConstantsThatAreViewsAreWrittenInRowMajorOrder) {
  Graph g;
  append(g, kConstantOp, {}, ConstantAttrs{{arange(6, kFloat).view({2, 3}).t()}});
  g.outputs.push_back({g.nodes[0], 0});
  g.n_results = 1;
  EXPECT_NE(g.str().find("float32 [3, 2] [0, 3, 1, 4, 2, 5]"), std::string::npos) << g;
  round_trip(g);
}

TEST(GraphText, NumbersInPromotionStayWeak) {
  const Graph g = trace([](const Tensor& x) { return x * 2.5; }, {ones({2}, kHalf)});
  EXPECT_NE(g.str().find("weak float64 [] [2.5]"), std::string::npos) << g;
  const Graph again = round_trip(g);
  EXPECT_EQ(again.outputs[0].node->outputs()[0].dtype, kHalf);
}

TEST(GraphText, NamesAreQuoted) {
  Graph g;
  const std::string name = "a \"name\" \\ of\nany\tkind \x01 \xc3\xa9";
  TensorType type;
  type.dtype = kFloat;
  Node& n = append(g, kInputOp, {}, InputAttrs{0, name, type});
  g.inputs.push_back(NodePtr(&n));
  const Graph again = round_trip(g);
  EXPECT_EQ(again.inputs[0]->attrs().as<InputAttrs>().name, name);
}

TEST(GraphText, WritesThroughViews) {
  const Graph g = trace(
      [](const Tensor& x) {
        Tensor y = x.clone();
        y[1].slice(0, 1, 3).add_(1);
        y.t()[0].zero_();
        return y;
      },
      {rand({3, 4})});
  EXPECT_NE(g.str().find("view_scatter"), std::string::npos) << g;
  const Graph again = round_trip(g);
  const Tensor x = rand({3, 4});
  EXPECT_TRUE(again.run({x})[0].equal(g.run({x})[0]));
}

TEST(GraphText, CapturedTensorsAndWrites) {
  const Tensor w = rand({4});
  const Graph g = trace(
      [&](const Tensor& x) {
        NoGradGuard no_grad;
        w.sub_(x.mean(0) * 0.1);
        return x * w;
      },
      {rand({3, 4})});
  EXPECT_NE(g.str().find("captured("), std::string::npos) << g;
  EXPECT_NE(g.str().find("write "), std::string::npos) << g;
  const Graph again = round_trip(g);
  const Tensor x = rand({3, 4}), before = w.clone(), other = w.clone();
  const Tensor a = g.run({x})[0], b = again.run({x, other})[0];
  EXPECT_TRUE(a.equal(b));
  EXPECT_TRUE(w.equal(other));
  EXPECT_FALSE(w.equal(before));
  EXPECT_THROW(again.run({x}), Error);  // what it captured is not in the text
}

TEST(GraphText, ATrainingStepOfANetwork) {
  const Tensor w1 = rand({8, 16}).requires_grad_(), b1 = rand({16}).requires_grad_(),
               w2 = rand({16, 3}).requires_grad_();
  const Graph g = trace(
      [&](const Tensor& x, const Tensor& y) {
        const Tensor loss = (relu(x.mm(w1) + b1).mm(w2).log_softmax(1) * y).sum().neg();
        const auto grads = autograd::grad({loss}, {w1, b1, w2});
        NoGradGuard no_grad;
        w1.sub_(grads[0] * 0.1);
        b1.sub_(grads[1] * 0.1);
        w2.sub_(grads[2] * 0.1);
        return loss.detach();
      },
      {rand({4, 8}), rand({4, 3})});
  EXPECT_EQ(g.writes.size(), 3u);
  round_trip(g);
  verify(g, "trace");
}

TEST(GraphText, GraphsDiffer) {
  const std::string head = "graph(%0, %1)\n%0 = input : float32 [2]\n%1 = input : float32 [2]\n";
  const std::string texts[] = {
      head + "%2 = add(%0, %1) {a=1, b=0, c=0} : float32 [2]\nreturn %2\n",
      head + "%2 = add(%1, %0) {a=1, b=0, c=0} : float32 [2]\nreturn %2\n",
      head + "%2 = add(%0, %1) {a=-0, b=0, c=0} : float32 [2]\nreturn %2\n",
      head + "%2 = add(%0, %1) {a=0, b=0, c=0} : float32 [2]\nreturn %2\n",
      head + "%2 = mul(%0, %1) : float32 [2]\nreturn %2\n",
      head + "%2 = mul(%0, %1) : float32 [2]\nreturn %2, %2\n",
      head + "%2 = mul(%0, %1) : float32 [2]\nreturn\nwrite %0 <- %2\n",
      head + "%2 = mul(%0, %1) : float32 [2]\nreturn\nwrite %1 <- %2\n",
      "graph(%1, %0)\n%0 = input : float32 [2]\n%1 = input : float32 [2]\n"
      "%2 = mul(%0, %1) : float32 [2]\nreturn %2\n",
      "graph(%0) captured(%1)\n%0 = input : float32 [2]\n%1 = input : float32 [2]\n"
      "%2 = mul(%0, %1) : float32 [2]\nreturn %2\n",
  };
  std::set<size_t> hashes;
  for (size_t i = 0; i < std::size(texts); ++i)
    for (size_t j = 0; j < std::size(texts); ++j) {
      const Graph a = Graph::parse(texts[i]), b = Graph::parse(texts[j]);
      EXPECT_EQ(same(a, b), i == j) << texts[i] << texts[j];
      hashes.insert(structural_hash(a));
    }
  EXPECT_GE(hashes.size(), std::size(texts) - 1);  // 0 and -0 may have the same
}

TEST(GraphText, ACopyHasNodesOfItsOwn) {
  const Graph g = trace([](const Tensor& x) { return (x * 2).tanh(); }, {rand({3})});
  const Graph copy = g.clone();
  EXPECT_TRUE(same(g, copy));
  for (size_t i = 0; i < g.nodes.size(); ++i) EXPECT_NE(g.nodes[i].get(), copy.nodes[i].get());
}

TEST(GraphRun, ResultsThatAreConstantsAreFresh) {
  Graph g;
  append(g, kConstantOp, {}, ConstantAttrs{{ones({3})}});
  g.outputs.push_back({g.nodes[0], 0});
  g.n_results = 1;
  g.run({})[0].zero_();
  EXPECT_TRUE(g.run({})[0].equal(ones({3})));
}

TEST(GraphRun, WritesHappenAllAtOnceInTheEnd) {
  const Graph g = Graph::parse(
      "graph(%0, %1)\n%0 = input : float32 [2]\n%1 = input : float32 [2]\n"
      "return %0\nwrite %0 <- %1\nwrite %1 <- %0\n");
  const Tensor a = full({2}, 1.f), b = full({2}, 2.f);
  const Tensor before = g.run({a, b})[0];
  EXPECT_TRUE(a.equal(full({2}, 2.f)));
  EXPECT_TRUE(b.equal(full({2}, 1.f)));
  EXPECT_TRUE(before.equal(full({2}, 1.f)));
}

TEST(GraphRun, ArgumentsMayLieInAnyOrder) {
  const Tensor x = arange(12.).reshape({4, 3}).t();
  const Graph g = trace([](const Tensor& a) { return a.reshape({-1}) + a.t().reshape({-1}); }, {x});
  EXPECT_TRUE(g.run({x})[0].equal(x.reshape({-1}) + x.t().reshape({-1})));
  const Graph w = trace(
      [](const Tensor& a) {
        a.add_(1);
        return a.reshape({-1});
      },
      {x});
  const Tensor before = x.clone();
  EXPECT_TRUE(w.run({x})[0].equal((before + 1).reshape({-1})));
  EXPECT_TRUE(x.equal(before + 1));
}

TEST(GraphRun, RefusesOtherArguments) {
  const Graph g = trace([](const Tensor& x) { return x * 2; }, {rand({3})});
  const auto message = [&](ArrayRef<Tensor> args) -> std::string {
    try {
      g.run(args);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "run: the graph takes 1 arguments; 0 given");
  EXPECT_EQ(message({rand({4})}), "run: argument 0 is float32 [4], the graph wants float32 [3]");
  EXPECT_EQ(message({Tensor()}), "run: argument 0 is undefined");
}

TEST(GraphRun, GradientsFlow) {
  const Graph g = trace([](const Tensor& x) { return (x * x).sum(); }, {rand({3})});
  const Tensor x = rand({3}).requires_grad_();
  g.run({x})[0].backward();
  EXPECT_TRUE(x.grad().equal(x.detach() * 2));
}

}  // namespace
}  // namespace tandem
