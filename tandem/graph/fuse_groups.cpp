#include "tandem/graph/fuse_groups.h"

#include <algorithm>

namespace tandem::fusing {
namespace {

// Beyond these a kernel gains nothing more and takes long to make.
constexpr size_t kMaxMembers = 96;
constexpr int kMaxUses = 96;
// A long row is one thread's work; where there are many elements and few rows the ordinary kernels,
// which cut rows, are faster.
constexpr int64_t kManyElements = 1 << 17;
constexpr int64_t kFewRows = 4;
// A block of rows that are summed (kernels/reduce_rows.h) is one thread's work.
constexpr int64_t kSummedColumns = 1024;

/// How two groups become one: what happens to the levels of their values.
enum class Fit : uint8_t {
  equal,         // both walk the same elements
  first_by_row,  // the first's elements are the second's rows
  second_by_row,
  first_single,  // the first has one element
};
constexpr Fit kFits[] = {Fit::equal, Fit::first_by_row, Fit::second_by_row, Fit::first_single};

Level shifted(Level level, bool by_row, bool single) {
  if (single) return Level::single;
  return by_row && level == Level::element ? Level::row : level;
}

class Grouper {
 public:
  Grouper(const Graph& g, const Analysis& analysis)
      : g_(g),
        analysis_(analysis),
        n_(g.nodes.size()),
        words_((n_ + 63) / 64),
        before_(n_ * words_, 0),
        groups_(n_),
        uses_(n_, 0),
        group_of_(n_),
        levels_(n_, Level::element),
        readers_(n_),
        leaves_(n_, false),
        taken_(n_, false) {
    for (size_t i = 0; i < n_; ++i) group_of_[i] = i;
  }

  Grouping run() {
    find_readers();
    for (size_t i = 0; i < n_; ++i) {
      enter(i);
      entered_ = i + 1;
      const Info& info = analysis_.infos[i];
      if (!info.fusable()) continue;
      for (const Use& u : info.uses)
        if (may_share(u)) join(group_of_[number(u.base)], group_of_[i]);
    }
    join_singles();
    join_siblings();
    find_sums();
    return result();
  }

 private:
  struct Candidate : Group {
    bool alive = true;
  };

  static size_t number(const Edge& e) { return e.node->walk_slot; }
  bool may_share(const Use& u) const {
    return !u.constant && !u.in_memory && analysis_.infos[number(u.base)].fusable();
  }
  uint64_t* before(size_t group) { return &before_[group * words_]; }
  static bool has(const uint64_t* set, size_t i) { return set[i / 64] >> (i % 64) & 1; }
  static void put(uint64_t* set, size_t i) { set[i / 64] |= uint64_t{1} << (i % 64); }

  // Who reads a value through the fuser's eyes, and which values others read too.
  void find_readers() {
    for (size_t i = 0; i < n_; ++i) {
      const Node& n = *g_.nodes[i];
      const Info& info = analysis_.infos[i];
      if (info.kind == Kind::view) continue;
      if (info.fusable())
        for (const Use& u : info.uses) readers_[number(u.base)].push_back(static_cast<int>(i));
      for (uint32_t k = 0; k < n.n_inputs; ++k) {
        const Edge& e = n.inputs()[k];
        const bool seen = (info.fusable() || info.kind == Kind::across) &&
                          std::any_of(info.uses.begin(), info.uses.end(),
                                      [&](const Use& u) { return u.edge == &e; });
        if (!seen) leaves_[base_of(e)] = true;
      }
    }
    for (const Edge& e : g_.outputs) leaves_[base_of(e)] = true;
  }
  size_t base_of(const Edge& e) const { return number(analysis_.places[number(e)].base); }

  // A group of its own for the node, after all that it depends on. Views count as what they view.
  void enter(size_t i) {
    const Node& n = *g_.nodes[i];
    const Info& info = analysis_.infos[i];
    Candidate& c = groups_[i];
    c.members = {static_cast<int>(i)};
    c.numel = info.numel;
    c.columns = info.columns;
    c.cuts = info.cuts;
    uses_[i] = static_cast<int>(info.uses.size());
    if (info.by_row()) levels_[i] = Level::row;
    if (info.kind == Kind::view) return;
    for (uint32_t k = 0; k < n.n_inputs; ++k) add_before(i, group_of_[base_of(n.inputs()[k])]);
  }
  // The set of a group holds other groups as wholes: all their members.
  void add_before(size_t i, size_t group) {
    uint64_t* set = before(i);
    const uint64_t* more = before(group);
    for (size_t w = 0; w < words_; ++w) set[w] |= more[w];
    for (int m : groups_[group].members) put(set, static_cast<size_t>(m));
  }

