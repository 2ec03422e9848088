#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/io/file.h"

namespace tandem {

/// Tensors by name.
using TensorDict = std::map<std::string, Tensor>;

namespace io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::map<std::string, std::string>;

/// Any list of names and tensors: a map, an OrderedDict such as named_parameters(), a vector of
/// pairs.
template <class Dict>
NamedTensors named_tensors(const Dict& dict) {
  NamedTensors list;
  for (const auto& item : dict) {
    if constexpr (requires { item.key(); }) {
      list.emplace_back(item.key(), item.value());
    } else {
      list.emplace_back(item.first, item.second);
    }
  }
  return list;
}

/// Writes tensors in the safetensors format.
void write_safetensors(const NamedTensors& tensors, const Metadata& metadata, const Sink& sink);

/// Reads what write_safetensors wrote. The tensors share the memory, which `owner` keeps alive,
/// wherever they are aligned in it. `what` begins the messages of errors.
NamedTensors read_safetensors(char* data, size_t size, std::shared_ptr<const void> owner,
                              const std::string& what, Metadata* metadata = nullptr);

void save_safetensors(const NamedTensors& tensors, const std::string& path,
                      const Metadata& metadata);

}  // namespace io

/// Saves tensors with their names to a file in the safetensors format, which other frameworks read.
/// The file is replaced as a whole: whoever opens it sees the old contents or the new ones.
inline void save_safetensors(const TensorDict& tensors, const std::string& path,
                             const io::Metadata& metadata = {}) {
  io::save_safetensors(io::named_tensors(tensors), path, metadata);
}
template <class Dict>
void save_safetensors(const Dict& tensors, const std::string& path,
                      const io::Metadata& metadata = {}) {
  io::save_safetensors(io::named_tensors(tensors), path, metadata);
}

/// The tensors of a safetensors file. They lie in the mapped file: what is not used is not read. A
/// file that is not whole, or that does not keep to the format, is a FileError that says where.
TensorDict load_safetensors(const std::string& path, io::Metadata* metadata = nullptr);

}  // namespace tandem
