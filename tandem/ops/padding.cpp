#include "tandem/ops/padding.h"

#include "tandem/core/apply.h"
#include "tandem/kernels/map_convert.h"
#include "tandem/kernels/pad.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"

namespace tandem {

extern const OpDef kPad;
extern const OpDef kPadBackward;

namespace {

using kernels::PadMode;

struct ConstantPadAttrs {
  Dims pad;
  Scalar value;
  TANDEM_FIELDS(pad, value)
};
struct PadAttrs {
  Dims pad;
  PadMode mode;
  TANDEM_FIELDS(pad, mode)
};

// The shape with its border.
Dims padded_sizes(const char* op, IntArrayRef sizes, IntArrayRef pad) {
  TANDEM_CHECK_SHAPE(pad.size() % 2 == 0, op,
                     ": a padding has two numbers for each dimension, but ", pad, " has ",
                     pad.size());
  TANDEM_CHECK_SHAPE(pad.size() <= 2 * sizes.size(), op, ": the padding ", pad, " is for ",
                     pad.size() / 2, " dimensions, but the input of shape ", sizes, " has ",
                     sizes.size());
  Dims result(sizes);
  for (size_t i = 0; i < pad.size(); i += 2) {
    int64_t& size = result[sizes.size() - 1 - i / 2];
    const bool fits = !__builtin_add_overflow(size, pad[i], &size) &&
                      !__builtin_add_overflow(size, pad[i + 1], &size) && size >= 0;
    TANDEM_CHECK_SHAPE(fits, op, ": the padding (", pad[i], ", ", pad[i + 1],
                       ") leaves no valid size in dimension ", sizes.size() - 1 - i / 2,
                       " of the input of shape ", sizes);
  }
  return result;
}

// What is repeated in the border must be there.
void check_border(const char* op, IntArrayRef sizes, IntArrayRef pad, PadMode mode) {
  for (size_t i = 0; i < pad.size(); i += 2) {
    const size_t dim = sizes.size() - 1 - i / 2;
    const int64_t size = sizes[dim], before = pad[i], after = pad[i + 1];
    if (before <= 0 && after <= 0) continue;
    switch (mode) {
      case PadMode::Reflect:
        TANDEM_CHECK_SHAPE(before < size && after < size, op,
                           ": Padding size should be less than the corresponding input dimension, "
                           "but got: padding (",
                           before, ", ", after, ") at dimension ", dim, " of input ", sizes);
        break;
      case PadMode::Replicate:
        TANDEM_CHECK_SHAPE(size > 0, op, ": there is nothing to repeat in dimension ", dim,
                           " of input ", sizes);
        break;
      case PadMode::Circular:
        TANDEM_CHECK_SHAPE(before <= size && after <= size, op, ": the padding (", before, ", ",
                           after, ") goes around more than once in dimension ", dim, " of input ",
                           sizes);
        TANDEM_CHECK_SHAPE(size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) > 0,
                           op, ": the padding (", before, ", ", after,
                           ") leaves nothing to repeat in dimension ", dim, " of input ", sizes);
        break;
    }
  }
}

void infer_pad(const InferArgs& a) {
  const auto& p = a.attrs<PadAttrs>();
  detail::check_choice(a, p.mode, PadMode::Circular);
  a.out() = {padded_sizes(a.op.name, a.in().sizes, p.pad), a.in().dtype, a.in().device};
  check_border(a.op.name, a.in().sizes, p.pad, p.mode);
}

Dims negated(const Dims& pad) {
  Dims result = pad;
  for (int64_t& n : result) n = -n;
  return result;
}

}  // namespace

