#pragma once

#include <cstring>
#include <limits>

#include "tandem/core/tensor.h"

/// What stands between the braces of x.index({...}), as LibTorch writes it:
///
///   using namespace tandem::indexing;
///   x.index({0, Slice(1, None, 2), Ellipsis, None, mask})
namespace tandem::indexing {

inline constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min();
inline constexpr int64_t INDEX_MAX = std::numeric_limits<int64_t>::max();

enum class TensorIndexType { None, Ellipsis, Integer, Boolean, Slice, Tensor };

/// A new dimension of extent 1; in a Slice: no bound.
inline constexpr std::nullopt_t None = std::nullopt;
/// All dimensions that are not spoken of.
struct EllipsisIndexType final {};
inline constexpr EllipsisIndexType Ellipsis{};

/// start:stop:step of a dimension. Bounds count from the end when negative.
struct Slice final {
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,
        std::optional<int64_t> step = std::nullopt)
      : step_(step.value_or(1)) {
    TANDEM_CHECK(step_ != 0, "Slice: slice step cannot be zero");
    start_ = start.value_or(step_ < 0 ? INDEX_MAX : 0);
    stop_ = stop.value_or(step_ < 0 ? INDEX_MIN : INDEX_MAX);
  }
  int64_t start() const { return start_; }
  int64_t stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  int64_t start_, stop_, step_;
};
std::ostream& operator<<(std::ostream& out, const Slice& s);

/// One entry of an index.
struct TensorIndex final {
  TensorIndex(std::nullopt_t) : type_(TensorIndexType::None) {}
  TensorIndex(EllipsisIndexType) : type_(TensorIndexType::Ellipsis) {}
  TensorIndex(const char* text) : type_(TensorIndexType::Ellipsis) {
    TANDEM_CHECK(std::strcmp(text, "...") == 0,
                 "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
  }
  template <class T>
  requires(std::is_integral_v<T>) TensorIndex(T v)
      : type_(std::is_same_v<T, bool> ? TensorIndexType::Boolean : TensorIndexType::Integer),
        integer_(static_cast<int64_t>(v)) {}
  TensorIndex(const indexing::Slice& s) : type_(TensorIndexType::Slice), slice_(s) {}
  TensorIndex(const tandem::Tensor& t) : type_(TensorIndexType::Tensor), tensor_(t) {}
  /// Without a tensor: all of the dimension.
  TensorIndex(const std::optional<tandem::Tensor>& t)
      : type_(t && t->defined() ? TensorIndexType::Tensor : TensorIndexType::Slice),
        tensor_(t.value_or(tandem::Tensor())) {}

  TensorIndexType type() const { return type_; }
  bool is_none() const { return type_ == TensorIndexType::None; }
  bool is_ellipsis() const { return type_ == TensorIndexType::Ellipsis; }
  bool is_integer() const { return type_ == TensorIndexType::Integer; }
  bool is_boolean() const { return type_ == TensorIndexType::Boolean; }
  bool is_slice() const { return type_ == TensorIndexType::Slice; }
  bool is_tensor() const { return type_ == TensorIndexType::Tensor; }
  int64_t integer() const { return integer_; }
  bool boolean() const { return integer_ != 0; }
  const indexing::Slice& slice() const { return slice_; }
  const tandem::Tensor& tensor() const { return tensor_; }

 private:
  TensorIndexType type_;
  int64_t integer_ = 0;
  indexing::Slice slice_;
  tandem::Tensor tensor_;
};
std::ostream& operator<<(std::ostream& out, const TensorIndex& i);
std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices);

}  // namespace tandem::indexing

namespace tandem {

/// The free forms of x.index and x.index_put_.
Tensor index(const Tensor& x, std::initializer_list<indexing::TensorIndex> indices);
Tensor index(const Tensor& x, ArrayRef<indexing::TensorIndex> indices);
Tensor index_put(const Tensor& x, std::initializer_list<indexing::TensorIndex> indices,
                 const Tensor& values, bool accumulate = false);
Tensor& index_put_(Tensor& x, std::initializer_list<indexing::TensorIndex> indices,
                   const Tensor& values, bool accumulate = false);

}  // namespace tandem
