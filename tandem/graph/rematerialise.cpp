#include "tandem/graph/rematerialise.h"

#include <algorithm>

#include "tandem/core/fused.h"
#include "tandem/graph/lives.h"
#include "tandem/kernels/map_functions.h"

namespace tandem {
namespace {

// A graph that needs less than this is left alone.
constexpr int64_t kSmallPeak = 16 << 20;
// A value is worth another kernel if it is at least this part of the peak.
constexpr int64_t kPart = 512;
// What a value is made of may be kept for it if it is at most this part of it.
constexpr int64_t kKeptPart = 16;
// Instructions for an element up to which a loop takes no longer than its memory does.
constexpr size_t kCheapProgram = 32;
constexpr int kRounds = 4;

bool is_cheap(const Node& n) {
  if (n.n_outputs != 1 || n.op->impure || n.op->random) return false;
  const FusedGroup* group = fused_group(n);
  if (!group)
    return n.op->map == MapFn::add || n.op->map == MapFn::sub || n.op->map == MapFn::mul ||
           n.op->map == MapFn::relu;
  if (group->product.op || group->nest.by_rows() || !group->checks.empty() ||
      group->nest.program.size() > kCheapProgram)
    return false;
  return std::none_of(group->body.nodes.begin(), group->body.nodes.end(),
                      [](const NodePtr& b) { return b->op->impure || b->op->random; });
}

NodePtr copy_of(const Node& n) {
  NodePtr copy = Node::make(*n.op, n.n_inputs, n.n_outputs, 0, n.attrs());
  for (uint32_t k = 0; k < n.n_inputs; ++k) copy->inputs()[k] = n.inputs()[k];
  for (uint32_t k = 0; k < n.n_outputs; ++k) copy->outputs()[k] = n.outputs()[k];
  return copy;
}

/// One moment at which the most is alive, and what can be forgotten over it.
class Round {
 public:
  Round(Graph& g, size_t peak_at, int64_t least_bytes)
      : g_(g), lives_(g), peak_at_(peak_at), copies_(g.nodes.size()), late_(g.nodes.size()) {
    const size_t n = g.nodes.size();
    last_.resize(n);
    next_.assign(n, n);
    for (size_t i = 0; i < n; ++i) {
      const auto& readers = lives_.readers(i);
      last_[i] = readers.empty() ? i : readers.back();
      const auto after = std::lower_bound(readers.begin(), readers.end(), peak_at);
      if (after != readers.end()) next_[i] = *after;
    }
    // From the end: what a copy reads may then be forgotten too, and is copied in front of it.
    for (size_t i = peak_at; i-- > 0;)
      if (lives_.bytes(i) >= least_bytes && can_wait(i)) forget(i);
  }

  Graph finish() {
    std::vector<NodePtr> nodes;
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      // The one that was made last is read by those before it.
      nodes.insert(nodes.end(), copies_[i].rbegin(), copies_[i].rend());
      nodes.push_back(std::move(g_.nodes[i]));
    }
    g_.nodes = std::move(nodes);
    g_.number();
    return std::move(g_);
  }

 private:
  /// True iff value i is needed after the peak but not at it, and can be made from what is there
  /// when it is needed.
  bool can_wait(size_t i) const {
    const Node& n = *g_.nodes[i];
    if (next_[i] <= peak_at_ || next_[i] >= g_.nodes.size() || last_[i] >= g_.nodes.size() ||
        !is_cheap(n))
      return false;
    // Views would have to be made again as well.
    bool direct = true;
    const auto look_at = [&](const Node& reader) {
      direct &= !reader.op->is_view();
      for (uint32_t k = 0; k < reader.n_inputs; ++k) {
        const size_t from = reader.inputs()[k].node->walk_slot;
        direct &= lives_.owner(from) != i || from == i;
      }
    };
    for (const size_t r : lives_.readers(i))
      if (r > peak_at_) look_at(*g_.nodes[r]);
    for (const NodePtr& reader : late_[i]) look_at(*reader);
    if (!direct) return false;
    bool there = true;
    for (const size_t from : lives_.reads(i)) {
      const Node& source = *g_.nodes[from];
      if (source.op == &kInputOp || source.op == &kConstantOp || last_[from] >= next_[i]) continue;
      there &= lives_.bytes(from) * kKeptPart <= lives_.bytes(i);
    }
    return there;
  }

  void forget(size_t i) {
    const size_t at = next_[i];
    const NodePtr copy = copy_of(*g_.nodes[i]);
    const auto use_copy = [&](Node& reader) {
      for (uint32_t k = 0; k < reader.n_inputs; ++k)
        if (Edge& e = reader.inputs()[k]; e.node == g_.nodes[i]) e.node = copy;
    };
    for (const size_t r : lives_.readers(i))
      if (r > peak_at_) use_copy(*g_.nodes[r]);
    for (const NodePtr& reader : late_[i]) use_copy(*reader);
    for (const size_t from : lives_.reads(i)) {
      last_[from] = std::max(last_[from], at);
      next_[from] = std::min(next_[from], at);
      late_[from].push_back(copy);
    }
    copies_[at].push_back(copy);
  }

  Graph& g_;
  Lives lives_;
  size_t peak_at_;
  std::vector<size_t> last_,
      next_;  // by value: its last reader, and the first one from the peak on
  std::vector<std::vector<NodePtr>> copies_;  // by the node that they come before
  std::vector<std::vector<NodePtr>> late_;    // by value: the copies that read it
};

}  // namespace

Graph rematerialise(Graph g) {
  for (int round = 0; round < kRounds; ++round) {
    const Lives::Peak before = Lives(g).peak();
    if (before.bytes < kSmallPeak) break;
    Graph changed = g.clone();
    changed = Round(changed, before.at, before.bytes / kPart).finish();
    if (changed.nodes.size() == g.nodes.size() || Lives(changed).peak().bytes >= before.bytes)
      break;
    g = std::move(changed);
  }
  return g;
}

}  // namespace tandem