TANDEM_OP(kConstantPad) = {
    .name = "constant_pad_nd",
    .infer =
        [](const InferArgs& a) {
          a.out() = {padded_sizes(a.op.name, a.in().sizes, a.attrs<ConstantPadAttrs>().pad),
                     a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<ConstantPadAttrs>();
          dispatch(a.in().dtype, [&]<class T>(T) {
            const T value = p.value.isFloatingPoint()
                                ? kernels::convert_value<T>(p.value.toDouble())
                                : kernels::convert_value<T>(p.value.toLong());
            kernels::pad_constant(a.in(), p.pad, &value, a.out());
          });
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      return {constant_pad_nd(a.grad(), negated(a.attrs<ConstantPadAttrs>().pad))};
    },
    .attrs = attrs_of<ConstantPadAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kPadBackward) = {
    .name = "pad_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<PadAttrs>();
          detail::check_choice(a, p.mode, PadMode::Circular);
          for (const int64_t n : p.pad)
            TANDEM_CHECK_SHAPE(n > -(int64_t{1} << 62), a.op.name, ": a padding of ", n);
          a.out() = {padded_sizes(a.op.name, a.in().sizes, negated(p.pad)), a.in().dtype,
                     a.in().device};
          check_border(a.op.name, a.out().sizes, p.pad, p.mode);
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<PadAttrs>();
          kernels::pad_transposed(a.in(), p.pad, p.mode, a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads { return {apply(kPad, {a.grad()}, a.attr_ref())}; },
    .attrs = attrs_of<PadAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kPad) = {
    .name = "pad",
    .infer = infer_pad,
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<PadAttrs>();
          kernels::pad(a.in(), p.pad, p.mode, a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      return {apply(kPadBackward, {a.grad()}, a.attr_ref())};
    },
    .attrs = attrs_of<PadAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

namespace {

// The input of a function for `n` dimensions: channels before them, and perhaps samples.
void check_image(const char* op, const Tensor& x, int64_t n, IntArrayRef padding) {
  TANDEM_CHECK_SHAPE(padding.size() == static_cast<size_t>(2 * n), op, ": the padding has ", 2 * n,
                     " numbers, not ", padding.size());
  bool fits = x.dim() == n + 1 || x.dim() == n + 2;
  // A batch may be empty.
  for (int64_t d = x.dim() == n + 2 ? 1 : 0; fits && d < x.dim(); ++d) fits = x.size(d) > 0;
  TANDEM_CHECK_SHAPE(fits, op, ": Expected ", n + 1, "D or ", n + 2,
                     "D (batch mode) tensor with possibly 0 batch size and other non-zero "
                     "dimensions for input, but got: ",
                     x.sizes());
}

Tensor pad_image(const char* op, const Tensor& x, int64_t n, IntArrayRef padding, PadMode mode) {
  check_image(op, x, n, padding);
  // Said again by the op, but with the name of the function that was called.
  check_border(op, x.sizes(), padding, mode);
  padded_sizes(op, x.sizes(), padding);
  return apply(kPad, {x}, PadAttrs{Dims(padding), mode});
}

}  // namespace

Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value) {
  return apply(kConstantPad, {x}, ConstantPadAttrs{Dims(pad), value});
}

Tensor reflection_pad1d(const Tensor& x, IntArrayRef padding) {
  return pad_image("reflection_pad1d", x, 1, padding, PadMode::Reflect);
}
Tensor reflection_pad2d(const Tensor& x, IntArrayRef padding) {
  return pad_image("reflection_pad2d", x, 2, padding, PadMode::Reflect);
}
Tensor reflection_pad3d(const Tensor& x, IntArrayRef padding) {
  return pad_image("reflection_pad3d", x, 3, padding, PadMode::Reflect);
}
Tensor replication_pad1d(const Tensor& x, IntArrayRef padding) {
  return pad_image("replication_pad1d", x, 1, padding, PadMode::Replicate);
}
Tensor replication_pad2d(const Tensor& x, IntArrayRef padding) {
  return pad_image("replication_pad2d", x, 2, padding, PadMode::Replicate);
}
Tensor replication_pad3d(const Tensor& x, IntArrayRef padding) {
  return pad_image("replication_pad3d", x, 3, padding, PadMode::Replicate);
}
Tensor _pad_circular(const Tensor& x, IntArrayRef pad) {
  const auto n = static_cast<int64_t>(pad.size() / 2);
  TANDEM_CHECK_SHAPE(pad.size() % 2 == 0 && (x.dim() == n + 1 || x.dim() == n + 2),
                     "_pad_circular: the padding ", pad, " is for inputs of ", n + 1, " or ", n + 2,
                     " dimensions, not for one of shape ", x.sizes());
  return apply(kPad, {x}, PadAttrs{Dims(pad), PadMode::Circular});
}

Tensor pad(const Tensor& x, IntArrayRef pad, std::string_view mode, std::optional<double> value) {
  TANDEM_CHECK_SHAPE(pad.size() % 2 == 0, "pad: Padding length must be divisible by 2, but ", pad,
                     " has ", pad.size(), " numbers");
  TANDEM_CHECK_SHAPE(static_cast<int64_t>(pad.size()) <= 2 * x.dim(), "pad: the padding ", pad,
                     " is for ", pad.size() / 2, " dimensions, but the input has ", x.dim());
  if (mode == "constant") return constant_pad_nd(x, pad, value.value_or(0.0));
  TANDEM_CHECK(!value || *value == 0, "pad: Padding mode \"", mode,
               "\" doesn't take in value argument, but ", value.value_or(0), " was given");
  const bool reflect = mode == "reflect", replicate = mode == "replicate";
  TANDEM_CHECK(reflect || replicate || mode == "circular", "pad: there is no padding mode \"", mode,
               "\"; there are constant, reflect, replicate and circular");
  const size_t n = pad.size() / 2;
  const bool known =
      n >= 1 && n <= 3 &&
      (x.dim() == static_cast<int64_t>(n) + 1 || x.dim() == static_cast<int64_t>(n) + 2);
  TANDEM_CHECK(known,
               "pad: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for "
               "now: the last 1, 2 or 3 dimensions of an input with channels, not the padding ",
               pad, " of an input of shape ", x.sizes());
  if (!reflect && !replicate) return _pad_circular(x, pad);
  if (n == 1) return reflect ? reflection_pad1d(x, pad) : replication_pad1d(x, pad);
  if (n == 2) return reflect ? reflection_pad2d(x, pad) : replication_pad2d(x, pad);
  return reflect ? reflection_pad3d(x, pad) : replication_pad3d(x, pad);
}

}  // namespace tandem
