#include "tandem/autograd/gradcheck.h"

#include <cmath>

#include "tandem/autograd/autograd.h"
#include "tandem/ops/ops.h"

namespace tandem::autograd::detail {
namespace {

// Where element `i`, counted in row-major order, lies.
int64_t offset_of(const Tensor& t, int64_t i) {
  int64_t offset = 0;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    offset += i % t.size(d) * t.stride(d);
    i /= t.size(d);
  }
  return offset;
}

Dims index_of(const Tensor& t, int64_t i) {
  Dims index(t.sizes().size());
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    index[d] = i % t.size(d);
    i /= t.size(d);
  }
  return index;
}

// All values as doubles, in row-major order.
std::vector<double> values_of(const Tensor& t) {
  const Tensor flat = t.detach().to(kDouble).contiguous();
  const double* p = flat.const_data_ptr<double>();
  return {p, p + flat.numel()};
}

// Adds to one value of a tensor behind autograd's back, and takes it back at the end of the scope.
class Moved {
 public:
  Moved(const Tensor& t, int64_t i, double by) : t_(t), at_(offset_of(t, i)) {
    dispatch(t.dtype(), [&]<class T>(T) {
      T* p = static_cast<T*>(t_.data_ptr()) + at_;
      before_ = static_cast<double>(*p);
      *p = static_cast<T>(before_ + by);
      moved_ = static_cast<double>(*p) - before_;
    });
  }
  ~Moved() {
    dispatch(t_.dtype(),
             [&]<class T>(T) { static_cast<T*>(t_.data_ptr())[at_] = static_cast<T>(before_); });
  }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;
  double by() const { return moved_; }  // after rounding to the dtype

 private:
  const Tensor& t_;
  int64_t at_;
  double before_ = 0, moved_ = 0;
};

class Check {
 public:
  Check(const TensorFunction& fn, const variable_list& inputs, const GradcheckOptions& options)
      : fn_(fn), inputs_(inputs), options_(options) {}

  // Empty if all is well, else what is wrong.
  std::string run() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& t = inputs_[i];
      if (!t.defined() || !t.requires_grad()) continue;
      for (int64_t d = 0; d < t.dim(); ++d)
        TANDEM_CHECK(t.stride(d) != 0 || t.size(d) <= 1, "gradcheck: input ", i,
                     " shows one value several times (it was expanded); pass a clone()");
      checked_.push_back(i);
    }
    TANDEM_CHECK(
        !checked_.empty(),
        "gradcheck expects at least one input tensor to require gradient, but none of them "
        "have requires_grad=True.");
    {
      AutoGradMode with_grad(true);
      outputs_ = fn_(inputs_);
    }
    for (size_t o = 0; o < outputs_.size(); ++o) {
      if (!outputs_[o].defined() || !outputs_[o].is_floating_point()) continue;
      std::string error = check_output(o);
      if (!error.empty()) return error;
    }
    return {};
  }

 private:
  // The values of output o when input i has been moved.
  std::vector<double> run_moved(size_t o, size_t i, int64_t element, double by, double* moved) {
    AutoGradMode with_grad(true);  // the function may differentiate on its own
    Moved scope(inputs_[i], element, by);
    *moved = scope.by();
    const variable_list outputs = fn_(inputs_);
    TANDEM_CHECK(outputs.size() == outputs_.size() && outputs[o].sizes() == outputs_[o].sizes(),
                 "gradcheck: the function gives results of another number or shape each time");
    return values_of(outputs[o]);
  }

  std::string check_output(size_t o) {
    const Tensor& out = outputs_[o];
    const int64_t n = out.numel();
    // Rows of autograd's Jacobian, one backward for each.
    std::vector<std::vector<std::vector<double>>> rows(n);  // [output element][checked input]
    if (out.requires_grad())
      for (int64_t e = 0; e < n; ++e) {
        std::string error = one_row(out, e, rows[e]);
        if (!error.empty()) return str("gradcheck: for output ", o, ": ", error);
      }
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& in = inputs_[checked_[c]];
      for (int64_t e = 0; e < in.numel(); ++e) {
        double up = 0, down = 0;
        const std::vector<double> above = run_moved(o, checked_[c], e, options_.eps, &up);
        const std::vector<double> below = run_moved(o, checked_[c], e, -options_.eps, &down);
        for (int64_t k = 0; k < n; ++k) {
          const double numerical = (above[k] - below[k]) / (up - down);
          const double analytical = out.requires_grad() ? rows[k][c][e] : 0;
          const double allowed = options_.atol + options_.rtol * std::abs(numerical);
          if (std::abs(analytical - numerical) <= allowed) continue;
          return str("gradcheck: Jacobian mismatch for output ", o, " with respect to input ",
                     checked_[c], ": at output element ", index_of(out, k), " and input element ",
                     index_of(in, e), " the finite difference is ", numerical,
                     " but autograd gives ", analytical,
                     out.requires_grad() ? "" : " (the output does not require a gradient)",
                     "; they differ by ", std::abs(analytical - numerical), ", allowed is ",
                     allowed, hint(in));
        }
      }
    }
    return {};
  }

  static std::string hint(const Tensor& in) {
    if (in.dtype() == kDouble) return "";
    return str(". The input is of dtype ", name_of(in.dtype()),
               ", too coarse for finite differences: use float64");
  }

  std::string one_row(const Tensor& out, int64_t e, std::vector<std::vector<double>>& row) {
    const Tensor one = zeros(out.sizes(), out.options());
    Moved scope(one, e, 1);
    variable_list by;
    for (const size_t i : checked_) by.push_back(inputs_[i]);
    const variable_list grads = grad({out}, by, {one}, /*retain_graph=*/true,
                                     /*create_graph=*/false, /*allow_unused=*/true);
    const variable_list again = e == 0 ? grad({out}, by, {one}, true, false, true) : grads;
    for (size_t c = 0; c < grads.size(); ++c) {
      if (!grads[c].defined()) {
        row.emplace_back(static_cast<size_t>(by[c].numel()), 0.0);
        continue;
      }
      if (!(grads[c].sizes() == by[c].sizes()) || grads[c].dtype() != by[c].dtype())
        return str("the gradient by input ", checked_[c], " is of type ", grads[c].type_of(),
                   ", but the input is of type ", by[c].type_of());
      row.push_back(values_of(grads[c]));
      const std::vector<double> second = values_of(again[c]);
      for (size_t k = 0; k < second.size(); ++k)
        if (std::abs(second[k] - row[c][k]) > options_.nondet_tol)
          return str(
              "Backward is not reentrant, i.e., running backward with same input and grad_output "
              "multiple times gives different values, although analytical gradient matches "
              "numerical gradient: by input ",
              checked_[c], " first ", row[c][k], ", then ", second[k]);
    }
    return {};
  }

  const TensorFunction& fn_;
  const variable_list& inputs_;
  const GradcheckOptions& options_;
  std::vector<size_t> checked_;
  variable_list outputs_;
};

