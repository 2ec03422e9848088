#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <unordered_map>

#include "tandem/base/words.h"
#include "tandem/core/graph.h"
#include "tandem/core/recorder.h"
#include "tandem/core/view_chain.h"

/// Reads the text that graph_text.cpp writes. Text is not trusted: types are worked out again by
/// each op's infer and compared with those written, and every view must lie within what it views.
namespace tandem {
namespace {

const OpDef& read_op(AttrReader& in) {
  in.skip_blanks();
  const size_t place = in.place();
  const std::string_view name = in.word("the name of an op");
  if (name == kInputOp.name) return kInputOp;
  if (name == kConstantOp.name) return kConstantOp;
  if (const OpDef* op = find_op(name)) return *op;
  if (name.size() > 100) in.fail_at(place, str("there is no op '", name.substr(0, 100), "...'"));
  const char* nearest = kConstantOp.name;
  size_t best = edit_distance(name, nearest);
  const auto consider = [&](const char* known) {
    const size_t d = edit_distance(name, known);
    // Of equals the first in the alphabet, whatever order the ops are listed in.
    if (d < best || (d == best && std::strcmp(known, nearest) < 0)) best = d, nearest = known;
  };
  consider(kInputOp.name);
  for (const OpDef* op : all_ops()) consider(op->name);
  in.fail_at(place, str("there is no op '", name, "' (did you mean ", nearest, "?)"));
}

// Attributes of a type that is known only at run time.
class ReadAttrs {
 public:
  ReadAttrs() = default;
  ReadAttrs(const AttrType& type, AttrReader& in)
      : memory_((type.size + sizeof(Block) - 1) / sizeof(Block)) {
    type.parse(memory_.data(), in);
    type_ = &type;
  }
  ReadAttrs(ReadAttrs&& o) noexcept
      : memory_(std::move(o.memory_)), type_(std::exchange(o.type_, nullptr)) {}
  ~ReadAttrs() {
    if (type_) type_->destroy(memory_.data());
  }
  AttrRef ref() const { return type_ ? AttrRef(memory_.data(), type_) : AttrRef(); }

 private:
  using Block = std::max_align_t;
  std::vector<Block> memory_;
  const AttrType* type_ = nullptr;
};

// "{dims=[0], keepdim=false}" or, for chains of views, the same in round brackets.
ReadAttrs read_attrs(const OpDef& op, AttrReader& in, const char* open, const char* close) {
  in.skip_blanks();
  const size_t place = in.place();
  if (!op.attrs) {
    if (in.accept(open)) in.fail_at(place, str(op.name, " has no attributes"));
    return {};
  }
  if (!in.accept(open)) in.expected(str("'", open, "' and the attributes of ", op.name));
  const AttrReader::Nesting nesting(in);
  ReadAttrs attrs(*op.attrs, in);
  in.expect(close);
  return attrs;
}

// Where a value lies in the memory of another, which is in row-major order. Its own if it is no
// view.
struct Place {
  int64_t bytes = 0;   // of that memory
  int64_t offset = 0;  // of the first element, in elements of this value
  Dims strides;

