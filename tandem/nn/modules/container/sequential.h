#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/container/any.h"
#include "tandem/nn/modules/container/named_any.h"

namespace tandem::nn {

/// Modules in a row: each gets what the one before it gave. The first takes whatever arguments its
/// forward() has, the last gives the result, a Tensor unless the call says otherwise. Sequentials
/// may be nested.
///
///     Sequential net(Linear(3, 4), ReLU(), Linear(4, 1));
///     Tensor y = net->forward(x);
class SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  template <class... Modules>
  explicit SequentialImpl(Modules&&... modules) {
    modules_.reserve(sizeof...(Modules));
    (push_back(std::forward<Modules>(modules)), ...);
  }
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules);
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules);

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  template <class ReturnType = Tensor, class... Inputs>
  ReturnType forward(Inputs&&... inputs) {
    AnyValue values[] = {AnyValue(std::forward<Inputs>(inputs))..., AnyValue(0)};
    AnyValue result = forward_any({values, sizeof...(Inputs)});
    if (auto* value = result.template try_get<ReturnType>()) return std::move(*value);
    wrong_result(result.type_info(), typeid(ReturnType));
  }
  /// The same for values whose types are not known here.
  AnyValue forward_any(std::span<AnyValue> inputs);

  // Adds a module at the end, under its number or the name given.
  template <class ModuleType>
  void push_back(std::shared_ptr<ModuleType> module) {
    push_back(next_name(), AnyModule(std::move(module)));
  }
  template <class ModuleType>
  void push_back(std::string name, std::shared_ptr<ModuleType> module) {
    push_back(std::move(name), AnyModule(std::move(module)));
  }
  template <class M, class = tandem::detail::enable_if_module_t<M>>
  void push_back(M&& module) {
    push_back(next_name(), AnyModule(std::forward<M>(module)));
  }
  template <class M, class = tandem::detail::enable_if_module_t<M>>
  void push_back(std::string name, M&& module) {
    push_back(std::move(name), AnyModule(std::forward<M>(module)));
  }
  template <class M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(next_name(), AnyModule(holder));
  }
  template <class M>
  void push_back(std::string name, const ModuleHolder<M>& holder) {
    push_back(std::move(name), AnyModule(holder));
  }
  void push_back(AnyModule module) { push_back(next_name(), std::move(module)); }
  void push_back(NamedAnyModule module) { push_back(module.name(), std::move(module.module())); }
  void push_back(std::string name, AnyModule module);

  /// Adds all modules of a container, such as another Sequential.
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  void extend(const SequentialImpl& other) {
    for (const AnyModule& module : std::vector<AnyModule>(other.modules_)) push_back(module);
  }

  Iterator begin() { return parts_.read(modules_).begin(); }
  ConstIterator begin() const { return parts_.read(modules_).begin(); }
  Iterator end() { return parts_.read(modules_).end(); }
  ConstIterator end() const { return parts_.read(modules_).end(); }

  template <class T>
  T& at(size_t index) {
    static_assert(tandem::detail::is_module<T>::value,
                  "Can only call Sequential::at with an nn::Module type");
    return checked(index).template get<T>();
  }
  template <class T>
  const T& at(size_t index) const {
    static_assert(tandem::detail::is_module<T>::value,
                  "Can only call Sequential::at with an nn::Module type");
    return checked(index).template get<T>();
  }
  std::shared_ptr<Module> ptr(size_t index) const { return checked(index).ptr(); }
  template <class T>
  std::shared_ptr<T> ptr(size_t index) const {
    static_assert(tandem::detail::is_module<T>::value,
                  "Can only call Sequential::ptr with an nn::Module type");
    return checked(index).template ptr<T>();
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  size_t size() const noexcept { return parts_.read(modules_).size(); }
  bool is_empty() const noexcept { return parts_.read(modules_).empty(); }

 private:
  std::string next_name() const { return std::to_string(modules_.size()); }
  AnyModule& checked(size_t index) const;
  [[noreturn]] static void wrong_result(const std::type_info& is, const std::type_info& wanted);

  std::vector<AnyModule> modules_;
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  using Impl = SequentialImpl;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> modules)
      : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
};

}  // namespace tandem::nn
