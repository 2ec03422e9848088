#include "tandem/graph/fold.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/core/recorder.h"
#include "tandem/graph/rewrite.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/creation_op.h"

namespace tandem {
namespace {

// Larger results are computed in every run: a constant occupies memory as long as the graph lives.
constexpr int64_t kMaxBytes = 1 << 16;

bool pure(const OpDef& op) { return !op.impure && !op.random && !op.dynamic && !op.checks_values; }

const Tensor& constant_of(const Edge& e) {
  return e.node->attrs().as<ConstantAttrs>().value.tensor;
}

// True iff the value is one number everywhere, and which.
bool is_uniform(const Edge& e) {
  if (e.node->op == &kFull) return true;
  return e.node->op == &kConstantOp && constant_of(e).numel() == 1;
}

// The number as a tensor of one element that takes part in promotion as the value does.
Tensor element_of(const Edge& e) {
  if (e.node->op == &kConstantOp) return constant_of(e);
  const auto& f = e.node->attrs().as<FullAttrs>();
  return apply(kFull, {}, FullAttrs{Dims(f.sizes.size(), 1), f.dtype, f.device, f.value});
}

Scalar number_in(const Tensor& t) {
  Scalar value;
  dispatch(t.impl()->type.dtype,
           [&]<class T>(T) { value = *static_cast<const T*>(t.impl()->data); });
  return value;
}

// Every element is computed alike, so that of a tensor of one element tells them all.
Edge fold_uniform(Rewriter& r, const Node& n) {
  if (n.n_inputs == 0 || n.n_outputs != 1 || n.outputs()[0].device.is_meta()) return {};
  const bool pointwise = n.op->map != MapFn{0}, copy = n.op == &kCopy;
  const bool view = n.op->view && type_of(n.inputs()[0]).dtype == n.outputs()[0].dtype;
  if (!pointwise && !copy && !view) return {};
  for (uint32_t i = 0; i < n.n_inputs; ++i)
    if (!is_uniform(n.inputs()[i])) return {};
  const TensorType& out = n.outputs()[0];
  Tensor value;
  if (view) {
    value = element_of(n.inputs()[0]);
  } else {
    SmallVector<Tensor, 3> in;
    std::vector<TensorArg> args;
    for (uint32_t i = 0; i < n.n_inputs; ++i) in.push_back(element_of(n.inputs()[i]));
    for (const Tensor& t : in) args.push_back(t);
    value = copy ? apply(kCopy, args, CopyAttrs{in[0].sizes(), out.dtype})
                 : apply(*n.op, args, n.attrs());
  }
  if (value.impl()->type.dtype != out.dtype) return {};
  const Scalar number = number_in(value);
  // A number does not carry the bits of a NaN.
  if (number.isFloatingPoint() && std::isnan(number.toDouble())) return {};
  return r.add(kFull, {}, FullAttrs{out.sizes, out.dtype, out.device, number});
}

Edge fold_constants(Rewriter& r, const Node& n) {
  if (n.n_outputs != 1 || n.n_inputs == 0) return {};
  const TensorType& out = n.outputs()[0];
  if (out.device.is_meta() ||
      numel_of(out.sizes) > kMaxBytes / static_cast<int64_t>(size_of(out.dtype)))
    return {};
  std::vector<TensorArg> args;
  for (uint32_t i = 0; i < n.n_inputs; ++i) {
    if (n.inputs()[i].node->op != &kConstantOp) return {};
    args.push_back(constant_of(n.inputs()[i]));
  }
  Tensor value;
  apply(*n.op, args, n.attrs(), &value);
  if (!value.impl()->contiguous || n.op->view) value = value.clone();
  return r.constant(value);
}

Edge fold_node(Rewriter& r, const Node& n) {
  try {
    const Edge value = fold_uniform(r, n);
    return value.node ? value : fold_constants(r, n);
  } catch (const Error&) {
    return {};  // The run will say what is wrong, if it gets there.
  }
}

}  // namespace

Graph fold(Graph g) {
  const RecorderScope eager(nullptr);
  const InferenceMode normal(false);  // constants are used with and without gradients
  const NoGradGuard no_grad;
  Rewriter r(std::move(g));
  for (const NodePtr& n : r.nodes()) {
    r.enter(*n);
    // A result must be fresh memory in each run.
    bool folded = false;
    if (pure(*n->op) && !r.seen(*n)) {
      const Edge value = fold_node(r, *n);
      folded = value.node && r.replace(*n, value);
    }
    if (!folded) r.keep(*n);
  }
  return r.finish();
}

}  // namespace tandem
