#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/base/error_context.h"
#include "tandem/base/ordered_dict.h"
#include "tandem/core/flag.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/any_value.h"
#include "tandem/nn/pimpl.h"
#include "tandem/serialize/archive.h"

namespace tandem::nn {

/// What networks are made of: parameters, buffers (tensors that are not trained), and further
/// modules, each registered under a name. What a module computes is its method forward(), which has
/// whatever arguments and results it likes.
///
///     struct NetImpl : nn::Module {
///       NetImpl() : fc(register_module("fc", nn::Linear(10, 5))) {
///         scale = register_parameter("scale", tandem::ones({5}));
///       }
///       Tensor forward(Tensor x) { return fc(x) * scale; }
///       nn::Linear fc;
///       Tensor scale;
///     };
///     TANDEM_MODULE(Net);
class Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string&, const Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;
  using NamedModulePointerApplyFunction =
      std::function<void(const std::string&, const std::shared_ptr<Module>&)>;

  Module();
  /// A name() other than that of the class.
  explicit Module(std::string name);
  // A copy shares parameters and children with the original; clone() is for one that does not.
  Module(const Module& other);
  Module(Module&& other);
  Module& operator=(const Module& other);
  Module& operator=(Module&& other);
  virtual ~Module();

  /// The name of the class, namespaces included.
  const std::string& name() const noexcept;

  /// A copy that shares nothing with this module. Classes get it from Cloneable.
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const;

  // Calls the function with this module and all below it, each before those below it. Names are
  // paths such as "encoder.0.fc"; this module's own is the prefix.
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = {});
  void apply(const ConstNamedModuleApplyFunction& function,
             const std::string& name_prefix = {}) const;
  void apply(const ModulePointerApplyFunction& function) const;
  void apply(const NamedModulePointerApplyFunction& function,
             const std::string& name_prefix = {}) const;

  /// The parameters of this module and, if recurse, of all modules below it. Undefined ones, such
  /// as the bias of a layer without, are left out.
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;

  /// All modules below this one, and itself, which must then be held by a shared_ptr.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(
      const std::string& name_prefix = {}, bool include_self = true) const;
  /// The modules registered with this one.
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  /// Training mode, in which for example Dropout drops; also of all modules below.
  virtual void train(bool on = true);
  void eval();
  virtual bool is_training() const noexcept;

  // Converts all parameters and buffers, also of the modules below.
  virtual void to(Device device, DType dtype, bool non_blocking = false);
  virtual void to(DType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);

  /// Gradients of all parameters become zero, or undefined.
  virtual void zero_grad(bool set_to_none = false);

  /// This module as another class, such as Linear or LinearImpl; null if it is not one.
  template <class ModuleType>
  typename ModuleType::ContainedType* as() noexcept {
    return dynamic_cast<typename ModuleType::ContainedType*>(this);
  }
  template <class ModuleType>
  const typename ModuleType::ContainedType* as() const noexcept {
    return dynamic_cast<const typename ModuleType::ContainedType*>(this);
  }
  template <class ModuleType, class = tandem::detail::disable_if_module_holder_t<ModuleType>>
  ModuleType* as() noexcept {
    return dynamic_cast<ModuleType*>(this);
  }
  template <class ModuleType, class = tandem::detail::disable_if_module_holder_t<ModuleType>>
  const ModuleType* as() const noexcept {
    return dynamic_cast<const ModuleType*>(this);
  }

  /// One line about this module alone; operator<< adds those below it.
  virtual void pretty_print(std::ostream& stream) const;
  /// Writes the parameters and buffers to the archive, and the modules below in archives of their
  /// own, under the names they have here.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote. Nothing changes if something is missing or has another shape.
  virtual void load(serialize::InputArchive& archive);
  /// False if saving this module would not say what it does, as for Functional.
  virtual bool is_serializable() const { return true; }

  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);

  /// Returns the module, so that members can be initialised with it.
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name,
                                              std::shared_ptr<ModuleType> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, ModuleHolder<ModuleType> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  /// Puts another module in the place of the one with that name.
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name,
                                             std::shared_ptr<ModuleType> module) {
    replace_child(name, module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name,
                                             ModuleHolder<ModuleType> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  /// Where this module is, for messages: "Net -> encoder: Sequential -> 0: Linear(...)". Modules
  /// above it are known if they registered it and are still there.
  std::string path() const;

 protected:
  // AnyModule and Sequential call forward() through these when arguments with defaults are left
  // out; FORWARD_HAS_DEFAULT_ARGS writes them.
  virtual bool _forward_has_default_args() { return false; }
  virtual unsigned int _forward_num_required_args();
  virtual std::vector<AnyValue> _forward_populate_default_args(std::vector<AnyValue>&& arguments);

  std::shared_ptr<Module> shared_from_this_checked() const;

  OrderedDict<std::string, Tensor> parameters_{"Parameter"};
  Watched parts_;  // for containers, whose parts are read one by one

 private:
  template <class Derived>
  friend class Cloneable;
  friend class AnyModule;
  friend class ForwardScope;
  friend std::ostream& operator<<(std::ostream& stream, const Module& module);

  /// Becomes a copy of the other module, which must be of the same class.
  virtual void clone_(Module& other, const std::optional<Device>& device);
  // The two halves of Cloneable's clone(): before and after the copy's reset().
  void forget_members();
  void copy_members(Module& copy, const std::optional<Device>& device) const;
  void expect_in(serialize::InputArchive& archive, const std::string& path) const;
  void add_child(std::string name, std::shared_ptr<Module> module);
  void replace_child(const std::string& name, std::shared_ptr<Module> module);
  void adopt_children();
  void disown_children();
  template <class... Ts>
  void to_impl(const Ts&... ts);
  void pretty_print_recursive(std::ostream& stream, const std::string& indentation) const;
  void apply_to_submodules(const NamedModulePointerApplyFunction& function,
                           const std::string& name_prefix) const;

  OrderedDict<std::string, Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};
  // The module that registered this one last; null when it is gone. If it is set, this module is
  // among its children.
  const Module* parent_ = nullptr;
  std::optional<std::string> name_;  // only if it was given
  Flag is_training_{true};
};

