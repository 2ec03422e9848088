#include <algorithm>
#include <cmath>

#include "tandem/inspect/layout_detail.h"
#include "tandem/inspect/text_detail.h"

namespace tandem::inspect {
namespace {

using What = Arrangement::What;
using Item = Arrangement::Item;
using Link = Arrangement::Link;
using Level = Arrangement::Level;

// A column of the usual fonts of fixed width is at most so wide, in units of the font's size.
constexpr double kColumn = 0.605;

double width_of(const std::vector<std::string>& lines) {
  double w = 0;
  for (size_t i = 0; i < lines.size(); ++i)
    w = std::max(
        w, kColumn * (i ? kTextFont : kTitleFont) * static_cast<double>(columns(clean(lines[i]))));
  return w;
}

// What lies in one level, while its coordinates are found.
//
// Note: spacing
// Rows are gone through downwards and upwards a few times. Each item wants to stand where the mean
// of what it is linked to in the row before is; the row as a whole takes the places that are
// nearest to these wishes (least squares, weighted) and keeps its order and its distances. That
// problem is solved exactly by joining neighbours that are too close to blocks, which move as one
// (pool adjacent violators). Links between bends weigh most, so that long lines become straight.
class Spacing {
 public:
  Spacing(const Level& level, const std::vector<Size>& sizes, std::vector<double>& x)
      : level_(level), sizes_(sizes), x_(x), up_(level.items.size()), down_(level.items.size()) {}

  void link(int l, double strength, double from_offset, double to_offset) {
    const Link& k = level_.links[static_cast<size_t>(l)];
    const auto from = static_cast<size_t>(k.from), to = static_cast<size_t>(k.to);
    if (level_.items[to].row != level_.items[from].row + 1) return;
    const int bends =
        (level_.items[from].what == What::bend) + (level_.items[to].what == What::bend);
    const double weight = strength * (bends == 2 ? 16 : bends == 1 ? 2 : 1);
    down_[from].push_back({k.to, weight, to_offset - from_offset});
    up_[to].push_back({k.from, weight, from_offset - to_offset});
  }

  void run() {
    for (const auto& row : level_.rows) {
      double width = 0;
      for (size_t i = 1; i < row.size(); ++i) width += distance(row[i - 1], row[i]);
      double at = -width / 2;
      for (size_t i = 0; i < row.size(); ++i) {
        if (i) at += distance(row[i - 1], row[i]);
        x_[static_cast<size_t>(row[i])] = at;
      }
    }
    const size_t n = level_.rows.size();
    const int rounds = level_.items.size() < 20'000 ? 12 : 4;
    for (int round = 0; round < rounds; ++round) {
      const bool both = round >= rounds - 2;
      for (size_t r = 0; r < n; ++r) settle(level_.rows[r], true, both);
      for (size_t r = n; r-- > 0;) settle(level_.rows[r], both, true);
    }
    straighten();
    gather();
  }

 private:
  static constexpr double kAny = 1e9;  // further than anything

  struct End {
    int item;
    double weight, offset;  // wants to stand so far to the right of the item
  };
  struct Block {
    double wish, weight;
    size_t begin;
  };

  bool thin(int item) const {
    return level_.items[static_cast<size_t>(item)].what >= What::in_port;
  }
  double distance(int left, int right) const {
    const double gap = thin(left) && thin(right) ? 12 : thin(left) || thin(right) ? 14 : 20;
    return sizes_[static_cast<size_t>(left)].w / 2 + sizes_[static_cast<size_t>(right)].w / 2 + gap;
  }

  void settle(const std::vector<int>& row, bool from_above, bool from_below) {
    blocks_.clear();
    shift_.resize(row.size());
    double shift = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i) shift += distance(row[i - 1], row[i]);
      shift_[i] = shift;
      const auto item = static_cast<size_t>(row[i]);
      double weight = 0, sum = 0;
      const auto add = [&](const std::vector<End>& ends) {
        for (const End& e : ends) {
          weight += e.weight;
          sum += e.weight * (x_[static_cast<size_t>(e.item)] + e.offset);
        }
      };
      if (from_above) add(up_[item]);
      if (from_below) add(down_[item]);
      if (weight == 0) weight = 0.01, sum = weight * x_[item];
      blocks_.push_back({sum / weight - shift, weight, i});
      while (blocks_.size() > 1 && blocks_[blocks_.size() - 2].wish >= blocks_.back().wish) {
        const Block last = blocks_.back();
        blocks_.pop_back();
        Block& b = blocks_.back();
        b.wish = (b.wish * b.weight + last.wish * last.weight) / (b.weight + last.weight);
        b.weight += last.weight;
      }
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const size_t end = b + 1 < blocks_.size() ? blocks_[b + 1].begin : row.size();
      for (size_t i = blocks_[b].begin; i < end; ++i)
        x_[static_cast<size_t>(row[i])] = blocks_[b].wish + shift_[i];
    }
  }

