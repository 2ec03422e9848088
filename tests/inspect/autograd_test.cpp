#include "tandem/autograd/autograd.h"

#include "pictures.h"
#include "tandem/autograd/function.h"

namespace tandem::inspect {
namespace {

struct Cell {
  Tensor w_h = randn({20, 20}, requires_grad()), w_x = randn({20, 10}, requires_grad());
  Tensor x = randn({1, 10}), h = randn({1, 20});
  Tensor next = (w_x.mm(x.t()) + w_h.mm(h.t())).tanh();
  DrawOptions options{.names = {{"W_h", w_h}, {"W_x", w_x}}};
};

TEST(DrawAutograd, CountsBoxesOfEachKind) {
  Cell c;
  const Picture p = make_picture(c.next, c.options);
  EXPECT_EQ(count(p, Kind::leaf), 2u);
  EXPECT_EQ(count(p, Kind::function), 4u);  // two products, a sum, tanh
  EXPECT_EQ(count(p, Kind::saved), 3u);     // x, h, the result of tanh
  EXPECT_EQ(count(p, Kind::result), 1u);
  EXPECT_EQ(p.boxes.size(), 10u);
  EXPECT_EQ(p.lines.size(), 9u);
  EXPECT_EQ(std::count_if(p.lines.begin(), p.lines.end(),
                          [](const Picture::Line& l) { return l.dashed; }),
            3);
  EXPECT_TRUE(has_line(p, "W_h", "MmBackward"));
  EXPECT_TRUE(has_line(p, "MmBackward", "AddBackward"));
  EXPECT_TRUE(has_line(p, "AddBackward", "TanhBackward"));
  EXPECT_TRUE(has_line(p, "TanhBackward", "result"));
  EXPECT_FALSE(has_line(p, "AddBackward", "result"));
  for (const Picture::Line& l : p.lines) EXPECT_LT(l.from, l.to);
}

TEST(DrawAutograd, ShowsShapesAndDtypes) {
  Cell c;
  const Picture p = make_picture(c.next, c.options);
  EXPECT_EQ(p.boxes[static_cast<size_t>(find_box(p, "W_x"))].lines,
            (std::vector<std::string>{"W_x", "[20, 10]"}));
  EXPECT_EQ(p.boxes[static_cast<size_t>(find_box(p, "TanhBackward"))].lines[1], "[20, 1]");
  const Tensor d = randn({3}, TensorOptions().dtype(kDouble).requires_grad(true));
  const Picture q = make_picture(d.exp(), {});
  EXPECT_EQ(q.boxes[0].lines, (std::vector<std::string>{"float64 [3]"}));
  EXPECT_NE(q.boxes[0].tip.find("float64 [3]"), std::string::npos);
}

TEST(DrawAutograd, ColoursAreThoseOfTheKinds) {
  Cell c;
  const std::string svg = to_svg(c.next, c.options);
  for (const char* rule : {".leaf rect{fill:#add8e6", ".saved rect{fill:#ffc266",
                           ".result rect{fill:#b5e58b", ".function rect{fill:#e1e4e8"})
    EXPECT_NE(svg.find(rule), std::string::npos) << rule;
  // One in the legend and one for each box.
  EXPECT_EQ(count(svg, "<g class=\"leaf\">"), 1u + 2u);
  EXPECT_EQ(count(svg, "<g class=\"saved\">"), 1u + 3u);
  EXPECT_EQ(count(svg, "<g class=\"result\">"), 1u + 1u);
  EXPECT_EQ(count(svg, "<g class=\"function\">"), 1u + 4u);
  const std::string dot = to_dot(c.next, c.options);
  EXPECT_EQ(count(dot, "fillcolor=\"#add8e6\""), 2u);
  EXPECT_EQ(count(dot, "fillcolor=\"#ffc266\""), 3u);
  EXPECT_EQ(count(dot, "fillcolor=\"#b5e58b\""), 1u);
  EXPECT_EQ(count(dot, "fillcolor=\"#e1e4e8\""), 4u);
  EXPECT_EQ(count(dot, " -> "), 9u);
  EXPECT_EQ(count(dot, "style=dashed"), 3u);
}

TEST(DrawAutograd, OptionsLeaveThingsOut) {
  Cell c;
  c.options.saved = false;
  EXPECT_EQ(make_picture(c.next, c.options).boxes.size(), 7u);
  const auto attributes = [&] {
    const Picture p = make_picture(c.next, c.options);
    return p.boxes[static_cast<size_t>(find_box(p, "MmBackward"))];
  };
  EXPECT_EQ(attributes().lines.size(), 3u);
  EXPECT_NE(attributes().lines[2].find("trans_a=false"), std::string::npos);
  c.options.attributes = false;
  EXPECT_EQ(attributes().lines.size(), 2u);
  EXPECT_NE(attributes().tip.find("trans_a=false"), std::string::npos);  // still told
}

TEST(DrawAutograd, AccumulateGradStandsBehindItsLeaf) {
  Cell c;
  c.options.accumulate_grad = true;
  const Picture p = make_picture(c.next, c.options);
  EXPECT_EQ(count(p, Kind::function), 6u);
  EXPECT_TRUE(has_line(p, "W_h", "AccumulateGrad"));
  EXPECT_TRUE(has_line(p, "AccumulateGrad", "MmBackward"));
  EXPECT_FALSE(has_line(p, "W_h", "MmBackward"));
}

TEST(DrawAutograd, SavedLeafIsTheLeafItself) {
  const Tensor a = randn({3}, requires_grad()), b = randn({3}, requires_grad());
  const Picture p = make_picture(a * b, {.names = {{"a", a}, {"b", b}}});
  EXPECT_EQ(count(p, Kind::saved), 0u);  // the product keeps a and b, which have boxes
  EXPECT_EQ(p.lines.size(), 3u);
  EXPECT_EQ(count(p, Kind::leaf), 2u);
}

TEST(DrawAutograd, ValueThatSeveralKeepHasOneBox) {
  const Tensor a = randn({3}, requires_grad());
  const Tensor e = a.exp();
  const Picture p = make_picture((e.tanh() + e.sin()).sum(), {});
  // exp keeps its result, of which sin keeps the same as its input; tanh keeps another.
  EXPECT_EQ(count(p, Kind::saved), 2u);
  const int sin = find_box(p, "SinBackward"), exp = find_box(p, "ExpBackward");
  std::vector<int> kept[2];
  for (const Picture::Line& l : p.lines) {
    if (!l.dashed) continue;
    if (l.to == sin) kept[0].push_back(l.from);
    if (l.to == exp) kept[1].push_back(l.from);
  }
  EXPECT_EQ(kept[0].size(), 1u);
  EXPECT_EQ(kept[0], kept[1]);
}

TEST(DrawAutograd, AfterBackwardNothingIsSaved) {
  Cell c;
  c.next.sum().backward();
  const Picture p = make_picture(c.next, c.options);
  EXPECT_EQ(count(p, Kind::saved), 0u);
  EXPECT_EQ(count(p, Kind::function), 4u);
}

TEST(DrawAutograd, SeveralResultsShareWhatIsBehindThem) {
  const Tensor a = randn({3}, requires_grad());
  const Tensor e = a.exp();
  const Tensor one = e.sum(), two = e.mean();
  const Picture p = make_picture({one, two}, {.names = {{"second", two}}});
  EXPECT_EQ(count(p, Kind::result), 2u);
  EXPECT_EQ(count(p, Kind::leaf), 1u);
  EXPECT_GE(find_box(p, "result 0"), 0);
  EXPECT_GE(find_box(p, "second"), 0);
}

TEST(DrawAutograd, GraphOfResultsIsDrawnTheSame) {
  Cell c;
  const Graph g = Graph::of({c.next});
  EXPECT_EQ(to_dot(g, c.options), to_dot(c.next, c.options));
}

struct Doubled : autograd::Function<Doubled> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*,
                                          autograd::variable_list grads) {
    return {grads[0] * 2};
  }
};

