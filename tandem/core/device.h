#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace tandem {

/// Where tensors may live. Some are names only: see is_available.
enum class DeviceType : int8_t {
  CPU,
  CUDA,
  OpenCL,
  Meta,
  MKLDNN,
  OPENGL,
  IDEEP,
  HIP,
  OPENCL = OpenCL
};
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
inline constexpr DeviceType kOpenCL = DeviceType::OpenCL;
/// Tensors on the meta device have a type but no values: ops on them only work out types.
inline constexpr DeviceType kMeta = DeviceType::Meta;

using DeviceIndex = int8_t;
const char* name_of(DeviceType t);
std::string DeviceTypeName(DeviceType t, bool lower_case = true);
std::ostream& operator<<(std::ostream& out, DeviceType t);

/// Where a tensor's values live. Written "cpu" or "opencl:1".
struct Device {
  using Type = DeviceType;
  constexpr Device() = default;
  constexpr Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  DeviceType type() const { return type_; }
  /// -1 means "the current one".
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  void set_index(DeviceIndex i) { index_ = i; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_meta() const { return type_ == kMeta; }
  std::string str() const;
  friend bool operator==(Device a, Device b) { return a.type_ == b.type_ && a.index_ == b.index_; }

 private:
  DeviceType type_ = DeviceType::CPU;
  DeviceIndex index_ = -1;
};
std::ostream& operator<<(std::ostream& out, Device d);

/// True if tensors can be made on devices of this type in this build.
bool is_available(DeviceType t);

}  // namespace tandem

template <>
struct std::hash<tandem::Device> {
  size_t operator()(tandem::Device d) const {
    return (static_cast<size_t>(d.type()) << 8) + static_cast<size_t>(d.index() + 1);
  }
};
