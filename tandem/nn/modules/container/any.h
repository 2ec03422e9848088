#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tandem/nn/any_value.h"
#include "tandem/nn/module.h"
#include "tandem/nn/modules/common.h"

namespace tandem::nn {

namespace detail {

/// What AnyModule knows about a class of modules.
struct AnyModuleClass {
  const std::type_info& type;
  AnyValue (*forward)(Module& module, std::span<AnyValue> arguments);
  // Less than zero: any number.
  int n_arguments;
};

/// A module that takes and gives values of any type, such as Sequential.
template <class M>
concept ForwardsAny = requires(M& m, std::span<AnyValue> arguments) {
  { m.forward_any(arguments) } -> std::same_as<AnyValue>;
};

[[noreturn]] void wrong_argument(size_t index, const std::type_info& wanted,
                                 const std::type_info& given);

template <class T>
std::decay_t<T>&& argument(std::span<AnyValue> arguments, size_t index) {
  auto* value = arguments[index].template try_get<std::decay_t<T>>();
  if (!value) wrong_argument(index, typeid(T), arguments[index].type_info());
  return std::move(*value);
}

template <class M, class F>
struct Forward;
template <class M, class C, class R, class... Args>
struct Forward<M, R (C::*)(Args...)> {
  static_assert(((!std::is_lvalue_reference_v<Args> ||
                  std::is_const_v<std::remove_reference_t<Args>>)&&...),
                "Modules stored inside AnyModule must not take references. Use pointers instead.");
  static_assert(!std::is_void_v<R>,
                "AnyModule cannot store modules that return void (you can return a dummy value).");
  static constexpr int n_arguments = sizeof...(Args);

  static AnyValue call(Module& module, std::span<AnyValue> arguments) {
    return call(static_cast<M&>(module), arguments, std::index_sequence_for<Args...>());
  }
  template <size_t... I>
  static AnyValue call(M& module, std::span<AnyValue> arguments, std::index_sequence<I...>) {
    return AnyValue(module.forward(argument<Args>(arguments, I)...));
  }
};
template <class M, class C, class R, class... Args>
struct Forward<M, R (C::*)(Args...) const> : Forward<M, R (C::*)(Args...)> {};

template <class M>
const AnyModuleClass* any_module_class() {
  static_assert(tandem::detail::is_module<M>::value,
                "Can only store object derived from nn::Module into AnyModule");
  // A class that is derived from Sequential may have a forward() of its own.
  if constexpr (ForwardsAny<M> && !tandem::detail::has_forward<M>::value) {
    static const AnyModuleClass c{typeid(M),
                                  [](Module& module, std::span<AnyValue> arguments) {
                                    return static_cast<M&>(module).forward_any(arguments);
                                  },
                                  -1};
    return &c;
  } else {
    static_assert(tandem::detail::has_forward<M>::value,
                  "Can only store module with a forward() method that has a non-templatized "
                  "argument type and return type into AnyModule");
    using F = Forward<M, decltype(&M::forward)>;
    static const AnyModuleClass c{typeid(M), &F::call, F::n_arguments};
    return &c;
  }
}

}  // namespace detail

/// A module of any class, called with arguments of any type: those of its forward(), exactly.
///
///     AnyModule any(Linear(3, 4));
///     Tensor y = any.forward(x);
///     int n = other.forward<int>(x, 2.0);
class AnyModule {
 public:
  AnyModule() = default;
  template <class ModuleType>
  explicit AnyModule(std::shared_ptr<ModuleType> module)
      : module_(std::move(module)), class_(detail::any_module_class<ModuleType>()) {
    TANDEM_CHECK(module_, "AnyModule: the module is null");
  }
  template <class ModuleType, class = tandem::detail::enable_if_module_t<ModuleType>>
  explicit AnyModule(ModuleType&& module)
      : AnyModule(std::make_shared<std::decay_t<ModuleType>>(std::forward<ModuleType>(module))) {}
  template <class ModuleType>
  explicit AnyModule(const ModuleHolder<ModuleType>& holder) : AnyModule(holder.ptr()) {}
  template <class ModuleType>
  AnyModule& operator=(std::shared_ptr<ModuleType> module) {
    return *this = AnyModule(std::move(module));
  }

  /// An AnyModule of a copy of the module; plain copies share it.
  AnyModule clone(std::optional<Device> device = std::nullopt) const;

  template <class... Args>
  AnyValue any_forward(Args&&... args) {
    AnyValue values[] = {AnyValue(std::forward<Args>(args))..., AnyValue(0)};
    return forward_values({values, sizeof...(Args)});
  }
  /// Takes the values out of the arguments.
  AnyValue forward_values(std::span<AnyValue> arguments);
  template <class ReturnType = Tensor, class... Args>
  ReturnType forward(Args&&... args) {
    return any_forward(std::forward<Args>(args)...).template get<ReturnType>();
  }

  /// The module as the class that it is, or that it is derived from.
  template <class T, class = tandem::detail::enable_if_module_t<T>>
  T& get() {
    return cast<T>("get");
  }
  template <class T, class = tandem::detail::enable_if_module_t<T>>
  const T& get() const {
    return cast<T>("get");
  }
  template <class T, class ContainedType = typename T::ContainedType>
  T get() const {
    return T(ptr<ContainedType>());
  }
  std::shared_ptr<Module> ptr() const;
  template <class T, class = tandem::detail::enable_if_module_t<T>>
  std::shared_ptr<T> ptr() const {
    return std::shared_ptr<T>(module_, &cast<T>("ptr"));
  }
  const std::type_info& type_info() const;
  bool is_empty() const noexcept { return !module_; }

 private:
  void expect_module(const char* method) const;
  [[noreturn]] void wrong_class(const std::type_info& wanted) const;
  template <class T>
  T& cast(const char* method) const {
    expect_module(method);
    T* module = dynamic_cast<T*>(module_.get());
    if (!module) wrong_class(typeid(T));
    return *module;
  }

  std::shared_ptr<Module> module_;
  const detail::AnyModuleClass* class_ = nullptr;
};

}  // namespace tandem::nn
