#include "tandem/ops/random.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/core/recorder.h"
#include "tandem/kernels/random.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/random_op.h"
#include "tandem/ops/sort.h"

// Note: randomness as data
// A random op reads seed and counter from a tensor. Drawing copies the generator's state for the op
// and moves the counter on in place, both by ordinary ops. Whoever records a program therefore sees
// the counter as state that is read and written, and a recorded program draws new numbers on every
// run.

namespace tandem {
namespace {

struct RandomAttrs {
  kernels::RandomFn fn;
  Dims sizes;
  DType dtype;
  Device device;
  double a = 0, b = 1;
  TANDEM_FIELDS(fn, sizes, dtype, device, a, b)
};

struct IntegersAttrs {
  Dims sizes;
  DType dtype;
  Device device;
  int64_t low;
  int64_t range;  // 0 stands for 2^64
  TANDEM_FIELDS(sizes, dtype, device, low, range)
};

struct MultinomialAttrs {
  int64_t samples;
  bool replacement;
  TANDEM_FIELDS(samples, replacement)
};

uint64_t seed_of(const Array& state) { return static_cast<uint64_t>(state.ptr<int64_t>()[0]); }
uint64_t counter_of(const Array& state) {
  return static_cast<uint64_t>(state.ptr<int64_t>()[state.strides[0]]);
}

constexpr auto kLastFn = kernels::RandomFn::LogNormal;

template <class A>
void infer_filled(const InferArgs& a) {
  const A& r = a.attrs<A>();
  detail::check_state(a);
  if constexpr (requires { r.fn; }) detail::check_choice(a, r.fn, kLastFn);
  a.out().sizes = r.sizes;
  a.out().dtype = r.dtype;
  a.out().device = r.device;
}

void fill_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<RandomAttrs>();
  kernels::fill_random(r.fn, a.out(), seed_of(a.in()), counter_of(a.in()), r.a, r.b);
}

}  // namespace

TANDEM_OP(kRandom) = {
    .name = "random",
    .infer = infer_filled<RandomAttrs>,
    .kernel = fill_kernel,
    .random = true,
    .attrs = attrs_of<RandomAttrs>,
    .batch = batch_drawn<RandomAttrs>,
    .inputs = 1,
};

TANDEM_OP(kRandomIntegers) = {
    .name = "random_integers",
    .infer = infer_filled<IntegersAttrs>,
    .kernel =
        [](const KernelArgs& a) {
          const auto& r = a.attrs<IntegersAttrs>();
          kernels::fill_integers(a.out(), seed_of(a.in()), counter_of(a.in()), r.low,
                                 static_cast<uint64_t>(r.range));
        },
    .random = true,
    .attrs = attrs_of<IntegersAttrs>,
    .batch = batch_drawn<IntegersAttrs>,
    .inputs = 1,
};

TANDEM_OP(kRandomOrder) = {
    .name = "randperm",
    .infer = infer_filled<RandomAttrs>,
    .kernel =
        [](const KernelArgs& a) {
          kernels::fill_permutation(a.out(), seed_of(a.in()), counter_of(a.in()));
        },
    .random = true,
    .attrs = attrs_of<RandomAttrs>,
    .batch =
        [](const BatchArgs& a) {
          // The order in which random numbers are sorted.
          const auto& r = a.attrs<RandomAttrs>();
          const Tensor keys = apply(kRandom, {a.in()},
                                    RandomAttrs{kernels::RandomFn::Uniform,
                                                batched_sizes(a, r.sizes), kDouble, r.device});
          a.outputs[0] = argsort(keys, int64_t{1}, false).to(r.dtype);
        },
    .inputs = 1,
};

// What uniform_ and its like leave behind in their tensor, whose old values do not matter.
TANDEM_OP(kRandomInto) = {
    .name = "random_fill",
    .infer =
        [](const InferArgs& a) {
          detail::check_state(a);
          detail::check_choice(a, a.attrs<RandomAttrs>().fn, kLastFn);
          a.out().sizes = a.in(1).sizes;
          a.out().dtype = a.in(1).dtype;
        },
    .kernel = fill_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      return {Tensor(), zeros_like(a.grad())};
    },
    .inplace = true,
    .random = true,
    .attrs = attrs_of<RandomAttrs>,
    .batch =
        [](const BatchArgs& a) {
          apply_to(a.op, {a.in(), a.sample(1)}, a.attr_ref, a.outputs);
        },
    .inputs = 2,
};

