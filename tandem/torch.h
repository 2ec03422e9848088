#pragma once

/// LibTorch's namespaces and macros for programs that use more than `torch::`. Those that only do
/// need nothing but
///
///     #include <tandem/tandem.h>
///     namespace torch = tandem;
///
/// This header is for the others, in place of those two lines: those that say at:: or c10::, or
/// that open namespace torch themselves.

#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/base/deterministic.h"
#include "tandem/tandem.h"

#define TORCH_API

namespace caffe2 {
using namespace tandem;

/// What LibTorch calls the dtype in some places.
class TypeMeta {
 public:
  TypeMeta(tandem::DType t) : dtype_(t) {}
  template <class T>
  static TypeMeta Make() {
    return tandem::detail::literal_dtype<T>();
  }
  operator tandem::DType() const { return dtype_; }
  tandem::DType toScalarType() const { return dtype_; }

 private:
  tandem::DType dtype_;
};

}  // namespace caffe2

namespace c10 {
using namespace tandem;
using caffe2::TypeMeta;
template <class T>
using optional = std::optional<T>;
using std::get;
using std::get_if;
using std::holds_alternative;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::string_view;
using std::variant;
using std::visit;

inline DType typeMetaToScalarType(DType t) { return t; }
inline TypeMeta scalarTypeToTypeMeta(DType t) { return t; }

template <class T>
class IntegerRange {
 public:
  struct Iterator {
    using difference_type = std::ptrdiff_t;
    using value_type = T;
    using iterator_category = std::input_iterator_tag;
    T value;
    T operator*() const { return value; }
    Iterator& operator++() {
      ++value;
      return *this;
    }
    bool operator==(const Iterator& o) const = default;
  };
  IntegerRange(T begin, T end) : begin_{begin}, end_{begin < end ? end : begin} {}
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }

 private:
  Iterator begin_, end_;
};
/// The integers from 0, or from `from`, up to but not including `to`.
template <class T>
IntegerRange<T> irange(T to) {
  return {T{0}, to};
}
template <class A, class T>
IntegerRange<T> irange(A from, T to) {
  return {static_cast<T>(from), to};
}

template <class List>
std::string Join(const std::string& between, const List& list) {
  std::string text;
  bool first = true;
  for (const auto& item : list) {
    if (!first) text += between;
    first = false;
    text += str(item);
  }
  return text;
}

namespace guts {
template <class T>
std::string to_string(const T& value) {
  return str(value);
}
}  // namespace guts
using guts::to_string;

/// A file that is there as long as the object.
struct TempFile {
  explicit TempFile(std::string name) : name(std::move(name)) {}
  TempFile(TempFile&& o) noexcept : name(std::exchange(o.name, {})) {}
  ~TempFile() {
    if (!name.empty()) std::remove(name.c_str());
  }
  std::string name;
};
inline TempFile make_tempfile(std::string prefix = "torch-file-") {
  const char* folder = std::getenv("TMPDIR");
  std::string name = str(folder ? folder : "/tmp", "/", prefix, "XXXXXX");
  const int file = ::mkstemp(name.data());
  TANDEM_CHECK_AS(FileError, file >= 0, name, ": cannot be made");
  ::close(file);
  return TempFile(name);
}

}  // namespace c10

namespace ska {
namespace detail {
template <class Key, class Value>
struct FlatHashMap {
  using type = std::unordered_map<Key, Value>;
};
/// Programs name the type of an optimiser's state in this way. Its keys convert from and to texts.
template <>
struct FlatHashMap<std::string, std::unique_ptr<tandem::optim::OptimizerParamState>> {
  using type = tandem::optim::Optimizer::StateMap;
};
}  // namespace detail
template <class Key, class Value>
using flat_hash_map = typename detail::FlatHashMap<Key, Value>::type;
}  // namespace ska

namespace at {
using namespace tandem;
using c10::make_optional;
using c10::nullopt;
using c10::optional;
using c10::scalarTypeToTypeMeta;
using c10::typeMetaToScalarType;
/// The dtype of what the list holds, unlike torch::tensor; numbers too give a tensor of one
/// dimension.
template <class T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& o = {}) {
  return tandem::detail::tensor_from(values.data(), dtype_v<T>, values.size(), o);
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(values.begin(), values.size()), o);
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(values), o);
}
template <class T>
requires(std::is_arithmetic_v<T>) Tensor tensor(T value, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(&value, 1), o);
}

/// LibTorch's older way to name a kind of tensor.
enum class Backend { CPU, SparseCPU };
inline TensorOptions getDeprecatedTypeProperties(Backend b, DType t) {
  return TensorOptions(t).layout(b == Backend::CPU ? kStrided : kSparse);
}