  // What is left of the freedom that bends have makes long lines straight: as many bends in a row
  // as there is a common place for, between their neighbours, take the one nearest to their mean.
  void straighten() {
    std::vector<int> next(level_.items.size(), -1);
    std::vector<char> first(level_.items.size(), 1);
    const auto bend = [&](size_t i) { return level_.items[i].what == What::bend; };
    for (size_t i = 0; i < next.size(); ++i)
      if (bend(i))
        for (const End& e : down_[i])
          if (bend(static_cast<size_t>(e.item))) {
            next[i] = e.item;
            first[static_cast<size_t>(e.item)] = 0;
          }
    const std::vector<size_t> place = places();
    std::vector<int> run;
    for (int round = 0; round < 2; ++round)
      for (size_t i = 0; i < next.size(); ++i) {
        if (!bend(i) || !first[i]) continue;
        double low = -kAny, high = kAny;
        run.clear();
        for (int b = static_cast<int>(i); b >= 0; b = next[static_cast<size_t>(b)]) {
          const auto [left, right] = freedom(b, place);
          if (std::max(low, left) > std::min(high, right)) {
            align(run, low, high);
            low = -kAny;
            high = kAny;
          }
          low = std::max(low, left);
          high = std::min(high, right);
          run.push_back(b);
        }
        align(run, low, high);
      }
  }

  // Where the item may stand while its neighbours stay.
  std::pair<double, double> freedom(int item, const std::vector<size_t>& place) const {
    const auto& row = level_.rows[static_cast<size_t>(level_.items[static_cast<size_t>(item)].row)];
    const size_t at = place[static_cast<size_t>(item)];
    double left = -kAny, right = kAny;
    if (at > 0) left = x_[static_cast<size_t>(row[at - 1])] + distance(row[at - 1], item);
    if (at + 1 < row.size())
      right = x_[static_cast<size_t>(row[at + 1])] - distance(item, row[at + 1]);
    return {left, std::max(left, right)};
  }

  void align(std::vector<int>& run, double low, double high) {
    double sum = 0;
    for (const int b : run) sum += x_[static_cast<size_t>(b)];
    const double x = std::min(std::max(sum / static_cast<double>(run.size()), low), high);
    for (const int b : run) x_[static_cast<size_t>(b)] = x;
    run.clear();
  }

  // By item: which of its row it is.
  std::vector<size_t> places() const {
    std::vector<size_t> place(level_.items.size());
    for (const auto& row : level_.rows)
      for (size_t i = 0; i < row.size(); ++i) place[static_cast<size_t>(row[i])] = i;
    return place;
  }

  // Parts that no link joins are moved towards the largest, as far as there is room.
  void gather() {
    const std::vector<int> part = parts();
    std::vector<std::vector<int>> members;
    for (size_t i = 0; i < part.size(); ++i) {
      if (members.size() <= static_cast<size_t>(part[i])) members.resize(members.size() + 1);
      members[static_cast<size_t>(part[i])].push_back(static_cast<int>(i));
    }
    if (members.size() < 2) return;
    size_t largest = 0;
    std::vector<double> away;  // by part: to the right of the largest
    for (size_t p = 0; p < members.size(); ++p) {
      if (members[p].size() > members[largest].size()) largest = p;
      double sum = 0;
      for (const int i : members[p]) sum += x_[static_cast<size_t>(i)];
      away.push_back(sum / static_cast<double>(members[p].size()));
    }
    const double middle = away[largest];
    std::vector<size_t> order;
    for (size_t p = 0; p < members.size(); ++p) {
      away[p] -= middle;
      if (p != largest) order.push_back(p);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return std::abs(away[a]) < std::abs(away[b]); });
    const std::vector<size_t> place = places();
    for (const size_t p : order) {
      double room = std::abs(away[p]);
      for (const int i : members[p])
        room = std::min(room, room_beside(i, away[p] > 0, part, place));
      for (const int i : members[p]) x_[static_cast<size_t>(i)] -= away[p] > 0 ? room : -room;
    }
  }

  double room_beside(int item, bool left, const std::vector<int>& part,
                     const std::vector<size_t>& place) const {
    const auto& row = level_.rows[static_cast<size_t>(level_.items[static_cast<size_t>(item)].row)];
    const size_t at = place[static_cast<size_t>(item)];
    if (left ? at == 0 : at + 1 == row.size()) return kAny;
    const int other = left ? row[at - 1] : row[at + 1];
    if (part[static_cast<size_t>(other)] == part[static_cast<size_t>(item)]) return kAny;
    const double apart = std::abs(x_[static_cast<size_t>(item)] - x_[static_cast<size_t>(other)]);
    return std::max(0.0, apart - (left ? distance(other, item) : distance(item, other)));
  }

  // By item: the part of the level that it is linked to, numbered in the order of their first
  // items.
  std::vector<int> parts() const {
    std::vector<int> part(level_.items.size(), -1), stack;
    int n = 0;
    for (size_t start = 0; start < part.size(); ++start) {
      if (part[start] >= 0) continue;
      stack.assign(1, static_cast<int>(start));
      part[start] = n;
      while (!stack.empty()) {
        const auto item = static_cast<size_t>(stack.back());
        stack.pop_back();
        for (const auto* ends : {&up_[item], &down_[item]})
          for (const End& e : *ends)
            if (part[static_cast<size_t>(e.item)] < 0) {
              part[static_cast<size_t>(e.item)] = n;
              stack.push_back(e.item);
            }
      }
      ++n;
    }
    return part;
  }

  const Level& level_;
  const std::vector<Size>& sizes_;
  std::vector<double>& x_;
  std::vector<std::vector<End>> up_, down_;  // by item
  std::vector<Block> blocks_;
  std::vector<double> shift_;
};

