#include "tandem/core/fused.h"

#include <ostream>
#include <unordered_map>

#include "tandem/core/apply.h"
#include "tandem/core/tensor_impl.h"

namespace tandem {
namespace {

void infer_fused(const InferArgs& a) {
  const FusedGroup& group = *a.attrs<FusedAttrs>().group;
  const Graph& body = group.body;
  TANDEM_CHECK(static_cast<size_t>(a.n_inputs) == body.inputs.size(), "fused: the group reads ",
               body.inputs.size(), " values, given were ", a.n_inputs);
  for (int i = 0; i < a.n_inputs; ++i)
    TANDEM_CHECK_TYPE(a.in(i) == body.inputs[i]->outputs()[0], "fused: input ", i, " is ", a.in(i),
                      ", the group was made for ", body.inputs[i]->outputs()[0]);
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    const Edge& e = body.outputs[i];
    a.out(static_cast<int>(i)) = e.node->outputs()[e.index];
  }
}

/// Runs a body once: a place for every value, temporary memory freed after its last use.
class BodyRun {
 public:
  BodyRun(const Graph& body, const KernelArgs& a) : body_(body), args_(a) {
    first_.reserve(body.nodes.size());
    int values = 0;
    for (size_t i = 0; i < body.nodes.size(); ++i) {
      numbers_.emplace(body.nodes[i].get(), static_cast<int>(i));
      first_.push_back(values);
      values += body.nodes[i]->n_outputs;
    }
    places_.resize(static_cast<size_t>(values));
    // A value lives as long as the last node that reads it or a view of it.
    last_use_.assign(body.nodes.size(), 0);
    for (size_t i = body.nodes.size(); i-- > 0;) {
      const Node& n = *body.nodes[i];
      const size_t until = n.op->is_view() ? last_use_[i] : i;
      for (uint32_t k = 0; k < n.n_inputs; ++k) {
        size_t& last = last_use_[static_cast<size_t>(number(n.inputs()[k]))];
        last = std::max(last, until);
      }
    }
    for (const Edge& e : body.outputs) keep(e);
  }

  void run() {
    for (size_t i = 0; i < body_.inputs.size(); ++i)
      place({body_.inputs[i], 0}).array = args_.in(static_cast<int>(i));
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      // Of a value that leaves twice the second copy is made in the end.
      Place& p = place(body_.outputs[i]);
      if (!p.wanted) p.wanted = &args_.out(static_cast<int>(i));
    }
    for (size_t i = 0; i < body_.nodes.size(); ++i) {
      run_node(*body_.nodes[i]);
      free_after(i);
    }
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      const Array& out = args_.out(static_cast<int>(i));
      const Array& value = place(body_.outputs[i]).array;
      if (value.data != out.data) kCopy.kernel({kCopy, &value, 1, &out, 1, {}});
    }
  }

 private:
  struct Place {
    Array array;
    Dims sizes, strides;              // of a view
    intrusive_ptr<TensorImpl> owner;  // of temporary memory
    const Array* wanted = nullptr;    // where the kernel that makes it should write
  };

  int number(const Edge& e) const { return numbers_.at(e.node.get()); }
  Place& place(const Edge& e) {
    return places_[static_cast<size_t>(first_[static_cast<size_t>(number(e))]) + e.index];
  }
  // What a result lies in must not be freed.
  void keep(const Edge& e) {
    const Edge* at = &e;
    last_use_[static_cast<size_t>(number(*at))] = body_.nodes.size();
    while (at->node->op->is_view()) {
      at = at->node->inputs();
      last_use_[static_cast<size_t>(number(*at))] = body_.nodes.size();
    }
  }

  void run_node(const Node& n) {
    if (n.op == &kInputOp) return;
    const size_t first = static_cast<size_t>(first_[static_cast<size_t>(numbers_.at(&n))]);
    if (n.op == &kConstantOp) {
      places_[first].array = n.attrs().as<ConstantAttrs>().value.tensor.impl()->array();
      return;
    }
    if (n.op->is_view()) return run_view(n, places_[first]);
    SmallVector<Array, 4> in, out;
    for (uint32_t k = 0; k < n.n_inputs; ++k) in.push_back(place(n.inputs()[k]).array);
    for (uint32_t k = 0; k < n.n_outputs; ++k) {
      Place& p = places_[first + k];
      if (p.wanted) {
        p.array = *p.wanted;
      } else {
        p.owner = TensorImpl::make(n.outputs()[k]);
        p.array = p.owner->array();
      }
      out.push_back(p.array);
    }
    n.op->kernel({*n.op, in.data(), static_cast<int>(n.n_inputs), out.data(),
                  static_cast<int>(n.n_outputs), n.attrs()});
  }

  void run_view(const Node& n, Place& p) {
    const Array& base = place(n.inputs()[0]).array;
    const TensorType& type = n.outputs()[0];
    int64_t offset = 0;
    p.sizes = type.sizes;
    n.op->view({*n.op, base.shape(), base.stride(), p.sizes, n.attrs(), p.strides, offset});
    p.array = base;
    p.array.data =
        static_cast<char*>(base.data) + offset * static_cast<int64_t>(size_of(base.dtype));
    p.array.sizes = p.sizes.data();
    p.array.strides = p.strides.data();
    p.array.ndim = static_cast<int32_t>(p.sizes.size());
    p.array.numel = numel_of(p.sizes);
    p.array.dtype = type.dtype;
    p.array.contiguous = is_contiguous(p.sizes, p.strides);
    p.array.weak = type.weak;
  }

  void free_after(size_t i) {
    const Node& n = *body_.nodes[i];
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      const Edge* e = n.inputs() + k;
      for (;; e = e->node->inputs()) {
        const size_t from = static_cast<size_t>(number(*e));
        if (last_use_[from] > i) break;
        place(*e).owner = nullptr;
        if (!e->node->op->is_view()) break;
      }
    }
  }

  const Graph& body_;
  const KernelArgs& args_;
  std::unordered_map<const Node*, int> numbers_;
  std::vector<int> first_;  // by node: where its values are among places_
  std::vector<Place> places_;
  std::vector<size_t> last_use_;
};

}  // namespace

