#include <chrono>
#include <cmath>
#include <random>

#include "pictures.h"

namespace tandem::inspect {
namespace {

// A graph put together at random: boxes, groups in groups, lines from smaller to larger numbers.
Picture random_picture(unsigned seed, int n_boxes, int n_groups, bool convex) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Picture p;
  for (int g = 1; g <= n_groups; ++g) {
    Picture::Group group;
    group.name = "group " + std::to_string(g) + std::string(static_cast<size_t>(below(12)), 'x');
    group.parent = below(g);
    group.fused = below(3) == 0;
    p.groups.push_back(group);
  }
  int group = 0;
  for (int b = 0; b < n_boxes; ++b) {
    // In runs, so that groups need not depend on each other; or anyhow.
    if (!convex) group = below(n_groups + 1);
    if (convex && n_groups) group = std::min(n_groups, b * (n_groups + 1) / n_boxes);
    Picture::Box box;
    box.kind = static_cast<Kind>(below(kKinds));
    box.lines = {"box " + std::to_string(b) + std::string(static_cast<size_t>(below(20)), 'w')};
    for (int i = below(3); i > 0; --i) box.lines.push_back("[1, 2]");
    box.group = group;
    p.boxes.push_back(box);
    for (int i = b ? below(4) : 0; i > 0; --i)
      p.lines.push_back({std::max(0, b - 1 - below(below(5) ? 6 : b + 1)), b, below(4) == 0});
  }
  if (convex)
    for (size_t g = 1; g < p.groups.size(); ++g) p.groups[g].parent = 0;
  return p;
}

bool inside(const Rect& in, const Rect& out) {
  constexpr double e = 1e-6;
  return in.x >= out.x - e && in.y >= out.y - e && in.x + in.w <= out.x + out.w + e &&
         in.y + in.h <= out.y + out.h + e;
}
bool overlap(const Rect& a, const Rect& b) {
  constexpr double e = 1e-6;
  return a.x + a.w > b.x + e && b.x + b.w > a.x + e && a.y + a.h > b.y + e && b.y + b.h > a.y + e;
}

bool holds(const Picture& p, int outer, int inner) {
  while (inner > 0 && inner != outer) inner = p.groups[static_cast<size_t>(inner)].parent;
  return inner == outer;
}

// True iff the rectangle is met by the wire: sampled along it.
bool runs_through(const Wire& w, const Rect& r) {
  const auto in = [&](double x, double y) {
    return x > r.x + 0.5 && x < r.x + r.w - 0.5 && y > r.y + 0.5 && y < r.y + r.h - 0.5;
  };
  for (int i = 0; i <= 20; ++i) {
    const double t = i / 20.0, s = 1 - t, middle = (w.y2 + w.y3) / 2;
    const double x = (s * s * s + 3 * s * s * t) * w.x1 + (3 * s * t * t + t * t * t) * w.x2;
    const double y = s * s * s * w.y2 + (3 * s * s * t + 3 * s * t * t) * middle + t * t * t * w.y3;
    if (in(x, y) || in(w.x1, w.y1 + t * (w.y2 - w.y1)) || in(w.x2, w.y3 + t * (w.y4 - w.y3)))
      return true;
  }
  return false;
}

void check(const Picture& p, const std::vector<bool>& open) {
  const Placement placed = place(p, arrange(p), open);
  const Rect whole{0, 0, placed.size.w, placed.size.h};
  // What is shown: everything whose groups are open.
  std::vector<Rect> boxes;
  for (size_t b = 0; b < p.boxes.size(); ++b) {
    bool shown = true;
    for (int g = p.boxes[b].group; g > 0; g = p.groups[static_cast<size_t>(g)].parent)
      shown = shown && open[static_cast<size_t>(g)];
    const Rect& r = placed.boxes[b];
    ASSERT_EQ(r.w > 0, shown) << "box " << b;
    if (!shown) continue;
    boxes.push_back(r);
    EXPECT_TRUE(inside(r, whole));
    const Size size = size_of(p.boxes[b]);
    EXPECT_EQ(r.w, size.w);
    EXPECT_EQ(r.h, size.h);
    for (size_t g = 1; g < p.groups.size(); ++g) {
      const Rect& group = placed.groups[g];
      if (group.w == 0) continue;
      if (holds(p, static_cast<int>(g), p.boxes[b].group))
        EXPECT_TRUE(inside(r, group)) << "box " << b << " sticks out of group " << g;
      else
        EXPECT_FALSE(overlap(r, group)) << "box " << b << " lies in group " << g;
    }
  }
  for (size_t a = 0; a < boxes.size(); ++a)
    for (size_t b = 0; b < a; ++b) EXPECT_FALSE(overlap(boxes[a], boxes[b])) << a << " and " << b;
  for (size_t g = 1; g < p.groups.size(); ++g)
    for (size_t h = 1; h < g; ++h) {
      const Rect &a = placed.groups[g], &b = placed.groups[h];
      if (a.w == 0 || b.w == 0) continue;
      if (holds(p, static_cast<int>(h), static_cast<int>(g)))
        EXPECT_TRUE(inside(a, b));
      else
        EXPECT_FALSE(overlap(a, b)) << "groups " << g << " and " << h;
    }
  for (const Wire& w : placed.wires) {
    EXPECT_LE(w.y1, w.y2 + 1e-9);
    EXPECT_LT(w.y2, w.y3);
    EXPECT_LE(w.y3, w.y4 + 1e-9);
    for (const Rect& r : boxes) EXPECT_FALSE(runs_through(w, r)) << "a line runs through a box";
  }
}

TEST(DrawLayout, NothingOverlapsAndLinesGoDown) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const Picture p = random_picture(seed, 5 + static_cast<int>(seed) * 2,
                                     static_cast<int>(seed % 7), seed % 2 == 0);
    check(p, p.open_groups(-1));
    check(p, p.open_groups(0));
    check(p, p.open_groups(1));
    std::vector<bool> some = p.open_groups(-1);
    std::mt19937 random(seed);
    for (size_t g = 1; g < some.size(); ++g) some[g] = random() % 2;
    check(p, some);
  }
}

