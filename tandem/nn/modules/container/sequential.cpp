#include "tandem/nn/modules/container/sequential.h"

#include <ostream>

namespace tandem::nn {

SequentialImpl::SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
  modules_.reserve(modules.size());
  for (auto& item : modules) push_back(item.key(), std::move(item.value()));
}

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  modules_.reserve(modules.size());
  for (const NamedAnyModule& item : modules) push_back(item.name(), item.module());
}

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<SequentialImpl>();
  copy->train(is_training());
  const auto names = named_children().keys();
  for (size_t i = 0; i < modules_.size(); ++i)
    copy->push_back(i < names.size() ? names[i] : std::to_string(i), modules_[i].clone(device));
  return copy;
}

void SequentialImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Sequential"};
}

AnyValue SequentialImpl::forward_any(std::span<AnyValue> inputs) {
  const ForwardScope scope(*this);
  TANDEM_CHECK(!is_empty(), "Cannot call forward() on an empty Sequential");
  AnyValue value = modules_[0].forward_values(inputs);
  for (size_t i = 1; i < modules_.size(); ++i) value = modules_[i].forward_values({&value, 1});
  return value;
}

void SequentialImpl::push_back(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

AnyModule& SequentialImpl::checked(size_t index) const {
  TANDEM_CHECK_INDEX(index < size(), "Index out of range: ", index, " in a Sequential of ", size(),
                     " modules");
  return const_cast<AnyModule&>(modules_[index]);
}

void SequentialImpl::wrong_result(const std::type_info& is, const std::type_info& wanted) {
  TANDEM_CHECK_TYPE(false, "The type of the return value is ", detail::demangle(is.name()),
                    ", but you asked for type ", detail::demangle(wanted.name()));
  __builtin_unreachable();
}

}  // namespace tandem::nn
