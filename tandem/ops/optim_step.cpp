#include "tandem/ops/optim_step.h"

#include <cmath>
#include <deque>

#include "tandem/core/apply_list.h"
#include "tandem/kernels/optim_step.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/join.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using kernels::StepNumbers;
using kernels::StepRule;
using kernels::StepTensor;

// A list of at most this many parameters is one op. Longer ones gain nothing: planning grows with
// the square of the number of an op's inputs.
constexpr int64_t kMaxCount = 1024;

/// Inputs: counters if `counted`, parameters, `states` lists of state; then the rule's numbers;
/// then gradients. Outputs: new values for all inputs before the numbers.
struct StepAttrs {
  int64_t count = 0;   // parameters
  int64_t states = 0;  // tensors remembered for each
  bool counted = false;
  bool variant = false;  // nesterov, decoupled or centered
  TANDEM_FIELDS(count, states, counted, variant)

  int64_t lists() const { return states + 1 + counted; }
  int64_t written() const { return count * lists(); }
};

int count_outputs(AttrRef attrs) {
  const auto& s = attrs.as<StepAttrs>();
  TANDEM_CHECK(s.count >= 0 && s.count <= kMaxCount && s.states >= 0 && s.states <= 3,
               "optimizer step: cannot update ", s.count, " parameters with ", s.states,
               " tensors of state each");
  return static_cast<int>(s.written());
}

/// What a rule is, for the functions below.
struct RuleInfo {
  StepRule rule;
  int numbers;
  int64_t least_states, most_states;
  StepNumbers (*read)(const double* numbers, int64_t step, const StepAttrs& attrs);
};

// The numbers' order is that of the structs in optim_step.h. `step` counts from 1.

StepNumbers read_sgd(const double* n, int64_t step, const StepAttrs& a) {
  StepNumbers s;
  s.rate = n[0];
  s.beta1 = n[1];
  s.rest1 = 1 - n[2];
  s.decay = n[3];
  s.decays = n[3] != 0;
  s.first = step == 1;
  s.nesterov = a.variant;
  return s;
}

StepNumbers read_adam(const double* n, int64_t step, const StepAttrs& a) {
  const auto t = static_cast<double>(step);
  StepNumbers s;
  s.rate = n[0] / (1 - std::pow(n[1], t));
  s.correction = std::sqrt(1 - std::pow(n[2], t));
  s.beta1 = n[1];
  s.rest1 = 1 - n[1];
  s.beta2 = n[2];
  s.rest2 = 1 - n[2];
  s.eps = n[3];
  if (a.variant) {
    s.shrink = 1 - n[0] * n[4];
    s.shrinks = n[4] != 0;
  } else {
    s.decay = n[4];
    s.decays = n[4] != 0;
  }
  return s;
}

StepNumbers read_rmsprop(const double* n, int64_t, const StepAttrs& a) {
  StepNumbers s;
  s.rate = n[0];
  s.beta2 = n[1];
  s.rest2 = 1 - n[1];
  s.eps = n[2];
  s.decay = n[3];
  s.decays = n[3] != 0;
  s.beta1 = n[4];
  s.averages = a.variant;
  s.momentum = a.states == 2 + a.variant;
  return s;
}

StepNumbers read_adagrad(const double* n, int64_t step, const StepAttrs&) {
  StepNumbers s;
  s.rate = n[0] / (1 + static_cast<double>(step - 1) * n[1]);
  s.decay = n[2];
  s.decays = n[2] != 0;
  s.eps = n[3];
  return s;
}

StepNumbers read_lion(const double* n, int64_t, const StepAttrs&) {
  StepNumbers s;
  s.rate = n[0];
  s.beta1 = n[1];
  s.rest1 = 1 - n[1];
  s.beta2 = n[2];
  s.rest2 = 1 - n[2];
  s.shrink = 1 - n[0] * n[3];
  s.shrinks = n[3] != 0;
  return s;
}

constexpr RuleInfo kSgd{StepRule::sgd, 4, 0, 1, read_sgd};
constexpr RuleInfo kAdam{StepRule::adam, 5, 2, 3, read_adam};
constexpr RuleInfo kRmsProp{StepRule::rmsprop, 5, 1, 3, read_rmsprop};
constexpr RuleInfo kAdaGrad{StepRule::adagrad, 4, 1, 1, read_adagrad};
constexpr RuleInfo kLion{StepRule::lion, 4, 1, 1, read_lion};

