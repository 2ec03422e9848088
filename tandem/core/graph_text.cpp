#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <sstream>
#include <unordered_map>

#include "tandem/core/apply.h"
#include "tandem/core/graph.h"
#include "tandem/core/recorder.h"

/// Graphs as text. One line a node:
///
///   graph(%0, %1) captured(%2)
///   %0 = input "x" : float32 [3, 4]
///   ...
///   %5 = sum(%4) {dims=[0], keepdim=false} : float32 [4]
///   return %5
///   write %2 <- %4
namespace tandem {
namespace {

// Constants up to this many elements are written as numbers, larger ones as bytes.
constexpr int64_t kMaxNumbers = 64;

class Writer {
 public:
  explicit Writer(const Graph& g) : g_(g) {
    for (const NodePtr& n : g.nodes) numbers_.emplace(n.get(), numbers_.size());
  }

  std::string text() {
    if (!g_.autograd) head();
    for (const NodePtr& n : g_.nodes) node(*n);
    tail();
    return out_.str();
  }

 private:
  void name(const Node* n) { out_ << '%' << numbers_.at(n); }
  void edge(const Edge& e) {
    if (!e.node) {
      out_ << '_';
      return;
    }
    name(e.node.get());
    if (e.node->n_outputs > 1) out_ << '.' << e.index;
  }

  void head() {
    out_ << "graph(";
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      out_ << (i == g_.n_args() ? ") captured(" : i ? ", " : "");
      name(g_.inputs[i].get());
    }
    out_ << ")\n";
  }

  void node(const Node& n) {
    name(&n);
    out_ << " = " << n.op->name;
    if (n.op == &kInputOp) {
      if (const std::string& given = n.attrs().as<InputAttrs>().name; !given.empty()) {
        out_ << ' ';
        detail::print_quoted(out_, given);
      }
    } else {
      out_ << '(';
      for (uint32_t i = 0; i < n.n_inputs; ++i) {
        out_ << (i ? ", " : "");
        edge(n.inputs()[i]);
      }
      out_ << ')';
      if (const AttrRef a = n.attrs(); a.type) {
        out_ << " {";
        a.type->print(out_, a.data);
        out_ << '}';
      }
    }
    out_ << " : ";
    for (uint32_t k = 0; k < n.n_outputs; ++k) {
      out_ << (k ? ", " : "");
      print_type(out_, n.outputs()[k]);
    }
    out_ << '\n';
  }

  void tail() {
    out_ << "return";
    for (size_t i = 0; i < g_.n_results; ++i) {
      out_ << (i ? ", " : " ");
      edge(g_.outputs[i]);
    }
    out_ << '\n';
    for (const Graph::Write& w : g_.writes) {
      out_ << "write ";
      name(g_.inputs[w.input].get());
      out_ << " <- ";
      edge(g_.outputs[w.output]);
      out_ << '\n';
    }
  }

  const Graph& g_;
  std::unordered_map<const Node*, size_t> numbers_;
  std::ostringstream out_;
};

}  // namespace

std::string Graph::str() const { return Writer(*this).text(); }

std::ostream& operator<<(std::ostream& out, const Graph& g) { return out << g.str(); }

// -- constants --------------------------------------------------------------------------------
namespace {

// Whether numbers say all: the bits of a NaN may hold more.
template <class T>
bool plain_numbers(const T* data, int64_t n) {
  if constexpr (std::is_same_v<T, bool>) return true;
  for (int64_t i = 0; i < n; ++i)
    if (const double v = static_cast<double>(data[i]); std::isnan(v)) {
      const T again = static_cast<T>(std::numeric_limits<double>::quiet_NaN());
      if (std::memcmp(&again, data + i, sizeof(T)) != 0) return false;
    }
  return true;
}

template <class T>
void print_numbers(std::ostream& out, const T* data, int64_t n) {
  out << '[';
  for (int64_t i = 0; i < n; ++i) {
    out << (i ? ", " : "");
    if constexpr (std::is_same_v<T, bool>) {
      // A truth value that nobody wrote may be any byte.
      detail::print_field(out, reinterpret_cast<const unsigned char*>(data)[i] != 0);
    } else if constexpr (std::is_integral_v<T>) {
      detail::print_field(out, data[i]);
    } else {
      // As a float32 where that is what it is: 0.1 and not 0.10000000149011612.
      using Shown = std::conditional_t<std::is_same_v<T, double>, double, float>;
      char text[32];
      out.write(text,
                std::to_chars(text, text + sizeof(text), static_cast<Shown>(data[i])).ptr - text);
    }
  }
  out << ']';
}

void print_bytes(std::ostream& out, const void* data, size_t n) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  text.reserve(2 + 2 * n);
  for (size_t i = 0; i < n; ++i) {
    const unsigned char b = static_cast<const unsigned char*>(data)[i];
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  out << text;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TensorValue& v) {
  if (!v.tensor.defined()) return out << "undefined";
  const RecorderScope eager(nullptr);
  const NoGradGuard no_grad;
  const Tensor t = v.tensor.impl()->contiguous ? v.tensor : v.tensor.detach().clone();
  const TensorImpl& impl = *t.impl();
  TensorType type = impl.type;
  type.weak = v.tensor.impl()->type.weak;
  print_type(out, type);
  out << ' ';
  if (!impl.data && impl.numel) return out << "without values";
  dispatch(type.dtype, [&]<class T>(T) {
    const T* data = static_cast<const T*>(impl.data);
    if (impl.numel <= kMaxNumbers && plain_numbers(data, impl.numel))
      print_numbers(out, data, impl.numel);
    else
      print_bytes(out, data, static_cast<size_t>(impl.numel) * sizeof(T));
  });
  return out;
}

}  // namespace tandem
