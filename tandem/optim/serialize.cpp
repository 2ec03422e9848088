// Optimisers in archives.
#include <algorithm>

#include "tandem/base/warning.h"
#include "tandem/ops/ops.h"
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

// -- LibTorch's first format --------------------------------------------------------------------
//
// Before version 1.5 LibTorch saved a list for each thing that is remembered, with an element for
// each parameter: "sum_buffers/size", "sum_buffers/0", ...; options were not saved.

struct OldList {
  const char* optimizer;
  const char* list;
  const char* field;
};
constexpr OldList kOldLists[] = {
    {"SGD", "momentum_buffers", "momentum_buffer"},
    {"Adagrad", "step_buffers", "step"},
    {"Adagrad", "sum_buffers", "sum"},
    {"Adam", "step_buffers", "step"},
    {"Adam", "exp_average_buffers", "exp_avg"},
    {"Adam", "exp_average_sq_buffers", "exp_avg_sq"},
    {"Adam", "max_exp_average_sq_buffers", "max_exp_avg_sq"},
    {"AdamW", "step_buffers", "step"},
    {"AdamW", "exp_average_buffers", "exp_avg"},
    {"AdamW", "exp_average_sq_buffers", "exp_avg_sq"},
    {"AdamW", "max_exp_average_sq_buffers", "max_exp_avg_sq"},
    {"RMSprop", "square_average_buffers", "square_avg"},
    {"RMSprop", "momentum_buffers", "momentum_buffer"},
    {"RMSprop", "grad_average_buffers", "grad_avg"},
};

std::vector<Tensor> read_old_list(InputArchive& archive, const std::string& key) {
  Tensor size;
  std::vector<Tensor> list;
  if (!archive.try_read(key + "/size", size) && !archive.try_read(key + "/size", size, true))
    return list;
  for (Tensor t; archive.try_read(str(key, '/', list.size()), t, /*is_buffer=*/true); t = {})
    list.push_back(t);
  TANDEM_CHECK(size.numel() == 1 && size.item<int64_t>() == static_cast<int64_t>(list.size()),
               "Optimizer: the archive holds ", list.size(), " of the ", key, ", but promises ",
               size);
  return list;
}

Scalar read_old_number(InputArchive& archive, const char* key) {
  Tensor t;
  archive.read(key, t, /*is_buffer=*/true);
  TANDEM_CHECK(t.numel() == 1, "Optimizer: '", key, "' in the archive has the shape ", t.sizes(),
               ", expected one number");
  return t.item();
}

// What LBFGS remembers is about all parameters at once.
void read_old_lbfgs(InputArchive& archive, OptimizerState& state) {
  for (const char* key : {"d", "H_diag", "prev_flat_grad"})
    if (Tensor t; archive.try_read(key, t, /*is_buffer=*/true) && t.defined())
      state.tensors.emplace_back(str("state.0.", key), t);
  for (const char* key : {"t", "prev_loss"})
    state.numbers.emplace_back(str("state.0.", key), read_old_number(archive, key));
  const auto dirs = read_old_list(archive, "old_dirs"), steps = read_old_list(archive, "old_stps");
  TANDEM_CHECK(dirs.size() == steps.size(), "Optimizer: the archive holds ", dirs.size(),
               " old_dirs, but ", steps.size(), " old_stps");
  for (size_t i = 0; i < dirs.size(); ++i) {
    state.tensors.emplace_back(str("state.0.old_dirs.", i), dirs[i]);
    state.tensors.emplace_back(str("state.0.old_stps.", i), steps[i]);
    state.tensors.emplace_back(str("state.0.ro.", i), dirs[i].dot(steps[i]).reciprocal());
  }
  // Not kept then; they count calls and say that there was a first step.
  for (const char* key : {"func_evals", "n_iter"})
    state.numbers.emplace_back(str("state.0.", key), int64_t{1});
}

/// `now` gives the options; false: the archive is not of that format.
bool read_old_format(InputArchive& archive, OptimizerState& now) {
  std::erase_if(now.numbers, [](const auto& n) { return n.first.starts_with("state."); });
  now.tensors.clear();
  const auto keys = archive.keys();
  const auto has = [&](const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  if (now.optimizer == "LBFGS") {
    if (!has("prev_flat_grad")) return false;
    read_old_lbfgs(archive, now);
    return true;
  }
  bool any = false;
  size_t parameters = 0;
  for (const OldList& old : kOldLists) {
    if (now.optimizer != old.optimizer || !has(str(old.list, "/size"))) continue;
    any = true;
    const auto list = read_old_list(archive, old.list);
    parameters = std::max(parameters, list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string name = str("state.", i, ".", old.field);
      if (std::string_view(old.field) == "step") {
        TANDEM_CHECK(list[i].numel() == 1, "Optimizer: '", old.list,
                     "' in the archive has the shape ", list[i].sizes(), ", expected one number");
        now.numbers.emplace_back(name, list[i].item());
      } else {
        now.tensors.emplace_back(name, list[i]);
      }
    }
  }
  // These two did not count their steps. Whatever is remembered comes from one at least.
  const char* counter = now.optimizer == "SGD"       ? "steps"
                        : now.optimizer == "RMSprop" ? "step"
                                                     : nullptr;
  for (size_t i = 0; counter && i < parameters; ++i)
    now.numbers.emplace_back(str("state.", i, ".", counter), int64_t{1});
  return any;
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
  if (!archive.try_read(kName, name)) {
    OptimizerState state = state_dict();
    TANDEM_CHECK(read_old_format(archive, state),
                 "Optimizer: the archive does not hold an optimizer, or not ", this->name());
    TANDEM_WARN(
        "Optimizer: the archive has LibTorch's old serialization format, which does not hold the "
        "options; save it again");
    return load_state_dict(state);
  }
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