TANDEM_OP(kRandomIntegersInto) = {
    .name = "random_fill_integers",
    .infer =
        [](const InferArgs& a) {
          detail::check_state(a);
          a.out().sizes = a.in(1).sizes;
          a.out().dtype = a.in(1).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& r = a.attrs<IntegersAttrs>();
          kernels::fill_integers(a.out(), seed_of(a.in()), counter_of(a.in()), r.low,
                                 static_cast<uint64_t>(r.range));
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      return {Tensor(), zeros_like(a.grad())};
    },
    .inplace = true,
    .random = true,
    .attrs = attrs_of<IntegersAttrs>,
    .batch =
        [](const BatchArgs& a) {
          apply_to(a.op, {a.in(), a.sample(1)}, a.attr_ref, a.outputs);
        },
    .inputs = 2,
};

// Ones with the probabilities that the second input holds, in the type of the third.
TANDEM_OP(kBernoulli) = {
    .name = "bernoulli",
    .infer =
        [](const InferArgs& a) {
          detail::check_state(a);
          TANDEM_CHECK_TYPE(is_floating(a.in(1).dtype),
                            "bernoulli: expected the probabilities to "
                            "be of a floating point dtype, got ",
                            a.in(1).dtype);
          const TensorType& like = a.in(a.n_inputs - 1);
          TANDEM_CHECK_SHAPE(broadcast_shapes("bernoulli", like.sizes, a.in(1).sizes) == like.sizes,
                             "bernoulli: probabilities of shape ", a.in(1).sizes,
                             " cannot be broadcast to ", like.sizes);
          a.out().sizes = like.sizes;
          a.out().dtype = like.dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          // Probabilities are repeated to the output's shape by strides of 0.
          Array p = a.in(1);
          const int extra = a.out().ndim - p.ndim;
          Dims strides(static_cast<size_t>(a.out().ndim), 0);
          for (int d = 0; d < p.ndim; ++d)
            if (p.sizes[d] != 1) strides[static_cast<size_t>(extra + d)] = p.strides[d];
          p.contiguous &= p.numel == a.out().numel;
          p.sizes = a.out().sizes;
          p.strides = strides.data();
          p.ndim = a.out().ndim;
          p.numel = a.out().numel;
          kernels::fill_bernoulli(a.out(), seed_of(a.in()), counter_of(a.in()), p);
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      Grads g(static_cast<size_t>(a.n_inputs()));
      for (int i = 1; i < a.n_inputs(); ++i)
        if (a.needs(i))
          g[static_cast<size_t>(i)] = zeros(a.input_type(i).sizes, a.grad().options());
      return g;
    },
    .inplace = true,
    .checks_values = true,
    .random = true,
    .batch =
        [](const BatchArgs& a) {
          // The numbers drawn have the shape of the last input, so that one must have the samples.
          const int last = a.n_inputs - 1;
          SmallVector<Tensor, 4> inputs{a.in(), aligned(a, 1, sample_dim(a, last))};
          if (last > 1) inputs.push_back(Tensor());
          inputs.back() = a.sample(last);
          apply_to(a.op, inputs, {}, a.outputs);
        },
};

TANDEM_OP(kPoisson) = {
    .name = "poisson",
    .infer =
        [](const InferArgs& a) {
          detail::check_state(a);
          TANDEM_CHECK_TYPE(is_floating(a.in(1).dtype),
                            "poisson: expected the rates to be of a floating point dtype, got ",
                            a.in(1).dtype);
          a.out().sizes = a.in(1).sizes;
          a.out().dtype = a.in(1).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::fill_poisson(a.out(), seed_of(a.in()), counter_of(a.in()), a.in(1));
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      return {Tensor(), zeros_like(a.grad())};
    },
    .checks_values = true,
    .random = true,
    .batch =
        [](const BatchArgs& a) {
          apply_to(a.op, {a.in(), a.sample(1)}, {}, a.outputs);
        },
    .inputs = 2,
};

