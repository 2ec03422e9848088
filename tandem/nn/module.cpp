#include "tandem/nn/module.h"

#include <cxxabi.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <ostream>
#include <sstream>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include "tandem/autograd/clear_grad.h"
#include "tandem/base/warning.h"
#include "tandem/ops/copy.h"

namespace tandem::nn {

namespace {

std::string join_name(const std::string& prefix, const std::string& name) {
  if (prefix.empty()) return name;
  return prefix + "." + name;
}

void expect_name(const char* what, const std::string& name) {
  TANDEM_CHECK(!name.empty(), what, " name must not be empty");
  TANDEM_CHECK(name.find('.') == std::string::npos, what, " name must not contain a dot (got '",
               name, "')");
}

void insert_defined(OrderedDict<std::string, Tensor>& all, const std::string& prefix,
                    const OrderedDict<std::string, Tensor>& tensors) {
  for (const auto& item : tensors)
    if (item->defined()) all.insert(join_name(prefix, item.key()), item.value());
}

}  // namespace

std::string detail::demangle(const char* mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : mangled;
  std::free(text);
  return result;
}

Module::Module() = default;
Module::Module(std::string name) : name_(std::move(name)) {}

// A child has one parent, the module it can be found through. Copies leave it with the original:
// clone() makes a copy first and gives it children of its own afterwards.
Module::Module(const Module& other)
    : std::enable_shared_from_this<Module>(other),
      parameters_(other.parameters_),
      buffers_(other.buffers_),
      children_(other.children_),
      name_(other.name_),
      is_training_(other.is_training_) {}

Module::Module(Module&& other)
    : std::enable_shared_from_this<Module>(other),
      parameters_(std::move(other.parameters_)),
      buffers_(std::move(other.buffers_)),
      children_(std::move(other.children_)),
      name_(std::move(other.name_)),
      is_training_(other.is_training_) {
  other.children_.clear();
  adopt_children();
}

Module& Module::operator=(const Module& other) {
  if (this == &other) return *this;
  disown_children();
  parameters_ = other.parameters_;
  buffers_ = other.buffers_;
  children_ = other.children_;
  name_ = other.name_;
  is_training_ = other.is_training_;
  return *this;
}

Module& Module::operator=(Module&& other) {
  if (this == &other) return *this;
  disown_children();
  parameters_ = std::move(other.parameters_);
  buffers_ = std::move(other.buffers_);
  children_ = std::move(other.children_);
  other.children_.clear();
  name_ = std::move(other.name_);
  is_training_ = other.is_training_;
  adopt_children();
  return *this;
}

Module::~Module() { disown_children(); }

void Module::adopt_children() {
  for (auto& child : children_)
    if (child.value()) child.value()->parent_ = this;
}

void Module::disown_children() {
  for (auto& child : children_)
    if (child.value() && child.value()->parent_ == this) child.value()->parent_ = nullptr;
}

namespace {
constexpr std::string_view kNamespace = "tandem::nn::";
std::atomic<const char*> g_printed_namespace{kNamespace.data()};
}  // namespace

void set_printed_namespace(const char* prefix) { g_printed_namespace = prefix; }

const std::string& Module::name() const noexcept {
  if (name_) return *name_;
  // One text for each class, kept for good: modules are many, classes are few.
  static std::mutex mutex;
  static auto& names = *new std::unordered_map<std::type_index, std::string>;
  const std::lock_guard lock(mutex);
  std::string& text = names[std::type_index(typeid(*this))];
  if (text.empty()) {
    text = detail::demangle(typeid(*this).name());
    if (text.starts_with(kNamespace)) text.replace(0, kNamespace.size(), g_printed_namespace);
  }
  return text;
}

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  TANDEM_CHECK_AS(NotImplementedError, false, "clone() has not been implemented for ", name(),
                  ". Subclass tandem::nn::Cloneable<", name(),
                  "> instead of tandem::nn::Module to inherit the ability to clone.");
}

void Module::forget_members() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
}

namespace {

void expect_as_many(bool same, const char* what, const char* how) {
  TANDEM_CHECK(same, "The cloned module does not have the same number of ", what,
               " as the original module after calling reset(). Are you sure you called ", how,
               "() inside reset() and not the constructor?");
}

void copy_tensors(const OrderedDict<std::string, Tensor>& from,
                  OrderedDict<std::string, Tensor>& to, const std::optional<Device>& device,
                  const char* what, const char* how) {
  expect_as_many(from.size() == to.size(), what, how);
  for (const auto& item : from) {
    const Tensor& source = item.value();
    if (!source.defined()) continue;
    const Tensor values = source.detach();
    Tensor& copy = to[item.key()];
    const Tensor data = device && source.device() != *device ? values.to(*device) : values.clone();
    if (copy.defined()) {
      copy.set_requires_grad(false);  // the values may be integers by now
      copy.set_data(data);
    } else {
      copy = data;
    }
    copy.set_requires_grad(source.requires_grad());
  }
}

}  // namespace