TEST(DrawAutograd, CustomFunctionHasItsName) {
  const Tensor a = randn({3}, requires_grad());
  const Picture p = make_picture(Doubled::apply(a), {});
  ASSERT_EQ(count(p, Kind::function), 1u);
  const auto f = std::find_if(p.boxes.begin(), p.boxes.end(),
                              [](const auto& b) { return b.kind == Kind::function; });
  EXPECT_NE(f->lines[0].find("Doubled"), std::string::npos) << f->lines[0];
}

TEST(DrawAutograd, WhatHasNoHistoryIsAnError) {
  const Tensor plain = randn({2, 3}), leaf = randn({4}, requires_grad());
  EXPECT_NE(
      error_of([&] { to_svg(plain); }).find("draw: the tensor (float32 [2, 3]) has no history"),
      std::string::npos);
  EXPECT_NE(error_of([&] { to_svg(leaf); }).find("it is a leaf"), std::string::npos);
  EXPECT_NE(error_of([&] { to_svg(Tensor()); }).find("draw: the tensor is undefined"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              to_svg({leaf.exp(), plain});
            }).find("draw: result 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { to_svg(std::vector<Tensor>{}); }).find("draw: there is no result"),
            std::string::npos);
  const NoGradGuard no_grad;
  EXPECT_NE(error_of([&] { to_svg(leaf.exp()); }).find("NoGradGuard"), std::string::npos);
}

TEST(DrawAutograd, TooManyNodesAreRefused) {
  Tensor y = randn({2}, requires_grad());
  for (int i = 0; i < 50; ++i) y = y + 1;
  const std::string message = error_of([&] { to_svg(y, {.max_nodes = 20}); });
  EXPECT_NE(message.find("more than the 20 of DrawOptions::max_nodes"), std::string::npos)
      << message;
  EXPECT_NO_THROW(to_svg(y, {.max_nodes = 52}));
  EXPECT_THROW(to_svg(y, {.max_nodes = 51}), Error);
}

}  // namespace
}  // namespace tandem::inspect
