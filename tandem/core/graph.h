#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// A program as data: nodes in an order in which each comes after those it reads.
///
/// The one form that recording makes, passes rewrite, and printing, saving, drawing and running
/// read. Invariants:
/// * Inputs are nodes of the op `input`, listed in `inputs` and also among `nodes`: first the
///   arguments of the recorded function, then the tensors that it took from outside (`captured`).
/// * Constants are nodes of the op `constant`, which hold their tensor.
/// * Every other node has an edge for each of its op's inputs. Nothing is written in place: a write
///   is a new value, and `writes` says which captured tensor gets which output in the end.
/// * Every value is in row-major order, except that of a view op, which lies in its input's memory.
struct Graph {
  struct Write {
    uint32_t output;  // position in `outputs`
    uint32_t input;   // position in `inputs`: an argument or a captured tensor
  };

  std::vector<NodePtr> nodes;
  std::vector<NodePtr> inputs;
  std::vector<Edge> outputs;     // the results, then the values of `writes`
  std::vector<Tensor> captured;  // values of inputs[n_args()...]; undefined after parsing
  std::vector<Write> writes;
  size_t n_results = 0;   // outputs[0 .. n_results) are what the function returned
  bool autograd = false;  // True iff it shows what backward would walk: leaves, partial edges

  size_t n_args() const { return inputs.size() - captured.size(); }

  /// Everything that the gradient of these results would walk through.
  static Graph of(ArrayRef<Tensor> results);
  /// Reads what str() wrote. A mistake is an Error that names line and column.
  static Graph parse(std::string_view text);
  std::string str() const;

  /// Runs the nodes one by one with the ordinary ops, so that gradients flow, and applies the
  /// writes. Takes the arguments only, or the arguments and then values for what was captured.
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const;

  /// Numbers the nodes: walk_slot of nodes[i] becomes i. Passes use it to index side tables.
  void number() const;
  /// A copy with nodes of its own, which passes may change.
  Graph clone() const;
};
/// Readable text, one assignment a node: %2 = mul(%0, %1) : float32 [3, 4]
std::ostream& operator<<(std::ostream& out, const Graph& g);

/// True iff they are the same program: equal nodes in equal order, equal results and writes. What
/// was captured is not looked at, its type is.
bool same(const Graph& a, const Graph& b);
/// Equal for equal graphs, in every process.
size_t structural_hash(const Graph& g);

/// Adds a node to a graph that is being built, with the types that the op's infer gives. Edges of
/// `inputs` point to nodes before it. An input is not entered in Graph::inputs by this. `n_outputs`
/// is for ops that leave it open.
Node& append(Graph& g, const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs = {},
             int n_outputs = 0);
/// The types that the op gives for these inputs; `outputs` has room for them.
void infer_types(const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs, TensorType* outputs,
                 int n_outputs);

/// Where a graph's value comes from outside.
struct InputAttrs {
  int64_t index = 0;  // among the arguments, or among the captured
  std::string name;   // may be empty
  TensorType type;    // without a dtype for an argument that is not there
  TANDEM_FIELDS(index, name, type)
};
extern const OpDef kInputOp;

/// A tensor as an attribute: equal iff type and bits are.
struct TensorValue {
  Tensor tensor;
  friend bool operator==(const TensorValue& a, const TensorValue& b);
  friend std::ostream& operator<<(std::ostream& out, const TensorValue& v);
};
/// Reads what << wrote.
void read_field(AttrReader& in, TensorValue& v);
struct ConstantAttrs {
  TensorValue value;
  TANDEM_FIELDS(value)
};
extern const OpDef kConstantOp;

}  // namespace tandem

template <>
struct std::hash<tandem::TensorValue> {
  size_t operator()(const tandem::TensorValue& v) const;
};
