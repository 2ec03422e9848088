#include "tandem/nn/modules/container/any.h"

namespace tandem::nn {

using detail::demangle;

std::vector<AnyValue> detail::with_defaults(std::vector<AnyValue>&& arguments,
                                            const DefaultArgs& defaults) {
  std::vector<AnyValue> all = std::move(arguments);
  for (const auto& [position, value] : defaults)
    if (position >= all.size()) all.push_back(value);
  return all;
}

void detail::wrong_argument(size_t index, const std::type_info& wanted,
                            const std::type_info& given) {
  TANDEM_CHECK_TYPE(false, "Expected argument #", index, " to be of type ", demangle(wanted.name()),
                    ", but received value of type ", demangle(given.name()));
  __builtin_unreachable();
}

void AnyModule::expect_module(const char* method) const {
  TANDEM_CHECK(!is_empty(), "Cannot call ", method, "() on an empty AnyModule");
}

void AnyModule::wrong_class(const std::type_info& wanted) const {
  TANDEM_CHECK_TYPE(false, "Attempted to cast module of type ", demangle(class_->type.name()),
                    " to type ", demangle(wanted.name()));
  __builtin_unreachable();
}

AnyModule AnyModule::clone(std::optional<Device> device) const {
  AnyModule copy = *this;
  if (module_) copy.module_ = module_->clone(device);
  TANDEM_CHECK(is_empty() || copy.module_, "clone() of ", module_->name(), " gave no module");
  return copy;
}

std::shared_ptr<Module> AnyModule::ptr() const {
  expect_module("ptr");
  return module_;
}

const std::type_info& AnyModule::type_info() const {
  expect_module("type_info");
  return class_->type;
}

AnyValue AnyModule::forward_values(std::span<AnyValue> arguments) {
  expect_module("forward");
  Module& module = *module_;
  const ForwardScope scope(module);
  const auto n = static_cast<int>(arguments.size());
  if (n == class_->n_arguments || class_->n_arguments < 0)
    return class_->forward(module, arguments);
  const std::string name = demangle(class_->type.name());
  if (!module._forward_has_default_args()) {
    TANDEM_CHECK(false, name, "'s forward() method expects ", class_->n_arguments,
                 " argument(s), but received ", n, ".",
                 n > class_->n_arguments ? std::string()
                                         : " If " + name +
                                               "'s forward() method has default arguments, "
                                               "please make sure the forward() method is declared "
                                               "with a corresponding `FORWARD_HAS_DEFAULT_ARGS` "
                                               "macro.");
  }
  const auto required = module._forward_num_required_args();
  TANDEM_CHECK(n >= static_cast<int>(required) && n < class_->n_arguments, name,
               "'s forward() method expects at least ", required, " argument(s) and at most ",
               class_->n_arguments, " argument(s), but received ", n, ".");
  std::vector<AnyValue> given(std::make_move_iterator(arguments.begin()),
                              std::make_move_iterator(arguments.end()));
  std::vector<AnyValue> all = module._forward_populate_default_args(std::move(given));
  TANDEM_CHECK(static_cast<int>(all.size()) == class_->n_arguments, name,
               ": the arguments named by FORWARD_HAS_DEFAULT_ARGS make ", all.size(),
               " in all, but forward() has ", class_->n_arguments);
  return class_->forward(module, all);
}

}  // namespace tandem::nn
