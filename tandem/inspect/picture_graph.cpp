#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "tandem/core/fused.h"
#include "tandem/inspect/modules_detail.h"
#include "tandem/inspect/text_detail.h"

/// A recorded or optimised program.
namespace tandem::inspect {
namespace {

constexpr size_t kShortAttributes = 36, kLongAttributes = 2000;
constexpr int64_t kFewNumbers = 16;  // of a constant, that are shown
// More tensors than that in one place are shown as one box, of which the tooltip lists some.
constexpr size_t kMany = 8, kManyNamed = 32, kListed = 40;

class GraphPicture {
 public:
  GraphPicture(const Graph& graph, const DrawOptions& options)
      : graph_(graph), options_(options), tree_(options) {}

  Picture make() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) add_input(i);
    for (const NodePtr& n : graph_.nodes) {
      if (n->op == &kInputOp) continue;
      if (const FusedGroup* group = fused_group(*n))
        add_fused(*n, *group);
      else
        add_op(*n, 0);
      expect_drawable(picture_.boxes.size(), options_);
    }
    add_outputs();
    expect_drawable(picture_.boxes.size(), options_);
    drop_and_fold();
    group_by_module(picture_, tree_, origins_, trains_);
    return std::move(picture_);
  }

 private:
  int add(Kind kind, std::vector<std::string> lines, std::string tip, int group = 0,
          Origin origin = {}) {
    picture_.boxes.push_back({kind, std::move(lines), std::move(tip), group});
    origins_.push_back(origin);
    named_.push_back(false);
    return static_cast<int>(picture_.boxes.size()) - 1;
  }
  void join(int from, int to) {
    for (size_t l = picture_.lines.size(); l-- > 0 && picture_.lines[l].to == to;)
      if (picture_.lines[l].from == from) return;
    picture_.lines.push_back({from, to});
  }
  // By output of the node: the box it comes from.
  std::vector<int>& sources(const Node& n) { return sources_[&n]; }
  int source(const Edge& e) { return sources(*e.node)[e.index]; }

  const ModuleTree::Name* name_of_input(size_t i) const {
    if (i < graph_.n_args() || !graph_.captured[i - graph_.n_args()].defined()) return nullptr;
    return tree_.name_of(graph_.captured[i - graph_.n_args()].impl());
  }
  std::string input_text(size_t i) const {
    if (const ModuleTree::Name* name = name_of_input(i)) return name->text;
    if (const std::string& name = graph_.inputs[i]->attrs().as<InputAttrs>().name; !name.empty())
      return name;
    return i < graph_.n_args() ? text_of("argument ", i)
                               : text_of("captured ", i - graph_.n_args());
  }

  void add_input(size_t i) {
    const Node& n = *graph_.inputs[i];
    const TensorType& type = n.outputs()[0];
    const ModuleTree::Name* name = name_of_input(i);
    const bool argument = i < graph_.n_args();
    const std::string text = input_text(i);
    sources(n) = {add(argument ? Kind::argument : Kind::captured, {text, short_type(type)},
                      text_of(argument ? "argument " : "captured tensor ", text, "\n", type), 0,
                      {name ? name->module : -1})};
    named_.back() = name != nullptr;
  }

  // A single number is shown as that, a short list of them behind its type.
  static std::vector<std::string> constant_lines(const TensorType& type, const std::string& text) {
    const size_t list = text.rfind('[');
    if (list == std::string::npos) return {"constant", short_type(type)};
    if (type.sizes.empty())
      return {text.substr(list + 1, text.size() - list - 2),
              text_of(name_of(type.dtype), " number")};
    return {shorten(text.substr(list), kShortAttributes), short_type(type)};
  }

  // Inputs of the node must have boxes. Gives the new one.
  int add_op(const Node& n, int group) {
    const bool constant = n.op == &kConstantOp;
    // Gradients and what passes made were not made by a forward(), and belong to modules as well.
    const int noted = tree_.maker_of(n);
    std::vector<std::string> lines = {n.op->name};
    TextStream tip;
    tip << n.op->name;
    if (n.n_outputs) lines.push_back(short_type(n.outputs()[0]));
    if (n.n_outputs > 1) lines.back() += text_of(" and ", n.n_outputs - 1, " more");
    for (uint32_t k = 0; k < n.n_outputs; ++k) tip << "\n" << n.outputs()[k];
    // The numbers of a large constant are nothing to look at.
    if (!constant || n.attrs().as<ConstantAttrs>().value.tensor.numel() <= kFewNumbers)
      if (const std::string all = attribute_text(n.attrs(), kLongAttributes); !all.empty()) {
        tip << "\n" << all;
        if (constant)
          lines = constant_lines(n.outputs()[0], all);
        else if (options_.attributes)
          lines.push_back(shorten(all, kShortAttributes));
      }
    const int box = add(constant ? Kind::constant : Kind::function, std::move(lines), tip.str(),
                        group, {-1, noted >= 0, noted});
    for (uint32_t i = 0; i < n.n_inputs; ++i)
      if (n.inputs()[i].node) join(source(n.inputs()[i]), box);
    sources(n).assign(n.n_outputs, box);
    return box;
  }