  // True iff something outside depends on `first` and is depended on by `second`: one of those that
  // `second` reads from, since they know all that comes before them.
  bool path_between(size_t first, size_t second) {
    const size_t mark = static_cast<size_t>(groups_[first].members.front());
    if (!has(before(second), mark)) return false;
    for (int m : groups_[second].members) {
      const Node& n = *g_.nodes[static_cast<size_t>(m)];
      for (uint32_t k = 0; k < n.n_inputs; ++k) {
        const size_t group = group_of_[base_of(n.inputs()[k])];
        if (group != first && group != second && has(before(group), mark)) return true;
      }
    }
    return false;
  }

  // The elements that both together walk; false if there is no such walk.
  bool common_walk(const Group& a, const Group& b, Fit fit, Group& both) {
    both.numel = std::max(a.numel, b.numel);
    both.columns = std::max(a.columns, b.columns);
    int64_t factor_a = 1, factor_b = 1;
    switch (fit) {
      case Fit::equal:
        if (a.numel != b.numel || (a.columns && b.columns && a.columns != b.columns)) return false;
        break;
      case Fit::first_by_row:
        if (a.columns || a.numel >= b.numel || b.numel % a.numel || a.numel == 1) return false;
        both.columns = factor_a = b.numel / a.numel;
        if (b.columns && b.columns != both.columns) return false;
        break;
      case Fit::second_by_row:
        if (b.columns || !a.columns || b.numel * a.columns != a.numel) return false;
        factor_b = a.columns;
        break;
      case Fit::first_single:
        if (a.numel != 1 || b.numel == 1) return false;
        break;
    }
    both.cuts.clear();
    if (!unite(both.cuts, a.cuts, factor_a) || !unite(both.cuts, b.cuts, factor_b)) return false;
    if (both.columns == 0) return true;
    if (both.columns < both.numel && !unite(both.cuts, Cuts{both.columns}, 1)) return false;
    if (!both.cuts.empty() && both.cuts.front() < both.columns) return false;
    return both.numel <= kManyElements || both.numel / both.columns >= kFewRows;
  }

  // True iff a node at level `at` can read the value at level `value` in the common walk.
  static bool reaches(const Use& u, Level value, Level at, const Group& both) {
    if (u.in_memory) return false;
    switch (u.relation) {
      case Relation::same:
        return value == at || value == Level::single;
      case Relation::rows:
        return value == Level::row && at == Level::element && u.columns == both.columns;
      case Relation::single:
        return value == Level::single ||
               (value == Level::row && at == Level::element && both.columns == both.numel);
      case Relation::other:
        return false;
    }
    return false;
  }

  // True iff every value that `reader` takes from `writer` is where it needs it.
  bool all_reach(size_t writer, size_t reader, Fit fit, bool writer_is_first, const Group& both) {
    const bool single = fit == Fit::first_single;
    const bool first_row = fit == Fit::first_by_row, second_row = fit == Fit::second_by_row;
    for (int m : groups_[reader].members) {
      const Info& info = analysis_.infos[static_cast<size_t>(m)];
      const Level own = info.by_row() ? Level::element : levels_[static_cast<size_t>(m)];
      const Level at =
          shifted(own, writer_is_first ? second_row : first_row, single && !writer_is_first);
      for (const Use& u : info.uses) {
        const size_t from = number(u.base);
        if (u.constant || group_of_[from] != writer) continue;
        const Level value = shifted(levels_[from], writer_is_first ? first_row : second_row,
                                    single && writer_is_first);
        if (!reaches(u, value, at, both)) return false;
      }
    }
    return true;
  }

  // A single value among many would be written by every thread: it must not be needed elsewhere.
  bool stays_inside(size_t group, size_t other) const {
    for (int m : groups_[group].members) {
      if (leaves_[static_cast<size_t>(m)]) return false;
      for (int r : readers_[static_cast<size_t>(m)]) {
        const size_t g = group_of_[static_cast<size_t>(r)];
        if (g != group && g != other) return false;
      }
    }
    return true;
  }

  /// Makes one group of two if that is possible. The first comes before the second.
  bool join(size_t a, size_t b) {
    if (a == b) return true;
    if (groups_[a].members.size() + groups_[b].members.size() > kMaxMembers ||
        uses_[a] + uses_[b] > kMaxUses)
      return false;
    Group both;
    for (Fit fit : kFits) {
      if (!common_walk(groups_[a], groups_[b], fit, both)) continue;
      if (!all_reach(a, b, fit, true, both) || !all_reach(b, a, fit, false, both)) continue;
      if (fit == Fit::first_single && !stays_inside(a, b)) continue;
      if (path_between(a, b) || path_between(b, a)) return false;
      merge(a, b, fit, std::move(both));
      return true;
    }
    return false;
  }

