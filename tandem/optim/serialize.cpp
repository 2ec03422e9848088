// Optimisers in archives.
#include "tandem/optim/optimizer.h"
#include "tandem/serialize/archive.h"

namespace tandem::optim {
namespace {

using serialize::InputArchive;
using serialize::OutputArchive;

constexpr const char* kName = "optimizer";

// "groups.0.lr" goes to "lr" below "0" below "groups".
void put(OutputArchive& archive, const std::string& name, const IValue& value) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return archive.write(name, value);
  OutputArchive below;
  put(below, name.substr(dot + 1), value);
  archive.write(name.substr(0, dot), below);
}

void collect(InputArchive& archive, const std::string& prefix, OptimizerState& state) {
  for (const std::string& key : archive.keys()) {
    IValue value;
    if (archive.try_read(key, value)) {
      if (value.isTensor())
        state.tensors.emplace_back(prefix + key, value.toTensor());
      else if (value.isScalar())
        state.numbers.emplace_back(prefix + key, value.toScalar());
      else
        TANDEM_CHECK(key == kName && prefix.empty(), "Optimizer: '", prefix, key,
                     "' in the archive is neither a tensor nor a number");
    }
    InputArchive below;
    if (archive.try_read(key, below)) collect(below, prefix + key + ".", state);
  }
}

}  // namespace

void Optimizer::save(OutputArchive& archive) const {
  const OptimizerState state = state_dict();
  archive.write(kName, IValue(state.optimizer));
  for (const auto& [name, value] : state.numbers) put(archive, name, IValue(value));
  for (const auto& [name, value] : state.tensors) put(archive, name, IValue(value));
}

void Optimizer::load(InputArchive& archive) {
  IValue name;
  archive.read(kName, name);
  TANDEM_CHECK(name.isString(), "Optimizer: the archive does not hold an optimizer");
  OptimizerState state;
  state.optimizer = name.toStringRef();
  collect(archive, "", state);
  load_state_dict(state);
}

OutputArchive& operator<<(OutputArchive& archive, const Optimizer& optimizer) {
  optimizer.save(archive);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, Optimizer& optimizer) {
  optimizer.load(archive);
  return archive;
}

}  // namespace tandem::optim
