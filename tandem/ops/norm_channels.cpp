// Norms over channels: statistics, and what is done with them one number a channel at a time.
//
// Note: batch norm in graphs
// A batch norm in training is two ops: the moments, one pass over x, and normalising, which is
// pointwise and says so (decompose), so that activations and residuals join it. Backward is the
// sums of kChannelSums, one pass over g and x, and kChannelGrad, pointwise again. What lies between
// are single numbers a channel.
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/norm_detail.h"
#include "tandem/ops/norm_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// How x falls apart into channels.
struct ByChannel {
  ByChannel(IntArrayRef x, bool blocked) : blocked(blocked), ndim(x.size()) {
    channels.batch = x[0];
    channels.blocks = x[1];
    channels.lanes = blocked ? x[ndim - 1] : 1;
    for (size_t d = 2; d + blocked < ndim; ++d) channels.span *= x[d];
  }
  /// A shape in which one number a channel broadcasts with x.
  Dims shape() const {
    Dims s(ndim - 1, 1);
    s[0] = channels.blocks;
    if (blocked) s[ndim - 2] = channels.lanes;
    return s;
  }
  Tensor spread(const Tensor& t) const { return t.reshape(shape()); }
  /// The sum of a tensor of x's shape over each channel.
  Tensor sum(const Tensor& t) const {
    Dims dims{0};
    for (size_t d = 2; d + blocked < ndim; ++d) dims.push_back(static_cast<int64_t>(d));
    return t.sum(dims).reshape({channels.count()});
  }
  /// Elements of a channel; there is nothing to divide by it where there are none.
  double each() const { return static_cast<double>(std::max<int64_t>(channels.each(), 1)); }

  bool blocked;
  size_t ndim;
  kernels::Channels channels;
};

ByChannel layout_of(const Array& x, bool blocked) { return {x.shape(), blocked}; }
ByChannel layout_of(const Tensor& x, bool blocked) { return {x.sizes(), blocked}; }

// x must have channels; gives their number.
int64_t check_channels(const InferArgs& a, int input, bool blocked) {
  const TensorType& x = a.in(input);
  TANDEM_CHECK_TYPE(is_floating(x.dtype), a.op.name, ": expected a floating point tensor, got ", x);
  TANDEM_CHECK_SHAPE(x.dim() >= (blocked ? 3 : 2), a.op.name, ": expected ",
                     blocked ? "blocks of channels in dimension 1 and behind all others"
                             : "channels in dimension 1",
                     ", got a tensor of shape ", x.sizes);
  return ByChannel(x.sizes, blocked).channels.count();
}

// One number a channel.
void check_numbers(const InferArgs& a, int input, const char* what, int64_t channels) {
  const TensorType& t = a.in(input);
  TANDEM_CHECK_SHAPE(t.sizes.size() == 1 && t.sizes[0] == channels, a.op.name, ": ", what,
                     " should contain ", channels, " elements not ", numel_of(t.sizes),
                     " (its shape is ", t.sizes, ")");
  TANDEM_CHECK_TYPE(is_floating(t.dtype), a.op.name, ": expected ", what,
                    " to be of a floating point dtype, got ", t.dtype);
}

void check_same(const InferArgs& a, int i, int k) {
  TANDEM_CHECK_SHAPE(a.in(i).sizes == a.in(k).sizes, a.op.name, ": the shapes ", a.in(i).sizes,
                     " and ", a.in(k).sizes, " differ");
}

void numbers_out(const InferArgs& a, int count, int64_t channels, DType x) {
  for (int i = 0; i < count; ++i) {
    a.out(i).sizes = {channels};
    a.out(i).dtype = compute_dtype(x);
  }
}

// The rule for vmap: samples become further channels. Outputs are of x's shape, or numbers.
void batch_channels(const BatchArgs& a, int n_big, AttrRef attrs) {
  SmallVector<Tensor, 8> inputs;
  for (int i = 0; i < a.n_inputs; ++i) {
    const Tensor t = a.sample(i);
    inputs.push_back(i < n_big ? t.movedim(0, 1).flatten(1, 2) : t.reshape({-1}));
  }
  const int64_t blocks = a.sample(0).size(2);
  SmallVector<Tensor, 3> out(static_cast<size_t>(a.op.n_outputs(attrs)));
  apply_to(a.op, inputs, attrs, out.data());
  for (size_t i = 0; i < out.size(); ++i)
    a.outputs[i] = out[i].dim() == 1 ? out[i].reshape({a.size, -1})
                                     : out[i].unflatten(1, {a.size, blocks}).movedim(1, 0);
}

