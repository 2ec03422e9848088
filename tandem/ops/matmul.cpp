#include "tandem/ops/matmul.h"

#include "tandem/core/apply.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/matmul.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/matmul_op.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

// -- types -----------------------------------------------------------------------------------

std::string matrix_name(int64_t rows, int64_t cols) { return str(rows, "x", cols); }

/// A guess at what was meant, where one transposition would do.
const char* transpose_hint(int64_t m, int64_t k, int64_t k2, int64_t n) {
  if (k == n) return " (did you mean to transpose the second?)";
  if (m == k2) return " (did you mean to transpose the first?)";
  return "";
}

void check_dtypes(const OpDef& op, DType a, DType b) {
  TANDEM_CHECK_TYPE(a == b, op.name,
                    ": expected m1 and m2 to have the same dtype, but got: ", name_of(a),
                    " != ", name_of(b), " (convert one with .to(dtype))");
  TANDEM_CHECK_TYPE(a != kBool, op.name,
                    ": not implemented for 'Bool' (convert with .to(torch::kLong) or to a float)");
}

/// Sets the last two extents of the result.
void infer_product(const InferArgs& a, const TensorType& x, const TensorType& y, bool tx, bool ty) {
  const size_t d = x.sizes.size() - 2;
  const int64_t m = x.sizes[d + tx], k = x.sizes[d + !tx];
  const int64_t k2 = y.sizes[d + ty], n = y.sizes[d + !ty];
  TANDEM_CHECK_SHAPE(k == k2, a.op.name, ": mat1 and mat2 shapes cannot be multiplied (",
                     matrix_name(m, k), " and ", matrix_name(k2, n), ")",
                     transpose_hint(m, k, k2, n));
  check_dtypes(a.op, x.dtype, y.dtype);
  TensorType& out = a.out();
  out.sizes.push_back(m);
  out.sizes.push_back(n);
  out.dtype = x.dtype;
}

void infer_mm(const InferArgs& a) {
  const auto& form = a.attrs<MatmulAttrs>();
  const TensorType &x = a.in(0), &y = a.in(1);
  TANDEM_CHECK_SHAPE(x.dim() == 2, a.op.name, ": self must be a matrix, got shape ", x.sizes);
  TANDEM_CHECK_SHAPE(y.dim() == 2, a.op.name, ": mat2 must be a matrix, got shape ", y.sizes);
  infer_product(a, x, y, form.trans_a, form.trans_b);
}

void infer_bmm(const InferArgs& a) {
  const auto& form = a.attrs<MatmulAttrs>();
  const TensorType &x = a.in(0), &y = a.in(1);
  TANDEM_CHECK_SHAPE(x.dim() == 3, a.op.name, ": batch1 must be a 3D tensor, got shape ", x.sizes);
  TANDEM_CHECK_SHAPE(y.dim() == 3, a.op.name, ": batch2 must be a 3D tensor, got shape ", y.sizes);
  const int64_t bx = x.sizes[0], by = y.sizes[0];
  TANDEM_CHECK_SHAPE(bx == by || bx == 1 || by == 1, a.op.name, ": batches differ: ", x.sizes,
                     " x ", y.sizes);
  a.out().sizes.push_back(bx == 1 ? by : bx);
  infer_product(a, x, y, form.trans_a, form.trans_b);
}

void infer_addmm(const InferArgs& a) {
  const auto& form = a.attrs<AddmmAttrs>();
  const TensorType &input = a.in(0), &x = a.in(1), &y = a.in(2);
  TANDEM_CHECK_SHAPE(x.dim() == 2, a.op.name, ": mat1 must be a matrix, got shape ", x.sizes);
  TANDEM_CHECK_SHAPE(y.dim() == 2, a.op.name, ": mat2 must be a matrix, got shape ", y.sizes);
  infer_product(a, x, y, form.trans_a, form.trans_b);
  const Dims& out = a.out().sizes;
  const int64_t d = input.dim();
  bool fits = d <= 2;
  for (int64_t i = 1; fits && i <= d; ++i)
    fits = input.sizes[d - i] == 1 || input.sizes[d - i] == out[2 - i];
  TANDEM_CHECK_SHAPE(fits, a.op.name, ": the input of shape ", input.sizes,
                     " cannot be expanded to the product's shape ", out);
  TANDEM_CHECK_TYPE(input.dtype == x.dtype, a.op.name,
                    ": expected the input and the matrices to have the same dtype, but got: ",
                    name_of(input.dtype), " != ", name_of(x.dtype));
}

