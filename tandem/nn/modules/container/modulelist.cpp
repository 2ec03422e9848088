#include "tandem/nn/modules/container/modulelist.h"

#include <ostream>

namespace tandem::nn {

std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  copy->train(is_training());
  for (const auto& module : modules_) copy->push_back(module->clone(device));
  return copy;
}

void ModuleListImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"ModuleList"};
}

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}

void ModuleListImpl::insert(size_t index, std::shared_ptr<Module> module) {
  TANDEM_CHECK_INDEX(index <= size(), "Index out of range: ", index, " in a ModuleList of ", size(),
                     " modules");
  TANDEM_CHECK(module, "ModuleList: the module to insert is null");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), module);
  for (size_t i = index; i + 1 < size(); ++i) replace_module(std::to_string(i), modules_[i]);
  register_module(std::to_string(size() - 1), modules_.back());
}

std::shared_ptr<Module> ModuleListImpl::ptr(size_t index) const {
  TANDEM_CHECK_INDEX(index < size(), "Index out of range: ", index, " in a ModuleList of ", size(),
                     " modules");
  return modules_[index];
}

}  // namespace tandem::nn
