#include "tandem/optim/options.h"

namespace tandem::optim {

std::unique_ptr<OptimizerOptions> OptimizerOptions::clone() const {
  TANDEM_CHECK(false,
               "OptimizerOptions: clone() is not implemented for these options. Derive them from "
               "OptimizerCloneableOptions<YourOptions>.");
  return nullptr;
}

double OptimizerOptions::get_lr() const {
  TANDEM_CHECK(false,
               "OptimizerOptions: get_lr() is not implemented for these options; a learning rate "
               "scheduler needs it. Override it.");
  return 0;
}

void OptimizerOptions::set_lr(const double) {
  TANDEM_CHECK(false,
               "OptimizerOptions: set_lr() is not implemented for these options; a learning rate "
               "scheduler needs it. Override it.");
}

namespace {

using Field = OptimizerOptions::Field;

// True iff all options have the same values.
template <class O>
bool same(const O& a, const O& b) {
  const auto left = const_cast<O&>(a).fields(), right = const_cast<O&>(b).fields();
  for (size_t i = 0; i < left.size(); ++i) {
    const bool equal = std::visit(
        [&](auto* value) { return *value == *std::get<decltype(value)>(right[i].value); },
        left[i].value);
    if (!equal) return false;
  }
  return true;
}

}  // namespace

std::vector<Field> SGDOptions::fields() {
  return {{"lr", &lr_},
          {"momentum", &momentum_},
          {"dampening", &dampening_},
          {"weight_decay", &weight_decay_},
          {"nesterov", &nesterov_}};
}
bool operator==(const SGDOptions& a, const SGDOptions& b) { return same(a, b); }

std::vector<Field> AdamOptions::fields() {
  return {{"lr", &lr_},   {"beta1", &std::get<0>(betas_)},  {"beta2", &std::get<1>(betas_)},
          {"eps", &eps_}, {"weight_decay", &weight_decay_}, {"amsgrad", &amsgrad_}};
}
bool operator==(const AdamOptions& a, const AdamOptions& b) { return same(a, b); }

std::vector<Field> AdamWOptions::fields() {
  return {{"lr", &lr_},   {"beta1", &std::get<0>(betas_)},  {"beta2", &std::get<1>(betas_)},
          {"eps", &eps_}, {"weight_decay", &weight_decay_}, {"amsgrad", &amsgrad_}};
}
bool operator==(const AdamWOptions& a, const AdamWOptions& b) { return same(a, b); }

std::vector<Field> RMSpropOptions::fields() {
  return {{"lr", &lr_},
          {"alpha", &alpha_},
          {"eps", &eps_},
          {"weight_decay", &weight_decay_},
          {"momentum", &momentum_},
          {"centered", &centered_}};
}
bool operator==(const RMSpropOptions& a, const RMSpropOptions& b) { return same(a, b); }

std::vector<Field> AdagradOptions::fields() {
  return {{"lr", &lr_},
          {"lr_decay", &lr_decay_},
          {"weight_decay", &weight_decay_},
          {"initial_accumulator_value", &initial_accumulator_value_},
          {"eps", &eps_}};
}
bool operator==(const AdagradOptions& a, const AdagradOptions& b) { return same(a, b); }

std::vector<Field> LBFGSOptions::fields() {
  return {{"lr", &lr_},
          {"max_iter", &max_iter_},
          {"max_eval", &max_eval_},
          {"tolerance_grad", &tolerance_grad_},
          {"tolerance_change", &tolerance_change_},
          {"history_size", &history_size_},
          {"line_search_fn", &line_search_fn_}};
}
bool operator==(const LBFGSOptions& a, const LBFGSOptions& b) { return same(a, b); }

std::vector<Field> LionOptions::fields() {
  return {{"lr", &lr_},
          {"beta1", &std::get<0>(betas_)},
          {"beta2", &std::get<1>(betas_)},
          {"weight_decay", &weight_decay_}};
}
bool operator==(const LionOptions& a, const LionOptions& b) { return same(a, b); }

namespace {

// Written so that nan is refused too.
void check_learning_rate(double lr) { TANDEM_CHECK(lr >= 0, "Invalid learning rate: ", lr); }
void check_epsilon(double eps) { TANDEM_CHECK(eps >= 0, "Invalid epsilon value: ", eps); }
void check_betas(const Betas& betas) {
  const double beta1 = std::get<0>(betas), beta2 = std::get<1>(betas);
  TANDEM_CHECK(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  TANDEM_CHECK(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
}
// "Invalid momentum value: -1"
void check_not_negative(const char* name, double value) {
  TANDEM_CHECK(value >= 0, "Invalid ", name, " value: ", value);
}

template <class O>
void check_adam(const O& o) {
  check_learning_rate(o.lr());
  check_epsilon(o.eps());
  check_betas(o.betas());
  check_not_negative("weight_decay", o.weight_decay());
}

}  // namespace

void check(const SGDOptions& o) {
  check_learning_rate(o.lr());
  check_not_negative("momentum", o.momentum());
  check_not_negative("weight_decay", o.weight_decay());
  TANDEM_CHECK(!o.nesterov() || (o.momentum() > 0 && o.dampening() == 0),
               "Nesterov momentum requires a momentum and zero dampening");
}
void check(const AdamOptions& o) { check_adam(o); }
void check(const AdamWOptions& o) { check_adam(o); }
void check(const RMSpropOptions& o) {
  check_learning_rate(o.lr());
  check_epsilon(o.eps());
  check_not_negative("momentum", o.momentum());
  check_not_negative("weight_decay", o.weight_decay());
  check_not_negative("alpha", o.alpha());
}
void check(const AdagradOptions& o) {
  check_learning_rate(o.lr());
  check_not_negative("lr_decay", o.lr_decay());
  check_not_negative("weight_decay", o.weight_decay());
  check_not_negative("initial_accumulator_value", o.initial_accumulator_value());
  check_epsilon(o.eps());
}
void check(const LBFGSOptions& o) { check_learning_rate(o.lr()); }
void check(const LionOptions& o) {
  check_learning_rate(o.lr());
  check_betas(o.betas());
  check_not_negative("weight_decay", o.weight_decay());
}

}  // namespace tandem::optim
