#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "tandem/core/node_extra.h"
#include "tandem/inspect/modules_detail.h"
#include "tandem/inspect/text_detail.h"

/// The graph behind results: what backward walks.
namespace tandem::inspect {
namespace {

constexpr size_t kShortAttributes = 36, kLongAttributes = 2000;

class AutogradPicture {
 public:
  AutogradPicture(const Graph& graph, const DrawOptions& options)
      : graph_(graph), options_(options), tree_(options) {
    picture_.autograd = true;
  }

  Picture make(const std::vector<Tensor>& results) {
    for (const NodePtr& n : graph_.nodes) {
      if (n->is_leaf())
        add_leaf(*n);
      else
        add_function(*n);
      expect_drawable(picture_.boxes.size(), options_);
    }
    for (size_t i = 0; i < graph_.n_results; ++i)
      add_result(i, i < results.size() ? results[i].impl() : nullptr);
    expect_drawable(picture_.boxes.size(), options_);
    group_by_module(picture_, tree_, origins_, /*trains=*/false);
    return std::move(picture_);
  }

 private:
  int add(Kind kind, std::vector<std::string> lines, std::string tip, Origin origin = {}) {
    picture_.boxes.push_back({kind, std::move(lines), std::move(tip), 0});
    origins_.push_back(origin);
    return static_cast<int>(picture_.boxes.size()) - 1;
  }

  void add_leaf(const Node& n) {
    const ModuleTree::Name* name = tree_.name_of_leaf(&n);
    const TensorType& type = n.outputs()[0];
    std::vector<std::string> lines;
    if (name) lines.push_back(name->text);
    lines.push_back(short_type(type));
    const Origin origin{name ? name->module : -1};
    const int leaf = add(Kind::leaf, std::move(lines),
                         text_of("leaf", name ? " " + name->text : "", "\n", type), origin);
    leaf_[&n] = leaf;
    box_[&n] = leaf;
    if (!options_.accumulate_grad) return;
    box_[&n] = add(Kind::function, {n.name()}, n.name(), origin);
    picture_.lines.push_back({leaf, box_[&n]});
  }

  void add_function(const Node& n) {
    std::vector<int> kept = saved_of(n);
    std::vector<std::string> lines = {clean(n.name())};
    TextStream tip;
    tip << n.name();
    if (n.n_outputs) lines.push_back(short_type(n.outputs()[0]));
    if (n.n_outputs > 1) lines.back() += text_of(" and ", n.n_outputs - 1, " more");
    for (uint32_t k = 0; k < n.n_outputs; ++k) tip << "\n" << n.outputs()[k];
    if (const std::string all = attribute_text(n.attrs(), kLongAttributes); !all.empty()) {
      tip << "\n" << all;
      if (options_.attributes) lines.push_back(shorten(all, kShortAttributes));
    }
    if (n.released) tip << "\nbackward has passed: what was saved is gone";
    bool reads_more = false;
    std::vector<int> from;
    for (uint32_t i = 0; i < n.n_inputs; ++i) {
      if (const Node* in = n.inputs()[i].node.get())
        from.push_back(box_.at(in));
      else
        reads_more = true;
    }
    const int box = add(Kind::function, std::move(lines), tip.str(),
                        {-1, ModuleNotes::know(n), tree_.maker_of(n), reads_more});
    box_[&n] = box;
    join(from, box, false);
    // Where a gradient flows as well, one line says both.
    std::erase_if(kept,
                  [&](int k) { return std::find(from.begin(), from.end(), k) != from.end(); });
    join(kept, box, true);
  }

  void join(std::vector<int>& from, int to, bool dashed) {
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    for (const int f : from) picture_.lines.push_back({f, to, dashed});
  }

  // The boxes of what the node keeps. A value that several keep has one box; a leaf's is its own.
  std::vector<int> saved_of(const Node& n) {
    std::vector<int> boxes;
    if (!options_.saved) return boxes;
    for (int bit = 0; bit < 64; ++bit) {
      const int at = n.saved_index(bit);
      if (at < 0 || !n.saved()[at].impl) continue;
      const TensorImpl& t = *n.saved()[at].impl;
      const std::string role = bit < Saves::kMaxInputs ? text_of("input ", bit)
                               : n.n_outputs > 1       ? text_of("result ", bit - Saves::kMaxInputs)
                                                       : std::string("result");
      boxes.push_back(saved_box(t, role));
      std::string& tip = picture_.boxes[static_cast<size_t>(boxes.back())].tip;
      if (picture_.boxes[static_cast<size_t>(boxes.back())].kind == Kind::saved)
        tip += text_of("\n", role, " of ", n.op->name);
    }
    return boxes;
  }

  int saved_box(const TensorImpl& t, const std::string& role) {
    if (const Node* leaf = t.edge.node.get(); leaf && leaf_.contains(leaf)) return leaf_.at(leaf);
    const auto key = std::make_tuple(static_cast<const void*>(t.storage.get()), t.offset,
                                     std::vector<int64_t>(t.type.sizes.begin(), t.type.sizes.end()),
                                     std::vector<int64_t>(t.strides.begin(), t.strides.end()));
    const auto [found, fresh] = saved_.try_emplace(key, -1);
    if (!fresh) return found->second;
    const ModuleTree::Name* name = tree_.name_of(&t);
    found->second = add(Kind::saved, {name ? name->text : "saved " + role, short_type(t.type)},
                        text_of("saved tensor", name ? " " + name->text : "", "\n", t.type));
    return found->second;
  }

  void add_result(size_t i, const TensorImpl* t) {
    const Edge& e = graph_.outputs[i];
    const ModuleTree::Name* name = t ? tree_.name_of(t) : nullptr;
    const std::string text = name                   ? name->text
                             : graph_.n_results > 1 ? text_of("result ", i)
                                                    : std::string("result");
    const TensorType& type = t ? t->type : e.node->outputs()[e.index];
    const int box = add(Kind::result, {text, short_type(type)}, text_of(text, "\n", type));
    picture_.lines.push_back({box_.at(e.node.get()), box});
  }

  const Graph& graph_;
  const DrawOptions& options_;
  const ModuleTree tree_;
  Picture picture_;
  std::vector<Origin> origins_;
  std::unordered_map<const Node*, int> box_, leaf_;  // by node: what its value comes from
  std::map<std::tuple<const void*, int64_t, std::vector<int64_t>, std::vector<int64_t>>, int>
      saved_;
};

}  // namespace

Picture picture_of_results(const std::vector<Tensor>& results, const DrawOptions& options) {
  TANDEM_CHECK(!results.empty(), "draw: there is no result to draw");
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string which =
        results.size() > 1 ? text_of("result ", i) : std::string("the tensor");
    TANDEM_CHECK(results[i].defined(), "draw: ", which, " is undefined");
    TensorImpl& t = *results[i].impl();
    TANDEM_CHECK(t.wants_grad(), "draw: ", which, " (", t.type,
                 ") has no history: nothing that it was computed from requires a gradient, or it "
                 "was computed under NoGradGuard (for a graph without gradients draw that of "
                 "trace())");
    TANDEM_CHECK(!t.is_leaf(), "draw: ", which, " (", t.type,
                 ") has no history: it is a leaf, which the program made itself");
  }
  return AutogradPicture(Graph::of(results), options).make(results);
}

Picture picture_of_autograd(const Graph& graph, const DrawOptions& options) {
  return AutogradPicture(graph, options).make({});
}

}  // namespace tandem::inspect