TANDEM_OP(kMultinomial) = {
    .name = "multinomial",
    .infer =
        [](const InferArgs& a) {
          const auto& m = a.attrs<MultinomialAttrs>();
          detail::check_state(a);
          const TensorType& x = a.in(1);
          TANDEM_CHECK_SHAPE(x.dim() == 1 || x.dim() == 2,
                             "multinomial: prob_dist must be 1 or 2 dim, got ", x.dim());
          TANDEM_CHECK_TYPE(
              is_floating(x.dtype),
              "multinomial: only supports floating-point dtypes for input, got: ", x.dtype);
          TANDEM_CHECK(m.samples > 0, "multinomial: cannot sample n_sample <= 0 samples, got ",
                       m.samples);
          TANDEM_CHECK(m.replacement || m.samples <= x.sizes.back(),
                       "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without "
                       "replacement: ",
                       m.samples, " of ", x.sizes.back());
          a.out().sizes = x.sizes;
          a.out().sizes.back() = m.samples;
          a.out().dtype = kLong;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::fill_multinomial(a.in(1), a.attrs<MultinomialAttrs>().replacement,
                                    seed_of(a.in()), counter_of(a.in()), a.out());
        },
    .checks_values = true,
    .random = true,
    .attrs = attrs_of<MultinomialAttrs>,
    .batch =
        [](const BatchArgs& a) {
          Dims sizes = sample_sizes(a, 1);
          const Tensor rows = a.sample(1).reshape({-1, sizes.back()});
          sizes.back() = a.attrs<MultinomialAttrs>().samples;
          a.outputs[0] = apply(a.op, {a.in(), rows}, a.attr_ref).view(batched_sizes(a, sizes));
        },
    .inputs = 2,
};

// -- new tensors ------------------------------------------------------------------------------

