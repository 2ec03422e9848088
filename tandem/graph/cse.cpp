#include "tandem/graph/cse.h"

#include <bit>

#include "tandem/graph/rewrite.h"

namespace tandem {
namespace {

size_t hash_of(const Node& n) {
  size_t h = std::hash<const void*>()(n.op);
  for (uint32_t i = 0; i < n.n_inputs; ++i)
    h = detail::mix(h, (size_t{n.inputs()[i].node->walk_slot} << 8) + n.inputs()[i].index);
  if (const AttrRef a = n.attrs(); a.type) h = detail::mix(h, a.type->hash(a.data));
  return h ^ h >> 32;
}

bool equal(const Node& a, const Node& b) {
  if (a.op != b.op || a.n_inputs != b.n_inputs) return false;
  for (uint32_t i = 0; i < a.n_inputs; ++i)
    if (a.inputs()[i].node != b.inputs()[i].node || a.inputs()[i].index != b.inputs()[i].index)
      return false;
  return a.attrs() == b.attrs();
}

}  // namespace

Graph cse(Graph g) {
  Rewriter r(std::move(g));
  // Open addressing in a table that is never more than half full.
  struct Slot {
    size_t hash;
    Node* node;
  };
  std::vector<Slot> table(std::bit_ceil(2 * r.nodes().size() + 1));
  for (const NodePtr& n : r.nodes()) {
    r.enter(*n);
    if (n->op == &kInputOp || n->op->impure || n->op->random) {
      r.keep(*n);
      continue;
    }
    const size_t hash = hash_of(*n);
    size_t at = hash & (table.size() - 1);
    bool replaced = false;
    for (; table[at].node && !replaced; at = (at + 1) & (table.size() - 1))
      replaced = table[at].hash == hash && equal(*n, *table[at].node) &&
                 r.replace_all(*n, *table[at].node);
    if (replaced) continue;
    table[at] = {hash, n.get()};
    r.keep(*n);
  }
  return r.finish();
}

}  // namespace tandem