class Placer {
 public:
  Placer(const Picture& picture, const Arrangement& arrangement, const std::vector<bool>& open)
      : picture_(picture), levels_(arrangement.levels), open_(open), spots_(levels_.size()) {}

  Placement run() {
    for (size_t g = levels_.size(); g-- > 0;)
      if (open_[g]) space(g);
    result_.boxes.resize(picture_.boxes.size());
    result_.groups.resize(levels_.size());
    const Size whole = spots_[0].size;
    result_.size = whole;
    result_.groups[0] = {0, 0, whole.w, whole.h};
    for (size_t g = 0; g < levels_.size(); ++g)
      if (open_[g] && result_.groups[g].w > 0) put(g);
    return std::move(result_);
  }

 private:
  // Coordinates inside of a group, from its upper left corner.
  struct Spot {
    Size size;
    std::vector<Size> sizes;          // by item
    std::vector<double> x;            // by item: its middle
    std::vector<double> sink;         // by item: where in a row that is higher: 0 top, 1 bottom
    std::vector<double> top, bottom;  // by row
  };

  // How much a line ought to be straight: most along the way of the data, least to what is kept.
  double strength(const Link& l) const {
    if (l.dashed) return 0.25;
    return flows(picture_.boxes[static_cast<size_t>(l.source)].kind) ? 2 : 0.5;
  }

  double offset(const Level& level, int item, int port) const {
    if (port < 0) return 0;
    const auto g = static_cast<size_t>(level.items[static_cast<size_t>(item)].ref);
    return open_[g] ? spots_[g].x[static_cast<size_t>(port)] - spots_[g].size.w / 2 : 0;
  }

  void space(size_t g) {
    const Level& level = levels_[g];
    Spot& s = spots_[g];
    for (const Item& item : level.items) {
      const auto ref = static_cast<size_t>(item.ref);
      s.sizes.push_back(item.what == What::box     ? size_of(picture_.boxes[ref])
                        : item.what != What::group ? Size{2, 0}
                        : open_[ref]               ? spots_[ref].size
                                                   : size_of(picture_.groups[ref]));
    }
    s.x.assign(level.items.size(), 0);
    Spacing spacing(level, s.sizes, s.x);
    for (size_t l = 0; l < level.links.size(); ++l)
      spacing.link(static_cast<int>(l), strength(level.links[l]),
                   offset(level, level.links[l].from, level.links[l].from_port),
                   offset(level, level.links[l].to, level.links[l].to_port));
    spacing.run();
    // Near to what it is linked to.
    s.sink.assign(level.items.size(), 0.5);
    std::vector<char> enters(level.items.size(), 0), leaves(level.items.size(), 0);
    for (const Link& l : level.links)
      leaves[static_cast<size_t>(l.from)] = enters[static_cast<size_t>(l.to)] = 1;
    for (size_t i = 0; i < level.items.size(); ++i)
      if (enters[i] != leaves[i]) s.sink[i] = leaves[i];
    widths(g, s);
    heights(g, s);
  }