bool needs_steps(const RuleInfo& r, const StepAttrs& s) {
  return r.rule == StepRule::adam || r.rule == StepRule::adagrad ||
         (r.rule == StepRule::sgd && s.states > 0);
}

void check_like(const char* op, const TensorType& t, const TensorType& param, const char* what,
                int64_t i) {
  TANDEM_CHECK_SHAPE(t.sizes == param.sizes, op, ": ", what, " of parameter ", i, " has shape ",
                     t.sizes, ", the parameter has ", param.sizes);
  TANDEM_CHECK_TYPE(t.dtype == param.dtype, op, ": ", what, " of parameter ", i, " is ", t.dtype,
                    ", the parameter is ", param.dtype);
}

template <const RuleInfo& r>
void infer_step(const InferArgs& a) {
  const auto& s = a.attrs<StepAttrs>();
  const char* op = a.op.name;
  count_outputs(a.attr_ref);
  const int64_t n = s.count, first_number = s.written(), first_grad = first_number + r.numbers;
  TANDEM_CHECK(s.states >= r.least_states && s.states <= r.most_states, op, ": ", s.states,
               " lists of state were given, expected ", r.least_states, " to ", r.most_states);
  if (r.rule == StepRule::rmsprop)
    TANDEM_CHECK(s.states - s.variant == 1 || s.states - s.variant == 2, op, ": ", s.states,
                 " lists of state do not go with centered = ", s.variant ? "true" : "false");
  TANDEM_CHECK(s.counted || !needs_steps(r, s), op, ": the parameters' counters are missing");
  TANDEM_CHECK(a.n_inputs == first_grad + n, op, ": expected ", first_grad + n, " tensors for ", n,
               " parameters, got ", a.n_inputs);
  for (int k = 0; k < r.numbers; ++k) {
    const TensorType& t = a.in(static_cast<int>(first_number) + k);
    TANDEM_CHECK_TYPE(t.dtype == kDouble && t.sizes.empty(), op, ": number ", k,
                      " must be float64 without dimensions, got ", t);
  }
  for (int64_t k = 0; k < n && s.counted; ++k) {
    const TensorType& t = a.in(static_cast<int>(k));
    TANDEM_CHECK_TYPE(t.dtype == kLong && t.sizes.empty(), op, ": the counter of parameter ", k,
                      " must be int64 without dimensions, got ", t);
  }
  const int64_t first_param = s.counted ? n : 0;
  for (int64_t i = 0; i < n; ++i) {
    const TensorType& p = a.in(static_cast<int>(first_param + i));
    TANDEM_CHECK_TYPE(is_floating(p.dtype), op, ": parameter ", i,
                      " must be of a floating point dtype, got ", p.dtype);
    for (int64_t k = 1; k <= s.states; ++k)
      check_like(op, a.in(static_cast<int>(first_param + k * n + i)), p, "the state", i);
    check_like(op, a.in(static_cast<int>(first_grad + i)), p, "the gradient", i);
  }
  for (int64_t k = 0; k < first_number; ++k) {
    a.out(static_cast<int>(k)).sizes = a.in(static_cast<int>(k)).sizes;
    a.out(static_cast<int>(k)).dtype = a.in(static_cast<int>(k)).dtype;
  }
}

template <const RuleInfo& r>
void step_kernel(const KernelArgs& a) {
  const auto& s = a.attrs<StepAttrs>();
  const int64_t n = s.count, first_param = s.counted ? n : 0;
  double numbers[8];
  for (int k = 0; k < r.numbers; ++k) numbers[k] = *a.inputs[s.written() + k].ptr<double>();
  const Array* grads = a.inputs + s.written() + r.numbers;
  std::vector<StepTensor> tensors(static_cast<size_t>(n));
  std::deque<StepNumbers> known;  // most parameters have made the same number of steps
  int64_t known_step = -1;
  for (int64_t i = 0; i < n; ++i) {
    StepTensor& t = tensors[static_cast<size_t>(i)];
    int64_t step = 0;
    if (s.counted) {
      step = *a.inputs[i].ptr<int64_t>() + 1;
      *a.outputs[i].ptr<int64_t>() = step;
    }
    if (step != known_step) known.push_back(r.read(numbers, step, s));
    known_step = step;
    t.numbers = &known.back();
    t.grad = &grads[i];
    t.param = &a.inputs[first_param + i];
    t.param_out = &a.outputs[first_param + i];
    for (int64_t k = 0; k < s.states; ++k) {
      t.state[k] = &a.inputs[first_param + (k + 1) * n + i];
      t.state_out[k] = &a.outputs[first_param + (k + 1) * n + i];
    }
  }
  kernels::step_list(r.rule, static_cast<int>(s.states), tensors.data(), n);
}

