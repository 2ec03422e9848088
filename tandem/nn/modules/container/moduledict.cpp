#include "tandem/nn/modules/container/moduledict.h"

#include <ostream>

namespace tandem::nn {

std::shared_ptr<Module> ModuleDictImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  copy->train(is_training());
  for (const auto& item : modules_) copy->insert(item.key(), item.value()->clone(device));
  return copy;
}

void ModuleDictImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"ModuleDict"};
}

void ModuleDictImpl::insert(const std::string& key, std::shared_ptr<Module> module) {
  if (contains(key)) {
    modules_[key] = replace_module(key, std::move(module));
  } else {
    register_module(key, module);
    modules_.insert(key, std::move(module));
  }
}

void ModuleDictImpl::clear() {
  for (const auto& item : modules_) unregister_module(item.key());
  modules_.clear();
}

std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  const std::shared_ptr<Module> module = modules_[key];
  unregister_module(key);
  modules_.erase(key);
  return module;
}

}  // namespace tandem::nn