  // b becomes part of a.
  void merge(size_t a, size_t b, Fit fit, Group both) {
    Candidate &first = groups_[a], &second = groups_[b];
    for (int m : first.members)
      levels_[static_cast<size_t>(m)] = shifted(levels_[static_cast<size_t>(m)],
                                                fit == Fit::first_by_row, fit == Fit::first_single);
    for (int m : second.members) {
      levels_[static_cast<size_t>(m)] =
          shifted(levels_[static_cast<size_t>(m)], fit == Fit::second_by_row, false);
      group_of_[static_cast<size_t>(m)] = a;
    }
    const size_t mark_a = static_cast<size_t>(first.members.front());
    const size_t mark_b = static_cast<size_t>(second.members.front());
    std::vector<int> members;
    members.reserve(first.members.size() + second.members.size());
    std::merge(first.members.begin(), first.members.end(), second.members.begin(),
               second.members.end(), std::back_inserter(members));
    both.members = std::move(members);
    static_cast<Group&>(first) = std::move(both);
    second.members.clear();
    second.alive = false;
    uses_[a] += uses_[b];
    uint64_t *set = before(a), *other = before(b);
    bool more = false;  // what the first did not depend on before
    for (int m : first.members) put(set, static_cast<size_t>(m));
    for (size_t w = 0; w < words_; ++w) {
      more |= (other[w] & ~set[w]) != 0;
      set[w] |= other[w];
    }
    for (int m : first.members) set[m / 64] &= ~(uint64_t{1} << (m % 64));
    // Nothing depends on the node that was entered last, and what depends on the first knows it.
    if (!more && mark_b == entered_ - 1) return;
    // What depended on one of them depends on both, and on what is before both.
    for (size_t g = 0; g < entered_; ++g)
      if (g != a && groups_[g].alive && (has(before(g), mark_a) || has(before(g), mark_b)))
        add_before(g, a);
  }

  // Once all readers of a single value have found their groups.
  void join_singles() {
    for (size_t i = n_; i-- > 0;) {
      const size_t group = group_of_[i];
      if (groups_[group].numel != 1 || !analysis_.infos[i].fusable()) continue;
      for (int r : readers_[i])
        if (join(group, group_of_[static_cast<size_t>(r)])) break;
    }
  }

  // Groups that read the same value read it once when they are one.
  void join_siblings() {
    std::vector<size_t> groups;
    for (size_t i = 0; i < n_; ++i) {
      groups.clear();
      for (int r : readers_[i]) {
        const Info& info = analysis_.infos[static_cast<size_t>(r)];
        const bool whole = std::any_of(info.uses.begin(), info.uses.end(), [&](const Use& u) {
          return number(u.base) == i && !u.constant && u.relation == Relation::same;
        });
        const size_t g = group_of_[static_cast<size_t>(r)];
        if (whole && std::find(groups.begin(), groups.end(), g) == groups.end())
          groups.push_back(g);
      }
      for (size_t k = 1; k < groups.size(); ++k)
        for (size_t j = 0; j < k; ++j)
          if (groups_[groups[j]].alive && groups_[groups[k]].alive &&
              groups_[groups[j]].numel == groups_[groups[k]].numel && join(groups[j], groups[k]))
            break;
    }
  }

  // Rows that are summed are added up by the group that makes them, or by one that reads them.
  void find_sums() {
    for (size_t i = 0; i < n_; ++i) {
      const Info& info = analysis_.infos[i];
      if (info.kind != Kind::across) continue;
      const Use& u = info.uses[0];
      const size_t from = number(u.base);
      bool taken = false;
      if (may_share(u)) {
        taken = levels_[from] == Level::element && take_sum(i, group_of_[from]);
      } else if (!u.constant && !is_product(*u.base.node)) {
        for (int r : readers_[from])
          if (!taken && reads_own(r, *u.base.node))
            taken = take_sum(i, group_of_[static_cast<size_t>(r)]);
      }
      if (!taken) leaves_[from] = true;
    }
  }
  bool take_sum(size_t i, size_t group) {
    const Info& info = analysis_.infos[i];
    Candidate& c = groups_[group];
    if (info.uses[0].relation != Relation::same || info.numel != c.numel) return false;
    if (info.columns > kSummedColumns || (c.columns && info.columns % c.columns != 0)) return false;
    if (has(before(group), i)) return false;
    if (!c.sums.empty()) {
      const size_t other = static_cast<size_t>(c.sums[0]);
      if (analysis_.infos[other].columns != info.columns ||
          g_.nodes[other]->outputs()[0].dtype != g_.nodes[i]->outputs()[0].dtype)
        return false;
    } else if (!c.cuts.empty()) {
      // The kernel must be able to stop where a row ends.
      Cuts cuts = c.cuts;
      if (!unite(cuts, Cuts{info.columns}, 1)) return false;
      c.cuts = std::move(cuts);
    }
    c.sums.push_back(static_cast<int>(i));
    wait_for(group, i);
    return true;
  }
  // What depends on node i has to wait for the group, whose result it now is.
  void wait_for(size_t group, size_t i) {
    for (size_t g = 0; g < n_; ++g)
      if (g != group && groups_[g].alive && has(before(g), i)) add_before(g, group);
  }