void infer_dot(const InferArgs& a) {
  const TensorType &x = a.in(0), &y = a.in(1);
  TANDEM_CHECK_SHAPE(x.dim() == 1 && y.dim() == 1, a.op.name, ": 1D tensors expected, but got ",
                     x.dim(), "D and ", y.dim(), "D tensors");
  TANDEM_CHECK_TYPE(x.dtype == y.dtype, a.op.name,
                    ": expected both vectors to have same dtype, but found ", x.dtype, " and ",
                    y.dtype);
  TANDEM_CHECK_SHAPE(x.sizes == y.sizes, a.op.name, ": inconsistent tensor size, expected tensor ",
                     x.sizes, " and src ", y.sizes,
                     " to have the same number of elements, but got ", x.sizes[0], " and ",
                     y.sizes[0], " elements respectively");
  check_dtypes(a.op, x.dtype, y.dtype);
  a.out().dtype = x.dtype;
}

// -- kernels and gradients -------------------------------------------------------------------

void matmul_kernel(const KernelArgs& a) {
  const auto& form = a.attrs<MatmulAttrs>();
  kernels::matmul(a.in(0), a.in(1), a.out(), {form.trans_a, form.trans_b});
}

void addmm_kernel(const KernelArgs& a) {
  const auto& form = a.attrs<AddmmAttrs>();
  if (form.beta != 0) kernels::copy(a.in(0), a.out());
  kernels::matmul(a.in(1), a.in(2), a.out(), {form.trans_a, form.trans_b, form.alpha, form.beta});
}

void dot_kernel(const KernelArgs& a) {
  const Array &x = a.in(0), &y = a.in(1);
  kernels::dot(x.dtype, x.numel, x.data, x.strides[0], y.data, y.strides[0], a.out().data);
}

/// The gradient of op(x) x op(y) by x and by y, given that of the product.
Tensor grad_first(Tensor (*product)(const Tensor&, const Tensor&, bool, bool), const Tensor& grad,
                  const Tensor& y, bool tx, bool ty) {
  return tx ? product(y, grad, ty, true) : product(grad, y, false, !ty);
}
Tensor grad_second(Tensor (*product)(const Tensor&, const Tensor&, bool, bool), const Tensor& grad,
                   const Tensor& x, bool tx, bool ty) {
  return ty ? product(grad, x, true, tx) : product(x, grad, !tx, false);
}

template <Tensor (*kProduct)(const Tensor&, const Tensor&, bool, bool)>
Grads matmul_vjp(const VjpArgs& a) {
  const auto [tx, ty] = a.attrs<MatmulAttrs>();
  return {a.needs(0) ? grad_first(kProduct, a.grad(), a.input(1), tx, ty) : Tensor(),
          a.needs(1) ? grad_second(kProduct, a.grad(), a.input(0), tx, ty) : Tensor()};
}

Tensor scaled(const Tensor& x, double factor) { return factor == 1 ? x : x * factor; }

}  // namespace

TANDEM_OP(kMm) = {
    .name = "mm",
    .infer = infer_mm,
    .kernel = matmul_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0)),
    .vjp = matmul_vjp<mm_form>,
    .attrs = attrs_of<MatmulAttrs>,
    .batch = mm_batch,
    .inputs = 2,
};

TANDEM_OP(kBmm) = {
    .name = "bmm",
    .infer = infer_bmm,
    .kernel = matmul_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0)),
    .vjp = matmul_vjp<bmm_form>,
    .attrs = attrs_of<MatmulAttrs>,
    .batch = bmm_batch,
    .inputs = 2,
};

TANDEM_OP(kAddmm) = {
    .name = "addmm",
    .infer = infer_addmm,
    .kernel = addmm_kernel,
    .saves = Saves::each(0, Saves::in(2), Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& f = a.attrs<AddmmAttrs>();
      Grads g(3);
      if (a.needs(0)) g[0] = scaled(a.grad(), f.beta);
      if (a.needs(1))
        g[1] = scaled(grad_first(mm_form, a.grad(), a.input(2), f.trans_a, f.trans_b), f.alpha);
      if (a.needs(2))
        g[2] = scaled(grad_second(mm_form, a.grad(), a.input(1), f.trans_a, f.trans_b), f.alpha);
      return g;
    },
    .attrs = attrs_of<AddmmAttrs>,
    .batch = addmm_batch,
    .inputs = 3,
};

TANDEM_OP(kDot) = {
    .name = "dot",
    .infer = infer_dot,
    .kernel = dot_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? a.grad() * a.input(1) : Tensor(),
              a.needs(1) ? a.grad() * a.input(0) : Tensor()};
    },
    .batch = dot_batch,
    .inputs = 2,
};

