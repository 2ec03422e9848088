#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tandem/nn/modules/container/any.h"

namespace tandem::nn {

/// A module with the name under which a Sequential is to register it:
///
///     Sequential net({{"fc", Linear(3, 4)}, {"act", ReLU()}});
class NamedAnyModule {
 public:
  template <class ModuleType>
  NamedAnyModule(std::string name, std::shared_ptr<ModuleType> module)
      : NamedAnyModule(std::move(name), AnyModule(std::move(module))) {}
  template <class M, class = tandem::detail::enable_if_module_t<M>>
  NamedAnyModule(std::string name, M&& module)
      : NamedAnyModule(std::move(name), AnyModule(std::forward<M>(module))) {}
  template <class M>
  NamedAnyModule(std::string name, const ModuleHolder<M>& holder)
      : NamedAnyModule(std::move(name), AnyModule(holder)) {}
  NamedAnyModule(std::string name, AnyModule module)
      : name_(std::move(name)), module_(std::move(module)) {}

  const std::string& name() const noexcept { return name_; }
  AnyModule& module() noexcept { return module_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

}  // namespace tandem::nn
