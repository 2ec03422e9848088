#include <algorithm>
#include <unordered_map>

#include "tandem/inspect/layout_detail.h"

namespace tandem::inspect {
namespace {

using What = Arrangement::What;
using Item = Arrangement::Item;
using Link = Arrangement::Link;
using Level = Arrangement::Level;

// Beyond that many bends in a level its longest lines get none and may run behind boxes.
constexpr size_t kMaxBends = 200'000;

// Splits lines into what each level sees of them.
class Levels {
 public:
  explicit Levels(const Picture& picture) : picture_(picture) {
    const size_t n_groups = picture.groups.size();
    result_.levels.resize(n_groups);
    ports_.resize(n_groups);
    item_of_group_.assign(n_groups, -1);
    item_of_box_.reserve(picture.boxes.size());
    depth_.assign(n_groups, 0);
    for (size_t g = 1; g < n_groups; ++g)
      depth_[g] = depth_[static_cast<size_t>(picture.groups[g].parent)] + 1;
  }

  Arrangement run() {
    for (size_t b = 0; b < picture_.boxes.size(); ++b) {
      const int group = picture_.boxes[b].group;
      for (int g = group; g > 0 && item_of_group_[static_cast<size_t>(g)] < 0; g = parent(g))
        item_of_group_[static_cast<size_t>(g)] = add(parent(g), {What::group, g});
      item_of_box_.push_back(add(group, {What::box, static_cast<int>(b)}));
    }
    for (const Picture::Line& l : picture_.lines) split(l);
    for (Level& level : result_.levels) drop_doubles(level);
    return std::move(result_);
  }

 private:
  int parent(int g) const { return picture_.groups[static_cast<size_t>(g)].parent; }
  Level& level(int g) { return result_.levels[static_cast<size_t>(g)]; }
  int add(int group, Item item) {
    level(group).items.push_back(item);
    return static_cast<int>(level(group).items.size()) - 1;
  }
  // All lines from one box cross a border at one place.
  int port(int group, What what, const Picture::Line& l) {
    const int64_t key = (int64_t{l.from} * 2 + l.dashed) * 2 + (what == What::out_port);
    const auto [found, fresh] = ports_[static_cast<size_t>(group)].try_emplace(key, -1);
    if (fresh) found->second = add(group, {what, l.from});
    return found->second;
  }

  void split(const Picture::Line& l) {
    int from_group = picture_.boxes[static_cast<size_t>(l.from)].group;
    int to_group = picture_.boxes[static_cast<size_t>(l.to)].group;
    Link link{item_of_box_[static_cast<size_t>(l.from)], item_of_box_[static_cast<size_t>(l.to)]};
    link.source = l.from;
    link.dashed = l.dashed;
    // Outwards from both ends until they meet.
    while (from_group != to_group) {
      const auto f = static_cast<size_t>(from_group), t = static_cast<size_t>(to_group);
      if (depth_[f] >= depth_[t]) {
        Link inner = link;
        inner.to = port(from_group, What::out_port, l);
        inner.to_port = -1;
        level(from_group).links.push_back(inner);
        link.from_port = inner.to;
        link.from = item_of_group_[f];
        from_group = parent(from_group);
      } else {
        Link inner = link;
        inner.from = port(to_group, What::in_port, l);
        inner.from_port = -1;
        level(to_group).links.push_back(inner);
        link.to_port = inner.from;
        link.to = item_of_group_[t];
        to_group = parent(to_group);
      }
    }
    level(from_group).links.push_back(link);
  }

  static void drop_doubles(Level& level) {
    const auto key = [](const Link& l) {
      return std::tuple(l.from, l.to, l.from_port, l.to_port, l.source, l.dashed);
    };
    std::sort(level.links.begin(), level.links.end(),
              [&](const Link& a, const Link& b) { return key(a) < key(b); });
    level.links.erase(std::unique(level.links.begin(), level.links.end(),
                                  [&](const Link& a, const Link& b) { return key(a) == key(b); }),
                      level.links.end());
  }