template <class A, int n_big>
void batch_channels(const BatchArgs& a) {
  batch_channels(a, n_big, a.attr_ref);
}

}  // namespace

TANDEM_OP(kChannelMoments) = {
    .name = "channel_moments",
    .infer =
        [](const InferArgs& a) {
          const int64_t c = check_channels(a, 0, a.attrs<MomentsAttrs>().blocked);
          numbers_out(a, 3, c, a.in().dtype);
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& m = a.attrs<MomentsAttrs>();
          kernels::channel_moments(a.in(), layout_of(a.in(), m.blocked).channels, m.eps, a.out(0),
                                   a.out(1), a.out(2));
        },
    .saves = Saves::all(Saves::in(0) | Saves::out(0) | Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor x = a.input();
      const ByChannel l = layout_of(x, a.attrs<MomentsAttrs>().blocked);
      Tensor g, by_var;
      if (a.has_grad(2)) by_var = a.grad(2);
      if (a.has_grad(1)) {
        const Tensor t = a.grad(1) * a.output(1).pow(3) * -0.5;
        by_var = by_var.defined() ? by_var + t : t;
      }
      if (by_var.defined()) g = (x - l.spread(a.output(0))) * l.spread(by_var * (2 / l.each()));
      if (a.has_grad(0)) {
        const Tensor t = l.spread(a.grad(0) / l.each());
        g = g.defined() ? g + t : t.expand(x.sizes());
      }
      return {g.defined() ? g.to(x.dtype()) : Tensor()};
    },
    .outputs = 3,
    .attrs = attrs_of<MomentsAttrs>,
    .batch = batch_channels<MomentsAttrs, 1>,
    .inputs = 1,
};

