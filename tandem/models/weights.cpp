#include "tandem/models/weights.h"

#include <algorithm>
#include <sstream>

#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

/// A counter that older files do not have, and that some networks do not keep.
bool is_batch_counter(const std::string& name) { return name.ends_with("num_batches_tracked"); }

/// Networks that were wrapped for training on several devices are saved with this before each name.
TensorDict without_wrapper(TensorDict file) {
  const std::string prefix = "module.";
  const auto wrapped = [&](const auto& item) { return item.first.starts_with(prefix); };
  if (file.empty() || !std::all_of(file.begin(), file.end(), wrapped)) return file;
  TensorDict plain;
  for (auto& [name, tensor] : file) plain.emplace(name.substr(prefix.size()), std::move(tensor));
  return plain;
}

/// Parameters and buffers; a name that both have is the parameter's.
io::NamedTensors state_of(const nn::Module& module) {
  io::NamedTensors state = io::named_tensors(module.named_parameters());
  for (auto& item : io::named_tensors(module.named_buffers())) state.push_back(std::move(item));
  return state;
}

/// Some names, and how many more there are.
void list(std::ostream& out, const char* what, const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  if (names.empty()) return;
  out << "\n  " << what << " (" << names.size() << "):";
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) out << (i ? ", " : " ") << names[i];
  if (names.size() > kMost) out << ", and " << names.size() - kMost << " more";
}

/// Why the values of a file cannot become those of a parameter; empty if they can.
std::string misfit(const Tensor& from, const Tensor& to) {
  if (from.sizes() != to.sizes()) return str(from.sizes(), " in the file, not ", to.sizes());
  if (is_floating(from.dtype()) != is_floating(to.dtype()))
    return str(from.dtype(), " in the file, not ", to.dtype());
  return {};
}

}  // namespace

LoadReport load_weights(nn::Module& module, const std::string& path, bool strict) {
  TensorDict file = without_wrapper(load_safetensors(path));
  if (const auto* names = dynamic_cast<const WeightNames*>(&module))
    file = names->own_names(std::move(file), path);

  LoadReport report;
  std::vector<std::string> misfits;
  std::vector<std::pair<Tensor, Tensor>> copies;  // from, to
  for (auto& [name, to] : state_of(module)) {
    const auto found = file.find(name);
    if (found == file.end()) {
      if (!is_batch_counter(name)) report.missing.push_back(name);
      continue;
    }
    const std::string why = misfit(found->second, to);
    if (why.empty())
      copies.emplace_back(found->second, to);
    else
      misfits.push_back(str(name, " is ", why));
    file.erase(found);
  }
  for (const auto& [name, tensor] : file)
    if (!is_batch_counter(name)) report.unexpected.push_back(name);

  const bool names_differ = !report.missing.empty() || !report.unexpected.empty();
  if (!misfits.empty() || (strict && names_differ)) {
    std::ostringstream why;
    list(why, "of another shape or type", misfits);
    if (strict) {
      list(why, "missing in the file", report.missing);
      list(why, "in the file, but not in the network", report.unexpected);
    }
    TANDEM_CHECK_AS(FileError, false, path, ": these are not the weights of ", module.name(), ":",
                    why.str());
  }

  const NoGradGuard no_grad;
  for (auto& [from, to] : copies) to.detach().copy_(from);
  report.loaded = static_cast<int64_t>(copies.size());
  return report;
}

void save_weights(const nn::Module& module, const std::string& path, const io::Metadata& metadata) {
  io::save_safetensors(state_of(module), path, metadata);
}

}  // namespace tandem::models