  static Place own(const TensorType& type) {
    return {numel_of(type.sizes) * static_cast<int64_t>(size_of(type.dtype)), 0,
            contiguous_strides(type.sizes)};
  }
};

// Adds a * b; false if the sum leaves int64.
bool add_product(int64_t& sum, int64_t a, int64_t b) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
}

// One view op further. Throws if the view reaches outside.
Place view_of(const OpDef& op, AttrRef attrs, const Place& from, const TensorType& in,
              const TensorType& out) {
  Place to;
  to.bytes = from.bytes;
  op.view({op, in.sizes, from.strides, out.sizes, attrs, to.strides, to.offset});
  bool inside = to.strides.size() == out.sizes.size() &&
                !__builtin_add_overflow(to.offset, from.offset, &to.offset);
  const auto size = static_cast<int64_t>(size_of(out.dtype));
  if (inside && in.dtype != out.dtype)
    inside =
        !__builtin_mul_overflow(to.offset, static_cast<int64_t>(size_of(in.dtype)), &to.offset) &&
        to.offset % size == 0 && (to.offset /= size, true);
  int64_t last = to.offset;
  bool empty = false;
  for (size_t d = 0; inside && d < out.sizes.size(); ++d) {
    empty |= out.sizes[d] == 0;
    inside = to.strides[d] >= 0 && add_product(last, out.sizes[d] - 1, to.strides[d]);
  }
  TANDEM_CHECK(inside && (empty || (to.offset >= 0 && last < to.bytes / size)), op.name,
               ": the view ", out, " with strides ", to.strides, " and offset ", to.offset,
               " reaches outside of the ", to.bytes, " bytes that it views");
  return to;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Graph parse() {
    head();
    while (node_line()) {
    }
    place_inputs();
    results();
    while (in_.skip_lines(), in_.accept("write")) write();
    if (!in_.at_end()) in_.expected("'write' or the end of the text");
    return std::move(g_);
  }

 private:
  struct Named {
    int64_t number;
    size_t place;
  };

  void head() {
    in_.skip_lines();
    in_.expect("graph");
    args_ = names();
    if (in_.accept("captured")) captured_ = names();
    in_.expect_end_of_line();
  }

  std::vector<Named> names() {
    std::vector<Named> list;
    in_.expect("(");
    if (in_.accept(")")) return list;
    do list.push_back(name());
    while (in_.accept(","));
    in_.expect(")");
    return list;
  }

  Named name() {
    in_.skip_blanks();
    const size_t place = in_.place();
    if (!in_.accept("%")) in_.expected("a value such as %0");
    if (in_.peek() < '0' || in_.peek() > '9') in_.expected("the number of a value");
    int64_t number = 0;
    while (in_.peek() >= '0' && in_.peek() <= '9') {
      number = number * 10 + in_.digit();
      if (number > std::numeric_limits<int32_t>::max())
        in_.fail_at(place, "the number of this value is too large");
    }
    return {number, place};
  }

  Node& node_of(const Named& name) {
    const auto found = nodes_.find(name.number);
    if (found == nodes_.end())
      in_.fail_at(name.place, str("%", name.number, " is not defined before it is used"));
    return *g_.nodes[found->second];
  }

  Edge edge() {
    const Named from = name();
    Node& n = node_of(from);
    int64_t index = 0;
    if (in_.peek() == '.') {
      in_.expect(".");
      index = in_.whole(0, std::numeric_limits<int32_t>::max());
      if (index >= n.n_outputs)
        in_.fail_at(from.place,
                    str("%", from.number, " has ", n.n_outputs,
                        n.n_outputs == 1 ? " output" : " outputs", ", there is no output ", index));
    } else if (n.n_outputs != 1) {
      in_.fail_at(from.place, str("%", from.number, " has ", n.n_outputs,
                                  " outputs: write which, as in %", from.number, ".0"));
    }
    return {NodePtr(&n), static_cast<uint32_t>(index)};
  }

  // "%2 = mul(%0, %1) {...} : float32 [3]"; false where the lines of nodes end.
  bool node_line() {
    in_.skip_lines();
    if (in_.peek() != '%') return false;
    const Named result = name();
    if (nodes_.contains(result.number))
      in_.fail_at(result.place, str("%", result.number, " is defined twice"));
    in_.expect("=");
    in_.skip_blanks();
    const size_t place = in_.place();
    const OpDef& op = read_op(in_);
    if (&op == &kInputOp)
      input_line(result);
    else
      op_line(op, place);
    in_.expect_end_of_line();
    nodes_.emplace(result.number, g_.nodes.size() - 1);
    return true;
  }

  void input_line(const Named& result) {
    InputAttrs attrs;
    in_.skip_blanks();
    if (in_.peek() == '"') attrs.name = in_.quoted();
    in_.expect(":");
    read_field(in_, attrs.type);
    attrs.index = input_index(result);
    append(g_, kInputOp, {}, attrs);
    places_.push_back(Place::own(attrs.type));
  }

  // Its place in the list where it stands.
  int64_t input_index(const Named& result) {
    for (const std::vector<Named>* list : {&args_, &captured_})
      for (size_t i = 0; i < list->size(); ++i)
        if ((*list)[i].number == result.number) return static_cast<int64_t>(i);
    in_.fail_at(result.place,
                str("the input %", result.number, " is not listed in the first line"));
  }

  void op_line(const OpDef& op, size_t place) {
    std::vector<Edge> inputs;
    in_.expect("(");
    if (!in_.accept(")")) {
      do inputs.push_back(edge());
      while (in_.accept(","));
      in_.expect(")");
    }
    const ReadAttrs attrs = read_attrs(op, in_, "{", "}");
    in_.expect(":");
    in_.skip_blanks();
    const size_t types_place = in_.place();
    std::vector<TensorType> types;
    do read_field(in_, types.emplace_back());
    while (in_.accept(","));
    if (const int outputs = op.n_outputs(attrs.ref()); types.size() != static_cast<size_t>(outputs))
      in_.fail_at(types_place,
                  str(op.name, " has ", outputs, outputs == 1 ? " output, " : " outputs, ",
                      types.size(), types.size() == 1 ? " type is given" : " types are given"));
    try {
      check_and_append(op, inputs, attrs.ref(), types.size());
    } catch (const std::exception& e) {  // a mistake in the text, whoever finds it
      const std::string message = e.what();
      in_.fail_at(place, message.rfind(op.name, 0) == 0 ? message : str(op.name, ": ", message));
    }
    for (size_t k = 0; k < types.size(); ++k) {
      const TensorType& real = g_.nodes.back()->outputs()[k];
      if (!(real == types[k]) || real.weak != types[k].weak) {
        std::ostringstream message;
        message << op.name << " gives ";
        print_type(message, real);
        message << ", not ";
        print_type(message, types[k]);
        in_.fail_at(types_place, message.str());
      }
    }
  }

  void check_and_append(const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs, size_t n_outputs) {
    if (op.view)
      TANDEM_CHECK(inputs.size() == 1, op.name, ": takes 1 input, ", inputs.size(), " given");
    if (&op == &kViewScatter) check_scatter(inputs, attrs.as<ViewScatterAttrs>());
    const Node& n = append(g_, op, inputs, attrs, static_cast<int>(n_outputs));
    for (uint32_t k = 0; k < n.n_outputs; ++k) {
      const TensorType& t = n.outputs()[k];
      TANDEM_CHECK(t.dtype != DType::Undefined, op.name, ": its result has no dtype");
      int64_t bytes;
      TANDEM_CHECK(!__builtin_mul_overflow(numel_of(t.sizes), size_of(t.dtype), &bytes), op.name,
                   ": its result ", t, " is too large");
    }
    if (!op.view) {
      places_.push_back(Place::own(n.outputs()[0]));
      return;
    }
    const Node* from = inputs[0].node.get();
    // Only a node's first output has its place kept; none of those with more is a view.
    const Place place = from->n_outputs == 1 ? places_[from->walk_slot]
                                             : Place::own(from->outputs()[inputs[0].index]);
    places_.push_back(view_of(op, attrs, place, from->outputs()[inputs[0].index], n.outputs()[0]));
  }

  static void check_scatter(ArrayRef<Edge> inputs, const ViewScatterAttrs& s) {
    TANDEM_CHECK(inputs.size() == 2, "view_scatter: takes 2 inputs, ", inputs.size(), " given");
    TensorType at = inputs[0].node->outputs()[inputs[0].index];
    const TensorType& value = inputs[1].node->outputs()[inputs[1].index];
    Place place = Place::own(at);
    if (!s.strides.empty()) {
      TANDEM_CHECK(s.strides.size() == at.sizes.size(), "view_scatter: strides ", s.strides,
                   " for ", at);
      place.strides = s.strides;
      int64_t last = 0;
      for (size_t d = 0; d < at.sizes.size(); ++d)
        TANDEM_CHECK(s.strides[d] >= 0 &&
                         add_product(last, std::max<int64_t>(at.sizes[d] - 1, 0), s.strides[d]),
                     "view_scatter: impossible strides ", s.strides);
      // A base that is spread further than its elements reach would need memory of any size.
      TANDEM_CHECK(last <= numel_of(at.sizes), "view_scatter: the strides ", s.strides, " spread ",
                   at, " over more memory than it has");
      place.bytes = (last + 1) * static_cast<int64_t>(size_of(at.dtype));
    }
    for (const ViewStep* step : s.chain.steps()) {
      TensorType next;
      next.device = at.device;
      const TensorType* from = &at;
      TensorType* to = &next;
      step->op->infer({*step->op, &from, 1, step->attrs.ref(), &to});
      place = view_of(*step->op, step->attrs.ref(), place, at, next);
      at = next;
    }
    TANDEM_CHECK(at == value, "view_scatter: the part is ", at, ", the value written to it ",
                 value);
  }

  void place_inputs() {
    for (const std::vector<Named>* list : {&args_, &captured_})
      for (const Named& name : *list) {
        Node& n = node_of(name);
        if (n.op != &kInputOp)
          in_.fail_at(name.place,
                      str("%", name.number, " is listed as an input but is ", n.op->name));
        if (!positions_.emplace(&n, static_cast<uint32_t>(g_.inputs.size())).second)
          in_.fail_at(name.place, str("%", name.number, " is listed twice"));
        g_.inputs.push_back(NodePtr(&n));
      }
    g_.captured.resize(captured_.size());
  }

  void results() {
    in_.skip_lines();
    in_.expect("return");
    in_.skip_blanks();
    if (in_.peek() == '%') {
      do g_.outputs.push_back(edge());
      while (in_.accept(","));
    }
    in_.expect_end_of_line();
    g_.n_results = g_.outputs.size();
  }

  void write() {
    const Named to = name();
    const Node& target = node_of(to);
    if (target.op != &kInputOp)
      in_.fail_at(to.place, str("%", to.number, " is not an input: nothing can be written to it"));
    const uint32_t input = positions_.at(&target);
    for (const Graph::Write& w : g_.writes)
      if (w.input == input) in_.fail_at(to.place, str("%", to.number, " is written twice"));
    in_.expect("<-");
    in_.skip_blanks();
    const size_t place = in_.place();
    const Edge value = edge();
    const TensorType& type = value.node->outputs()[value.index];
    if (!(type == target.outputs()[0]))
      in_.fail_at(place, str("a value of ", type, " cannot be written to ", target.outputs()[0]));
    g_.writes.push_back({static_cast<uint32_t>(g_.outputs.size()), input});
    g_.outputs.push_back(value);
    in_.expect_end_of_line();
  }

  AttrReader in_;
  Graph g_;
  std::vector<Named> args_, captured_;
  std::unordered_map<int64_t, size_t> nodes_;            // from numbers to positions
  std::unordered_map<const Node*, uint32_t> positions_;  // of the inputs in Graph::inputs
  std::vector<Place> places_;                            // by node, of its first output
};

}  // namespace