const OpDef kFused = {
    .name = "fused",
    .infer = infer_fused,
    .kernel = [](const KernelArgs& a) { BodyRun(a.attrs<FusedAttrs>().group->body, a).run(); },
    .outputs = 0,
    .attrs = attrs_of<FusedAttrs>,
};

int64_t FusedGroup::rows() const {
  int64_t n = 1;
  for (size_t d = 0; d + 1 < extents.size(); ++d) n *= extents[d];
  return n;
}

const FusedGroup* fused_group(const Node& n) {
  return n.op == &kFused ? n.attrs().as<FusedAttrs>().group.get() : nullptr;
}

bool checks_values(const Node& n) {
  if (n.op->checks_values) return true;
  const FusedGroup* group = fused_group(n);
  return group && !group->checks.empty();
}

void check_indices(const FusedGroup& group, const Array* inputs) {
  for (const FusedGroup::IndexCheck& c : group.checks) {
    const size_t operand = static_cast<size_t>(c.operand);
    const auto* base = inputs[group.source[operand]].ptr<int64_t>() + group.offsets[operand];
    const Dims& strides = group.strides[operand];
    const size_t dims = group.extents.size() - 1;
    Dims at(dims, 0);
    const int64_t rows = group.rows();
    int64_t offset = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t i = base[offset];
      TANDEM_CHECK_INDEX(i >= 0 && i < c.extent, c.op, ": index ", i,
                         " is out of bounds for dimension ", c.dim, " with size ", c.extent);
      for (size_t d = dims; d-- > 0;) {
        offset += strides[d];
        if (++at[d] < group.extents[d]) break;
        offset -= group.extents[d] * strides[d];
        at[d] = 0;
      }
    }
  }
}

bool operator==(const std::shared_ptr<const FusedGroup>& a,
                const std::shared_ptr<const FusedGroup>& b) {
  if (a.get() == b.get()) return true;
  if (!a || !b) return false;
  return a->nest == b->nest && a->source == b->source && a->offsets == b->offsets &&
         a->extents == b->extents && a->strides == b->strides && a->sums == b->sums &&
         same(a->body, b->body);
}

std::ostream& operator<<(std::ostream& out, const std::shared_ptr<const FusedGroup>& g) {
  if (!g) return out << "none";
  out << '[';
  bool first = true;
  for (const NodePtr& n : g->body.nodes) {
    if (n->op == &kInputOp || n->op == &kConstantOp || n->op->is_view()) continue;
    out << (first ? "" : " ") << n->op->name;
    first = false;
  }
  return out << ']';
}

}  // namespace tandem
