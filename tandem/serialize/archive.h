#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/tensor.h"

/// Values by name, and values within values: what modules, optimisers and samplers save themselves
/// to. An archive is a tree in memory; it knows nothing of files but how to ask for one to be
/// written (io/archive.cpp). Names and behaviour are LibTorch's.
namespace tandem::serialize {

/// One name of an archive: a value, more names below it, or both.
struct Entry {
  std::string key;
  std::optional<IValue> value;
  bool is_buffer = false;
  std::vector<std::unique_ptr<Entry>> children;  // in the order they were written

  Entry* find(const std::string& name) const;
  Entry& child(const std::string& name);
};

class OutputArchive {
 public:
  OutputArchive() : root_(std::make_shared<Entry>()) {}
  OutputArchive(OutputArchive&&) = default;
  OutputArchive& operator=(OutputArchive&&) = default;

  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  /// Everything in the other archive, below the key.
  void write(const std::string& key, OutputArchive& nested);
  template <class... Ts>
  void operator()(Ts&&... ts) {
    write(std::forward<Ts>(ts)...);
  }

  /// To a file, which is replaced as a whole; to a stream; or piece by piece to a function, which
  /// returns how much it has taken.
  void save_to(const std::string& filename);
  void save_to(std::ostream& stream);
  void save_to(const std::function<size_t(const void*, size_t)>& function);

  const Entry& root() const { return *root_; }

 private:
  std::shared_ptr<Entry> root_;
};

class InputArchive {
 public:
  InputArchive() : root_(std::make_shared<Entry>()), here_(root_.get()) {}
  InputArchive(InputArchive&&) = default;
  InputArchive& operator=(InputArchive&&) = default;

  /// The value of that name; read throws and try_read returns false where there is none.
  void read(const std::string& key, IValue& value);
  bool try_read(const std::string& key, IValue& value);
  /// A tensor that is defined already keeps its identity and gets the values.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  /// What lies below the key.
  void read(const std::string& key, InputArchive& archive);
  bool try_read(const std::string& key, InputArchive& archive);
  template <class... Ts>
  void operator()(Ts&&... ts) {
    read(std::forward<Ts>(ts)...);
  }
  std::vector<std::string> keys() const;

  /// Nothing of the archive changes if what is loaded is not whole.
  void load_from(const std::string& filename, std::optional<Device> device = std::nullopt);
  void load_from(std::istream& stream, std::optional<Device> device = std::nullopt);
  void load_from(const char* data, size_t size, std::optional<Device> device = std::nullopt);
  void load_from(const std::function<size_t(uint64_t pos, void* buffer, size_t bytes)>& read,
                 const std::function<size_t()>& size, std::optional<Device> device = std::nullopt);

  const Entry& root() const { return *here_; }

 private:
  void load(char* data, size_t size, std::shared_ptr<const void> owner, const std::string& what,
            std::optional<Device> device);
  [[noreturn]] void missing(const std::string& key, const char* kind) const;

  std::shared_ptr<Entry> root_;  // of the whole archive
  Entry* here_;
  std::string path_;  // of `here_` within it, for messages
};

inline OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) {
  archive.write("0", tensor);
  return archive;
}
inline InputArchive& operator>>(InputArchive& archive, Tensor& tensor) {
  archive.read("0", tensor);
  return archive;
}

}  // namespace tandem::serialize

namespace tandem {

using serialize::operator<<;
using serialize::operator>>;

/// Saves a tensor, a module or an optimiser: save(net, "net.pt"), or to a stream.
template <class Value, class... To>
void save(const Value& value, To&&... to) {
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<To>(to)...);
}
template <class... To>
void save(const std::vector<Tensor>& tensors, To&&... to) {
  serialize::OutputArchive archive;
  for (size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
  archive.save_to(std::forward<To>(to)...);
}

/// Loads what save() saved.
template <class Value, class... From>
void load(Value& value, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  archive >> value;
}
template <class... From>
void load(std::vector<Tensor>& tensors, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  Tensor t;
  for (size_t i = 0; archive.try_read(std::to_string(i), t); ++i)
    tensors.push_back(std::exchange(t, {}));
}

}  // namespace tandem
