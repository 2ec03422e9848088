#pragma once

#include <concepts>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"

namespace tandem {

using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

/// Tensors are strided; the other name exists so that programs can speak of it.
enum class Layout : int8_t { Strided, Sparse };
inline constexpr Layout kStrided = Layout::Strided;
inline constexpr Layout kSparse = Layout::Sparse;
inline std::ostream& operator<<(std::ostream& out, Layout l) {
  return out << (l == kStrided ? "Strided" : "Sparse");
}

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

/// How a tensor is to be made: options that were not set keep their defaults.
///
///   zeros({2, 3}, TensorOptions().dtype(kFloat64).requires_grad(true))
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType t) : dtype_(t) {}
  // A template, so that braces are not taken for a device twice: TensorOptions({kCPU, 0}).
  template <std::same_as<Device> D>
  TensorOptions(D d) : device_(d) {}
  template <std::integral I>
  TensorOptions(DeviceType type, I index)
      : device_(Device(type, static_cast<DeviceIndex>(index))) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(Layout l) : layout_(l) {}
  TensorOptions(MemoryFormat f) : memory_format_(f) {}
  /// A device by name. A template, lest the number 0 be taken for a null string.
  template <class S>
  requires(std::is_convertible_v<const S&, std::string> && !std::is_integral_v<S>)
      TensorOptions(const S& device)
      : device_(Device(std::string(device))) {}

  TensorOptions dtype(std::optional<DType> t) const { return with(&TensorOptions::dtype_, t); }
  TensorOptions device(std::optional<Device> d) const { return with(&TensorOptions::device_, d); }
  TensorOptions device(DeviceType type, DeviceIndex index) const {
    return device(Device(type, index));
  }
  TensorOptions device_index(DeviceIndex index) const { return device(Device(kCUDA, index)); }
  TensorOptions layout(std::optional<Layout> l) const { return with(&TensorOptions::layout_, l); }
  TensorOptions requires_grad(std::optional<bool> r) const {
    return with(&TensorOptions::requires_grad_, r);
  }
  TensorOptions pinned_memory(std::optional<bool> p) const {
    return with(&TensorOptions::pinned_memory_, p);
  }
  TensorOptions memory_format(std::optional<MemoryFormat> f) const {
    return with(&TensorOptions::memory_format_, f);
  }

  DType dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool pinned_memory() const { return pinned_memory_.value_or(false); }
  bool is_sparse() const { return layout() == kSparse; }
  DeviceIndex device_index() const { return device().index(); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_pinned_memory() const { return pinned_memory_.has_value(); }
  bool has_memory_format() const { return memory_format_.has_value(); }
  std::optional<DType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> requires_grad_opt() const { return requires_grad_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_memory_; }
  std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }

  /// The options set here, or else those of `o`'s that are set there win.
  TensorOptions merge_in(const TensorOptions& o) const {
    TensorOptions r = *this;
    if (o.dtype_) r.dtype_ = o.dtype_;
    if (o.device_) r.device_ = o.device_;
    if (o.layout_) r.layout_ = o.layout_;
    if (o.requires_grad_) r.requires_grad_ = o.requires_grad_;
    if (o.pinned_memory_) r.pinned_memory_ = o.pinned_memory_;
    if (o.memory_format_) r.memory_format_ = o.memory_format_;
    return r;
  }
  TensorOptions merge_memory_format(std::optional<MemoryFormat> f) const {
    return f ? memory_format(f) : *this;
  }
  bool type_equal(const TensorOptions& o) const {
    return dtype() == o.dtype() && device().type() == o.device().type();
  }

 private:
  template <class Field, class V>
  TensorOptions with(Field field, V value) const {
    TensorOptions r = *this;
    r.*field = value;
    return r;
  }
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> requires_grad_;
  std::optional<bool> pinned_memory_;
  std::optional<MemoryFormat> memory_format_;
};

std::ostream& operator<<(std::ostream& out, const TensorOptions& o);

/// What x.type() gives, for programs of LibTorch's first years.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(DType dtype, Device device) : dtype_(dtype), device_(device) {}
  DType scalarType() const { return dtype_; }
  DeviceType device_type() const { return device_.type(); }
  bool is_cuda() const { return device_.type() == kCUDA; }
  bool is_sparse() const { return false; }
  /// "CPUFloatType".
  std::string toString() const;
  operator DType() const { return dtype_; }
  operator TensorOptions() const { return TensorOptions(dtype_).device(device_); }
  friend bool operator==(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) {
    return a.dtype_ == b.dtype_ && a.device_type() == b.device_type();
  }

 private:
  DType dtype_;
  Device device_;
};
std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t);

// LibTorch's free forms: device(kCPU), dtype(kFloat), requires_grad().
inline TensorOptions dtype(DType t) { return TensorOptions().dtype(t); }
inline TensorOptions layout(Layout l) { return TensorOptions().layout(l); }
inline TensorOptions device(Device d) { return TensorOptions().device(d); }
inline TensorOptions device_index(DeviceIndex i) { return TensorOptions().device_index(i); }
inline TensorOptions requires_grad(bool r = true) { return TensorOptions().requires_grad(r); }
inline TensorOptions memory_format(MemoryFormat f) { return TensorOptions().memory_format(f); }

}  // namespace tandem