std::ostream& operator<<(std::ostream& stream, const Module& module);

// What save() and load() of modules call.
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                     const std::shared_ptr<Module>& module);
serialize::InputArchive& operator>>(serialize::InputArchive& archive,
                                    const std::shared_ptr<Module>& module);
template <class M>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                     const ModuleHolder<M>& holder) {
  return archive << std::shared_ptr<Module>(holder.ptr());
}
template <class M>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, ModuleHolder<M>& holder) {
  return archive >> std::shared_ptr<Module>(holder.ptr());
}

/// The printed name of one of Tandem's own modules: stream << PrintedName{"Linear"} is
/// "tandem::nn::Linear". Programs that include tandem/torch.h see torch:: there.
struct PrintedName {
  const char* name;
};
std::ostream& operator<<(std::ostream& stream, PrintedName name);
/// Sets what comes before the names of Tandem's own modules, "tandem::nn::" at first; also in
/// Module::name(), for classes whose name has not been asked for.
void set_printed_namespace(const char* prefix);

/// While it lives the module's forward() is running: errors then say which module it was, with its
/// path. Every forward() of Tandem's own layers begins with one; in a user's forward() it
/// is welcome but not needed, since modules know where they are registered.
///
///     Tensor LinearImpl::forward(const Tensor& x) {
///       ForwardScope scope(*this);
class ForwardScope final : public ErrorContext {
 public:
  explicit ForwardScope(const Module& module) : module_(module) {}
  std::string text() const override;
  const Module& module() const { return module_; }

 private:
  const Module& module_;
};

template <class Contained>
template <class... Args, class C>
auto ModuleHolder<Contained>::operator()(Args&&... args)
    -> decltype(std::declval<C&>().forward(std::forward<Args>(args)...)) {
  Contained& module = *get();
  ForwardScope scope(module);
  return module.forward(std::forward<Args>(args)...);
}

}  // namespace tandem::nn
