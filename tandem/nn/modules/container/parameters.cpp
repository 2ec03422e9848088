#include <ostream>

#include "tandem/nn/modules/container/parameterdict.h"
#include "tandem/nn/modules/container/parameterlist.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

namespace {

void print_parameters(std::ostream& stream, const char* name,
                      const OrderedDict<std::string, Tensor>& parameters) {
  stream << PrintedName{name} << "(\n";
  for (const auto& item : parameters)
    stream << '(' << item.key() << "): Parameter containing: [" << item->scalar_type()
           << " of size " << item->sizes() << "]\n";
  stream << ')';
}

Tensor copy_of(const Tensor& parameter, const std::optional<Device>& device) {
  const Tensor values = parameter.detach();
  const Tensor copy = device && values.device() != *device ? values.to(*device) : values.clone();
  return copy.set_requires_grad(parameter.requires_grad());
}

}  // namespace

std::shared_ptr<Module> ParameterListImpl::clone(const std::optional<Device>& device) const {
  NoGradGuard no_grad;
  auto copy = std::make_shared<ParameterListImpl>();
  copy->train(is_training());
  for (const auto& item : parameters_) copy->append(copy_of(item.value(), device));
  return copy;
}

void ParameterListImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterList", parameters_);
}

void ParameterListImpl::append(const Tensor& parameter) {
  TANDEM_CHECK(parameter.defined(), "ParameterList: the parameter is undefined");
  register_parameter(std::to_string(size()), parameter, parameter.requires_grad());
}

Tensor& ParameterListImpl::at(size_t index) {
  TANDEM_CHECK_INDEX(index < size(), "Index out of range: ", index, " in a ParameterList of ",
                     size(), " parameters");
  return parameters_[index].value();
}

ParameterDictImpl::ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& item : parameters) insert(item.key(), item.value());
}

std::shared_ptr<Module> ParameterDictImpl::clone(const std::optional<Device>& device) const {
  NoGradGuard no_grad;
  auto copy = std::make_shared<ParameterDictImpl>();
  copy->train(is_training());
  for (const auto& item : parameters_) copy->insert(item.key(), copy_of(item.value(), device));
  return copy;
}

void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterDict", parameters_);
}

Tensor& ParameterDictImpl::insert(std::string key, Tensor parameter) {
  const bool requires_grad = parameter.requires_grad();
  return register_parameter(std::move(key), std::move(parameter), requires_grad);
}

Tensor ParameterDictImpl::pop(const std::string& key) {
  const Tensor parameter = parameters_[key];
  parameters_.erase(key);
  parts_.changed();
  return parameter;
}

}  // namespace tandem::nn