Tensor mm_form(const Tensor& x, const Tensor& y, bool tx, bool ty) {
  return apply(kMm, {x, y}, MatmulAttrs{tx, ty});
}
Tensor bmm_form(const Tensor& x, const Tensor& y, bool tx, bool ty) {
  return apply(kBmm, {x, y}, MatmulAttrs{tx, ty});
}

namespace {

// True iff the gradient by x would be read transposed: x is the transpose of a matrix in row-major
// order, as in x.mm(weight.t()). Taking it transposed again gives the gradient in the order of that
// matrix, and what updates it by the gradient walks both side by side.
bool better_transposed(const Tensor& x) {
  return x.dim() == 2 && x.stride(0) == 1 && x.stride(1) == x.size(0) && x.size(0) > 1 &&
         x.size(1) > 1 && GradMode::is_enabled() && x.requires_grad();
}

}  // namespace

Tensor mm(const Tensor& x, const Tensor& y) {
  if (!x.defined() || !y.defined()) return apply(kMm, {x, y}, MatmulAttrs{});
  const bool tx = better_transposed(x), ty = better_transposed(y);
  if (!tx && !ty) return apply(kMm, {x, y}, MatmulAttrs{});
  return mm_form(tx ? x.t() : x, ty ? y.t() : y, tx, ty);
}

Tensor bmm(const Tensor& x, const Tensor& y) {
  if (x.dim() == 3 && y.dim() == 3)
    TANDEM_CHECK_SHAPE(x.size(0) == y.size(0) && x.size(2) == y.size(1),
                       "bmm: Expected size for first two dimensions of batch2 tensor to be: [",
                       x.size(0), ", ", x.size(2), "] but got: [", y.size(0), ", ", y.size(1),
                       "].");
  return apply(kBmm, {x, y}, MatmulAttrs{});
}

Tensor mv(const Tensor& matrix, const Tensor& vector) {
  TANDEM_CHECK_SHAPE(matrix.dim() == 2 && vector.dim() == 1,
                     "mv: vector + matrix @ vector expected, got ", matrix.dim(), "-d and ",
                     vector.dim(), "-d tensors");
  TANDEM_CHECK_SHAPE(matrix.size(1) == vector.size(0), "mv: size mismatch, got input (",
                     matrix.size(0), "x", matrix.size(1), ") and vec (", vector.size(0), ")");
  return mm(matrix, vector.unsqueeze(1)).squeeze(1);
}

Tensor dot(const Tensor& x, const Tensor& y) { return apply(kDot, {x, y}); }
Tensor vdot(const Tensor& x, const Tensor& y) { return dot(x, y); }

Tensor outer(const Tensor& x, const Tensor& y) {
  TANDEM_CHECK_SHAPE(x.dim() == 1, "outer: Expected 1-D argument self, but got ", x.dim(), "-D");
  TANDEM_CHECK_SHAPE(y.dim() == 1, "outer: Expected 1-D argument vec2, but got ", y.dim(), "-D");
  return x.unsqueeze(1) * y.unsqueeze(0);
}
Tensor ger(const Tensor& x, const Tensor& y) { return outer(x, y); }

// -- matmul ----------------------------------------------------------------------------------

