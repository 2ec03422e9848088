#include <algorithm>
#include <map>

#include "tandem/core/tensor_impl.h"
#include "tandem/inspect/modules_detail.h"
#include "tandem/inspect/text_detail.h"

namespace tandem::inspect {
namespace {

// "tandem::nn::LinearImpl" is called Linear, "(anonymous namespace)::Net<2>" Net<2>.
std::string short_class(const std::string& name) {
  size_t end = name.find('<');
  if (end == std::string::npos) end = name.size();
  const size_t colons = name.rfind("::", end);
  const size_t begin = colons == std::string::npos ? 0 : colons + 2;
  std::string base = name.substr(begin, end - begin);
  if (base.size() > 4 && base.ends_with("Impl")) base.resize(base.size() - 4);
  return base + name.substr(end);
}

}  // namespace

ModuleTree::ModuleTree(const DrawOptions& options) {
  for (const auto& [name, tensor] : options.names)
    if (tensor.defined()) add_tensor(tensor, {name, -1});
  const nn::Module* root = options.module.get();
  if (!root) return;
  std::unordered_map<std::string, int> by_path;
  const auto add = [&](const std::string& path, const nn::Module& m) {
    const size_t dot = path.rfind('.');
    const std::string above = dot == std::string::npos ? "" : path.substr(0, dot);
    const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
    const int parent = path.empty() ? -1 : by_path.at(above);
    const std::string kind = short_class(m.name());
    entries_.push_back({path, path.empty() ? kind : key + ": " + kind, parent,
                        parent < 0 ? 0 : entries_[static_cast<size_t>(parent)].depth + 1,
                        ModuleNotes::saw(m)});
    if (parent >= 0) entries_[static_cast<size_t>(parent)].leaf = false;
    const int index = static_cast<int>(entries_.size()) - 1;
    by_path.emplace(path, index);
    modules_.emplace(&m, index);
    const auto own = [&](const OrderedDict<std::string, Tensor>& tensors) {
      for (const auto& item : tensors)
        add_tensor(item.value(), {path.empty() ? item.key() : path + "." + item.key(), index});
    };
    own(m.named_parameters(/*recurse=*/false));
    own(m.named_buffers(/*recurse=*/false));
  };
  root->apply(nn::Module::ConstNamedModuleApplyFunction(add));
}

// The first name stays: tied weights belong to the module that comes first.
void ModuleTree::add_tensor(const Tensor& t, Name name) {
  tensors_.emplace(t.impl(), std::move(name));
  if (const Node* n = t.impl()->edge.node.get(); n && n->is_leaf()) leaves_.emplace(n, t.impl());
}

int ModuleTree::maker_of(const Node& n) const {
  for (const nn::Module* m : ModuleNotes::modules_of(n))
    if (const auto found = modules_.find(m); found != modules_.end()) return found->second;
  return -1;
}

const ModuleTree::Name* ModuleTree::name_of(const TensorImpl* t) const {
  const auto found = tensors_.find(t);
  return found == tensors_.end() ? nullptr : &found->second;
}

const ModuleTree::Name* ModuleTree::name_of_leaf(const Node* leaf) const {
  const auto found = leaves_.find(leaf);
  return found == leaves_.end() ? nullptr : name_of(found->second);
}

int ModuleTree::common(int a, int b) const {
  while (a != b) {
    if (a < 0 || b < 0) return -1;
    const Entry &x = entries_[static_cast<size_t>(a)], &y = entries_[static_cast<size_t>(b)];
    if (x.depth >= y.depth)
      a = x.parent;
    else
      b = y.parent;
  }
  return a;
}

namespace {

// A box, or all boxes of a fused group: what is put somewhere as a whole.
struct Unit {
  std::vector<int> before, after;  // units
  std::vector<int> boxes;
  int module = -1;
  bool anchored = false;    // a parameter says where it belongs
  bool parameters = false;  // made of nothing but parameters
  bool floats = false;      // comes from nowhere, and goes with what reads it
  bool given = false;       // a module's own tensor
  bool follows = false;     // written back to something nameless: goes with what makes it
};

constexpr int kUnset = -2;

class Grouping {
 public:
  Grouping(Picture& picture, const ModuleTree& tree, const std::vector<Origin>& origins,
           bool trains)
      : picture_(picture), tree_(tree), origins_(origins), trains_(trains) {}

  void run() {
    make_units();
    for (Unit& u : units_) anchor(u);
    between();
    notes();
    place();
    attach_floating();
    renumber();
  }

 private:
  Unit& unit(int u) { return units_[static_cast<size_t>(u)]; }
  const Picture::Box& box(int b) const { return picture_.boxes[static_cast<size_t>(b)]; }