  void widths(size_t g, Spot& s) {
    double left = 0, right = 0;
    bool first = true;
    for (size_t i = 0; i < s.x.size(); ++i) {
      const double l = s.x[i] - s.sizes[i].w / 2, r = s.x[i] + s.sizes[i].w / 2;
      left = first ? l : std::min(left, l);
      right = first ? r : std::max(right, r);
      first = false;
    }
    const double label = g ? label_width(picture_.groups[g]) : 0;
    s.size.w = std::max(right - left, label) + 2 * kSide;
    const double shift = (s.size.w - (right - left)) / 2 - left;
    for (double& x : s.x) x += shift;
  }

  void heights(size_t g, Spot& s) {
    const Level& level = levels_[g];
    const size_t n = level.rows.size();
    std::vector<double> reach(n, 0);  // how far links go sideways below each row
    for (const Link& l : level.links) {
      double& far = reach[static_cast<size_t>(level.items[static_cast<size_t>(l.from)].row)];
      far = std::max(
          far, std::abs(s.x[static_cast<size_t>(l.to)] + offset(level, l.to, l.to_port) -
                        s.x[static_cast<size_t>(l.from)] - offset(level, l.from, l.from_port)));
    }
    const auto ports = [&](size_t r, What what) {
      return r < n && !level.rows[r].empty() &&
             level.items[static_cast<size_t>(level.rows[r][0])].what == what;
    };
    double y = ports(0, What::in_port) ? 0 : g ? kHeader : kSide;
    for (size_t r = 0; r < n; ++r) {
      double h = 0;
      for (const int i : level.rows[r]) h = std::max(h, s.sizes[static_cast<size_t>(i)].h);
      s.top.push_back(y);
      s.bottom.push_back(y + h);
      y += h;
      if (r + 1 < n && !level.rows[r].empty())
        y += std::max(std::min(22 + 0.06 * reach[r], 90.0),
                      ports(r, What::in_port) ? kHeader + 6 : 0);
    }
    s.size.h = y + (ports(n - 1, What::out_port) ? 0 : kFoot);
  }

  void put(size_t g) {
    const Level& level = levels_[g];
    const Spot& s = spots_[g];
    const double x0 = result_.groups[g].x, y0 = result_.groups[g].y;
    const auto upper = [&](int i) {  // of an item
      const auto item = static_cast<size_t>(i), row = static_cast<size_t>(level.items[item].row);
      return y0 + s.top[row] + s.sink[item] * (s.bottom[row] - s.top[row] - s.sizes[item].h);
    };
    for (size_t i = 0; i < level.items.size(); ++i) {
      const Item& item = level.items[i];
      if (item.what > What::group) continue;
      const Rect at{x0 + s.x[i] - s.sizes[i].w / 2, upper(static_cast<int>(i)), s.sizes[i].w,
                    s.sizes[i].h};
      (item.what == What::box ? result_.boxes : result_.groups)[static_cast<size_t>(item.ref)] = at;
    }
    for (const Link& l : level.links) {
      const auto from = static_cast<size_t>(l.from), to = static_cast<size_t>(l.to);
      const Item &a = level.items[from], &b = level.items[to];
      const auto ra = static_cast<size_t>(a.row), rb = static_cast<size_t>(b.row);
      const auto ends = [&](const Item& i) {
        return i.what == What::box || (i.what == What::group && !open_[static_cast<size_t>(i.ref)]);
      };
      Wire w;
      w.x1 = x0 + s.x[from] + offset(level, l.from, l.from_port);
      w.y1 = a.what == What::bend ? y0 + s.top[ra] : upper(l.from) + s.sizes[from].h;
      w.y2 = y0 + s.bottom[ra];
      w.x2 = x0 + s.x[to] + offset(level, l.to, l.to_port);
      w.y3 = y0 + s.top[rb];
      w.y4 = b.what == What::bend ? w.y3 : upper(l.to);
      w.source = l.source;
      w.dashed = l.dashed;
      w.arrow = !l.upwards && ends(b);
      w.upwards = l.upwards && ends(a);
      result_.wires.push_back(w);
    }
  }

  const Picture& picture_;
  const std::vector<Level>& levels_;
  const std::vector<bool>& open_;
  std::vector<Spot> spots_;
  Placement result_;
};

}  // namespace

Size size_of(const Picture::Box& box) {
  return {width_of(box.lines) + 16,
          line_height(kTitleFont) +
              line_height(kTextFont) * static_cast<double>(box.lines.size() - 1) + 8};
}

Size size_of(const Picture::Group& group) {
  return {label_width(group) + 24, line_height(kTitleFont) + 14};
}

double label_width(const Picture::Group& group) { return width_of({group.name}); }

Placement place(const Picture& picture, const Arrangement& arrangement,
                const std::vector<bool>& open) {
  return Placer(picture, arrangement, open).run();
}

}  // namespace tandem::inspect
