#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "tandem/nn/module.h"

namespace tandem::nn {

/// Gives a module clone(). The class registers its parameters, buffers and modules in reset(),
/// which its constructor calls.
///
///     struct NetImpl : nn::Cloneable<NetImpl> {
///       NetImpl() { reset(); }
///       void reset() override { fc = register_module("fc", nn::Linear(10, 5)); }
///       nn::Linear fc = nullptr;
///     };
template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;

  /// Makes all members that are handles, above all parameters, buffers and modules, anew.
  virtual void reset() = 0;

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

 private:
  void clone_(Module& other, const std::optional<Device>& device) final;
};

// Outside of the class, hence not inline: for modules of the library (TANDEM_NN_MODULE) no other
// file makes them again.
template <class Derived>
std::shared_ptr<Module> Cloneable<Derived>::clone(const std::optional<Device>& device) const {
  NoGradGuard no_grad;
  auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
  copy->forget_members();
  copy->reset();
  copy_members(*copy, device);
  return copy;
}

template <class Derived>
void Cloneable<Derived>::clone_(Module& other, const std::optional<Device>& device) {
  const auto copy = std::dynamic_pointer_cast<Derived>(other.clone(device));
  TANDEM_CHECK(copy != nullptr,
               "Attempted to clone submodule, but it is of a different type than the submodule "
               "it was to be cloned into");
  static_cast<Derived&>(*this) = std::move(*copy);
}

}  // namespace tandem::nn

/// TANDEM_MODULE(Name) for modules of the library, whose clone() is in modules.cpp and nowhere
/// else: a file that includes all of them compiles a second faster.
#define TANDEM_NN_MODULE(Name)                 \
  extern template class Cloneable<Name##Impl>; \
  TANDEM_MODULE(Name)
