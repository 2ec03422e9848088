#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "tandem/nn/cloneable.h"

namespace tandem::nn {

/// Parameters in a list, registered under their numbers. Those that do not require gradients stay
/// so.
class ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  using Item = OrderedDict<std::string, Tensor>::Item;
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterListImpl() = default;
  template <class... Tensors>
  requires(std::is_convertible_v<Tensors&&, Tensor>&&...) explicit ParameterListImpl(
      Tensors&&... parameters) {
    (append(Tensor(std::forward<Tensors>(parameters))), ...);
  }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  void append(const Tensor& parameter);
  void append(const Item& item) { append(item.value()); }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& parameter : container) append(parameter);
  }
  void extend(const ParameterListImpl& other) {
    for (const Tensor& parameter : other.parameters_.values()) append(parameter);
  }
  template <class Container>
  ParameterListImpl& operator+=(const Container& other) {
    extend(other);
    return *this;
  }

  Iterator begin() { return parts_.read(parameters_).begin(); }
  ConstIterator begin() const { return parts_.read(parameters_).begin(); }
  Iterator end() { return parts_.read(parameters_).end(); }
  ConstIterator end() const { return parts_.read(parameters_).end(); }
  Tensor& at(size_t index);
  const Tensor& at(size_t index) const { return const_cast<ParameterListImpl*>(this)->at(index); }
  Tensor& operator[](size_t index) { return at(index); }
  const Tensor& operator[](size_t index) const { return at(index); }
  size_t size() const noexcept { return parts_.read(parameters_).size(); }
  bool is_empty() const noexcept { return parts_.read(parameters_).is_empty(); }
};
TANDEM_MODULE(ParameterList);

}  // namespace tandem::nn
