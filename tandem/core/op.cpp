#include "tandem/core/op.h"

#include <string_view>

#include "tandem/core/node_extra.h"
#include "tandem/core/saved.h"

// The linker gathers the entries of all TANDEM_OPs between these two.
extern "C" {
extern const tandem::OpDef* const __start_tandem_ops[];
extern const tandem::OpDef* const __stop_tandem_ops[];
}

namespace tandem {

ArrayRef<const OpDef*> all_ops() { return {__start_tandem_ops, __stop_tandem_ops}; }

const OpDef* find_op(std::string_view name) {
  for (const OpDef* op : all_ops())
    if (name == op->name) return op;
  return nullptr;
}

void detail::too_few_inputs(const OpDef& op, int n_inputs) {
  TANDEM_CHECK(false, op.name, ": takes more than the ", n_inputs, " inputs that it was given");
  __builtin_unreachable();
}

// -- what a gradient rule sees ----------------------------------------------------------------
namespace {

[[noreturn, gnu::cold]] void overwritten(const Node& node, const char* what, int i,
                                         const TensorImpl& t, uint32_t saved_at) {
  const char* writer = t.storage->last_writer.load(std::memory_order_relaxed);
  TANDEM_CHECK(
      false, "backward of ", node.op->name,
      ": one of the variables needed for gradient computation has been modified by an inplace "
      "operation: ",
      node.op->name, " saved its ", what, " ", i, " (", t.type, ") at version ", saved_at, ", and ",
      writer ? writer : "something", "_ has overwritten it since (version ", t.version(),
      " now). Use the out-of-place form of ", writer ? writer : "that op", ", or clone() first.");
  __builtin_unreachable();
}

const Saved& checked_saved(const Node& node, int bit, const char* what, int i) {
  TANDEM_CHECK(
      !node.released, "backward of ", node.op->name,
      ": Trying to backward through the graph a second time (or directly access saved tensors "
      "after they have already been freed). Specify retain_graph=true if you need to backward "
      "through the graph a second time.");
  const int slot = node.saved_index(bit);
  TANDEM_ASSERT(slot >= 0, node.op->name, " reads ", what, " ", i, " which it does not save");
  const Saved& s = node.saved()[slot];
  if (s.impl->version() != s.version) overwritten(node, what, i, *s.impl, s.version);
  return s;
}

}  // namespace

const Tensor& VjpArgs::grad(int i) const { return grads[i]; }
bool VjpArgs::has_grad(int i) const { return grads[i].defined(); }

Tensor VjpArgs::grad_or_zeros(int i) const {
  if (grads[i].defined()) return grads[i];
  return Tensor(TensorImpl::make(node.outputs()[i])).zero_();
}

Tensor VjpArgs::input(int i) const {
  const Saved& s = checked_saved(node, i, "input", i);
  if (!t_mode.grad) return Tensor(intrusive_ptr<TensorImpl>(s.impl));
  // Seen again with its history, so that a gradient of the gradient flows on.
  return with_history(s.impl, node.inputs()[i]);
}

Tensor VjpArgs::output(int i) const {
  const Saved& s = checked_saved(node, Saves::kMaxInputs + i, "output", i);
  if (!t_mode.grad) return Tensor(intrusive_ptr<TensorImpl>(s.impl));
  return with_history(s.impl, {NodePtr(const_cast<Node*>(&node)), static_cast<uint32_t>(i)});
}

const Tensor& BatchArgs::in(int i) const { return inputs[i]; }
const Tensor& DecomposeArgs::in(int i) const { return inputs[i]; }

Tensor BatchArgs::sample(int i) const {
  if (batched[i]) return inputs[i];
  Dims sizes{size};
  for (const int64_t n : inputs[i].sizes()) sizes.push_back(n);
  return inputs[i].expand(sizes);
}

int VjpArgs::n_inputs() const { return static_cast<int>(node.n_inputs); }

const TensorType& VjpArgs::input_type(int i) const {
  const Edge& e = node.inputs()[i];
  TANDEM_ASSERT(e.node, node.op->name, ": the type of input ", i, " is not known in backward");
  return e.node->outputs()[e.index];
}

const TensorType& VjpArgs::output_type(int i) const { return node.outputs()[i]; }
AttrRef VjpArgs::attr_ref() const { return node.attrs(); }

}  // namespace tandem
