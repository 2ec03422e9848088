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

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    NoGradGuard no_grad;
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    copy->parameters_.clear();
    copy->buffers_.clear();
    copy->children_.clear();
    copy->reset();
    copy_tensors(parameters_, copy->parameters_, device, "parameters", "register_parameter");
    copy_tensors(buffers_, copy->buffers_, device, "buffers", "register_buffer");
    expect_size(copy->children_.size() == children_.size(), "child modules", "register_module");
    for (const auto& child : children_)
      copy->children_[child.key()]->clone_(*child.value(), device);
    return copy;
  }

 private:
  void clone_(Module& other, const std::optional<Device>& device) final {
    const auto copy = std::dynamic_pointer_cast<Derived>(other.clone(device));
    TANDEM_CHECK(copy != nullptr,
                 "Attempted to clone submodule, but it is of a different type than the submodule "
                 "it was to be cloned into");
    static_cast<Derived&>(*this) = std::move(*copy);
  }

  static void expect_size(bool same, const char* what, const char* how) {
    TANDEM_CHECK(same, "The cloned module does not have the same number of ", what,
                 " as the original module after calling reset(). Are you sure you called ", how,
                 "() inside reset() and not the constructor?");
  }
  static void copy_tensors(const OrderedDict<std::string, Tensor>& from,
                           OrderedDict<std::string, Tensor>& to,
                           const std::optional<Device>& device, const char* what, const char* how) {
    expect_size(from.size() == to.size(), what, how);
    for (const auto& item : from) {
      const Tensor& source = item.value();
      if (!source.defined()) continue;
      const Tensor values = source.detach();
      Tensor& copy = to[item.key()];
      const Tensor data =
          device && source.device() != *device ? values.to(*device) : values.clone();
      if (copy.defined()) {
        copy.set_requires_grad(false);  // the values may be integers by now
        copy.set_data(data);
      } else {
        copy = data;
      }
      copy.set_requires_grad(source.requires_grad());
    }
  }
};

}  // namespace tandem::nn
