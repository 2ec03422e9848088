#include "tandem/graph/fuse_rules.h"

#include <algorithm>
#include <cmath>

#include "tandem/kernels/scalar_expr.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/creation_op.h"
#include "tandem/ops/gather_op.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/matmul_op.h"
#include "tandem/ops/reduction_op.h"

namespace tandem::fusing {
namespace {

const TensorType& type_of(const Edge& e) { return e.node->outputs()[e.index]; }

// Kernels that refuse some integers, by throwing, which machine code made here cannot.
bool may_throw(MapFn fn) {
  return fn == MapFn::floor_divide || fn == MapFn::trunc_divide || fn == MapFn::remainder ||
         fn == MapFn::fmod || fn == MapFn::pow;
}

bool map_is_fusable(const Node& n) {
  DType compute = n.outputs()[0].dtype;
  if (compute == kBool) {
    Promotion p;
    for (uint32_t i = 0; i < n.n_inputs; ++i) p.add(type_of(n.inputs()[i]));
    compute = p.result();
  }
  const LaneType lane = compute == kDouble     ? LaneType::f64
                        : is_floating(compute) ? LaneType::f32
                                               : LaneType::i64;
  if (lane == LaneType::i64 && may_throw(n.op->map)) return false;
  return kernels::has_formula(n.op->map, lane);
}

// The number of elements in the trailing dimensions of `sizes` if `chosen` holds exactly for
// these, those of extent 1 aside; else 0.
template <class F>
int64_t trailing(IntArrayRef sizes, const F& chosen) {
  int64_t columns = 1;
  bool inside = true;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (!chosen(d)) {
      inside = false;
    } else {
      if (!inside) return 0;
      columns *= sizes[d];
    }
  }
  return columns > 1 ? columns : 0;
}

// The number that fill's kernel writes. False if a double cannot hold it.
bool fill_number(const Node& n, double& number) {
  const DType dtype = n.outputs()[0].dtype;
  alignas(8) char stored[8] = {};
  const int64_t one = 1;
  const Array in{stored, &one, &one, 1, 1, dtype, true};
  n.op->kernel({*n.op, &in, static_cast<int>(n.n_inputs), &in, 1, n.attrs()});
  return dispatch(dtype, [&]<class T>(T) {
    const T value = *reinterpret_cast<const T*>(stored);
    number = static_cast<double>(value);
    return !std::is_same_v<T, int64_t> || std::abs(number) <= 0x1p53;
  });
}

class Analyser {
 public:
  explicit Analyser(const Graph& g) : g_(g) {
    out_.infos.resize(g.nodes.size());
    out_.places.resize(g.nodes.size());
  }
  Analysis run() {
    for (const NodePtr& n : g_.nodes) look(*n);
    return std::move(out_);
  }

 private:
  Info& info(const Node& n) { return out_.infos[n.walk_slot]; }

  void look(const Node& n) {
    locate(n);
    Info& i = info(n);
    if (n.op->is_view()) {
      i.kind = Kind::view;
      return;
    }
    if ((n.op == &kFull || n.op == &kFill) && fill_number(n, i.number)) {
      i.kind = Kind::fill;
      return;
    }
    if (n.n_outputs != 1 || n.op->impure || n.outputs()[0].device.type() != DeviceType::CPU) return;
    i.kind = classify(n, i);
    if (i.kind == Kind::none) return;
    i.numel = numel_of(i.space);
    if (i.numel == 0 || !std::all_of(i.uses.begin(), i.uses.end(),
                                     [](const Use& u) { return u.base.node != nullptr; })) {
      i.kind = Kind::none;
      return;
    }
    if (i.fusable()) find_cuts(i);
  }

  // Where the first output lies. Only views have anything but themselves.
  void locate(const Node& n) {
    Place& p = out_.places[n.walk_slot];
    if (!n.op->is_view()) {
      p.base = Edge{NodePtr(const_cast<Node*>(&n)), 0};
      if (n.n_outputs) p.strides = contiguous_strides(n.outputs()[0].sizes);
      return;
    }
    const Edge& in = n.inputs()[0];
    const Place before = out_.place(in);
    p.base = before.base;
    p.known = before.known && type_of(in).dtype == n.outputs()[0].dtype;
    if (!p.known) return;
    n.op->view({*n.op, type_of(in).sizes, before.strides, n.outputs()[0].sizes, n.attrs(),
                p.strides, p.offset});
    p.offset += before.offset;
  }