namespace native {
inline bool is_nonzero(const Tensor& t) { return t.is_nonzero(); }
inline Tensor _upsample_nearest_exact2d(const Tensor& x, OptionalIntArrayRef output_size,
                                        std::optional<ArrayRef<double>> factors) {
  return tandem::_upsample_nearest_exact2d(x, output_size, factors);
}
inline Tensor _upsample_bilinear2d_aa(const Tensor& x, OptionalIntArrayRef output_size,
                                      bool align_corners, std::optional<ArrayRef<double>> factors) {
  return tandem::_upsample_bilinear2d_aa(x, output_size, align_corners, factors);
}
inline Tensor _upsample_bicubic2d_aa(const Tensor& x, OptionalIntArrayRef output_size,
                                     bool align_corners, std::optional<ArrayRef<double>> factors) {
  return tandem::_upsample_bicubic2d_aa(x, output_size, align_corners, factors);
}
}  // namespace native

/// What is chosen for the whole process. Choices that only matter on a GPU change nothing.
class Context {
 public:
  bool hasCUDA() const { return cuda::is_available(); }
  void setDeterministicAlgorithms(bool on, bool /*warn_only*/ = false) {
    use_deterministic_algorithms(on);
  }
  bool deterministicAlgorithms() const { return deterministic_algorithms(); }
  void setDeterministicCuDNN(bool) {}
  void setBenchmarkCuDNN(bool) {}
  void setUserEnabledCuDNN(bool) {}
  void setAllowTF32CuDNN(bool) {}
  void setAllowTF32CuBLAS(bool) {}
  void setAllowFP16ReductionCuBLAS(bool) {}
};
inline Context& globalContext() {
  static Context context;
  return context;
}

/// LibTorch's old way to switch autograd off.
class AutoNonVariableTypeMode {
 public:
  explicit AutoNonVariableTypeMode(bool enabled = true)
      : mode_(!enabled && GradMode::is_enabled()) {
    TANDEM_WARN_ONCE(
        "AutoNonVariableTypeMode is deprecated: use InferenceMode for inference, or NoGradGuard "
        "where "
        "gradients are wanted again later.");
  }

 private:
  AutoGradMode mode_;
};
}  // namespace at

// Not a namespace of its own: programs may open it, and `using namespace torch` must find one nn.
#define torch tandem

namespace tandem {
using at::Context;
using at::globalContext;
using c10::scalarTypeToTypeMeta;
using c10::typeMetaToScalarType;
using std::make_unique;

template <bool... Values>
struct all_of : std::bool_constant<(Values && ...)> {};
template <bool... Values>
struct any_of : std::bool_constant<(Values || ...)> {};
template <bool Condition, class T = void>
using enable_if_t = std::enable_if_t<Condition, T>;
template <bool Condition, class T = void>
using disable_if_t = std::enable_if_t<!Condition, T>;
inline int64_t size(const Tensor& x, int64_t dim) { return x.size(dim); }
inline Tensor _unsafe_view(const Tensor& x, IntArrayRef sizes) { return x.view(sizes); }
inline size_t getNumGPUs() { return cuda::device_count(); }
namespace jit {
using tandem::IValue;
}
/// Calls the function with each of the arguments, one after the other.
template <class F, class... Ts>
requires(std::is_invocable_v<F&, Ts>&&...) void apply(F function, Ts&&... ts) {
  (function(std::forward<Ts>(ts)), ...);
}
namespace detail {
template <class... Ts>
constexpr bool check_not_lvalue_references() {
  return ((!std::is_lvalue_reference_v<Ts> || std::is_const_v<std::remove_reference_t<Ts>>)&&...);
}
/// The type that a module's forward() gives; void if it has none.
template <class M, class... Args>
struct return_type_of_forward {
  using type = void;
};
template <class M, class... Args>
requires(has_forward<M>::value) struct return_type_of_forward<M, Args...> {
  using type = decltype(std::declval<M>().forward(std::declval<Args>()...));
};
}  // namespace detail
/// "1 2 3", for programs that say `using namespace torch`.
template <class T>
std::ostream& operator<<(std::ostream& out, const std::vector<T>& list) {
  const char* space = "";
  for (const auto& item : list) out << std::exchange(space, " ") << item;
  return out;
}
namespace nn {
// Programs written for LibTorch may compare what modules print.
inline const bool kPrintsAsLibTorch = (set_printed_namespace("torch::nn::"), true);
}  // namespace nn
}  // namespace tandem