  void make_units() {
    const size_t n = picture_.boxes.size();
    unit_of_.resize(n);
    std::vector<int> of_group(picture_.groups.size(), -1);
    for (size_t b = 0; b < n; ++b) {
      const auto group = static_cast<size_t>(picture_.boxes[b].group);
      int u = group ? of_group[group] : -1;
      if (u < 0) {
        u = static_cast<int>(units_.size());
        units_.emplace_back();
        if (group) of_group[group] = u;
      }
      unit_of_[b] = u;
      unit(u).boxes.push_back(static_cast<int>(b));
    }
    for (const Picture::Line& l : picture_.lines) {
      const int from = unit_of_[static_cast<size_t>(l.from)];
      const int to = unit_of_[static_cast<size_t>(l.to)];
      if (from == to) continue;
      unit(to).before.push_back(from);
      unit(from).after.push_back(to);
    }
  }

  // Units come in an order in which each stands behind those it reads.
  void anchor(Unit& u) {
    int module = kUnset;
    const auto join = [&](int m) { module = module == kUnset ? m : tree_.common(module, m); };
    for (const int b : u.boxes)
      if (const int owner = origins_[static_cast<size_t>(b)].owner; owner >= 0) join(owner);
    if (module != kUnset) {
      u.parameters = box(u.boxes[0]).kind != Kind::write;
      u.given = u.before.empty();
    } else {
      bool all = !u.before.empty() && !origins_[static_cast<size_t>(u.boxes[0])].reads_more,
           any = false;
      for (const int p : u.before) {
        if (unit(p).parameters) join(unit(p).module), any = true;
        all = all && (unit(p).parameters || unit(p).floats);
      }
      const Kind kind = box(u.boxes[0]).kind;
      u.parameters = all && any && kind == Kind::function;
      u.floats = u.before.empty() && !u.after.empty() && kind != Kind::argument;
      u.follows = kind == Kind::write && !u.before.empty();
      if (kind == Kind::result) module = kUnset;
    }
    u.anchored = module != kUnset;
    if (u.anchored) u.module = module;
  }

  // What lies on the way from one parameter to another. A few of the nearest on either side tell:
  // of all pairs, the one that has most in common. In a residual network one of those before and
  // one of those after are of the same block, whatever else comes along past the block.
  void between() {
    const std::vector<Near> above = nearest(true), below = nearest(false);
    for (size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].anchored) continue;
      int best = -1;
      for (const int a : above[u])
        for (const int b : below[u]) {
          int both = tree_.common(unit(a).module, unit(b).module);
          if (trains_ && both >= 0 && entry(both).leaf) both = entry(both).parent;
          if (both >= 0 && (best < 0 || entry(both).depth > entry(best).depth)) best = both;
        }
      units_[u].module = best;
    }
  }

  using Near = std::vector<int>;
  // By unit: the anchored units that come before it, or after it, with none in between.
  std::vector<Near> nearest(bool before) {
    constexpr size_t kFew = 6;
    const size_t n = units_.size();
    std::vector<Near> result(n);
    for (size_t k = 0; k < n; ++k) {
      const size_t u = before ? k : n - 1 - k;
      Near& near = result[u];
      for (const int other : before ? units_[u].before : units_[u].after) {
        const Near& theirs = result[static_cast<size_t>(other)];
        if (unit(other).anchored)
          near.push_back(other);
        else
          near.insert(near.end(), theirs.begin(), theirs.end());
      }
      std::sort(near.begin(), near.end());
      near.erase(std::unique(near.begin(), near.end()), near.end());
      if (before) std::reverse(near.begin(), near.end());
      if (near.size() > kFew) near.resize(kFew);
    }
    return result;
  }

  void notes() {
    for (Unit& u : units_) {
      int noted = kUnset;
      for (const int b : u.boxes) {
        const Origin& o = origins_[static_cast<size_t>(b)];
        if (o.known) noted = noted == kUnset ? o.noted : tree_.common(noted, o.noted);
      }
      if (noted == kUnset || u.floats || u.given) continue;
      // Modules inside of the noted one may be right as well, if their forward() was not seen.
      int m = u.module;
      for (int at = m; at >= 0 && at != noted; at = entry(at).parent)
        if (entry(at).seen) m = entry(at).parent;
      u.module = noted < 0 || (m >= 0 && tree_.common(m, noted) == noted) ? m : noted;
    }
  }

  // Finds each unit's visit to its module: the latest one, unless something outside of that visit
  // lies between. `left` says, by unit, which visits were left on the way to it.
  void place() {
    std::vector<Set> left(units_.size());
    visit_of_.assign(units_.size(), 0);
    for (size_t u = 0; u < units_.size(); ++u) {
      for (const int p : units_[u].before) left[u].join(left[static_cast<size_t>(p)]);
      if (units_[u].floats || units_[u].given) continue;
      if (units_[u].follows) {
        visit_of_[u] = visit_of_[static_cast<size_t>(units_[u].before[0])];
        continue;
      }
      const int at = visit_of_[u] = enter(units_[u].module, left[u]);
      for (const int p : units_[u].before)
        for (int g = visit_of_[static_cast<size_t>(p)]; g > 0; g = parent(g))
          if (!holds(g, at)) left[u].add(g);
    }
    for (size_t u = 0; u < units_.size(); ++u)
      if (units_[u].given) visit_of_[u] = visit_of_given(units_[u]);
  }

