#include <algorithm>
#include <unordered_map>

#include "tandem/inspect/layout_detail.h"

namespace tandem::inspect {
namespace {

using What = Arrangement::What;
using Link = Arrangement::Link;
using Level = Arrangement::Level;

// Where an item stands in its row, and for a link how far from there its port is: less than half a
// place to either side.
struct Ends {
  std::vector<float> from, to;  // by link
};

Ends port_offsets(const Arrangement& a, const Level& level) {
  // By group inside of the level: where in its row each of its items is, from -0.5 to 0.5.
  std::unordered_map<int, std::vector<float>> inside;
  const auto offset = [&](int item, int port) -> float {
    if (port < 0) return 0;
    const int group = level.items[static_cast<size_t>(item)].ref;
    auto [found, fresh] = inside.try_emplace(group);
    const Level& inner = a.levels[static_cast<size_t>(group)];
    if (fresh) {
      found->second.resize(inner.items.size());
      for (const auto& row : inner.rows)
        for (size_t i = 0; i < row.size(); ++i)
          found->second[static_cast<size_t>(row[i])] =
              (static_cast<float>(i) + 0.5f) / static_cast<float>(row.size()) - 0.5f;
    }
    return found->second[static_cast<size_t>(port)];
  };
  Ends ends{std::vector<float>(level.links.size()), std::vector<float>(level.links.size())};
  for (size_t i = 0; i < level.links.size(); ++i) {
    const Link& l = level.links[i];
    ends.from[i] = 0.8f * offset(l.from, l.from_port);
    ends.to[i] = 0.8f * offset(l.to, l.to_port);
  }
  return ends;
}

class Ordering {
 public:
  Ordering(const Arrangement& a, Level& level)
      : level_(level),
        ends_(port_offsets(a, level)),
        position_(level.items.size()),
        up_(level.items.size()),
        down_(level.items.size()) {
    for (size_t i = 0; i < level.links.size(); ++i) {
      const Link& l = level.links[i];
      if (row_of(l.to) != row_of(l.from) + 1) continue;
      up_[static_cast<size_t>(l.to)].push_back(static_cast<int>(i));
      down_[static_cast<size_t>(l.from)].push_back(static_cast<int>(i));
    }
    for (const auto& row : level.rows) number(row);
  }

  void run() {
    const size_t n = level_.items.size();
    const int sweeps = n < 5'000 ? 14 : n < 50'000 ? 8 : 4;
    constexpr int kPatience = 4;  // sweeps in a row that make nothing better
    auto best = level_.rows;
    size_t fewest = static_cast<size_t>(-1);
    int idle = 0;
    for (int s = 0; s < sweeps && fewest && idle < kPatience; ++s) {
      sweep(s % 2 == 0);
      if (n < 3'000) exchange();
      const size_t now = crossings(level_);
      if (now < fewest) {
        fewest = now;
        best = level_.rows;
        idle = 0;
      } else {
        ++idle;
      }
    }
    level_.rows = std::move(best);
  }

 private:
  int row_of(int item) const { return level_.items[static_cast<size_t>(item)].row; }
  void number(const std::vector<int>& row) {
    for (size_t i = 0; i < row.size(); ++i)
      position_[static_cast<size_t>(row[i])] = static_cast<float>(i);
  }
  // Where the other end of the link is, seen from below or from above.
  float far_end(int link, bool above) const {
    const Link& l = level_.links[static_cast<size_t>(link)];
    return above ? position_[static_cast<size_t>(l.from)] + ends_.from[static_cast<size_t>(link)]
                 : position_[static_cast<size_t>(l.to)] + ends_.to[static_cast<size_t>(link)];
  }

  // Sorts each row by the mean place of what its items are linked to in the row before it. Items
  // without links stay where they are.
  void sweep(bool downwards) {
    const size_t n = level_.rows.size();
    std::vector<float> wish(level_.items.size());
    for (size_t k = 1; k < n; ++k) {
      auto& row = level_.rows[downwards ? k : n - 1 - k];
      for (const int item : row) {
        const auto& links = (downwards ? up_ : down_)[static_cast<size_t>(item)];
        float sum = 0;
        for (const int l : links) sum += far_end(l, downwards);
        wish[static_cast<size_t>(item)] = links.empty() ? position_[static_cast<size_t>(item)]
                                                        : sum / static_cast<float>(links.size());
      }
      std::stable_sort(row.begin(), row.end(), [&](int a, int b) {
        return wish[static_cast<size_t>(a)] < wish[static_cast<size_t>(b)];
      });
      number(row);
    }
  }

  // Crossings between the links of two items that stand side by side, in this order.
  int between(int left, int right) const {
    int count = 0;
    for (const bool above : {true, false}) {
      const auto& links = above ? up_ : down_;
      for (const int l : links[static_cast<size_t>(left)])
        for (const int r : links[static_cast<size_t>(right)])
          count += far_end(l, above) > far_end(r, above);
    }
    return count;
  }

  // Neighbours change places while that helps.
  void exchange() {
    constexpr size_t kManyLinks = 64;
    const auto busy = [&](int i) {
      return up_[static_cast<size_t>(i)].size() + down_[static_cast<size_t>(i)].size() > kManyLinks;
    };
    bool better = true;
    for (int round = 0; round < 4 && better; ++round) {
      better = false;
      for (auto& row : level_.rows)
        for (size_t i = 0; i + 1 < row.size(); ++i) {
          if (busy(row[i]) || busy(row[i + 1])) continue;
          if (between(row[i], row[i + 1]) <= between(row[i + 1], row[i])) continue;
          std::swap(row[i], row[i + 1]);
          std::swap(position_[static_cast<size_t>(row[i])],
                    position_[static_cast<size_t>(row[i + 1])]);
          better = true;
        }
    }
  }

  Level& level_;
  const Ends ends_;
  std::vector<float> position_;              // by item
  std::vector<std::vector<int>> up_, down_;  // by item: links to the next rows
};

}  // namespace

size_t crossings(const Level& level) {
  std::vector<int> position(level.items.size());
  for (const auto& row : level.rows)
    for (size_t i = 0; i < row.size(); ++i)
      position[static_cast<size_t>(row[i])] = static_cast<int>(i);
  // By the row that they begin in: the places of both ends.
  std::vector<std::vector<std::pair<int, int>>> pairs(level.rows.size());
  for (const Link& l : level.links) {
    const auto &from = level.items[static_cast<size_t>(l.from)],
               &to = level.items[static_cast<size_t>(l.to)];
    if (to.row == from.row + 1)
      pairs[static_cast<size_t>(from.row)].emplace_back(position[static_cast<size_t>(l.from)],
                                                        position[static_cast<size_t>(l.to)]);
  }
  size_t count = 0;
  std::vector<size_t> tree;  // sums of how many ended at or before a place (a Fenwick tree)
  for (size_t r = 0; r + 1 < level.rows.size(); ++r) {
    std::sort(pairs[r].begin(), pairs[r].end());
    tree.assign(level.rows[r + 1].size() + 1, 0);
    size_t seen = 0;
    for (const auto& [from, to] : pairs[r]) {
      size_t before = 0;
      for (auto i = static_cast<size_t>(to) + 1; i > 0; i &= i - 1) before += tree[i];
      count += seen++ - before;
      for (auto i = static_cast<size_t>(to) + 1; i < tree.size(); i += i & -i) ++tree[i];
    }
  }
  return count;
}

void order_rows(Arrangement& arrangement, size_t level) {
  Level& l = arrangement.levels[level];
  Ordering(arrangement, l).run();
}

}  // namespace tandem::inspect