Graph Graph::parse(std::string_view text) { return Parser(text).parse(); }

void read_field(AttrReader& in, ViewChain& c) {
  const AttrReader::Nesting nesting(in);
  c.last = nullptr;
  in.expect("[");
  if (in.accept("]")) return;
  do {
    in.skip_blanks();
    const size_t place = in.place();
    const OpDef& op = read_op(in);
    if (!op.view) in.fail_at(place, str(op.name, " is not a view"));
    auto step = intrusive_ptr<ViewStep>::adopt(new ViewStep);
    step->op = &op;
    // A step without attributes still shows its brackets.
    if (op.attrs) {
      step->attrs = AttrBox(read_attrs(op, in, "(", ")").ref());
    } else {
      in.expect("(");
      in.expect(")");
    }
    step->previous = std::move(c.last);
    c.last = std::move(step);
  } while (in.accept(","));
  in.expect("]");
}

// -- constants --------------------------------------------------------------------------------
namespace {

template <class T>
T read_number(AttrReader& in) {
  if constexpr (std::is_same_v<T, bool>)
    return in.truth();
  else if constexpr (std::is_same_v<T, double>)
    return in.real();
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(in.whole(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  else
    return static_cast<T>(in.single());
}

}  // namespace

void read_field(AttrReader& in, TensorValue& v) {
  TensorType type;
  read_field(in, type);
  in.skip_blanks();
  const size_t place = in.place();
  const int64_t numel = numel_of(type.sizes);
  if (type.dtype == DType::Undefined) in.fail_at(place, "a constant needs a dtype");
  if (!type.device.is_cpu())
    in.fail_at(place, str("a constant on ", type.device, " has no values"));
  if (type.weak && !type.sizes.empty()) in.fail_at(place, "only a 0-d constant can be weak");
  // The values come first and the memory for them after, so that large extents alone cost nothing.
  std::string bytes;
  if (in.peek() == '0') {
    in.hex_bytes(bytes, static_cast<size_t>(numel) * size_of(type.dtype));
    if (type.dtype == kBool)
      for (const char b : bytes)
        if (b != 0 && b != 1) in.fail_at(place, "a byte of a bool constant is neither 0 nor 1");
  } else {
    int64_t count = 0;
    in.expect("[");
    dispatch(type.dtype, [&]<class T>(T) {
      if (in.accept("]")) return;
      do {
        const T number = read_number<T>(in);
        bytes.append(reinterpret_cast<const char*>(&number), sizeof(T));
        ++count;
      } while (in.accept(","));
      in.expect("]");
    });
    if (count != numel)
      in.fail_at(place, str("expected ", numel, " values for ", type.sizes, ", found ", count));
  }
  const RecorderScope eager(nullptr);
  auto impl = TensorImpl::make(type);
  impl->type.weak = type.weak;
  if (!bytes.empty()) std::memcpy(impl->data, bytes.data(), bytes.size());
  v.tensor = Tensor(std::move(impl));
}

}  // namespace tandem