// Counters of its own make every sample's parameters ones of a longer list.
template <const RuleInfo& r>
void batch_as_list(const BatchArgs& a) {
  const auto& s = a.attrs<StepAttrs>();
  StepAttrs longer = s;
  longer.count *= a.size;
  std::vector<TensorArg> in;
  std::vector<Tensor> held;
  const auto add = [&](int64_t first) {
    for (int64_t i = 0; i < s.count; ++i) {
      const Tensor all = a.sample(static_cast<int>(first + i));
      for (int64_t k = 0; k < a.size; ++k) held.push_back(all.select(0, k));
    }
  };
  for (int64_t list = 0; list < s.lists(); ++list) add(list * s.count);
  for (int k = 0; k < r.numbers; ++k) held.push_back(a.in(static_cast<int>(s.written()) + k));
  add(s.written() + r.numbers);
  for (const Tensor& t : held) in.emplace_back(t);
  std::vector<Tensor> out(static_cast<size_t>(longer.written()));
  apply(a.op, {in.data(), in.size()}, longer, out.data());
  for (int64_t k = 0; k < s.written(); ++k)
    a.outputs[k] = stack(TensorList(out.data() + k * a.size, static_cast<size_t>(a.size)));
}

// Samples have parameters of their own and share the numbers.
template <const RuleInfo& r>
void batch_step(const BatchArgs& a) {
  const auto& s = a.attrs<StepAttrs>();
  const int64_t n_counters = s.counted ? s.count : 0;
  const auto is_number = [&](int64_t k) { return k >= s.written() && k < s.written() + r.numbers; };
  bool counters = false;
  for (int k = 0; k < a.n_inputs; ++k) {
    if (is_number(k) && a.batched[k]) return batch_loop(a);
    counters |= k < n_counters && a.batched[k];
  }
  if (counters)
    return a.size > 0 && s.count * a.size <= kMaxCount ? batch_as_list<r>(a) : batch_loop(a);
  SmallVector<Tensor, 4> in;
  for (int k = 0; k < a.n_inputs; ++k)
    in.push_back(is_number(k) || k < n_counters ? a.in(k) : a.sample(k));
  apply_to(a.op, {in.data(), in.size()}, a.attr_ref, a.outputs);
  for (int64_t k = 0; k < n_counters; ++k) a.outputs[k] = a.outputs[k].expand({a.size});
}

}  // namespace

#define TANDEM_STEP_OP(variable, text, info) \
  TANDEM_OP(variable) = {                    \
      .name = text,                          \
      .infer = infer_step<info>,             \
      .kernel = step_kernel<info>,           \
      .outputs = 0,                          \
      .count = count_outputs,                \
      .inplace = true,                       \
      .attrs = attrs_of<StepAttrs>,          \
      .batch = batch_step<info>,             \
  };

TANDEM_STEP_OP(kSgdStep, "sgd_step", kSgd)
TANDEM_STEP_OP(kAdamStep, "adam_step", kAdam)
TANDEM_STEP_OP(kRmsPropStep, "rmsprop_step", kRmsProp)
TANDEM_STEP_OP(kAdagradStep, "adagrad_step", kAdaGrad)
TANDEM_STEP_OP(kLionStep, "lion_step", kLion)

