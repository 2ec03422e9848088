#pragma once

#include <iosfwd>
#include <memory>
#include <type_traits>
#include <utility>

#include "tandem/base/error.h"

namespace tandem {

namespace nn {
class Module;
}

namespace detail {

/// True if a module has one method forward(), neither overloaded nor a template.
template <class T>
    struct has_forward : std::bool_constant < requires {
  &T::forward;
} > {};

template <class M>
using is_module = std::is_base_of<nn::Module, std::decay_t<M>>;
template <class M, class T = void>
using enable_if_module_t = std::enable_if_t<is_module<M>::value, T>;

/// What all holders are derived from, whatever they hold.
struct ModuleHolderIndicator {};
template <class T>
using is_module_holder = std::is_base_of<ModuleHolderIndicator, std::decay_t<T>>;
template <class T>
using disable_if_module_holder_t = std::enable_if_t<!is_module_holder<T>::value>;
template <class T, class C>
concept HolderOf =
    is_module_holder<T>::value && std::is_same_v<typename std::decay_t<T>::ContainedType, C>;

}  // namespace detail

namespace nn {

/// A module by reference: copying a holder shares the module. `Linear` is the holder of a
/// `LinearImpl`, made by TANDEM_MODULE(Linear).
///
///     Linear fc(10, 5);        // makes a LinearImpl
///     Linear later = nullptr;  // empty
///     fc->weight; fc(x);
template <class Contained>
class ModuleHolder : tandem::detail::ModuleHolderIndicator {
 protected:
  std::shared_ptr<Contained> impl_;

 public:
  using ContainedType = Contained;

  ModuleHolder() : impl_(std::make_shared<Contained>()) {
    static_assert(std::is_default_constructible_v<Contained>,
                  "You are trying to default construct a module which has no default constructor. "
                  "Use = nullptr to give it the empty state (e.g. `Linear linear = nullptr;` "
                  "instead of `Linear linear;`).");
  }
  ModuleHolder(std::nullptr_t) : impl_(nullptr) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}
  template <class Head, class... Tail>
  requires(!(tandem::detail::HolderOf<Head, Contained> &&
             sizeof...(Tail) == 0)) explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(new Contained(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}

  explicit operator bool() const noexcept { return !is_empty(); }
  bool is_empty() const noexcept { return impl_ == nullptr; }

  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }

  const std::shared_ptr<Contained>& ptr() const {
    expect_module();
    return impl_;
  }
  Contained* get() {
    expect_module();
    return impl_.get();
  }
  const Contained* get() const {
    expect_module();
    return impl_.get();
  }

  /// The module's forward().
  template <class... Args, class C = Contained>
  auto operator()(Args&&... args)
      -> decltype(std::declval<C&>().forward(std::forward<Args>(args)...));

  template <class Arg>
  decltype(auto) operator[](Arg&& arg) {
    return (*get())[std::forward<Arg>(arg)];
  }

 private:
  void expect_module() const { TANDEM_CHECK(!is_empty(), "Accessing empty ModuleHolder"); }
};

template <class M>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<M>& module) {
  return stream << *module;
}

}  // namespace nn
}  // namespace tandem

/// Makes a class Name that holds an ImplType by reference.
#define TANDEM_MODULE_IMPL(Name, ImplType)                                \
  class Name : public ::tandem::nn::ModuleHolder<ImplType> { /* NOLINT */ \
   public:                                                                \
    using ::tandem::nn::ModuleHolder<ImplType>::ModuleHolder;             \
    using Impl [[maybe_unused]] = ImplType;                               \
  }
/// The same for the usual names: TANDEM_MODULE(Net) holds a NetImpl.
#define TANDEM_MODULE(Name) TANDEM_MODULE_IMPL(Name, Name##Impl)