  const Picture& picture_;
  Arrangement result_;
  std::vector<int> depth_, item_of_group_, item_of_box_;
  std::vector<std::unordered_map<int64_t, int>> ports_;  // by group
};

// The links of a level by item.
struct Neighbours {
  std::vector<std::vector<int>> down, up;  // links that leave an item, that enter it
  explicit Neighbours(const Level& level) : down(level.items.size()), up(level.items.size()) {
    for (size_t i = 0; i < level.links.size(); ++i) {
      down[static_cast<size_t>(level.links[i].from)].push_back(static_cast<int>(i));
      up[static_cast<size_t>(level.links[i].to)].push_back(static_cast<int>(i));
    }
  }
};

// Groups may depend on each other in a ring, of which one line then leads upwards.
void break_rings(Level& level) {
  const Neighbours near(level);
  enum : char { unseen, open, done };
  std::vector<char> state(level.items.size(), unseen);
  std::vector<std::pair<int, size_t>> stack;
  for (size_t start = 0; start < level.items.size(); ++start) {
    if (state[start] != unseen) continue;
    stack.assign(1, {static_cast<int>(start), 0});
    state[start] = open;
    while (!stack.empty()) {
      auto& [item, next] = stack.back();
      const auto& links = near.down[static_cast<size_t>(item)];
      if (next == links.size()) {
        state[static_cast<size_t>(item)] = done;
        stack.pop_back();
        continue;
      }
      Link& l = level.links[static_cast<size_t>(links[next++])];
      const auto to = static_cast<size_t>(l.to);
      if (state[to] == open) {
        l.upwards = true;
      } else if (state[to] == unseen) {
        state[to] = open;
        stack.emplace_back(l.to, 0);
      }
    }
  }
  for (Link& l : level.links)
    if (l.upwards) {
      std::swap(l.from, l.to);
      std::swap(l.from_port, l.to_port);
    }
}

// Items in an order in which each comes after those with links to it.
std::vector<int> sorted(const Level& level, const Neighbours& near) {
  std::vector<size_t> waits(level.items.size());
  std::vector<int> order;
  for (size_t i = 0; i < waits.size(); ++i)
    if ((waits[i] = near.up[i].size()) == 0) order.push_back(static_cast<int>(i));
  for (size_t at = 0; at < order.size(); ++at)
    for (const int l : near.down[static_cast<size_t>(order[at])]) {
      const int to = level.links[static_cast<size_t>(l)].to;
      if (--waits[static_cast<size_t>(to)] == 0) order.push_back(to);
    }
  return order;
}

// Each item stands as high as what leads to it allows; then those that more lines leave than enter
// go down to what they lead to, since that makes lines shorter.
void choose_rows(Level& level) {
  const Neighbours near(level);
  const std::vector<int> order = sorted(level, near);
  const auto row = [&](int i) -> int& { return level.items[static_cast<size_t>(i)].row; };
  const auto is = [&](int i, What what) {
    return level.items[static_cast<size_t>(i)].what == what;
  };
  int first = 0;
  for (const Item& item : level.items)
    if (item.what == What::in_port) first = 1;
  int last = first;
  for (const int i : order) {
    row(i) = is(i, What::in_port) ? 0 : first;
    for (const int l : near.up[static_cast<size_t>(i)])
      row(i) = std::max(row(i), row(level.links[static_cast<size_t>(l)].from) + 1);
    if (!is(i, What::out_port)) last = std::max(last, row(i));
  }
  bool leaves = false;
  for (const int i : order)
    if (is(i, What::out_port)) row(i) = last + 1, leaves = true;
  for (size_t at = order.size(); at-- > 0;) {
    const int i = order[at];
    const auto& down = near.down[static_cast<size_t>(i)];
    if (is(i, What::in_port) || down.empty() ||
        down.size() <= near.up[static_cast<size_t>(i)].size())
      continue;
    int lowest = last + 1;
    for (const int l : down)
      lowest = std::min(lowest, row(level.links[static_cast<size_t>(l)].to) - 1);
    row(i) = std::max(row(i), lowest);
  }
  level.rows.resize(static_cast<size_t>(last + (leaves ? 2 : 1)));
}

// A line that passes rows has a bend in each; those from the same place share theirs.
void add_bends(Level& level) {
  std::vector<Link> links = std::move(level.links);
  level.links.clear();
  const auto row = [&](int i) { return level.items[static_cast<size_t>(i)].row; };
  const auto trunk = [](const Link& l) {
    return std::tuple(l.from, l.from_port, l.source, l.dashed, l.upwards);
  };
  std::sort(links.begin(), links.end(), [&](const Link& a, const Link& b) {
    return std::tuple(trunk(a), row(a.to), a.to, a.to_port) <
           std::tuple(trunk(b), row(b.to), b.to, b.to_port);
  });
  size_t bends = 0;
  for (size_t begin = 0, end; begin < links.size(); begin = end) {
    for (end = begin + 1; end < links.size() && trunk(links[end]) == trunk(links[begin]);) ++end;
    const Link& head = links[begin];
    const int top = row(head.from);
    const auto span = static_cast<size_t>(row(links[end - 1].to) - top - 1);
    const bool bent = bends + span <= kMaxBends;
    std::vector<int> at = {head.from};  // by row below the trunk's beginning
    if (bent) bends += span;
    for (size_t i = begin; i < end; ++i) {
      Link l = links[i];
      const int below = bent ? row(l.to) - top - 1 : 0;
      while (static_cast<int>(at.size()) <= below) {
        const int next = static_cast<int>(level.items.size());
        level.items.push_back({What::bend, head.source, top + static_cast<int>(at.size())});
        Link part = head;
        part.from = at.back();
        part.from_port = at.size() == 1 ? head.from_port : -1;
        part.to = next;
        part.to_port = -1;
        level.links.push_back(part);
        at.push_back(next);
      }
      l.from = at[static_cast<size_t>(below)];
      if (below) l.from_port = -1;
      level.links.push_back(l);
    }
  }
}

}  // namespace

Arrangement arrange(const Picture& picture) {
  Arrangement a = Levels(picture).run();
  // From the innermost: where a group's ports are matters to the order around it.
  for (size_t g = a.levels.size(); g-- > 0;) {
    Level& level = a.levels[g];
    break_rings(level);
    choose_rows(level);
    add_bends(level);
    for (size_t i = 0; i < level.items.size(); ++i)
      level.rows[static_cast<size_t>(level.items[i].row)].push_back(static_cast<int>(i));
    order_rows(a, g);
  }
  return a;
}

}  // namespace tandem::inspect