  // The last product that the group may take up where it ends.
  void find_product(size_t group) {
    Candidate& c = groups_[group];
    for (int m : c.members)
      for (const Use& u : analysis_.infos[static_cast<size_t>(m)].uses) {
        const Node& p = *u.base.node;
        const size_t number = p.walk_slot;
        if (static_cast<int>(number) <= c.product || !is_product(p) || taken_[number]) continue;
        const auto& readers = readers_[number];
        const auto outside = [&](int r) { return group_of_[static_cast<size_t>(r)] != group; };
        if (!std::all_of(readers.begin(), readers.end(),
                         [&](int r) { return outside(r) || reads_own(r, p); }))
          continue;
        const bool kept = leaves_[number] || std::any_of(readers.begin(), readers.end(), outside);
        const int into = kept ? -1 : result_like(c, p.outputs()[0].dtype);
        if ((!kept && into < 0) || !factors_are_known(p)) continue;
        if (kept && path_between(number, group)) continue;
        c.product = static_cast<int>(number);
        c.product_into = into;
      }
    if (c.product < 0) return;
    const size_t number = static_cast<size_t>(c.product);
    taken_[number] = true;
    if (c.product_into < 0) wait_for(group, number);
  }
  // True iff node r reads of value p the elements that it walks itself.
  bool reads_own(int r, const Node& p) const {
    const size_t i = static_cast<size_t>(r);
    const Info& info = analysis_.infos[i];
    if (!info.by_row() && levels_[i] != Level::element) return false;
    return std::all_of(info.uses.begin(), info.uses.end(), [&](const Use& u) {
      return u.base.node.get() != &p || (u.relation == Relation::same && !u.in_memory);
    });
  }
  bool factors_are_known(const Node& p) const {
    for (uint32_t k = 0; k < p.n_inputs; ++k)
      if (!analysis_.place(p.inputs()[k]).known) return false;
    return true;
  }
  // A member with one result an element, of that dtype, that is needed outside.
  int result_like(const Candidate& c, DType dtype) const {
    for (int m : c.members) {
      const size_t i = static_cast<size_t>(m);
      if (levels_[i] != Level::element || g_.nodes[i]->outputs()[0].dtype != dtype) continue;
      const auto elsewhere = [&](int r) {
        return group_of_[static_cast<size_t>(r)] != group_of_[i];
      };
      if (leaves_[i] || std::any_of(readers_[i].begin(), readers_[i].end(), elsewhere)) return m;
    }
    return -1;
  }

  Grouping result() {
    Grouping out;
    out.group_of.assign(n_, -1);
    for (size_t i = 0; i < n_; ++i) {
      // A group is met at its last member, so that the order is that of the nodes.
      Candidate& c = groups_[group_of_[i]];
      if (c.members.back() != static_cast<int>(i) || !analysis_.infos[i].fusable()) continue;
      find_product(group_of_[i]);
      if (c.members.size() < 2 && c.product < 0 && c.sums.empty()) continue;
      if (c.product >= 0 && c.product_into < 0)
        out.group_of[static_cast<size_t>(c.product)] = static_cast<int>(out.groups.size());
      for (int s : c.sums)
        out.group_of[static_cast<size_t>(s)] = static_cast<int>(out.groups.size());
      for (int m : c.members)
        out.group_of[static_cast<size_t>(m)] = static_cast<int>(out.groups.size());
      out.groups.push_back(c);
    }
    out.levels = std::move(levels_);
    return out;
  }

  const Graph& g_;
  const Analysis& analysis_;
  size_t n_, words_, entered_ = 0;  // the first entered_ nodes have groups
  std::vector<uint64_t> before_;    // by group: a set of nodes
  std::vector<Candidate> groups_;   // one a node at first
  std::vector<int> uses_;
  std::vector<size_t> group_of_;
  std::vector<Level> levels_;
  std::vector<std::vector<int>> readers_;  // by node: fusable ones
  std::vector<bool> leaves_;               // by node: others need the value too
  std::vector<bool> taken_;                // by node: a product that a group has taken up
};

}  // namespace

Grouping find_groups(const Graph& g, const Analysis& analysis) {
  return Grouper(g, analysis).run();
}

}  // namespace tandem::fusing
