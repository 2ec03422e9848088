#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/cloneable.h"

namespace tandem::nn {

/// Modules by name, in the order in which they came. It has no forward().
class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Modules = OrderedDict<std::string, std::shared_ptr<Module>>;
  using Iterator = Modules::Iterator;
  using ConstIterator = Modules::ConstIterator;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(
      const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
    update(modules);
  }
  explicit ModuleDictImpl(const Modules& modules) { update(modules); }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const {
    return parts_.read(modules_).pairs();
  }
  std::vector<std::string> keys() const { return parts_.read(modules_).keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return parts_.read(modules_).values(); }
  Iterator begin() { return parts_.read(modules_).begin(); }
  ConstIterator begin() const { return parts_.read(modules_).begin(); }
  Iterator end() { return parts_.read(modules_).end(); }
  ConstIterator end() const { return parts_.read(modules_).end(); }
  size_t size() const noexcept { return parts_.read(modules_).size(); }
  bool empty() const noexcept { return parts_.read(modules_).is_empty(); }
  bool contains(const std::string& key) const noexcept {
    return parts_.read(modules_).contains(key);
  }

  std::shared_ptr<Module> operator[](const std::string& key) const {
    return parts_.read(modules_)[key];
  }
  template <class T>
  T& at(const std::string& key) {
    return cast<T>(key);
  }
  template <class T>
  const T& at(const std::string& key) const {
    return cast<T>(key);
  }

  void clear();
  /// Takes a module out.
  std::shared_ptr<Module> pop(const std::string& key);
  /// Adds modules, or puts them in the place of those with the same names.
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
    for (const auto& [key, module] : modules) insert(key, module);
  }
  template <class Container>
  void update(const Container& container) {
    for (const auto& item : container) insert(item.key(), item.value());
  }

 private:
  template <class T>
  T& cast(const std::string& key) const {
    static_assert(tandem::detail::is_module<T>::value,
                  "Can only call ModuleDict::at with an nn::Module type");
    const auto& module = parts_.read(modules_)[key];
    T* result = module->template as<T>();
    TANDEM_CHECK_TYPE(result, "ModuleDict: module '", key, "' is a ", module->name(), ", not a ",
                      detail::demangle(typeid(T).name()));
    return *result;
  }
  void insert(const std::string& key, std::shared_ptr<Module> module);

  Modules modules_{"Module"};
};
TANDEM_MODULE(ModuleDict);

}  // namespace tandem::nn
