#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/nn/cloneable.h"

namespace tandem::nn {

/// Modules in a list, registered under their numbers. It has no forward().
class ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;

  ModuleListImpl() = default;
  template <class... Modules>
  explicit ModuleListImpl(Modules&&... modules) {
    modules_.reserve(sizeof...(Modules));
    (push_back(std::forward<Modules>(modules)), ...);
  }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  void push_back(std::shared_ptr<Module> module);
  template <class M, class = tandem::detail::enable_if_module_t<M>>
  void push_back(M&& module) {
    push_back(std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
  }
  template <class M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(holder.ptr());
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  void extend(const ModuleListImpl& other) {
    for (const auto& module : std::vector<std::shared_ptr<Module>>(other.modules_))
      push_back(module);
  }

  /// Puts a module at a position; those from there on move one further.
  void insert(size_t index, std::shared_ptr<Module> module);
  template <class M>
  void insert(size_t index, const ModuleHolder<M>& holder) {
    insert(index, holder.ptr());
  }
  template <class M, class = tandem::detail::enable_if_module_t<M>>
  void insert(size_t index, M&& module) {
    insert(index, std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
  }

  Iterator begin() { return parts_.read(modules_).begin(); }
  ConstIterator begin() const { return parts_.read(modules_).begin(); }
  Iterator end() { return parts_.read(modules_).end(); }
  ConstIterator end() const { return parts_.read(modules_).end(); }

  template <class T>
  T& at(size_t index) {
    return cast<T>(index);
  }
  template <class T>
  const T& at(size_t index) const {
    return cast<T>(index);
  }
  std::shared_ptr<Module> ptr(size_t index) const;
  template <class T>
  std::shared_ptr<T> ptr(size_t index) const {
    static_assert(tandem::detail::is_module<T>::value,
                  "Can only call ModuleList::ptr with an nn::Module type");
    return std::dynamic_pointer_cast<T>(ptr(index));
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  size_t size() const noexcept { return parts_.read(modules_).size(); }
  bool is_empty() const noexcept { return parts_.read(modules_).empty(); }

 private:
  template <class T>
  T& cast(size_t index) const {
    static_assert(tandem::detail::is_module<T>::value,
                  "Can only call ModuleList::at with an nn::Module type");
    const auto module = ptr(index);
    T* result = module->template as<T>();
    TANDEM_CHECK_TYPE(result, "ModuleList: module ", index, " is a ", module->name(), ", not a ",
                      detail::demangle(typeid(T).name()));
    return *result;
  }

  std::vector<std::shared_ptr<Module>> modules_;
};
TANDEM_MODULE(ModuleList);

}  // namespace tandem::nn
