#pragma once

#include <string>
#include <vector>

#include "tandem/nn/cloneable.h"

namespace tandem::nn {

/// Parameters by name, in the order in which they came. Those that do not require gradients stay
/// so.
class ParameterDictImpl : public Cloneable<ParameterDictImpl> {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters);

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  Tensor& insert(std::string key, Tensor parameter);
  /// Takes a parameter out.
  Tensor pop(const std::string& key);
  void clear() {
    parameters_.clear();
    parts_.changed();
  }
  /// Replaces parameters, which must be there.
  template <class Container>
  void update(const Container& container) {
    for (const auto& item : container) (void)parameters_[item.key()];
    for (const auto& item : container) parameters_[item.key()] = item.value();
    parts_.changed();
  }

  std::vector<std::string> keys() const { return parts_.read(parameters_).keys(); }
  std::vector<Tensor> values() const { return parts_.read(parameters_).values(); }
  Iterator begin() { return parts_.read(parameters_).begin(); }
  ConstIterator begin() const { return parts_.read(parameters_).begin(); }
  Iterator end() { return parts_.read(parameters_).end(); }
  ConstIterator end() const { return parts_.read(parameters_).end(); }
  size_t size() const noexcept { return parts_.read(parameters_).size(); }
  bool empty() const noexcept { return parts_.read(parameters_).is_empty(); }
  bool contains(const std::string& key) const noexcept {
    return parts_.read(parameters_).contains(key);
  }
  Tensor& get(const std::string& key) { return parts_.read(parameters_)[key]; }
  const Tensor& get(const std::string& key) const { return parts_.read(parameters_)[key]; }
  Tensor& operator[](const std::string& key) { return parts_.read(parameters_)[key]; }
  const Tensor& operator[](const std::string& key) const { return parts_.read(parameters_)[key]; }
};
TANDEM_MODULE(ParameterDict);

}  // namespace tandem::nn