  // What the node computes; fills in space and uses.
  Kind classify(const Node& n, Info& i) {
    const OpDef& op = *n.op;
    if (op.map != MapFn::none) {
      if (!map_is_fusable(n)) return Kind::none;
      i.space = n.outputs()[0].sizes;
      for (uint32_t k = 0; k < n.n_inputs; ++k) use(i, n.inputs()[k]);
      return Kind::map;
    }
    if (&op == &kCopy || &op == &kCopyInto) {
      // Of copy_into's first input only the type matters.
      i.space = n.outputs()[0].sizes;
      use(i, n.inputs()[n.n_inputs - 1]);
      return Kind::convert;
    }
    if (op.reduction || &op == &kSumTo) return reduction(n, i);
    if (&op == &kGather) return gather(n, i);
    if (&op == &kScatter) return scatter(n, i);
    return Kind::none;
  }

  Kind reduction(const Node& n, Info& i) {
    const TensorType &x = type_of(n.inputs()[0]), &out = n.outputs()[0];
    const Dims& in = x.sizes;
    if (in.size() > 64 || reduction_of(n) == ReductionInfo::Fn::none) return Kind::none;
    uint64_t reduced = 0;
    if (n.op == &kSumTo) {
      const size_t extra = in.size() - out.sizes.size();
      for (size_t d = 0; d < in.size(); ++d)
        if (d < extra || out.sizes[d - extra] != in[d]) reduced |= uint64_t{1} << d;
    } else {
      reduced = n.op->reduction(n.attrs(), static_cast<int>(in.size())).dims;
    }
    const auto is_reduced = [&](size_t d) { return (reduced >> d & 1) != 0; };
    Kind kind = Kind::reduce;
    i.columns = trailing(in, is_reduced);
    if (i.columns == 0) {
      kind = Kind::across;
      i.columns = trailing(in, [&](size_t d) { return !is_reduced(d); });
      if (i.columns == numel_of(in) || x.dtype != out.dtype) return Kind::none;
      if (out.dtype != kFloat && out.dtype != kDouble) return Kind::none;
    }
    if (i.columns == 0) return Kind::none;
    i.space = in;
    use(i, n.inputs()[0]);
    return kind;
  }

  // True iff the index has one entry for each row of x along the last dimension, and rows are more
  // than one element long.
  bool one_a_row(const TensorType& x, int64_t dim, const TensorType& index) {
    if (x.sizes.size() != index.sizes.size() || x.sizes.empty()) return false;
    if (dim + 1 != x.dim() || index.sizes.back() != 1 || x.sizes.back() < 2) return false;
    for (size_t d = 0; d + 1 < x.sizes.size(); ++d)
      if (index.sizes[d] != x.sizes[d]) return false;
    return index.dtype == kLong;
  }

  Kind gather(const Node& n, Info& i) {
    const TensorType& x = type_of(n.inputs()[0]);
    if (!one_a_row(x, n.attrs().as<GatherAttrs>().dim, type_of(n.inputs()[1]))) return Kind::none;
    i.space = x.sizes;
    i.columns = x.sizes.back();
    use(i, n.inputs()[0]);
    use(i, n.inputs()[1]).in_memory = true;
    return Kind::pick;
  }

  Kind scatter(const Node& n, Info& i) {
    const auto& s = n.attrs().as<ScatterAttrs>();
    const TensorType& x = type_of(n.inputs()[0]);
    if (s.fn != kernels::ScatterFn::Set && s.fn != kernels::ScatterFn::Add) return Kind::none;
    if (x.dtype == kBool || !one_a_row(x, s.dim, type_of(n.inputs()[1]))) return Kind::none;
    i.space = x.sizes;
    i.columns = x.sizes.back();
    use(i, n.inputs()[0]);
    use(i, n.inputs()[1]).in_memory = true;
    use(i, n.inputs()[2]);
    return Kind::put;
  }