namespace {

int64_t product_of(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

Dims joined(IntArrayRef batch, int64_t m, int64_t n) {
  Dims out(batch);
  out.push_back(m);
  out.push_back(n);
  return out;
}

/// A matrix or a batch of them as one 3-d tensor; the batch extent is 1 if it is to repeat.
Tensor as_batch(const Tensor& x, IntArrayRef batch) {
  const IntArrayRef sizes = x.sizes();
  const int64_t rows = sizes[sizes.size() - 2], cols = sizes[sizes.size() - 1];
  const IntArrayRef own = sizes.slice(0, sizes.size() - 2);
  if (product_of(own) == 1 && product_of(batch) != 0) return x.reshape({1, rows, cols});
  const Tensor whole = own == batch ? x : x.expand(joined(batch, rows, cols));
  if (batch.size() == 1) return whole;
  return whole.reshape({product_of(batch), rows, cols});
}

/// Many matrices times one: all rows in a single product.
Tensor folded(const Tensor& x, const Tensor& y) {
  const IntArrayRef sizes = x.sizes();
  const int64_t k = sizes.back();
  const Tensor rows = x.reshape({product_of(sizes.slice(0, sizes.size() - 1)), k});
  Dims out(sizes.slice(0, sizes.size() - 1));
  out.push_back(y.size(1));
  return mm(rows, y).view(out);
}

}  // namespace

Tensor matmul(const Tensor& x, const Tensor& y) {
  const int64_t dx = x.dim(), dy = y.dim();
  TANDEM_CHECK_SHAPE(dx > 0 && dy > 0,
                     "matmul: both arguments to matmul need to be at least 1D, but they are ", dx,
                     "D and ", dy, "D");
  const int64_t k = x.sizes().back(), k2 = y.sizes()[dy == 1 ? 0 : dy - 2];
  if (k != k2) [[unlikely]] {
    const char* hint =
        dx > 1 && dy > 1 ? transpose_hint(x.sizes()[dx - 2], k, k2, y.sizes()[dy - 1]) : "";
    TANDEM_CHECK_SHAPE(false, "matmul: inner dimensions differ: ", x.sizes(), " x ", y.sizes(),
                       hint);
  }
  if (dx == 2 && dy == 2) return mm(x, y);
  if (dx == 1 && dy == 1) return dot(x, y);
  if (dy == 1) return matmul(x, y.unsqueeze(1)).squeeze(-1);
  if (dx == 1) return matmul(x.unsqueeze(0), y).squeeze(-2);
  if (dy == 2 && x.is_contiguous()) return folded(x, y);
  const Dims batch =
      broadcast_shapes("matmul", x.sizes().slice(0, dx - 2), y.sizes().slice(0, dy - 2));
  const Tensor product = bmm_form(as_batch(x, batch), as_batch(y, batch), false, false);
  if (batch.size() == 1) return product;
  return product.view(joined(batch, product.size(1), product.size(2)));
}

Tensor inner(const Tensor& x, const Tensor& y) {
  if (x.dim() == 0 || y.dim() == 0) return x * y;
  TANDEM_CHECK_SHAPE(x.size(-1) == y.size(-1),
                     "inner: the size of tensors must match at the last dimension, but got ",
                     x.sizes(), " and ", y.sizes());
  if (x.dim() == 1 && y.dim() == 1) return dot(x, y);
  const int64_t k = x.size(-1);
  const int64_t rows = product_of(x.sizes().slice(0, x.dim() - 1));
  const int64_t cols = product_of(y.sizes().slice(0, y.dim() - 1));
  Dims out(x.sizes().slice(0, x.dim() - 1));
  for (int64_t i = 0; i + 1 < y.dim(); ++i) out.push_back(y.size(i));
  return mm_form(x.reshape({rows, k}), y.reshape({cols, k}), false, true).view(out);
}

// -- products with a sum -----------------------------------------------------------------------

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
             const Scalar& alpha) {
  return apply(kAddmm, {input, a, b}, AddmmAttrs{beta.toDouble(), alpha.toDouble()});
}

namespace {

/// beta * input + alpha * product; the input's values do not matter when beta is 0.
Tensor add_scaled(const char* op, const Tensor& input, const Tensor& product, const Scalar& beta,
                  const Scalar& alpha) {
  TANDEM_CHECK_SHAPE(broadcast_shapes(op, input.sizes(), product.sizes()) == product.sizes(), op,
                     ": the input of shape ", input.sizes(),
                     " cannot be expanded to the product's shape ", product.sizes());
  const double b = beta.toDouble();
  if (b == 0) return scaled(product, alpha.toDouble());
  return (b == 1 ? input : input * beta).add(product, alpha);
}

}  // namespace