void Module::copy_members(Module& copy, const std::optional<Device>& device) const {
  copy_tensors(parameters_, copy.parameters_, device, "parameters", "register_parameter");
  copy_tensors(buffers_, copy.buffers_, device, "buffers", "register_buffer");
  expect_as_many(copy.children_.size() == children_.size(), "child modules", "register_module");
  for (const auto& child : children_) copy.children_[child.key()]->clone_(*child.value(), device);
}

void Module::clone_(Module& other, const std::optional<Device>&) {
  TANDEM_CHECK_AS(NotImplementedError, false, "a module that contains a ", name(),
                  " cannot be cloned: clone() has not been implemented for ", other.name(),
                  ". Subclass tandem::nn::Cloneable<", name(), "> instead of tandem::nn::Module.");
}

void Module::apply(const ModuleApplyFunction& function) {
  function(*this);
  apply_to_submodules(
      [&](const std::string&, const std::shared_ptr<Module>& module) { function(*module); }, {});
}

void Module::apply(const ConstModuleApplyFunction& function) const {
  function(*this);
  apply_to_submodules(
      [&](const std::string&, const std::shared_ptr<Module>& module) { function(*module); }, {});
}

void Module::apply(const NamedModuleApplyFunction& function, const std::string& name_prefix) {
  function(name_prefix, *this);
  apply_to_submodules([&](const std::string& name,
                          const std::shared_ptr<Module>& module) { function(name, *module); },
                      name_prefix);
}

void Module::apply(const ConstNamedModuleApplyFunction& function,
                   const std::string& name_prefix) const {
  function(name_prefix, *this);
  apply_to_submodules([&](const std::string& name,
                          const std::shared_ptr<Module>& module) { function(name, *module); },
                      name_prefix);
}

void Module::apply(const ModulePointerApplyFunction& function) const {
  function(shared_from_this_checked());
  apply_to_submodules(
      [&](const std::string&, const std::shared_ptr<Module>& module) { function(module); }, {});
}

void Module::apply(const NamedModulePointerApplyFunction& function,
                   const std::string& name_prefix) const {
  function(name_prefix, shared_from_this_checked());
  apply_to_submodules(function, name_prefix);
}

void Module::apply_to_submodules(const NamedModulePointerApplyFunction& function,
                                 const std::string& name_prefix) const {
  for (const auto& child : children_) {
    const std::string name = join_name(name_prefix, child.key());
    function(name, child.value());
    child.value()->apply_to_submodules(function, name);
  }
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  return named_parameters(recurse).values();
}

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<std::string, Tensor> all("Parameter");
  insert_defined(all, {}, parameters_);
  if (recurse)
    apply_to_submodules(
        [&](const std::string& name, const std::shared_ptr<Module>& module) {
          insert_defined(all, name, module->parameters_);
        },
        {});
  return all;
}

std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  OrderedDict<std::string, Tensor> all("Buffer");
  insert_defined(all, {}, buffers_);
  if (recurse)
    apply_to_submodules(
        [&](const std::string& name, const std::shared_ptr<Module>& module) {
          insert_defined(all, name, module->buffers_);
        },
        {});
  return all;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  std::vector<std::shared_ptr<Module>> all;
  if (include_self) all.push_back(shared_from_this_checked());
  apply_to_submodules(
      [&](const std::string&, const std::shared_ptr<Module>& module) { all.push_back(module); },
      {});
  return all;
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(
    const std::string& name_prefix, bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> all("Submodule");
  if (include_self) all.insert(name_prefix, shared_from_this_checked());
  apply_to_submodules([&](const std::string& name,
                          const std::shared_ptr<Module>& module) { all.insert(name, module); },
                      name_prefix);
  return all;
}

std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const {
  return children_;
}

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  is_training_ = on;
}

void Module::eval() { train(false); }

bool Module::is_training() const noexcept { return is_training_; }

namespace {

void expect_convertible(const Module& module, DType dtype) {
  if (is_floating(dtype)) return;
  for (const auto& item : module.named_parameters())
    TANDEM_CHECK_TYPE(!item->requires_grad(), "to: parameter '", item.key(),
                      "' requires gradients, so it cannot become ", dtype,
                      "; only floating point values can have them");
}

}  // namespace

template <class... Ts>
void Module::to_impl(const Ts&... ts) {
  for (auto& child : children_) child.value()->to(ts...);
  for (auto* tensors : {&parameters_, &buffers_})
    for (auto& item : *tensors)
      if (item->defined()) item->set_data(item->detach().to(ts...));
}

void Module::to(Device device, DType dtype, bool non_blocking) {
  expect_convertible(*this, dtype);
  to_impl(device, dtype, non_blocking);
}
void Module::to(DType dtype, bool non_blocking) {
  expect_convertible(*this, dtype);
  to_impl(dtype, non_blocking);
}
void Module::to(Device device, bool non_blocking) { to_impl(device, non_blocking); }