  // Enters what `edge` reads; its base stays empty if it cannot be reached by strides.
  Use& use(Info& i, const Edge& edge) {
    Use& u = i.uses.emplace_back();
    u.edge = &edge;
    const Place place = out_.place(edge);
    if (!place.known) return u;
    u.base = place.base;
    u.offset = place.offset;
    u.constant = info(*place.base.node).kind == Kind::fill;
    const Dims& sizes = type_of(edge).sizes;
    u.strides.resize(i.space.size(), 0);
    const size_t extra = i.space.size() - sizes.size();
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] != 1) u.strides[extra + d] = place.strides[d];
    relate(i, u);
    return u;
  }

  void relate(const Info& i, Use& u) {
    const int64_t n = numel_of(type_of(u.base).sizes);
    if (n == 1) {
      u.relation = numel_of(i.space) == 1 ? Relation::same : Relation::single;
      return;
    }
    if (u.offset != 0) return;
    // From the inside out: dimensions that stand still, then those that run on.
    int64_t columns = 1, run = 1;
    bool inside = true;
    for (size_t d = i.space.size(); d-- > 0;) {
      if (i.space[d] == 1) continue;
      if (inside && u.strides[d] == 0) {
        columns *= i.space[d];
        continue;
      }
      inside = false;
      if (u.strides[d] != run) return;
      run *= i.space[d];
    }
    if (run != n) return;
    u.relation = columns == 1 ? Relation::same : Relation::rows;
    u.columns = columns;
  }

  void find_cuts(Info& i) {
    int64_t within = 1;
    for (size_t d = i.space.size(); d-- > 1;) {
      within *= i.space[d];
      if (within == 1 || within == i.numel) continue;
      for (const Use& u : i.uses)
        if (!u.constant && !runs_on(i.space, u.strides, d)) {
          if (i.cuts.empty() || i.cuts.back() != within) i.cuts.push_back(within);
          break;
        }
    }
    if (i.columns > 1 && i.columns < i.numel) {
      Cuts own{i.columns};
      if (!unite(i.cuts, own, 1)) i.kind = Kind::none;
    }
    // A row must be one run of elements.
    if (i.columns > 1 && !i.cuts.empty() && i.cuts.front() < i.columns) i.kind = Kind::none;
  }

  // True iff the elements before dimension d continue those from d on. Dimensions of extent 1 have
  // no stride of their own.
  static bool runs_on(const Dims& sizes, const Dims& strides, size_t d) {
    size_t inner = d, outer = d - 1;
    while (sizes[inner] == 1) ++inner;
    while (sizes[outer] == 1) {
      if (outer == 0) return true;
      --outer;
    }
    return strides[outer] == sizes[inner] * strides[inner];
  }

  const Graph& g_;
  Analysis out_;
};

}  // namespace

ReductionInfo::Fn reduction_of(const Node& n) {
  if (n.op == &kSumTo) return ReductionInfo::Fn::sum;
  return n.op->reduction(n.attrs(), static_cast<int>(type_of(n.inputs()[0]).sizes.size())).fn;
}

bool is_product(const Node& n) { return n.op == &kMm || n.op == &kBmm || n.op == &kAddmm; }

bool unite(Cuts& a, const Cuts& b, int64_t factor) {
  Cuts all;
  size_t i = 0, k = 0;
  while (i < a.size() || k < b.size()) {
    const int64_t x = i < a.size() ? a[i] : INT64_MAX;
    const int64_t y = k < b.size() ? b[k] * factor : INT64_MAX;
    const int64_t next = std::min(x, y);
    if (!all.empty() && next % all.back() != 0) return false;
    all.push_back(next);
    i += x == next;
    k += y == next;
  }
  a = std::move(all);
  return true;
}

Place Analysis::place(const Edge& e) const {
  if (e.index == 0) return places[e.node->walk_slot];
  return {e, contiguous_strides(type_of(e).sizes), 0, true};
}

Analysis analyse(const Graph& g) { return Analyser(g).run(); }

}  // namespace tandem::fusing