// Numbers between 0.1 and 1, the same each time.
Tensor some_values(const Tensor& like, uint64_t seed) {
  Tensor t = empty(like.sizes(), like.options());
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  dispatch(t.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < t.numel(); ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      static_cast<T*>(t.data_ptr())[i] =
          static_cast<T>(0.1 + 0.9 * static_cast<double>(state >> 11) * 0x1p-53);
    }
  });
  return t;
}

}  // namespace

bool gradcheck(const TensorFunction& fn, const variable_list& inputs,
               const GradcheckOptions& options) {
  const std::string error = Check(fn, inputs, options).run();
  TANDEM_CHECK(error.empty() || !options.raise_exception, error);
  return error.empty();
}

bool gradgradcheck(const TensorFunction& fn, const variable_list& inputs,
                   const variable_list& grad_outputs, const GradcheckOptions& options) {
  std::vector<size_t> by;  // the inputs that are checked
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].requires_grad()) by.push_back(i);
  TANDEM_CHECK(
      !by.empty(),
      "gradgradcheck expects at least one input tensor to require gradient, but none of them "
      "have requires_grad=True.");
  // Outputs through which a gradient flows, and one weight for each.
  std::vector<size_t> from;
  variable_list arguments = inputs;
  {
    AutoGradMode with_grad(true);
    const variable_list outputs = fn(inputs);
    for (size_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].defined() && outputs[o].requires_grad()) from.push_back(o);
    TANDEM_CHECK(grad_outputs.empty() || grad_outputs.size() == from.size(), "gradgradcheck: got ",
                 grad_outputs.size(), " grad_outputs for ", from.size(), " differentiable outputs");
    for (size_t k = 0; k < from.size(); ++k) {
      Tensor g = grad_outputs.empty() ? some_values(outputs[from[k]], k + 1)
                                      : grad_outputs[k].detach().clone();
      arguments.push_back(g.requires_grad_());
    }
  }
  const size_t n = inputs.size();
  const TensorFunction gradient = [&](const variable_list& args) {
    AutoGradMode with_grad(true);
    variable_list outputs = fn(variable_list(args.begin(), args.begin() + n));
    variable_list roots, weights, wanted, result;
    for (size_t k = 0; k < from.size(); ++k) {
      roots.push_back(outputs[from[k]]);
      weights.push_back(args[n + k]);
    }
    for (const size_t i : by) wanted.push_back(args[i]);
    return grad(roots, wanted, weights, /*retain_graph=*/true, /*create_graph=*/true,
                /*allow_unused=*/true);
  };
  return gradcheck(gradient, arguments, options);
}

}  // namespace tandem::autograd::detail