// Every line of the picture can be followed, wire by wire, from its box to the other one.
TEST(DrawLayout, LinesLeadFromBoxToBox) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const Picture p = random_picture(seed, 30, 4, true);
    const Placement placed = place(p, arrange(p), p.open_groups(-1));
    for (const Picture::Line& l : p.lines) {
      const Rect &from = placed.boxes[static_cast<size_t>(l.from)],
                 &to = placed.boxes[static_cast<size_t>(l.to)];
      std::vector<std::pair<double, double>> reached = {{from.x + from.w / 2, from.y + from.h}};
      bool arrived = false;
      for (size_t at = 0; at < reached.size() && at < 1000; ++at)
        for (const Wire& w : placed.wires) {
          if (w.source != l.from || w.dashed != l.dashed || w.upwards) continue;
          if (std::abs(w.x1 - reached[at].first) > 1e-6 ||
              std::abs(w.y1 - reached[at].second) > 1e-6)
            continue;
          reached.emplace_back(w.x2, w.y4);
          arrived = arrived || (w.arrow && std::abs(w.x2 - to.x - to.w / 2) < 1e-6 &&
                                std::abs(w.y4 - to.y) < 1e-6);
        }
      EXPECT_TRUE(arrived) << "from " << l.from << " to " << l.to;
    }
  }
}

TEST(DrawLayout, GroupsThatNeedEachOtherHaveOneLineUpwards) {
  Picture p;
  for (const char* name : {"a", "b"}) {
    Picture::Group g;
    g.name = name;
    g.parent = 0;
    p.groups.push_back(g);
  }
  // a's first box leads to b, b's second one to a.
  for (const int group : {1, 2, 2, 1}) {
    Picture::Box box;
    box.kind = Kind::function;
    box.lines = {"f"};
    box.group = group;
    p.boxes.push_back(box);
  }
  p.lines = {{0, 1}, {2, 3}};
  const Arrangement a = arrange(p);
  EXPECT_EQ(std::count_if(a.levels[0].links.begin(), a.levels[0].links.end(),
                          [](const auto& l) { return l.upwards; }),
            1);
  check(p, p.open_groups(-1));
  const Placement closed = place(p, a, p.open_groups(0));
  EXPECT_EQ(std::count_if(closed.wires.begin(), closed.wires.end(),
                          [](const Wire& w) { return w.upwards; }),
            1);
}

