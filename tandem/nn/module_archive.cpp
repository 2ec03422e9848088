// Modules in archives.
#include "tandem/autograd/autograd.h"
#include "tandem/nn/module.h"
#include "tandem/ops/copy.h"

namespace tandem::nn {

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& p : named_parameters(/*recurse=*/false)) archive.write(p.key(), p.value());
  for (const auto& b : named_buffers(/*recurse=*/false))
    archive.write(b.key(), b.value(), /*is_buffer=*/true);
  for (const auto& child : children_) {
    if (!child.value()->is_serializable()) continue;
    serialize::OutputArchive below;
    child.value()->save(below);
    archive.write(child.key(), below);
  }
}

// Looks at everything before anything is changed.
void Module::expect_in(serialize::InputArchive& archive, const std::string& path) const {
  const auto expect = [&](const std::string& key, const Tensor& mine, bool is_buffer) {
    Tensor loaded;
    archive.read(key, loaded, is_buffer);
    TANDEM_CHECK_SHAPE(loaded.defined() && loaded.sizes() == mine.sizes(), "load: '", path, key,
                       "' has the shape ", mine.sizes(), " in the module, but ",
                       loaded.defined() ? str(loaded.sizes()) : "none", " in the archive");
  };
  for (const auto& p : named_parameters(/*recurse=*/false)) expect(p.key(), p.value(), false);
  for (const auto& b : named_buffers(/*recurse=*/false)) expect(b.key(), b.value(), true);
  for (const auto& child : children_) {
    if (!child.value()->is_serializable()) continue;
    serialize::InputArchive below;
    archive.read(child.key(), below);
    child.value()->expect_in(below, path + child.key() + ".");
  }
}

void Module::load(serialize::InputArchive& archive) {
  expect_in(archive, "");
  const NoGradGuard no_grad;
  const auto read = [&](const std::string& key, Tensor& mine, bool is_buffer) {
    Tensor loaded;
    archive.read(key, loaded, is_buffer);
    mine.copy_(loaded);
  };
  for (auto& p : named_parameters(/*recurse=*/false)) read(p.key(), p.value(), false);
  for (auto& b : named_buffers(/*recurse=*/false)) read(b.key(), b.value(), true);
  for (const auto& child : children_) {
    if (!child.value()->is_serializable()) continue;
    serialize::InputArchive below;
    archive.read(child.key(), below);
    child.value()->load(below);
  }
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                     const std::shared_ptr<Module>& module) {
  TANDEM_CHECK(module != nullptr, "Cannot serialize empty module");
  module->save(archive);
  return archive;
}

serialize::InputArchive& operator>>(serialize::InputArchive& archive,
                                    const std::shared_ptr<Module>& module) {
  TANDEM_CHECK(module != nullptr, "Cannot deserialize empty module");
  module->load(archive);
  return archive;
}

}  // namespace tandem::nn