  // What became one kernel: its nodes read what the kernel reads.
  void add_fused(const Node& n, const FusedGroup& fused) {
    const Graph& body = fused.body;
    const int group = static_cast<int>(picture_.groups.size());
    size_t ops = 0;
    for (const NodePtr& inner : body.nodes) ops += inner->op != &kInputOp;
    TextStream tip;
    tip << "one kernel for " << ops << (ops == 1 ? " op" : " ops");
    if (fused.product.op) tip << ", behind a " << fused.product.op->name;
    tip << "\n" << fused.rows() << " rows of " << fused.columns();
    picture_.groups.push_back({"fused", tip.str(), 0, true});
    for (size_t i = 0; i < body.inputs.size(); ++i)
      sources(*body.inputs[i]) = {source(n.inputs()[i])};
    for (const NodePtr& inner : body.nodes)
      if (inner->op != &kInputOp) add_op(*inner, group);
    std::vector<int> from;
    for (const Edge& e : body.outputs) from.push_back(source(e));
    sources(n) = std::move(from);
  }

  void add_outputs() {
    const auto output = [&](Kind kind, const std::string& text, size_t i, int owner) {
      const Edge& e = graph_.outputs[i];
      const TensorType& type = e.node->outputs()[e.index];
      const int box = add(kind, {text, short_type(type)}, text_of(text, "\n", type), 0, {owner});
      join(source(e), box);
    };
    for (size_t i = 0; i < graph_.n_results; ++i)
      output(Kind::result, graph_.n_results > 1 ? text_of("result ", i) : std::string("result"), i,
             -1);
    for (const Graph::Write& w : graph_.writes) {
      const ModuleTree::Name* name = name_of_input(w.input);
      trains_ = trains_ || (name && graph_.captured[w.input - graph_.n_args()].requires_grad());
      output(Kind::write, "write " + input_text(w.input), w.output, name ? name->module : -1);
      named_.back() = name != nullptr;
    }
  }

  // By box: the one that stands for it; -1: none. Lists of tensors become one box, which is the
  // first of them, and a captured tensor that is only written to is told by where it is written.
  std::vector<int> stand_ins() {
    const size_t n = picture_.boxes.size();
    std::vector<int> stands(n), readers(n, 0);
    for (const Picture::Line& l : picture_.lines) ++readers[static_cast<size_t>(l.from)];
    // By kind, the one op they belong to, and whether they have names.
    std::map<std::tuple<Kind, int, bool>, std::vector<int>> lists;
    for (const Picture::Line& l : picture_.lines) {
      const auto from = static_cast<size_t>(l.from), to = static_cast<size_t>(l.to);
      if (picture_.boxes[from].kind == Kind::captured && readers[from] == 1)
        lists[{Kind::captured, l.to, named_[from]}].push_back(l.from);
      if (picture_.boxes[to].kind == Kind::write)
        lists[{Kind::write, l.from, named_[to]}].push_back(l.to);
    }
    for (size_t b = 0; b < n; ++b) {
      const bool unread = picture_.boxes[b].kind == Kind::captured && readers[b] == 0;
      stands[b] = unread ? -1 : static_cast<int>(b);
    }
    for (auto& [key, list] : lists) {
      const size_t most = std::get<bool>(key) ? kManyNamed : kMany;
      if (!options_.fold || list.size() <= most) continue;
      std::sort(list.begin(), list.end());
      for (const int b : list) stands[static_cast<size_t>(b)] = list[0];
      fold(list, std::get<Kind>(key));
    }
    return stands;
  }

  void fold(const std::vector<int>& list, Kind kind) {
    Picture::Box& first = picture_.boxes[static_cast<size_t>(list[0])];
    std::string tip = text_of(list.size(), " tensors:");
    for (size_t i = 0; i < list.size() && i < kListed; ++i) {
      const Picture::Box& b = picture_.boxes[static_cast<size_t>(list[i])];
      tip += text_of("\n", b.lines[0], " ", b.lines[1]);
    }
    if (list.size() > kListed) tip += "\n...";
    first.lines = {text_of(kind == Kind::write ? "write " : "", list.size(), " tensors")};
    first.tip = tip;
    origins_[static_cast<size_t>(list[0])] = {};
  }

  void drop_and_fold() {
    const std::vector<int> stands = stand_ins();
    std::vector<int> moved(stands.size(), -1);
    size_t kept = 0;
    for (size_t b = 0; b < stands.size(); ++b) {
      if (stands[b] != static_cast<int>(b)) continue;
      moved[b] = static_cast<int>(kept);
      if (kept != b) {
        picture_.boxes[kept] = std::move(picture_.boxes[b]);
        origins_[kept] = origins_[b];
      }
      ++kept;
    }
    picture_.boxes.resize(kept);
    origins_.resize(kept);
    const auto where = [&](int b) {
      return moved[static_cast<size_t>(stands[static_cast<size_t>(b)])];
    };
    std::set<std::pair<int, int>> seen;
    for (Picture::Line& l : picture_.lines) l = {where(l.from), where(l.to), l.dashed};
    std::erase_if(picture_.lines,
                  [&](const Picture::Line& l) { return !seen.emplace(l.from, l.to).second; });
  }

  const Graph& graph_;
  const DrawOptions& options_;
  const ModuleTree tree_;
  Picture picture_;
  std::vector<Origin> origins_;
  std::vector<bool> named_;  // by box
  std::unordered_map<const Node*, std::vector<int>> sources_;
  bool trains_ = false;  // it writes to what it was differentiated by
};

}  // namespace

Picture picture_of_graph(const Graph& graph, const DrawOptions& options) {
  TANDEM_CHECK(!graph.nodes.empty(), "draw: the graph is empty");
  return graph.autograd ? picture_of_autograd(graph, options) : GraphPicture(graph, options).make();
}

}  // namespace tandem::inspect