  // Visits, by number.
  struct Set {
    std::vector<uint64_t> bits;
    bool has(int i) const {
      const auto at = static_cast<size_t>(i);
      return at / 64 < bits.size() && (bits[at / 64] >> at % 64 & 1);
    }
    void add(int i) {
      const auto at = static_cast<size_t>(i);
      if (bits.size() <= at / 64) bits.resize(at / 64 + 1);
      bits[at / 64] |= uint64_t{1} << at % 64;
    }
    void join(const Set& other) {
      if (bits.size() < other.bits.size()) bits.resize(other.bits.size());
      for (size_t w = 0; w < other.bits.size(); ++w) bits[w] |= other.bits[w];
    }
  };

  // The visit to a module, after those in `left` have been left.
  int enter(int module, const Set& left) {
    std::vector<int> chain;
    for (int m = module; m >= 0; m = entry(m).parent) chain.push_back(m);
    int at = 0;
    for (size_t i = chain.size(); i-- > 0;) {
      const auto [found, fresh] = latest_.try_emplace({at, chain[i]}, -1);
      if (fresh || left.has(found->second)) found->second = add_group(at, chain[i]);
      at = found->second;
    }
    return at;
  }

  // A parameter stands where it is first read by its own module.
  int visit_of_given(const Unit& u) {
    for (const int s : u.after)
      for (int g = visit_of_[static_cast<size_t>(s)]; g > 0; g = parent(g))
        if (module_of_[static_cast<size_t>(g)] == u.module) return g;
    return enter(u.module, Set{});
  }

  const ModuleTree::Entry& entry(int m) const { return tree_.entries()[static_cast<size_t>(m)]; }
  bool holds(int outer, int inner) const {
    while (inner > outer) inner = parent(inner);
    return inner == outer;
  }
  int parent(int g) const { return groups_[static_cast<size_t>(g)].parent; }
  int add_group(int parent, int module) {
    const ModuleTree::Entry& e = entry(module);
    const int visit = ++visits_[module];
    Picture::Group g;
    g.name = visit > 1 ? text_of(e.label, " (", visit, ")") : e.label;
    g.tip = e.path.empty() ? e.label : e.path;
    g.parent = parent;
    groups_.push_back(std::move(g));
    module_of_.push_back(module);
    return static_cast<int>(groups_.size()) - 1;
  }

  // Constants and saved tensors stand inside the innermost group that holds all who read them.
  void attach_floating() {
    for (size_t u = units_.size(); u-- > 0;) {
      if (!units_[u].floats) continue;
      int at = -1;
      for (const int s : units_[u].after) {
        int other = visit_of_[static_cast<size_t>(s)];
        if (at < 0) at = other;
        while (at != other) {
          int& inner = at > other ? at : other;
          inner = groups_[static_cast<size_t>(inner)].parent;
        }
      }
      visit_of_[u] = std::max(at, 0);
    }
  }

  // Modules come first, then the fused groups, each inside the module it belongs to.
  void renumber() {
    std::vector<int> moved(picture_.groups.size(), 0);
    for (size_t g = 1; g < picture_.groups.size(); ++g) {
      moved[g] = static_cast<int>(groups_.size());
      groups_.push_back(picture_.groups[g]);
      groups_.back().parent = 0;
    }
    for (size_t b = 0; b < picture_.boxes.size(); ++b) {
      int& group = picture_.boxes[b].group;
      const int visit = visit_of_[static_cast<size_t>(unit_of_[b])];
      if (group) {
        group = moved[static_cast<size_t>(group)];
        groups_[static_cast<size_t>(group)].parent = visit;
      } else {
        group = visit;
      }
    }
    picture_.groups = std::move(groups_);
  }

  Picture& picture_;
  const ModuleTree& tree_;
  const std::vector<Origin>& origins_;
  const bool trains_;
  std::vector<int> unit_of_;  // by box
  std::vector<Unit> units_;
  std::vector<int> visit_of_;  // by unit: its group
  std::vector<Picture::Group> groups_{Picture::Group{}};
  std::vector<int> module_of_{-1};             // by group
  std::map<std::pair<int, int>, int> latest_;  // by group around it and module: its latest visit
  std::unordered_map<int, int> visits_;        // by module
};

}  // namespace

void group_by_module(Picture& picture, const ModuleTree& tree, const std::vector<Origin>& origins,
                     bool trains) {
  if (!tree.entries().empty()) Grouping(picture, tree, origins, trains).run();
}

}  // namespace tandem::inspect