namespace {

// What an op on `device` reads its numbers from.
Tensor draw(const std::optional<Generator>& g, int64_t elements, Device device) {
  const Generator from = g && g->defined() ? *g : default_generator();
  return from.draw(elements).to(device);
}

Tensor finish(Tensor t, const TensorOptions& o) {
  if (o.requires_grad()) t.set_requires_grad(true);
  return t;
}

Tensor make_real(const char* name, kernels::RandomFn fn, IntArrayRef size,
                 const std::optional<Generator>& g, const TensorOptions& o, double a, double b) {
  TANDEM_CHECK_TYPE(is_floating(o.dtype()), name, ": expected a floating point dtype, got ",
                    o.dtype());
  const int64_t n = numel_of(size);
  return finish(
      apply(kRandom, {draw(g, n, o.device())}, RandomAttrs{fn, size, o.dtype(), o.device(), a, b}),
      o);
}

// The whole numbers that a dtype holds exactly: [first, second].
std::pair<int64_t, int64_t> whole_numbers(DType t) {
  switch (t) {
    case kBool:
      return {0, 1};
    case kByte:
      return {0, 255};
    case kChar:
      return {-128, 127};
    case kShort:
      return {-32768, 32767};
    case kInt:
      return {INT32_MIN, INT32_MAX};
    case kHalf:
      return {-(1 << 11), 1 << 11};
    case kBFloat16:
      return {-(1 << 8), 1 << 8};
    case kFloat:
      return {-(1 << 24), 1 << 24};
    case kDouble:
      return {-(int64_t{1} << 53), int64_t{1} << 53};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

void check_range(const char* name, int64_t low, int64_t high, DType t) {
  TANDEM_CHECK(low < high, name, ": expects 'from' to be less than 'to', but got from=", low,
               " >= to=", high);
  // Floats may be asked for more than they hold exactly; then the numbers are rounded.
  if (is_floating(t)) return;
  const auto [least, greatest] = whole_numbers(t);
  TANDEM_CHECK(low >= least, name, ": from=", low, " is out of bounds for ", t);
  TANDEM_CHECK(high - 1 <= greatest, name, ": to - 1 = ", high - 1, " is out of bounds for ", t);
}

int64_t range_of(int64_t low, int64_t high) {
  return static_cast<int64_t>(static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

}  // namespace

Tensor rand(IntArrayRef size, std::optional<Generator> g, const TensorOptions& o) {
  return make_real("rand", kernels::RandomFn::Uniform, size, g, o, 0, 1);
}
Tensor rand(IntArrayRef size, const TensorOptions& o) { return rand(size, std::nullopt, o); }
Tensor rand_like(const Tensor& t, const TensorOptions& o, std::optional<MemoryFormat>) {
  const OwnerScope scope(t);
  return rand(t.sizes(), std::nullopt, t.options().merge_in(o));
}
Tensor randn(IntArrayRef size, std::optional<Generator> g, const TensorOptions& o) {
  return make_real("randn", kernels::RandomFn::Normal, size, g, o, 0, 1);
}
Tensor randn(IntArrayRef size, const TensorOptions& o) { return randn(size, std::nullopt, o); }
Tensor randn_like(const Tensor& t, const TensorOptions& o, std::optional<MemoryFormat>) {
  const OwnerScope scope(t);
  return randn(t.sizes(), std::nullopt, t.options().merge_in(o));
}

Tensor randint(int64_t low, int64_t high, IntArrayRef size, std::optional<Generator> g,
               const TensorOptions& o) {
  const DType t = o.has_dtype() ? o.dtype() : kLong;
  check_range("randint", low, high, t);
  const int64_t n = numel_of(size);
  return finish(apply(kRandomIntegers, {draw(g, n, o.device())},
                      IntegersAttrs{size, t, o.device(), low, range_of(low, high)}),
                o);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& o) {
  return randint(low, high, size, std::nullopt, o);
}
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& o) {
  return randint(0, high, size, std::nullopt, o);
}
Tensor randint(int64_t high, IntArrayRef size, std::optional<Generator> g, const TensorOptions& o) {
  return randint(0, high, size, std::move(g), o);
}
Tensor randint_like(const Tensor& t, int64_t low, int64_t high, const TensorOptions& o,
                    std::optional<MemoryFormat>) {
  const OwnerScope scope(t);
  return randint(low, high, t.sizes(), std::nullopt, t.options().merge_in(o));
}
Tensor randint_like(const Tensor& t, int64_t high, const TensorOptions& o,
                    std::optional<MemoryFormat> f) {
  return randint_like(t, 0, high, o, f);
}

Tensor randperm(int64_t n, std::optional<Generator> g, const TensorOptions& o) {
  TANDEM_CHECK(n >= 0, "randperm: n must be non-negative, got ", n);
  const DType t = o.has_dtype() ? o.dtype() : kLong;
  TANDEM_CHECK(n == 0 || n - 1 <= whole_numbers(t).second, "randperm: n is too large for dtype ", t,
               ": ", n);
  return finish(apply(kRandomOrder, {draw(g, n, o.device())},
                      RandomAttrs{kernels::RandomFn::Integers, {n}, t, o.device()}),
                o);
}
Tensor randperm(int64_t n, const TensorOptions& o) { return randperm(n, std::nullopt, o); }

Tensor normal(double mean, double std, IntArrayRef size, std::optional<Generator> g,
              const TensorOptions& o) {
  TANDEM_CHECK(std >= 0, "normal: expects std >= 0.0, but found std ", std);
  return make_real("normal", kernels::RandomFn::Normal, size, g, o, mean, std);
}
Tensor normal(const Tensor& mean, double std, std::optional<Generator> g) {
  TANDEM_CHECK(std >= 0, "normal: expects std >= 0.0, but found std ", std);
  const OwnerScope scope(mean);
  return normal(0, std, mean.sizes(), g, mean.options()) + mean;
}
Tensor normal(double mean, const Tensor& std, std::optional<Generator> g) {
  const OwnerScope scope(std);
  return normal(0, 1, std.sizes(), g, std.options()) * std + mean;
}
Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> g) {
  const Dims shape = broadcast_shapes("normal", mean.sizes(), std.sizes());
  const OwnerScope scope(mean.impl()->is_pending() ? mean : std);
  return normal(0, 1, shape, g, mean.options()) * std + mean;
}

Tensor bernoulli(const Tensor& x, std::optional<Generator> g) {
  const OwnerScope scope(x);
  return apply(kBernoulli, {draw(g, x.numel(), x.device()), x});
}
Tensor bernoulli(const Tensor& x, double p, std::optional<Generator> g) {
  TANDEM_CHECK(p >= 0 && p <= 1, "bernoulli: expects p to be in [0, 1], but got p=", p);
  const OwnerScope scope(x);
  return apply(kRandom, {draw(g, x.numel(), x.device())},
               RandomAttrs{kernels::RandomFn::Bernoulli, x.sizes(), x.dtype(), x.device(), p});
}
Tensor bernoulli_of(const Tensor& state, IntArrayRef sizes, double p, const TensorOptions& o) {
  return apply(kRandom, {state},
               RandomAttrs{kernels::RandomFn::Bernoulli, sizes, o.dtype(), o.device(), p});
}
Tensor poisson(const Tensor& x, std::optional<Generator> g) {
  const OwnerScope scope(x);
  return apply(kPoisson, {draw(g, x.numel(), x.device()), x});
}
Tensor multinomial(const Tensor& x, int64_t num_samples, bool replacement,
                   std::optional<Generator> g) {
  const int64_t rows = x.dim() == 2 ? x.size(0) : 1;
  const OwnerScope scope(x);
  return apply(
      kMultinomial,
      {draw(g, std::max(x.numel(), rows * std::max<int64_t>(num_samples, 0)), x.device()), x},
      MultinomialAttrs{num_samples, replacement});
}

// -- in place ---------------------------------------------------------------------------------

namespace {

Tensor& fill_real(const Tensor& t, const std::optional<Generator>& g, const char* name,
                  kernels::RandomFn fn, double a, double b, bool any_dtype = false) {
  TANDEM_CHECK_TYPE(any_dtype || is_floating(t.dtype()), name,
                    ": expected a floating point dtype, got ", t.dtype());
  const OwnerScope scope(t);
  return apply_inplace(kRandomInto, t, {draw(g, t.numel(), t.device()), t},
                       RandomAttrs{fn, t.sizes(), t.dtype(), t.device(), a, b});
}

Tensor& fill_whole(const Tensor& t, const std::optional<Generator>& g, int64_t low, int64_t range) {
  const OwnerScope scope(t);
  return apply_inplace(kRandomIntegersInto, t, {draw(g, t.numel(), t.device()), t},
                       IntegersAttrs{t.sizes(), t.dtype(), t.device(), low, range});
}

}  // namespace

Tensor& Tensor::uniform_(double from, double to, std::optional<Generator> g) const {
  TANDEM_CHECK(from <= to, "uniform_: expects to return a [from, to) range, but found from=", from,
               " > to=", to);
  return fill_real(*this, g, "uniform_", kernels::RandomFn::Uniform, from, to);
}
Tensor& Tensor::normal_(double mean, double std, std::optional<Generator> g) const {
  TANDEM_CHECK(std >= 0, "normal_: expects std >= 0.0, but found std ", std);
  return fill_real(*this, g, "normal_", kernels::RandomFn::Normal, mean, std);
}
Tensor& Tensor::exponential_(double lambd, std::optional<Generator> g) const {
  TANDEM_CHECK(lambd > 0, "exponential_: expects lambda > 0.0, but found lambda=", lambd);
  return fill_real(*this, g, "exponential_", kernels::RandomFn::Exponential, lambd, 0);
}
Tensor& Tensor::geometric_(double p, std::optional<Generator> g) const {
  TANDEM_CHECK(p > 0 && p < 1, "geometric_: expects p to be in (0, 1), but got p=", p);
  return fill_real(*this, g, "geometric_", kernels::RandomFn::Geometric, p, 0, true);
}
Tensor& Tensor::cauchy_(double median, double sigma, std::optional<Generator> g) const {
  TANDEM_CHECK(sigma > 0, "cauchy_: expects sigma > 0.0, but found sigma=", sigma);
  return fill_real(*this, g, "cauchy_", kernels::RandomFn::Cauchy, median, sigma);
}
Tensor& Tensor::log_normal_(double mean, double std, std::optional<Generator> g) const {
  TANDEM_CHECK(std > 0, "log_normal_: expects std > 0.0, but found std=", std);
  return fill_real(*this, g, "log_normal_", kernels::RandomFn::LogNormal, mean, std);
}
Tensor& Tensor::bernoulli_(double p, std::optional<Generator> g) const {
  TANDEM_CHECK(p >= 0 && p <= 1, "bernoulli_: expects p to be in [0, 1], but got p=", p);
  return fill_real(*this, g, "bernoulli_", kernels::RandomFn::Bernoulli, p, 0, true);
}
Tensor& Tensor::bernoulli_(const Tensor& p, std::optional<Generator> g) const {
  const OwnerScope scope(impl()->is_pending() ? *this : p);
  return apply_inplace(kBernoulli, *this, {draw(g, numel(), device()), p, *this});
}
Tensor& Tensor::random_(int64_t from, std::optional<int64_t> to, std::optional<Generator> g) const {
  if (!to) {
    const int64_t high = whole_numbers(dtype()).second;
    TANDEM_CHECK(from <= high, "random_: from=", from, " is out of bounds for ", dtype());
    return fill_whole(
        *this, g, from,
        static_cast<int64_t>(static_cast<uint64_t>(high) - static_cast<uint64_t>(from) + 1));
  }
  check_range("random_", from, *to, dtype());
  return fill_whole(*this, g, from, range_of(from, *to));
}
Tensor& Tensor::random_(int64_t to, std::optional<Generator> g) const {
  return random_(0, std::optional<int64_t>(to), std::move(g));
}
Tensor& Tensor::random_(std::optional<Generator> g) const {
  const int64_t high = whole_numbers(dtype()).second;
  return fill_whole(*this, g, 0, static_cast<int64_t>(static_cast<uint64_t>(high) + 1));
}

Tensor Tensor::bernoulli(std::optional<Generator> g) const {
  return tandem::bernoulli(*this, std::move(g));
}
Tensor Tensor::bernoulli(double p, std::optional<Generator> g) const {
  return tandem::bernoulli(*this, p, std::move(g));
}
Tensor Tensor::multinomial(int64_t num_samples, bool replacement,
                           std::optional<Generator> g) const {
  return tandem::multinomial(*this, num_samples, replacement, std::move(g));
}

}  // namespace tandem
