#pragma once

#include <string>

#include "tandem/io/safetensors.h"

namespace tandem {

namespace io {

/// Reads a tensor in NumPy's npy format; it shares the memory where it can. `what` begins the
/// messages.
Tensor read_npy(char* data, size_t size, std::shared_ptr<const void> owner,
                const std::string& what);
void write_npy(const Tensor& t, const Sink& sink);

void save_npz(const NamedTensors& tensors, const std::string& path);

}  // namespace io

/// A tensor in a file of NumPy's, as np.save writes it. Loaded ones lie in the mapped file.
/// bfloat16, which NumPy does not have, is written as float32.
void save_npy(const Tensor& t, const std::string& path);
Tensor load_npy(const std::string& path);

/// Several tensors with names in one file, as np.savez writes it. Files of np.savez_compressed are
/// read too.
inline void save_npz(const TensorDict& tensors, const std::string& path) {
  io::save_npz(io::named_tensors(tensors), path);
}
template <class Dict>
void save_npz(const Dict& tensors, const std::string& path) {
  io::save_npz(io::named_tensors(tensors), path);
}
TensorDict load_npz(const std::string& path);

}  // namespace tandem
