#include "tandem/optim/optimizer.h"

#include <charconv>
#include <unordered_set>

#include "tandem/autograd/clear_grad.h"
#include "tandem/base/warning.h"
#include "tandem/core/recorder.h"
#include "tandem/ops/creation.h"

namespace tandem::optim {
namespace {

void warn_old(const char* name, const char* instead) {
  TANDEM_WARN("Optimizer::", name,
              " knows the first group of parameters only and will be removed. Use ", instead,
              " instead.");
}

}  // namespace

std::unique_ptr<OptimizerParamState> OptimizerParamState::clone() const {
  TANDEM_CHECK(false,
               "OptimizerParamState: clone() is not implemented for this state. Derive it from "
               "OptimizerCloneableParamState<YourState>.");
  return nullptr;
}

// -- groups -------------------------------------------------------------------------------------

OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& o)
    : params_(std::make_shared<std::vector<Tensor>>(*o.params_)),
      options_(o.options_ ? o.options_->clone() : nullptr),
      initial_lr_(o.initial_lr_) {}

OptimizerParamGroup& OptimizerParamGroup::operator=(const OptimizerParamGroup& o) {
  if (this == &o) return *this;
  *params_ = *o.params_;
  options_ = o.options_ ? o.options_->clone() : nullptr;
  initial_lr_ = o.initial_lr_;
  watched_.changed();
  return *this;
}

OptimizerOptions& OptimizerParamGroup::options() {
  TANDEM_CHECK(has_options(),
               "OptimizerParamGroup: this group has no options; add it to an "
               "optimizer with add_param_group, or call set_options");
  return *options_;
}

const OptimizerOptions& OptimizerParamGroup::options() const {
  return const_cast<OptimizerParamGroup*>(this)->options();
}

void OptimizerParamGroup::set_options(std::unique_ptr<OptimizerOptions> options) {
  options_ = std::move(options);
  watched_.changed();
}

ParamKey::ParamKey(const std::string& text) : address_(0) {
  const size_t digits = text.starts_with("0x") ? 2 : 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + digits, end, address_, 16);
  TANDEM_CHECK(error == std::errc() && last == end, "optimizer: '", text,
               "' is not the address of a parameter");
}

ParamKey::operator std::string() const {
  char text[2 * sizeof(address_)];
  const auto [last, error] = std::to_chars(text, text + sizeof(text), address_, 16);
  (void)error;
  return "0x" + std::string(text, last);
}

// -- the optimiser ------------------------------------------------------------------------------

Optimizer::Optimizer(std::vector<OptimizerParamGroup> param_groups,
                     std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  TANDEM_CHECK(defaults_, "Optimizer: there are no default options");
  for (const OptimizerParamGroup& group : param_groups) add_param_group(group);
}

void Optimizer::add_param_group(const OptimizerParamGroup& param_group) {
  std::unordered_set<const TensorImpl*> known;
  for (const OptimizerParamGroup& group : param_groups_)
    for (const Tensor& p : group.params()) known.insert(p.impl());
  for (const Tensor& p : param_group.params()) {
    TANDEM_CHECK(p.defined(), "Optimizer: can't optimize an undefined Tensor");
    TANDEM_CHECK(p.is_leaf(), "Optimizer: can't optimize a non-leaf Tensor (", p.type_of(), ")");
    TANDEM_CHECK(!known.contains(p.impl()),
                 "Optimizer: some parameters appear in more than one parameter group (one of them "
                 "is ",
                 p.type_of(), ")");
  }
  OptimizerParamGroup group(param_group);
  if (!group.has_options()) group.set_options(defaults_->clone());
  param_groups_.push_back(std::move(group));
  groups_watched_.changed();
}

void Optimizer::zero_grad(bool set_to_none) {
  for (OptimizerParamGroup& group : param_groups_) {
    use(group);
    for (const Tensor& p : group.params()) autograd::clear_grad(p, set_to_none);
  }
}

void Optimizer::apply_gradients(const std::vector<std::pair<Tensor, Tensor>>& grads_and_params) {
  std::unordered_map<const TensorImpl*, const Tensor*> given;
  for (const auto& [grad, param] : grads_and_params) {
    TANDEM_CHECK(param.defined(), "apply_gradients: undefined parameter");
    TANDEM_CHECK(given.emplace(param.impl(), &grad).second, "apply_gradients: a parameter (",
                 param.type_of(), ") is given twice");
    TANDEM_CHECK_SHAPE(!grad.defined() || grad.sizes() == param.sizes(),
                       "apply_gradients: the gradient has shape ", grad.sizes(),
                       ", its parameter has ", param.sizes());
  }
  // The parameters' own gradients are back afterwards, whatever happens.
  struct Restore {
    std::vector<std::pair<Tensor, Tensor>> own;
    ~Restore() {
      for (auto& [param, grad] : own) param.mutable_grad() = grad;
    }
  } restore;
  size_t found = 0;
  for (OptimizerParamGroup& group : param_groups_)
    for (const Tensor& p : group.params()) {
      restore.own.emplace_back(p, p.grad());
      const auto at = given.find(p.impl());
      found += at != given.end();
      p.mutable_grad() =
          at == given.end() || !at->second->defined() ? Tensor() : at->second->detach();
    }
  TANDEM_CHECK(found >= given.size(), "apply_gradients: ", given.size() - found, " of the ",
               given.size(), " tensors are not parameters of this optimizer");
  step();
}

void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  warn_old("add_parameters()", "add_param_group()");
  TANDEM_CHECK(!param_groups_.empty(), "Optimizer: there is no group to add parameters to");
  auto& params = param_groups_[0].params();
  params.insert(params.end(), parameters.begin(), parameters.end());
  groups_watched_.changed();
}

const std::vector<Tensor>& Optimizer::parameters() const {
  return const_cast<Optimizer*>(this)->parameters();
}
std::vector<Tensor>& Optimizer::parameters() {
  warn_old("parameters()", "param_groups()");
  TANDEM_CHECK(!param_groups_.empty(), "Optimizer: there are no parameters");
  return param_groups_[0].params();
}

size_t Optimizer::size() const {
  warn_old("size()", "param_groups()");
  size_t n = 0;
  for (const OptimizerParamGroup& group : param_groups_) n += group.params().size();
  return n;
}

Tensor Optimizer::evaluate(const LossClosure& closure) {
  if (!closure) return {};
  const AutoGradMode with_grad(true);
  return closure();
}

void Optimizer::use(OptimizerParamGroup& group) const {
  groups_watched_.read();
  group.watched_.read();
  if (Recorder* r = t_mode.recorder) r->note_list(group.params_);
}

Tensor Optimizer::like(const Tensor& p, double value) {
  const RecorderScope eager(nullptr);
  const InferenceMode normal(false);
  const NoGradGuard no_grad;
  return full(p.sizes(), value, TensorOptions(p.dtype()).device(p.device()));
}

}  // namespace tandem::optim
