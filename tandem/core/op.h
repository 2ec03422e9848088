#pragma once

#include "tandem/core/attrs.h"
#include "tandem/core/shape.h"
#include "tandem/core/type.h"

namespace tandem {

class Tensor;
struct TensorImpl;
struct Node;
struct OpDef;
enum class MapFn : uint16_t;  // kernels/map_functions.h

/// Which values the gradient by input i reads. Bit j stands for input j, bit 56+k for output k.
///
/// A value is kept alive for backward only if some input that needs a gradient asks for it.
struct Saves {
  using Bits = uint64_t;
  static constexpr int kMaxInputs = 56;
  static constexpr Bits in(int j) { return Bits{1} << j; }
  static constexpr Bits out(int k) { return Bits{1} << (kMaxInputs + k); }
  /// All inputs from the first-th on.
  static constexpr Bits from(int first) { return out(0) - in(first); }

  Bits by_input[4] = {0, 0, 0, 0};  // input 3 and all later ones share the last entry
  Bits for_input(int i) const { return by_input[i < 3 ? i : 3]; }

  static constexpr Saves none() { return {}; }
  /// The gradient by every input reads output k.
  static constexpr Saves output(int k = 0) { return all(out(k)); }
  /// The gradient by every input reads the given values.
  static constexpr Saves all(Bits what) { return {{what, what, what, what}}; }
  /// Entry i: what the gradient by input i reads.
  static constexpr Saves each(Bits a, Bits b = 0, Bits c = 0, Bits rest = 0) {
    return {{a, b, c, rest}};
  }
};

namespace detail {
[[noreturn, gnu::cold]] void too_few_inputs(const OpDef& op, int n_inputs);
}

/// From the types of the inputs to those of the outputs. The one place where a user's mistake about
/// shapes and dtypes is found.
struct InferArgs {
  const OpDef& op;
  const TensorType* const* inputs;
  int n_inputs;
  AttrRef attr_ref;
  TensorType* const* outputs;  // device is already filled in

  const TensorType& in(int i = 0) const {
    if (i >= n_inputs) [[unlikely]]
      detail::too_few_inputs(op, n_inputs);
    return *inputs[i];
  }
  TensorType& out(int i = 0) const { return *outputs[i]; }
  template <class A>
  const A& attrs() const {
    return attr_ref.as<A>();
  }
};

struct KernelArgs {
  const OpDef& op;
  const Array* inputs;
  int n_inputs;
  const Array* outputs;
  int n_outputs;
  AttrRef attr_ref;

  const Array& in(int i = 0) const {
    if (i >= n_inputs) [[unlikely]]
      detail::too_few_inputs(op, n_inputs);
    return inputs[i];
  }
  const Array& out(int i = 0) const { return outputs[i]; }
  template <class A>
  const A& attrs() const {
    return attr_ref.as<A>();
  }
};

/// How a view lies in the memory of what it views. `sizes` of the result come from infer.
struct ViewArgs {
  const OpDef& op;
  IntArrayRef in_sizes;
  IntArrayRef in_strides;
  IntArrayRef out_sizes;
  AttrRef attr_ref;
  Dims& strides;    // to be filled in
  int64_t& offset;  // elements beyond the input's first; starts as 0

  template <class A>
  const A& attrs() const {
    return attr_ref.as<A>();
  }
};

using Grads = SmallVector<Tensor, 3>;

/// What a gradient rule sees. Values are unpacked on demand and only if `saves` names them.
struct VjpArgs {
  const Node& node;
  const Tensor* grads;  // one for each output; undefined where nothing flowed back
  const bool* needed;   // which inputs want a gradient

  /// The gradient by output i.
  const Tensor& grad(int i = 0) const;
  bool has_grad(int i) const;
  /// Like grad, with zeros where nothing flowed back.
  Tensor grad_or_zeros(int i) const;
  Tensor input(int i = 0) const;
  Tensor output(int i = 0) const;
  bool needs(int i) const { return needed[i]; }
  int n_inputs() const;
  /// Type of input i; only for inputs that need a gradient.
  const TensorType& input_type(int i = 0) const;
  const TensorType& output_type(int i = 0) const;
  AttrRef attr_ref() const;
  template <class A>
  const A& attrs() const {
    return attr_ref().template as<A>();
  }
};

/// What vmap asks of an op: the same for many samples at once. The samples lie along dimension 0 of
/// those inputs that are batched; the others are the same for all. At least one input is batched,
/// except for ops that draw random numbers: every sample gets numbers of its own.
struct BatchArgs {
  const OpDef& op;
  const Tensor* inputs;
  const bool* batched;
  int n_inputs;
  int64_t size;  // number of samples
  AttrRef attr_ref;
  Tensor* outputs;  // to be filled in, each with the samples along dimension 0

