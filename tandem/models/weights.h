#pragma once

#include <string>
#include <vector>

#include "tandem/io/safetensors.h"
#include "tandem/nn/module.h"

namespace tandem::models {

/// What load_weights found out.
struct LoadReport {
  int64_t loaded = 0;  // how many tensors were taken from the file
  /// Parameters and buffers of the module that the file does not have; they stay as they were.
  std::vector<std::string> missing;
  /// Tensors of the file that the module has no place for.
  std::vector<std::string> unexpected;
};

/// Implemented by networks whose weights are found in files under more than one set of names.
class WeightNames {
 public:
  virtual ~WeightNames() = default;
  /// The tensors of a file under the network's own names; what is no weight is left out. Throws
  /// FileError, with `what` in front, if they cannot belong to this network.
  virtual TensorDict own_names(TensorDict file, const std::string& what) const = 0;
};

/// Fills the parameters and buffers of a module from a safetensors file with the same names: those
/// that torchvision and Hugging Face give the networks of this folder. With `strict` the names must
/// be the same on both sides; without, what both sides have is loaded. Shapes must always agree.
/// Floats are converted to the module's dtype. num_batches_tracked, which older files do not have,
/// may be missing, and "module." in front of every name is taken off.
///
/// Everything is checked first: when something does not fit, a FileError lists all of it and the
/// module is as it was. Values are written in place, so optimisers and compiled functions that know
/// the parameters see the new ones.
LoadReport load_weights(nn::Module& module, const std::string& path, bool strict = true);

/// Writes all parameters and buffers to a safetensors file under their names.
void save_weights(const nn::Module& module, const std::string& path,
                  const io::Metadata& metadata = {});

// The same for holders and other pointers to modules.
template <class Net>
requires requires(Net& net) { *net.ptr(); }
LoadReport load_weights(Net& net, const std::string& path, bool strict = true) {
  return load_weights(static_cast<nn::Module&>(*net.ptr()), path, strict);
}
template <class Net>
requires requires(const Net& net) { *net.ptr(); }
void save_weights(const Net& net, const std::string& path, const io::Metadata& metadata = {}) {
  save_weights(static_cast<const nn::Module&>(*net.ptr()), path, metadata);
}
template <class Net>
requires std::is_base_of_v<nn::Module, Net> LoadReport load_weights(const std::shared_ptr<Net>& net,
                                                                    const std::string& path,
                                                                    bool strict = true) {
  TANDEM_CHECK(net, "load_weights: the module is null");
  return load_weights(static_cast<nn::Module&>(*net), path, strict);
}
template <class Net>
requires std::is_base_of_v<nn::Module, Net>
void save_weights(const std::shared_ptr<Net>& net, const std::string& path,
                  const io::Metadata& metadata = {}) {
  TANDEM_CHECK(net, "save_weights: the module is null");
  save_weights(static_cast<const nn::Module&>(*net), path, metadata);
}

}  // namespace tandem::models