TEST(DrawLayout, OrderLeavesFewCrossings) {
  // Each of the upper boxes leads to two of the lower ones, which are given in a mixed order.
  Picture p;
  const auto box = [&](const char* name) {
    Picture::Box b;
    b.kind = Kind::function;
    b.lines = {name};
    p.boxes.push_back(b);
  };
  for (int i = 0; i < 8; ++i) box("top");
  for (int i = 0; i < 16; ++i) {
    box("below");
    p.lines.push_back({i * 5 % 8, 8 + i});
  }
  const Arrangement a = arrange(p);
  Arrangement::Level mixed = a.levels[0];
  for (auto& row : mixed.rows) std::sort(row.begin(), row.end());
  EXPECT_GT(crossings(mixed), 10u);
  EXPECT_EQ(crossings(a.levels[0]), 0u);
}

TEST(DrawLayout, PageOpensAsManyLevelsAsAreReadable) {
  // Three boxes outside, three in a group, and as many again in the groups in that one.
  Picture p;
  for (int g = 1; g <= 3; ++g) {
    Picture::Group group;
    group.name = "g";
    group.parent = g - 1;
    p.groups.push_back(group);
  }
  for (int b = 0; b < 12; ++b) {
    Picture::Box box;
    box.kind = Kind::function;
    box.lines = {"f"};
    box.group = b / 3;
    p.boxes.push_back(box);
  }
  // With the closed groups there are 4, 8, 12 and 15 to see.
  EXPECT_EQ(p.levels_within(100), 3);
  EXPECT_EQ(p.levels_within(15), 3);
  EXPECT_EQ(p.levels_within(14), 2);
  EXPECT_EQ(p.levels_within(11), 1);
  EXPECT_EQ(p.levels_within(2), 1);  // 8 is not so much more
  EXPECT_EQ(p.levels_within(1), 0);
}

TEST(DrawLayout, CrossingsAreCounted) {
  // All of n upper boxes lead to all of m lower ones: every two of each cross once.
  Arrangement::Level level;
  for (int i = 0; i < 7; ++i) level.items.push_back({Arrangement::What::box, i, i < 3 ? 0 : 1});
  level.rows = {{0, 1, 2}, {3, 4, 5, 6}};
  for (int from = 0; from < 3; ++from)
    for (int to = 3; to < 7; ++to) level.links.push_back({from, to});
  EXPECT_EQ(crossings(level), 3u * 6u);
}

TEST(DrawLayout, ChainOfAHundredThousand) {
  Tensor y = ones({1}, requires_grad());
  for (int i = 0; i < 100'000; ++i) y = y + 1;
  EXPECT_THROW(to_svg(y), Error);
  const DrawOptions all{.max_nodes = 1'000'000};
  EXPECT_EQ(count(to_svg(y, all), "<g class=\"function\">"), 100'001u);
  EXPECT_EQ(count(to_dot(y, all), " -> "), 100'001u);
  EXPECT_GT(to_html(y, all).size(), 1'000'000u);
}

TEST(DrawLayout, ThousandsOfNodesTakeLessThanASecond) {
  const Picture p = random_picture(1, 3000, 200, true);
  const auto start = std::chrono::steady_clock::now();
  const Placement placed = place(p, arrange(p), p.open_groups(-1));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GT(placed.size.h, 0);
  // A machine that does other things as well, or a build with sanitizers, is given time.
  EXPECT_LT(seconds, 20);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
}

TEST(DrawLayout, LinesThatWouldNeedTooManyBendsGetNone) {
  // Every box reads the first half of them: that many long lines cannot all have a place in each
  // row.
  Picture p;
  for (int b = 0; b < 1500; ++b) {
    Picture::Box box;
    box.kind = Kind::function;
    box.lines = {"f"};
    p.boxes.push_back(box);
    if (b) p.lines.push_back({b - 1, b});
    if (b >= 750) p.lines.push_back({b - 750, b});
  }
  const Arrangement a = arrange(p);
  EXPECT_LE(a.levels[0].items.size(), 1500u + 200'000u);
  bool unbent = false;
  for (const auto& l : a.levels[0].links)
    unbent = unbent || a.levels[0].items[static_cast<size_t>(l.to)].row >
                           a.levels[0].items[static_cast<size_t>(l.from)].row + 1;
  EXPECT_TRUE(unbent);
}

}  // namespace
}  // namespace tandem::inspect