namespace {

// One op's share of the lists: parameters [begin, end).
struct Share {
  std::vector<TensorArg> inputs;
  StepAttrs attrs;
};

void check_lists(const OpDef& op, const StepTensors& t) {
  const size_t n = t.params.size();
  TANDEM_CHECK(t.grads.size() == n, op.name, ": ", n, " parameters but ", t.grads.size(),
               " gradients");
  TANDEM_CHECK(t.steps.empty() || t.steps.size() == n, op.name, ": ", n, " parameters but ",
               t.steps.size(), " counters");
  for (const TensorList& list : t.state)
    TANDEM_CHECK(list.size() == n, op.name, ": ", n, " parameters but ", list.size(),
                 " tensors in a list of state");
}

Share share_of(const StepTensors& t, ArrayRef<Tensor> numbers, bool variant, size_t begin,
               size_t end) {
  Share s;
  s.attrs.count = static_cast<int64_t>(end - begin);
  s.attrs.states = static_cast<int64_t>(t.state.size());
  s.attrs.counted = !t.steps.empty();
  s.attrs.variant = variant;
  s.inputs.reserve((end - begin) * (t.state.size() + 3) + numbers.size());
  const auto add = [&](const TensorList& list) {
    for (size_t i = begin; i < end; ++i) s.inputs.emplace_back(list[i]);
  };
  if (s.attrs.counted) add(t.steps);
  add(t.params);
  for (const TensorList& list : t.state) add(list);
  for (const Tensor& number : numbers) s.inputs.emplace_back(number);
  add(t.grads);
  return s;
}

void update(const OpDef& op, const StepTensors& t, std::initializer_list<Tensor> numbers,
            bool variant = false) {
  check_lists(op, t);
  // Parameters that share memory are updated one after the other.
  const std::vector<TensorArg> params(t.params.begin(), t.params.end());
  size_t most = static_cast<size_t>(kMaxCount);
  for (const Tensor& p : t.params) TANDEM_CHECK(p.defined(), op.name, ": undefined parameter");
  if (any_shared_memory({params.data(), params.size()})) most = 1;
  for (size_t i = 0; i < t.params.size(); i += most) {
    const size_t end = std::min(t.params.size(), i + most);
    const Share s = share_of(t, {numbers.begin(), numbers.size()}, variant, i, end);
    apply_inplace_list(op, {s.inputs.data(), s.inputs.size()}, s.attrs);
  }
}

std::vector<Tensor> updated(const OpDef& op, const StepTensors& t,
                            std::initializer_list<Tensor> numbers, bool variant = false) {
  check_lists(op, t);
  const size_t n = t.params.size(), most = static_cast<size_t>(kMaxCount);
  const size_t lists = t.state.size() + 1 + !t.steps.empty();
  std::vector<Tensor> all(lists * n);
  for (size_t i = 0; i < n; i += most) {
    const size_t count = std::min(n - i, most);
    const Share s = share_of(t, {numbers.begin(), numbers.size()}, variant, i, i + count);
    std::vector<Tensor> out(lists * count);
    apply(op, {s.inputs.data(), s.inputs.size()}, s.attrs, out.data());
    for (size_t list = 0; list < lists; ++list)
      std::move(out.begin() + static_cast<ptrdiff_t>(list * count),
                out.begin() + static_cast<ptrdiff_t>((list + 1) * count),
                all.begin() + static_cast<ptrdiff_t>(list * n + i));
  }
  return all;
}

}  // namespace

void sgd_step_(const StepTensors& t, const SGDNumbers& n, bool nesterov) {
  update(kSgdStep, t, {n.lr, n.momentum, n.dampening, n.weight_decay}, nesterov);
}
std::vector<Tensor> sgd_step(const StepTensors& t, const SGDNumbers& n, bool nesterov) {
  return updated(kSgdStep, t, {n.lr, n.momentum, n.dampening, n.weight_decay}, nesterov);
}

void adam_step_(const StepTensors& t, const AdamNumbers& n, bool decoupled) {
  update(kAdamStep, t, {n.lr, n.beta1, n.beta2, n.eps, n.weight_decay}, decoupled);
}
std::vector<Tensor> adam_step(const StepTensors& t, const AdamNumbers& n, bool decoupled) {
  return updated(kAdamStep, t, {n.lr, n.beta1, n.beta2, n.eps, n.weight_decay}, decoupled);
}

void rmsprop_step_(const StepTensors& t, const RMSpropNumbers& n, bool centered) {
  update(kRmsPropStep, t, {n.lr, n.alpha, n.eps, n.weight_decay, n.momentum}, centered);
}
std::vector<Tensor> rmsprop_step(const StepTensors& t, const RMSpropNumbers& n, bool centered) {
  return updated(kRmsPropStep, t, {n.lr, n.alpha, n.eps, n.weight_decay, n.momentum}, centered);
}

void adagrad_step_(const StepTensors& t, const AdagradNumbers& n) {
  update(kAdagradStep, t, {n.lr, n.lr_decay, n.weight_decay, n.eps});
}
std::vector<Tensor> adagrad_step(const StepTensors& t, const AdagradNumbers& n) {
  return updated(kAdagradStep, t, {n.lr, n.lr_decay, n.weight_decay, n.eps});
}

void lion_step_(const StepTensors& t, const LionNumbers& n) {
  update(kLionStep, t, {n.lr, n.beta1, n.beta2, n.weight_decay});
}
std::vector<Tensor> lion_step(const StepTensors& t, const LionNumbers& n) {
  return updated(kLionStep, t, {n.lr, n.beta1, n.beta2, n.weight_decay});
}

}  // namespace tandem