Tensor addmv(const Tensor& input, const Tensor& matrix, const Tensor& vector, const Scalar& beta,
             const Scalar& alpha) {
  return add_scaled("addmv", input, mv(matrix, vector), beta, alpha);
}
Tensor addr(const Tensor& input, const Tensor& x, const Tensor& y, const Scalar& beta,
            const Scalar& alpha) {
  return add_scaled("addr", input, outer(x, y), beta, alpha);
}
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
               const Scalar& alpha) {
  return add_scaled("baddbmm", input, bmm(a, b), beta, alpha);
}
Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
              const Scalar& alpha) {
  TANDEM_CHECK_SHAPE(a.dim() == 3 && b.dim() == 3,
                     "addbmm: batch1 and batch2 must be 3D tensors, got shapes ", a.sizes(),
                     " and ", b.sizes());
  TANDEM_CHECK_SHAPE(a.size(0) == b.size(0),
                     "addbmm: batch1 and batch2 must have same number of "
                     "batches, got ",
                     a.size(0), " and ", b.size(0));
  TANDEM_CHECK_SHAPE(a.size(2) == b.size(1), "addbmm: Incompatible matrix sizes for bmm (",
                     matrix_name(a.size(1), a.size(2)), " and ", matrix_name(b.size(1), b.size(2)),
                     ")");
  // The sum over the batch is a longer sum over k: [m, B * k] x [B * k, n].
  const Tensor rows = a.transpose(0, 1).reshape({a.size(1), a.size(0) * a.size(2)});
  return addmm(input, rows, b.reshape({b.size(0) * b.size(1), b.size(2)}), beta, alpha);
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  const bool has_bias = bias && bias->defined();
  if (weight.dim() == 1) {
    const Tensor y = matmul(input, weight);
    return has_bias ? y + *bias : y;
  }
  TANDEM_CHECK_SHAPE(weight.dim() == 2, "linear: the weight must be a matrix [out, in], got shape ",
                     weight.sizes());
  TANDEM_CHECK_SHAPE(input.dim() > 0, "linear: the input must have at least 1 dimension");
  const int64_t in = input.sizes().back();
  TANDEM_CHECK_SHAPE(in == weight.size(1), "linear: mat1 and mat2 shapes cannot be multiplied (",
                     matrix_name(in == 0 ? 0 : input.numel() / in, in), " and ",
                     matrix_name(weight.size(1), weight.size(0)), "): the input of shape ",
                     input.sizes(), " has ", in, " features, the weight expects ", weight.size(1));
  if (input.dim() == 2) {
    if (!has_bias) return mm_form(input, weight, false, true);
    return apply(kAddmm, {*bias, input, weight}, AddmmAttrs{1, 1, false, true});
  }
  Dims out(input.sizes().slice(0, input.dim() - 1));
  const Tensor rows = input.reshape({product_of(out), in});
  out.push_back(weight.size(0));
  return linear(rows, weight, bias).view(out);
}

// -- methods -----------------------------------------------------------------------------------

Tensor Tensor::matmul(const Tensor& o) const { return tandem::matmul(*this, o); }
Tensor Tensor::mm(const Tensor& o) const { return tandem::mm(*this, o); }
Tensor Tensor::bmm(const Tensor& o) const { return tandem::bmm(*this, o); }
Tensor Tensor::mv(const Tensor& o) const { return tandem::mv(*this, o); }
Tensor Tensor::dot(const Tensor& o) const { return tandem::dot(*this, o); }
Tensor Tensor::vdot(const Tensor& o) const { return tandem::vdot(*this, o); }
Tensor Tensor::inner(const Tensor& o) const { return tandem::inner(*this, o); }
Tensor Tensor::outer(const Tensor& o) const { return tandem::outer(*this, o); }
Tensor Tensor::ger(const Tensor& o) const { return tandem::ger(*this, o); }
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, const Scalar& beta,
                     const Scalar& alpha) const {
  return tandem::addmm(*this, a, b, beta, alpha);
}
Tensor& Tensor::addmm_(const Tensor& a, const Tensor& b, const Scalar& beta,
                       const Scalar& alpha) const {
  return apply_inplace(kAddmm, *this, {*this, a, b}, AddmmAttrs{beta.toDouble(), alpha.toDouble()});
}
Tensor Tensor::addmv(const Tensor& a, const Tensor& v, const Scalar& beta,
                     const Scalar& alpha) const {
  return tandem::addmv(*this, a, v, beta, alpha);
}
Tensor& Tensor::addmv_(const Tensor& a, const Tensor& v, const Scalar& beta,
                       const Scalar& alpha) const {
  return copy_(addmv(a, v, beta, alpha));
}
Tensor Tensor::addr(const Tensor& x, const Tensor& y, const Scalar& beta,
                    const Scalar& alpha) const {
  return tandem::addr(*this, x, y, beta, alpha);
}
Tensor& Tensor::addr_(const Tensor& x, const Tensor& y, const Scalar& beta,
                      const Scalar& alpha) const {
  return copy_(addr(x, y, beta, alpha));
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, const Scalar& beta,
                       const Scalar& alpha) const {
  return tandem::baddbmm(*this, a, b, beta, alpha);
}
Tensor& Tensor::baddbmm_(const Tensor& a, const Tensor& b, const Scalar& beta,
                         const Scalar& alpha) const {
  return copy_(baddbmm(a, b, beta, alpha));
}
Tensor Tensor::addbmm(const Tensor& a, const Tensor& b, const Scalar& beta,
                      const Scalar& alpha) const {
  return tandem::addbmm(*this, a, b, beta, alpha);
}
Tensor& Tensor::addbmm_(const Tensor& a, const Tensor& b, const Scalar& beta,
                        const Scalar& alpha) const {
  return copy_(addbmm(a, b, beta, alpha));
}

}  // namespace tandem