TANDEM_OP(kChannelSums) = {
    .name = "channel_sums",
    .infer =
        [](const InferArgs& a) {
          const int64_t c = check_channels(a, 1, a.attrs<ChannelAttrs>().blocked);
          check_same(a, 0, 1);
          TANDEM_CHECK(a.n_inputs == 4 || a.n_inputs == 6,
                       "channel_sums: takes 4 or 6 inputs, got ", a.n_inputs);
          constexpr const char* kNames[] = {"mean", "rstd", "weight", "bias"};
          for (int i = 2; i < a.n_inputs; ++i) check_numbers(a, i, kNames[i - 2], c);
          numbers_out(a, 2, c, a.in(1).dtype);
        },
    .kernel =
        [](const KernelArgs& a) {
          const ByChannel l = layout_of(a.in(1), a.attrs<ChannelAttrs>().blocked);
          kernels::channel_sums(a.in(0), a.in(1), l.channels, a.in(2), a.in(3),
                                optional_input(a, 4), optional_input(a, 5), a.out(0), a.out(1));
        },
    .saves = Saves::all(Saves::from(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor x = a.input(1), mean = a.input(2), rstd = a.input(3);
      const ByChannel l = layout_of(x, a.attrs<ChannelAttrs>().blocked);
      const Tensor h = a.grad_or_zeros(1), centred = x - l.spread(mean);
      Tensor g = a.input(0), open;
      if (a.n_inputs() == 6) {
        open = centred * l.spread(rstd) * l.spread(a.input(4)) + l.spread(a.input(5)) > 0;
        g = where(open, g, 0);
      }
      Grads r(static_cast<size_t>(a.n_inputs()));
      if (a.needs(0)) {
        r[0] = (centred * l.spread(h * rstd) + l.spread(a.grad_or_zeros(0))).to(g.dtype());
        if (open.defined()) r[0] = where(open, r[0], 0);
      }
      if (a.needs(1)) r[1] = (g * l.spread(h * rstd)).to(x.dtype());
      if (a.needs(2)) r[2] = (-(h * rstd * l.sum(g.to(h.dtype())))).to(mean.dtype());
      if (a.needs(3)) r[3] = (h * l.sum(g * centred)).to(rstd.dtype());
      for (int i = 4; i < a.n_inputs(); ++i)
        if (a.needs(i)) r[static_cast<size_t>(i)] = zeros_like(a.input(i));
      return r;
    },
    .outputs = 2,
    .attrs = attrs_of<ChannelAttrs>,
    .batch = batch_channels<ChannelAttrs, 2>,
};

TANDEM_OP(kChannelGrad) = {
    .name = "channel_grad",
    .infer =
        [](const InferArgs& a) {
          const int64_t c = check_channels(a, 1, a.attrs<ChannelAttrs>().blocked);
          check_same(a, 0, 1);
          constexpr const char* kNames[] = {"mean", "a", "b", "scale", "weight"};
          TANDEM_CHECK(a.n_inputs >= 6 && a.n_inputs <= 7,
                       "channel_grad: takes 6 or 7 inputs, got ", a.n_inputs);
          for (int i = 2; i < a.n_inputs; ++i) check_numbers(a, i, kNames[i - 2], c);
          a.out().sizes = a.in(1).sizes;
          a.out().dtype = a.in(1).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const ByChannel l = layout_of(a.in(1), a.attrs<ChannelAttrs>().blocked);
          kernels::channel_grad(a.in(0), a.in(1), l.channels, a.in(2), optional_input(a, 6),
                                a.in(3), a.in(4), a.in(5), a.out());
        },
    .saves = Saves::all(Saves::from(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor g = a.input(0), x = a.input(1), mean = a.input(2), b = a.input(4);
      const ByChannel l = layout_of(x, a.attrs<ChannelAttrs>().blocked);
      const bool weighted = a.n_inputs() == 7;
      const Tensor h = a.grad() * l.spread(a.input(5)), centred = x - l.spread(mean);
      Grads r(static_cast<size_t>(a.n_inputs()));
      if (a.needs(0)) r[0] = (weighted ? h * l.spread(a.input(6)) : h).to(g.dtype());
      if (a.needs(1)) r[1] = (-h * l.spread(b)).to(x.dtype());
      if (a.needs(2)) r[2] = (l.sum(h) * b).to(mean.dtype());
      if (a.needs(3)) r[3] = -l.sum(h);
      if (a.needs(4)) r[4] = -l.sum(h * centred);
      if (a.needs(5)) {
        const Tensor gw = weighted ? g * l.spread(a.input(6)) : g;
        r[5] = l.sum(a.grad() * (gw - l.spread(a.input(3)) - centred * l.spread(b)));
      }
      if (weighted && a.needs(6)) r[6] = l.sum(h * g).to(a.input(6).dtype());
      return r;
    },
    .attrs = attrs_of<ChannelAttrs>,
    .batch = batch_channels<ChannelAttrs, 2>,
    .decompose =
        [](const DecomposeArgs& a) {
          const ByChannel l = layout_of(a.in(1), a.attrs<ChannelAttrs>().blocked);
          const DType t = compute_dtype(a.in(1).dtype());
          Tensor g = a.in(0).to(t);
          if (a.n_inputs == 7) g = g * l.spread(a.in(6));
          const Tensor centred = a.in(1).to(t) - l.spread(a.in(2));
          a.outputs[0] = ((g - l.spread(a.in(3)) - centred * l.spread(a.in(4))) * l.spread(a.in(5)))
                             .to(a.in(1).dtype());
        },
};

namespace {

// The rest of the gradients of normalising: by weight (3) and bias (4).
void param_grads(const VjpArgs& a, const Tensor& sum, const Tensor& product, Grads& r) {
  if (a.n_inputs() < 5) return;
  if (a.needs(3)) r[3] = product.to(a.input_type(3).dtype);
  if (a.needs(4)) r[4] = sum.to(a.input_type(4).dtype);
}

Grads batch_normalize_vjp(const VjpArgs& a) {
  const auto& attrs = a.attrs<NormalizeAttrs>();
  const bool affine = a.n_inputs() == 5;
  const Tensor g = a.grad(), rstd = a.input(2);
  Grads r(static_cast<size_t>(a.n_inputs()));
  const ChannelAttrs channel{attrs.blocked};
  const Tensor scale = affine ? rstd * a.input(3) : rstd;
  if (!attrs.training && a.needs(0)) {
    const ByChannel l = layout_of(g, attrs.blocked);
    r[0] = (g * l.spread(scale)).to(g.dtype());
  }
  bool others = attrs.training;
  for (int i = 1; i < a.n_inputs(); ++i) others |= a.needs(i);
  if (!others) return r;
  const Tensor x = a.input(0), mean = a.input(1);
  const auto [sum, product] = apply_n<2>(kChannelSums, {g, x, mean, rstd}, channel);
  param_grads(a, sum, product, r);
  if (attrs.training) {
    const double n = layout_of(x, attrs.blocked).each();
    if (a.needs(0))
      r[0] = apply(kChannelGrad, {g, x, mean, sum / n, product / n * rstd, scale}, channel);
    return r;
  }
  if (a.needs(1)) r[1] = -(sum * scale).to(mean.dtype());
  if (a.needs(2)) r[2] = (affine ? product / rstd * a.input(3) : product / rstd).to(rstd.dtype());
  return r;
}

}  // namespace

TANDEM_OP(kBatchNormalize) = {
    .name = "batch_normalize",
    .infer =
        [](const InferArgs& a) {
          const int64_t c = check_channels(a, 0, a.attrs<NormalizeAttrs>().blocked);
          TANDEM_CHECK(a.n_inputs == 3 || a.n_inputs == 5,
                       "batch_normalize: takes 3 or 5 inputs, got ", a.n_inputs);
          constexpr const char* kNames[] = {"mean", "rstd", "weight", "bias"};
          for (int i = 1; i < a.n_inputs; ++i) check_numbers(a, i, kNames[i - 1], c);
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const ByChannel l = layout_of(a.in(), a.attrs<NormalizeAttrs>().blocked);
          kernels::channel_normalize(a.in(), l.channels, a.in(1), a.in(2), optional_input(a, 3),
                                     optional_input(a, 4), a.out());
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::in(3)),
    .vjp = batch_normalize_vjp,
    .attrs = attrs_of<NormalizeAttrs>,
    .batch = batch_channels<NormalizeAttrs, 1>,
    .decompose =
        [](const DecomposeArgs& a) {
          const ByChannel l = layout_of(a.in(), a.attrs<NormalizeAttrs>().blocked);
          Tensor y =
              (a.in().to(compute_dtype(a.in().dtype())) - l.spread(a.in(1))) * l.spread(a.in(2));
          if (a.n_inputs == 5) y = y * l.spread(a.in(3)) + l.spread(a.in(4));
          a.outputs[0] = y.to(a.in().dtype());
        },
};

// -- groups -----------------------------------------------------------------------------------

namespace {

// x as [1, samples * channels, the rest]: each channel of each sample for itself.
Tensor apart(const Tensor& x) { return x.reshape({1, x.size(0) * x.size(1), -1}); }

// One number for each group of each sample, repeated for the group's channels.
Tensor for_channels(const Tensor& t, int64_t each) {
  return t.reshape({-1, 1}).expand({-1, each}).reshape({-1});
}
// One number a channel, repeated for the samples.
Tensor for_samples(const Tensor& t, int64_t samples) {
  return t.reshape({1, -1}).expand({samples, -1}).reshape({-1});
}

// Samples are samples; weights that differ from one to the next are applied behind it.
void batch_group_normalize(const BatchArgs& a) {
  const Tensor x = a.sample(0);
  SmallVector<Tensor, 5> in{x.flatten(0, 1), a.sample(1).reshape({-1}), a.sample(2).reshape({-1})};
  const bool affine = a.n_inputs == 5, own = affine && (a.batched[3] || a.batched[4]);
  if (affine && !own) {
    in.push_back(a.in(3));
    in.push_back(a.in(4));
  }
  Tensor y;
  apply_to(a.op, in, a.attr_ref, &y);
  y = y.reshape(x.sizes());
  if (own) {
    // [samples, 1, channels, 1, ...]
    Dims shape(static_cast<size_t>(x.dim()), 1);
    shape[0] = a.size;
    shape[2] = x.size(2);
    y = (y.to(compute_dtype(x.dtype())) * a.sample(3).reshape(shape) + a.sample(4).reshape(shape))
            .to(x.dtype());
  }
  a.outputs[0] = y;
}

Grads group_normalize_vjp(const VjpArgs& a) {
  const int64_t groups = a.attrs<GroupAttrs>().groups;
  const Tensor x = a.input(0), g = a.grad();
  const int64_t samples = x.size(0), channels = x.size(1), each = channels / groups;
  const bool affine = a.n_inputs() == 5;
  const Tensor mean = for_channels(a.input(1), each), rstd = for_channels(a.input(2), each);
  // An empty batch, or one of empty samples, has nothing to divide by.
  const Tensor xs = x.numel() ? apart(x) : x.reshape({1, samples * channels, 0});
  const Tensor gs = g.reshape(xs.sizes());
  const auto [sum, product] = apply_n<2>(kChannelSums, {gs, xs, mean, rstd}, ChannelAttrs{});
  Grads r(static_cast<size_t>(a.n_inputs()));
  if (affine)
    param_grads(a, sum.reshape({samples, channels}).sum(0),
                product.reshape({samples, channels}).sum(0), r);
  if (!a.needs(0)) return r;
  const double n = static_cast<double>(std::max<int64_t>(each * xs.size(2), 1));
  Tensor s = sum, p = product, w;
  if (affine) {
    w = for_samples(a.input(3), samples).to(sum.dtype());
    s = s * w;
    p = p * w;
  }
  const auto by_group = [&](const Tensor& t) {
    return for_channels(t.reshape({samples * groups, each}).sum(1) / n, each);
  };
  const Tensor first = by_group(s), second = by_group(p) * rstd;
  const Tensor gx =
      affine ? apply(kChannelGrad, {gs, xs, mean, first, second, rstd, w}, ChannelAttrs{})
             : apply(kChannelGrad, {gs, xs, mean, first, second, rstd}, ChannelAttrs{});
  r[0] = gx.reshape(x.sizes());
  return r;
}

}  // namespace

TANDEM_OP(kGroupNormalize) = {
    .name = "group_normalize",
    .infer =
        [](const InferArgs& a) {
          const int64_t c = check_channels(a, 0, false), groups = a.attrs<GroupAttrs>().groups;
          TANDEM_CHECK(groups > 0 && c % groups == 0, "group_normalize: ", c,
                       " channels cannot be split into ", groups, " groups");
          TANDEM_CHECK(a.n_inputs == 3 || a.n_inputs == 5,
                       "group_normalize: takes 3 or 5 inputs, got ", a.n_inputs);
          check_numbers(a, 1, "mean", a.in().sizes[0] * groups);
          check_numbers(a, 2, "rstd", a.in().sizes[0] * groups);
          if (a.n_inputs == 5) {
            check_numbers(a, 3, "weight", c);
            check_numbers(a, 4, "bias", c);
          }
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const ByChannel l = layout_of(a.in(), false);
          kernels::group_normalize(a.in(), l.channels, a.attrs<GroupAttrs>().groups, a.in(1),
                                   a.in(2), optional_input(a, 3), optional_input(a, 4), a.out());
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::in(3)),
    .vjp = group_normalize_vjp,
    .attrs = attrs_of<GroupAttrs>,
    .batch = batch_group_normalize,
    .decompose =
        [](const DecomposeArgs& a) {
          const Tensor& x = a.in();
          const int64_t groups = a.attrs<GroupAttrs>().groups, each = x.size(1) / groups;
          const auto numbers = [&](const Tensor& t) {
            return t.reshape({x.size(0), groups, 1, 1});
          };
          const auto weights = [&](const Tensor& t) { return t.reshape({groups, each, 1}); };
          const int64_t rows = x.size(0) * x.size(1), span = rows == 0 ? 0 : x.numel() / rows;
          Tensor y = x.reshape({x.size(0), groups, each, span}).to(compute_dtype(x.dtype()));
          y = (y - numbers(a.in(1))) * numbers(a.in(2));
          if (a.n_inputs == 5) y = y * weights(a.in(3)) + weights(a.in(4));
          a.outputs[0] = y.to(x.dtype()).reshape(x.sizes());
        },
};

}  // namespace tandem