  const Tensor& in(int i = 0) const;
  /// Input i with the samples along dimension 0, repeated where it is not batched.
  Tensor sample(int i = 0) const;
  template <class A>
  const A& attrs() const {
    return attr_ref.as<A>();
  }
};

/// The composite that an op with a kernel of its own equals, in public ops.
struct DecomposeArgs {
  const OpDef& op;
  const Tensor* inputs;
  int n_inputs;
  AttrRef attr_ref;
  Tensor* outputs;  // to be filled in

  const Tensor& in(int i = 0) const;
  template <class A>
  const A& attrs() const {
    return attr_ref.as<A>();
  }
};

/// How the fuser sees a reduction. `none`: not as one, with these attributes.
struct ReductionInfo {
  enum class Fn : uint8_t { sum, mean, prod, max, min, norm2, none } fn = Fn::sum;
  uint64_t dims = 0;  // bit d: dimension d is reduced
};

/// An op: what it computes, how it is differentiated, how it may be fused. A constant; ops are
/// told apart by address.
struct OpDef {
  const char* name;
  void (*infer)(const InferArgs&);
  void (*kernel)(const KernelArgs&) = nullptr;
  /// Set for ops whose result shares its input's memory; they have no kernel.
  void (*view)(const ViewArgs&) = nullptr;
  /// Set for ops whose output shapes depend on values: makes the outputs itself.
  void (*dynamic)(const KernelArgs&, Tensor* outputs) = nullptr;
  Saves saves = {};
  /// One gradient for each input (undefined: none). Null: not differentiable.
  Grads (*vjp)(const VjpArgs&) = nullptr;
  int outputs = 1;  // 0: as many as `count` says
  int (*count)(AttrRef attrs) = nullptr;
  /// The scalar formula of a pointwise op; the fuser reads it.
  MapFn map = MapFn{0};
  /// True iff the kernel may write over an input that has the output's exact layout and handles any
  /// output strides. Always so for pointwise ops.
  bool inplace = false;
  /// True iff the result depends on more than the inputs, or the op does more than compute it.
  bool impure = false;
  /// True iff the kernel looks at values and may refuse them: an index out of range, a matrix
  /// without an inverse. A plan writes to the user's tensors only after such steps.
  bool checks_values = false;
  /// True iff it draws random numbers, or moves their counter on: the first input is a generator's
  /// state.
  bool random = false;
  /// The type of its attributes; null iff it has none. Readers of saved graphs need it.
  const AttrType* attrs = nullptr;
  /// Rule for vmap. Pointwise ops need none.
  void (*batch)(const BatchArgs&) = nullptr;
  /// What the fuser sees in its place.
  void (*decompose)(const DecomposeArgs&) = nullptr;
  /// Set for reductions that may be fused: what is reduced how, for an input of that many
  /// dimensions.
  ReductionInfo (*reduction)(AttrRef attrs, int ndim) = nullptr;
  /// How many inputs it takes; -1: any number. Readers of saved graphs refuse any other.
  int inputs = -1;

  int n_outputs(AttrRef a) const { return outputs > 0 ? outputs : count(a); }
  constexpr bool is_view() const { return view != nullptr; }
  constexpr bool writes_in_place() const { return inplace || map != MapFn{0}; }
};

/// Every op defined with TANDEM_OP, in no particular order: for tests, tools and readers of graphs.
ArrayRef<const OpDef*> all_ops();
/// The op of that name; null if there is none.
const OpDef* find_op(std::string_view name);

}  // namespace tandem

/// Defines an op and enters it in the list that all_ops() gives, without a static constructor:
///   TANDEM_OP(kTanh) = {.name = "tanh", ...};
#define TANDEM_OP(variable)                                                                        \
  extern const ::tandem::OpDef variable;                                                           \
  [[gnu::section("tandem_ops"), gnu::used]] static const ::tandem::OpDef* const variable##_entry = \
      &variable;                                                                                   \
  constinit const ::tandem::OpDef variable