void Module::zero_grad(bool set_to_none) {
  for (auto& child : children_) child.value()->zero_grad(set_to_none);
  for (auto& item : parameters_)
    if (item->defined()) autograd::clear_grad(*item, set_to_none);
}

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  expect_name("Parameter", name);
  if (tensor.defined())
    tensor.set_requires_grad(requires_grad);
  else if (requires_grad)
    TANDEM_WARN("An undefined tensor cannot require grad. ",
                "Ignoring the `requires_grad=true` function parameter.");
  parts_.changed();
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  expect_name("Buffer", name);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  expect_name("Submodule", name);
  TANDEM_CHECK(module, "register_module: the module for '", name, "' is null");
  children_.insert(std::move(name), module);
  module->parent_ = this;
  parts_.changed();
}

void Module::replace_child(const std::string& name, std::shared_ptr<Module> module) {
  std::shared_ptr<Module>& place = children_[name];
  TANDEM_CHECK(module, "replace_module: the module for '", name, "' is null");
  if (place->parent_ == this) place->parent_ = nullptr;
  place = module;
  parts_.changed();
  // Also for what was replaced, if it is registered under another name too.
  adopt_children();
}

void Module::unregister_module(const std::string& name) {
  const std::shared_ptr<Module>* module = children_.find(name);
  TANDEM_CHECK_INDEX(module, "No Module with name `", name, "` is registered");
  if ((*module)->parent_ == this) (*module)->parent_ = nullptr;
  children_.erase(name);
  parts_.changed();
  adopt_children();
}

unsigned int Module::_forward_num_required_args() {
  TANDEM_CHECK(false, "Module subclass ", name(),
               " that has default arguments in `forward` method must override "
               "`_forward_num_required_args` method. Please use `FORWARD_HAS_DEFAULT_ARGS` macro "
               "to do so.");
}

std::vector<AnyValue> Module::_forward_populate_default_args(std::vector<AnyValue>&&) {
  TANDEM_CHECK(false, "Module subclass ", name(),
               " that has default arguments in `forward` method must override "
               "`_forward_populate_default_args` method. Please use `FORWARD_HAS_DEFAULT_ARGS` "
               "macro to do so.");
}

std::shared_ptr<Module> Module::shared_from_this_checked() const {
  std::shared_ptr<const Module> self = weak_from_this().lock();
  TANDEM_CHECK(self,
               "It looks like you attempted to retrieve your top-level module as a shared_ptr, but "
               "it is not stored in a shared_ptr. Use std::make_shared<",
               name(), "> instead of creating your module on the stack, or call modules() with ",
               "include_self = false");
  return std::const_pointer_cast<Module>(self);
}

// -- printing -----------------------------------------------------------------------------------

namespace {

/// "Linear" for "tandem::nn::LinearImpl".
std::string short_name(const std::string& name) {
  // The last :: outside of template arguments and of the signature of an enclosing function.
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (depth == 0 && c == ':' && i + 1 < name.size() && name[i + 1] == ':') begin = i + 2;
  }
  std::string text = name.substr(begin);
  constexpr std::string_view kImpl = "Impl";
  if (text.size() > kImpl.size() && text.ends_with(kImpl)) text.resize(text.size() - kImpl.size());
  return text;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, PrintedName name) {
  return stream << g_printed_namespace.load() << name.name;
}

void Module::pretty_print(std::ostream& stream) const { stream << name(); }

void Module::pretty_print_recursive(std::ostream& stream, const std::string& indentation) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  stream << "(\n";
  const std::string deeper = indentation + "  ";
  for (const auto& child : children_) {
    stream << deeper << '(' << child.key() << "): ";
    child.value()->pretty_print_recursive(stream, deeper);
    stream << '\n';
  }
  stream << indentation << ')';
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.pretty_print_recursive(stream, {});
  return stream;
}

std::string Module::path() const {
  // What a module prints of itself, without the namespace of Tandem's own.
  std::ostringstream printed;
  pretty_print(printed);
  std::string text = printed.str();
  const std::string_view prefix = g_printed_namespace.load();
  if (text.starts_with(prefix))
    text.erase(0, prefix.size());
  else if (text == name())
    text = short_name(text);
  // Modules that contain each other would make a path without an end.
  constexpr int kDeepest = 100;
  const Module* module = this;
  for (int depth = 0; module->parent_ && depth < kDeepest; ++depth) {
    const Module* parent = module->parent_;
    for (const auto& child : parent->children_)
      if (child.value().get() == module) {
        text.insert(0, str(" -> ", child.key(), ": "));
        break;
      }
    text.insert(0, short_name(parent->name()));
    module = parent;
  }
  return text;
}

std::string ForwardScope::text() const {
  // The path of the innermost module names all above it that registered it. Those that are running
  // around it without having registered it come before.
  std::string text = module_.path();
  const Module* top = &module_;
  for (const ErrorContext* c = outer(); c; c = c->outer()) {
    const auto* scope = dynamic_cast<const ForwardScope*>(c);
    if (!scope) continue;
    constexpr int kDeepest = 100;
    bool named = false;
    const Module* module = top;
    for (int depth = 0; module && !named && depth < kDeepest; ++depth, module = module->parent_)
      named = module == &scope->module_;
    if (named) continue;
    text.insert(0, scope->module_.path() + " -> ");
    top = &scope->module_;
  }
  return " (in " + text + ")";
}

}  // namespace tandem::nn
