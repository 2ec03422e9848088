#include "tandem/serialize/archive.h"

#include "tandem/autograd/autograd.h"
#include "tandem/ops/copy.h"

namespace tandem::serialize {
namespace {

void copy_below(const Entry& from, Entry& to) {
  for (const auto& e : from.children) {
    Entry& c = to.child(e->key);
    c.value = e->value;
    c.is_buffer = e->is_buffer;
    copy_below(*e, c);
  }
}

}  // namespace

Entry* Entry::find(const std::string& name) const {
  for (const auto& c : children)
    if (c->key == name) return c.get();
  return nullptr;
}

Entry& Entry::child(const std::string& name) {
  if (Entry* c = find(name)) return *c;
  children.push_back(std::make_unique<Entry>());
  children.back()->key = name;
  return *children.back();
}

void OutputArchive::write(const std::string& key, const IValue& value) {
  root_->child(key).value = value;
}

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool is_buffer) {
  Entry& e = root_->child(key);
  e.value = IValue(tensor);
  e.is_buffer = is_buffer;
}

void OutputArchive::write(const std::string& key, OutputArchive& nested) {
  copy_below(*nested.root_, root_->child(key));
}

void InputArchive::missing(const std::string& key, const char* kind) const {
  detail::raise<Error>(
      str("No such serialized ", kind, " '", path_, path_.empty() ? "" : ".", key, "'"));
}

bool InputArchive::try_read(const std::string& key, IValue& value) {
  const Entry* e = here_->find(key);
  if (!e || !e->value) return false;
  value = *e->value;
  return true;
}

void InputArchive::read(const std::string& key, IValue& value) {
  TANDEM_CHECK(try_read(key, value), "The archive", path_.empty() ? "" : " below '" + path_ + "'",
               " does not have a field with name '", key, "'");
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) {
  const Entry* e = here_->find(key);
  if (!e || !e->value || !(e->value->isTensor() || e->value->isNone())) return false;
  const Tensor loaded = e->value->isTensor() ? e->value->toTensor() : Tensor();
  if (!tensor.defined() || !loaded.defined()) {
    tensor = loaded;
    return true;
  }
  const NoGradGuard no_grad;
  if (tensor.sizes() == loaded.sizes() && tensor.scalar_type() == loaded.scalar_type()) {
    tensor.copy_(loaded);
  } else {
    tensor.set_data(loaded);
  }
  return true;
}

void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) {
  if (!try_read(key, tensor, is_buffer)) missing(key, "tensor");
}

bool InputArchive::try_read(const std::string& key, InputArchive& archive) {
  Entry* e = here_->find(key);
  if (!e || (e->children.empty() && e->value)) return false;
  archive.root_ = root_;
  archive.path_ = path_.empty() ? key : path_ + "." + key;
  archive.here_ = e;
  return true;
}

void InputArchive::read(const std::string& key, InputArchive& archive) {
  if (!try_read(key, archive)) missing(key, "submodule:");
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> names;
  for (const auto& e : here_->children) names.push_back(e->key);
  return names;
}

}  // namespace tandem::serialize
