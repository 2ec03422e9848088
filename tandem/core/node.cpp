#include "tandem/core/node.h"

#include <bit>
#include <cctype>
#include <new>
#include <ostream>

#include "tandem/base/memory.h"
#include "tandem/core/node_extra.h"

namespace tandem {
namespace {

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Nodes that lost their last reference while another was being destroyed on this thread. Freeing a
// chain of any length thus needs no recursion.
constinit thread_local Node* t_dead = nullptr;
constinit thread_local bool t_burying = false;

}  // namespace

const OpDef kCustom = {
    .name = "custom",
    .infer =
        [](const InferArgs&) { TANDEM_ASSERT(false, "a custom function computes its own types"); },
};

const OpDef kLeaf = {
    .name = "leaf",
    .infer = [](const InferArgs&) { TANDEM_ASSERT(false, "a leaf is not computed"); },
};

NodePtr Node::make(const OpDef& op, size_t n_inputs, size_t n_outputs, uint64_t saved_mask,
                   AttrRef attrs) {
  static_assert(sizeof(Node) % alignof(Edge) == 0 && alignof(TensorType) <= 8);
  const int n_saved = std::popcount(saved_mask);
  size_t bytes = sizeof(Node) + n_inputs * sizeof(Edge) + n_outputs * sizeof(TensorType) +
                 n_saved * sizeof(Saved);
  if (attrs.type) {
    TANDEM_ASSERT(attrs.type->align <= 8);
    bytes = round_up(bytes, 8) + attrs.type->size;
  }
  Node* n = new (memory::detail::allocate_object(bytes)) Node;
  n->op = &op;
  n->n_inputs = static_cast<uint32_t>(n_inputs);
  n->n_outputs = static_cast<uint16_t>(n_outputs);
  n->n_saved = static_cast<uint16_t>(n_saved);
  n->saved_mask = saved_mask;
  n->bytes = static_cast<uint32_t>(bytes);
  for (size_t i = 0; i < n_inputs; ++i) new (n->inputs() + i) Edge;
  for (size_t i = 0; i < n_outputs; ++i) new (n->outputs() + i) TensorType;
  for (int i = 0; i < n_saved; ++i) new (n->saved() + i) Saved;
  if (attrs.type) {
    n->attr_type = attrs.type;
    attrs.type->copy(const_cast<void*>(n->attrs().data), attrs.data);
  }
  if (t_mode.observer) [[unlikely]]
    t_mode.observer->made(n);
  return NodePtr::adopt(n);
}

void Node::destroy(Node* n) {
  for (uint32_t i = 0; i < n->n_inputs; ++i) n->inputs()[i].~Edge();
  for (uint32_t i = 0; i < n->n_outputs; ++i) n->outputs()[i].~TensorType();
  n->release_saved();
  if (n->attr_type) n->attr_type->destroy(const_cast<void*>(n->attrs().data));
  delete n->extra;
  const size_t bytes = n->bytes;
  n->~Node();
  memory::detail::free_object(n, bytes);
}

void release_node(Node* n) {
  n->next_dead = t_dead;
  t_dead = n;
  if (t_burying) return;
  t_burying = true;
  while (Node* next = t_dead) {
    t_dead = next->next_dead;
    Node::destroy(next);
  }
  t_burying = false;
}

int Node::saved_index(int bit) const {
  if (!(saved_mask >> bit & 1)) return -1;
  return std::popcount(saved_mask & ((uint64_t{1} << bit) - 1));
}

void Node::release_saved() {
  for (int i = 0; i < n_saved; ++i)
    if (TensorImpl* t = std::exchange(saved()[i].impl, nullptr)) tandem::release(t);
}

NodeExtra& Node::need_extra() {
  if (!extra) {
    extra = new NodeExtra;
    extra->grads.resize(n_outputs);
    extra->retain.resize(n_outputs);
  }
  return *extra;
}

void Node::describe(std::string call) {
  auto& made_by = need_extra().made_by;
  made_by = {{name(), std::move(call)}};
  if (const Node* by = t_mode.evaluating; by && by->extra)
    made_by.insert(made_by.end(), by->extra->made_by.begin(), by->extra->made_by.end());
}

bool Node::is_leaf() const { return op == &kLeaf; }

std::vector<Node::NextEdge> Node::next_edges() const {
  std::vector<NextEdge> edges(n_inputs);
  for (uint32_t i = 0; i < n_inputs; ++i) edges[i] = {inputs()[i].node, inputs()[i].index};
  return edges;
}

std::string Node::name() const {
  if (extra && extra->custom) return extra->custom->name();
  if (is_leaf()) return "AccumulateGrad";
  std::string name;
  bool upper = true;
  for (const char* c = op->name; *c; ++c) {
    if (*c == '_' || *c == '.') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(*c))) : *c;
    upper = false;
  }
  return name + "Backward";
}

std::ostream& operator<<(std::ostream& out, const NodePtr& n) {
  return out << static_cast<const void*>(n.get());
}

}  // namespace tandem
