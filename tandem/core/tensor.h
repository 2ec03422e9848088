#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tandem/core/accessor.h"
#include "tandem/core/generator.h"
#include "tandem/core/mode.h"
#include "tandem/core/scalar.h"
#include "tandem/core/tensor_impl.h"
#include "tandem/core/tensor_options.h"

namespace tandem {

class Tensor;
using TensorList = ArrayRef<Tensor>;
using variable_list = std::vector<Tensor>;

namespace indexing {
struct TensorIndex;
}

/// An n-dimensional array, by reference: copying a Tensor shares its values.
///
/// Methods are declared here and defined beside the op they call, in tandem/ops. As in LibTorch
/// they are const, in-place forms too: const says that the handle does not change, not the values.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(intrusive_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  // Assigning to a temporary means writing into what it views: x[0] = y; x.index({...}) = 3.
  Tensor& operator=(const Tensor& o) & = default;
  Tensor& operator=(Tensor&& o) & noexcept = default;
  Tensor& operator=(const Tensor& o) &&;
  Tensor& operator=(Tensor&& o) &&;
  Tensor& operator=(const Scalar& v) &&;

  // -- identity -------------------------------------------------------------------------------
  bool defined() const { return static_cast<bool>(impl_); }
  void reset() { impl_.reset(); }
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }
  size_t use_count() const { return impl_ ? impl_->refs.load(std::memory_order_relaxed) : 0; }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  const intrusive_ptr<TensorImpl>& impl_ptr() const { return impl_; }

  // -- type and layout ------------------------------------------------------------------------
  const TensorType& type_of() const { return checked().type; }
  int64_t dim() const { return checked().type.dim(); }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return checked().type.sizes; }
  IntArrayRef strides() const { return checked().strides; }
  int64_t size(int64_t d) const;
  int64_t stride(int64_t d) const;
  int64_t numel() const { return impl_ ? checked().numel : 0; }
  DType scalar_type() const { return checked().type.dtype; }
  DType dtype() const { return checked().type.dtype; }
  Device device() const { return checked().type.device; }
  DeprecatedTypeProperties type() const { return {dtype(), device()}; }
  Layout layout() const { return kStrided; }
  TensorOptions options() const;
  size_t element_size() const { return size_of(dtype()); }
  size_t itemsize() const { return size_of(dtype()); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
  bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  int64_t storage_offset() const { return checked().offset; }
  /// Number of the device; -1 on the cpu.
  int64_t get_device() const { return device().index(); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool is_complex() const { return false; }
  bool is_floating_point() const { return is_floating(dtype()); }
  bool is_signed() const { return dtype() != kByte && dtype() != kBool; }
  bool is_nonzero() const;
  bool has_storage() const { return defined() && impl_->storage; }
  /// The memory as LibTorch shows it: x.storage().nbytes(). Keeps the tensor alive.
  class StorageView {
   public:
    struct Pointer {
      void* data;
      void* context;  // what a deleter is given; null if there is none
      void* get() const { return data; }
      void* get_context() const { return context; }
      operator void*() const { return data; }
    };
    explicit StorageView(intrusive_ptr<TensorImpl> of) : tensor_(std::move(of)) {}
    Pointer data_ptr() const {
      void* data = this->data();
      return {data, storage().deleter ? data : nullptr};
    }
    /// Where the storage begins, which may be before the tensor's first element.
    void* data() const;
    template <class T>
    T* data() const {
      return static_cast<T*>(data());
    }
    size_t nbytes() const { return static_cast<size_t>(storage().nbytes); }
    size_t use_count() const { return storage().refs.load(std::memory_order_relaxed); }
    bool unique() const { return use_count() == 1; }
    Device device() const { return tensor_->type.device; }
    bool is_alias_of(const StorageView& o) const { return &storage() == &o.storage(); }
    explicit operator bool() const { return static_cast<bool>(tensor_->storage); }

   private:
    const Storage& storage() const;

    intrusive_ptr<TensorImpl> tensor_;
  };
  StorageView storage() const {
    checked();
    return StorageView(impl_);
  }
  bool is_alias_of(const Tensor& o) const { return checked().storage == o.checked().storage; }
  bool is_set_to(const Tensor& o) const;
  bool is_same_size(const Tensor& o) const { return sizes() == o.sizes(); }
  std::string toString() const;
  /// Dtype and shape, to the standard error output.
  void print() const;

  // -- values ---------------------------------------------------------------------------------
  void* data_ptr() const;
  const void* const_data_ptr() const;
  void* mutable_data_ptr() const { return data_ptr(); }
  /// The first value; the dtype must be T's.
  template <class T>
  T* data_ptr() const {
    expect_dtype(dtype_v<T>);
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  const T* const_data_ptr() const {
    expect_dtype(dtype_v<std::remove_const_t<T>>);
    return static_cast<const T*>(const_data_ptr());
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  /// Element access with N indices: auto a = x.accessor<float, 2>(); a[i][j] = 1.
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const& {
    static_assert(N > 0, "accessor is for tensors with dimensions; use data_ptr or item for 0-d");
    expect_dtype(dtype_v<T>);
    expect_dim(N);
    return {static_cast<T*>(data_ptr()), sizes().data(), strides().data()};
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;
  /// The value of a tensor with one element.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }

  // -- gradients ------------------------------------------------------------------------------
  bool requires_grad() const { return impl_ && checked().wants_grad(); }
  const Tensor& set_requires_grad(bool on) const;
  Tensor& requires_grad_(bool on = true) const;
  bool is_leaf() const { return checked().is_leaf(); }
  /// The gradient so far; undefined before any backward.
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  NodePtr grad_fn() const;
  uint32_t output_nr() const { return checked().edge.index; }
  int64_t _version() const;
  bool is_inference() const { return checked().inference; }
  bool is_view() const { return checked().view != nullptr; }
  /// The tensor that this one is a view of.
  Tensor _base() const;
  void retain_grad() const;
  bool retains_grad() const;
  /// Calls hook with the gradient when backward gets here; what it returns replaces the gradient.
  /// Gives a number for remove_hook.
  template <class F>
  unsigned register_hook(F hook) const {
    if constexpr (std::is_void_v<std::invoke_result_t<F, Tensor>>)
      return add_hook([hook = std::move(hook)](const Tensor& g) mutable {
        hook(g);
        return Tensor();
      });
    else
      return add_hook(std::move(hook));
  }
  void remove_hook(unsigned number) const;
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false, std::optional<TensorList> inputs = std::nullopt) const;
  /// The same values without their history.
  Tensor detach() const;
  Tensor& detach_() const;
  /// Like detach, and in-place writes to the result are hidden from autograd.
  Tensor data() const;
  Tensor variable_data() const { return data(); }
  Tensor tensor_data() const { return data(); }
  void set_data(const Tensor& source) const;

  // -- copies and conversions (ops/copy.cpp) ----------------------------------------------------
  Tensor clone(std::optional<MemoryFormat> f = std::nullopt) const;
  Tensor contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  Tensor to(DType t, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> f = std::nullopt) const;
  Tensor to(Device d, DType t, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> f = std::nullopt) const;
  Tensor to(const TensorOptions& o, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> f = std::nullopt) const;
  Tensor to(const Tensor& like, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> f = std::nullopt) const;
  Tensor toType(DType t) const { return to(t); }
  Tensor type(DType t) const { return to(t); }
  Tensor type_as(const Tensor& o) const { return to(o.options()); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor& fill_(const Scalar& v) const;
  Tensor& fill_(const Tensor& v) const;
  /// The elements at [i, i, ...]. `wrap`: a tall matrix's diagonal begins again below its end.
  Tensor& fill_diagonal_(const Scalar& v, bool wrap = false) const;
  Tensor& zero_() const;
  Tensor new_empty(IntArrayRef size, const TensorOptions& o = {}) const;
  Tensor new_empty_strided(IntArrayRef size, IntArrayRef strides,
                           const TensorOptions& o = {}) const;
  Tensor new_full(IntArrayRef size, const Scalar& v, const TensorOptions& o = {}) const;
  Tensor new_zeros(IntArrayRef size, const TensorOptions& o = {}) const;
  Tensor new_ones(IntArrayRef size, const TensorOptions& o = {}) const;
  Tensor new_tensor(const Tensor& values, const TensorOptions& o = {}) const;
  Tensor& resize_(IntArrayRef size) const;
  Tensor& resize_as_(const Tensor& o) const { return resize_(o.sizes()); }
  Tensor& set_(const Tensor& source) const;

  // -- views and shapes (ops/view.cpp) ----------------------------------------------------------
  Tensor view(IntArrayRef size) const;
  Tensor view(DType t) const;
  Tensor view_as(const Tensor& o) const { return view(o.sizes()); }
  Tensor reshape(IntArrayRef size) const;
  Tensor reshape_as(const Tensor& o) const { return reshape(o.sizes()); }
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor swapaxes(int64_t a, int64_t b) const { return transpose(a, b); }
  Tensor swapdims(int64_t a, int64_t b) const { return transpose(a, b); }
  Tensor permute(IntArrayRef dims) const;
  Tensor t() const;
  Tensor mT() const;
  Tensor mH() const { return mT(); }
  Tensor adjoint() const { return mT(); }
  Tensor matrix_H() const { return mT(); }
  Tensor numpy_T() const;
  Tensor T() const { return numpy_T(); }
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor expand(IntArrayRef size, bool implicit = false) const;
  Tensor expand_as(const Tensor& o) const { return expand(o.sizes()); }
  Tensor broadcast_to(IntArrayRef size) const { return expand(size); }
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor narrow(int64_t dim, const Tensor& start, int64_t length) const;
  Tensor narrow_copy(int64_t dim, int64_t start, int64_t length) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor slice(int64_t dim = 0, std::optional<int64_t> start = std::nullopt,
               std::optional<int64_t> end = std::nullopt, int64_t step = 1) const;
  Tensor unfold(int64_t dim, int64_t size, int64_t step) const;
  Tensor as_strided(IntArrayRef size, IntArrayRef stride,
                    std::optional<int64_t> offset = std::nullopt) const;
  Tensor _reshape_alias(IntArrayRef size, IntArrayRef stride) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntArrayRef sizes, int64_t dim = 0) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef sizes, int64_t dim = 0) const;
  // LibTorch's unsafe ones allow parts to be written to one by one, which all of ours do.
  std::vector<Tensor> unsafe_chunk(int64_t chunks, int64_t dim = 0) const {
    return chunk(chunks, dim);
  }
  std::vector<Tensor> unsafe_split(int64_t size, int64_t dim = 0) const { return split(size, dim); }
  std::vector<Tensor> unsafe_split_with_sizes(IntArrayRef sizes, int64_t dim = 0) const {
    return split_with_sizes(sizes, dim);
  }
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(const Tensor& where, int64_t dim = 0) const;
  std::vector<Tensor> hsplit(int64_t sections) const;
  std::vector<Tensor> hsplit(IntArrayRef indices) const;
  std::vector<Tensor> vsplit(int64_t sections) const;
  std::vector<Tensor> vsplit(IntArrayRef indices) const;
  std::vector<Tensor> dsplit(int64_t sections) const;
  std::vector<Tensor> dsplit(IntArrayRef indices) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  Tensor flatten(int64_t start = 0, int64_t end = -1) const;
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const;
  Tensor ravel() const { return flatten(); }
  Tensor movedim(IntArrayRef from, IntArrayRef to) const;
  Tensor movedim(int64_t from, int64_t to) const;
  Tensor moveaxis(IntArrayRef from, IntArrayRef to) const { return movedim(from, to); }
  Tensor moveaxis(int64_t from, int64_t to) const { return movedim(from, to); }
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor alias() const;
  Tensor sum_to_size(IntArrayRef size) const;
  Tensor& squeeze_() const;
  Tensor& squeeze_(int64_t dim) const;
  Tensor& unsqueeze_(int64_t dim) const;
  Tensor& t_() const;
  Tensor& transpose_(int64_t a, int64_t b) const;
  Tensor& swapaxes_(int64_t a, int64_t b) const;
  Tensor& swapdims_(int64_t a, int64_t b) const;
  Tensor& as_strided_(IntArrayRef size, IntArrayRef stride,
                      std::optional<int64_t> offset = std::nullopt) const;

  // -- pointwise (ops/unary.cpp, binary.cpp, compare.cpp, activation.cpp, ternary.cpp) ----------
  Tensor add(const Tensor& o, const Scalar& alpha = 1) const;
  Tensor add(const Scalar& o, const Scalar& alpha = 1) const;
  Tensor& add_(const Tensor& o, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& o, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& o, const Scalar& alpha = 1) const;
  Tensor sub(const Scalar& o, const Scalar& alpha = 1) const;
  Tensor& sub_(const Tensor& o, const Scalar& alpha = 1) const;
  Tensor& sub_(const Scalar& o, const Scalar& alpha = 1) const;
  Tensor mul(const Tensor& o) const;
  Tensor mul(const Scalar& o) const;
  Tensor& mul_(const Tensor& o) const;
  Tensor& mul_(const Scalar& o) const;
  Tensor div(const Tensor& o) const;
  Tensor div(const Scalar& o) const;
  Tensor& div_(const Tensor& o) const;
  Tensor& div_(const Scalar& o) const;
  Tensor neg() const;
  Tensor& neg_() const;
  Tensor operator-() const { return neg(); }
  Tensor& operator+=(const Tensor& o) { return add_(o); }
  Tensor& operator+=(const Scalar& o) { return add_(o); }
  Tensor& operator-=(const Tensor& o) { return sub_(o); }
  Tensor& operator-=(const Scalar& o) { return sub_(o); }
  Tensor& operator*=(const Tensor& o) { return mul_(o); }
  Tensor& operator*=(const Scalar& o) { return mul_(o); }
  Tensor& operator/=(const Tensor& o) { return div_(o); }
  Tensor& operator/=(const Scalar& o) { return div_(o); }
  Tensor abs() const;
  Tensor& abs_() const;
  Tensor sign() const;
  Tensor& sign_() const;
  Tensor square() const;
  Tensor& square_() const;
  Tensor sqrt() const;
  Tensor& sqrt_() const;
  Tensor rsqrt() const;
  Tensor& rsqrt_() const;
  Tensor reciprocal() const;
  Tensor& reciprocal_() const;
  Tensor floor() const;
  Tensor& floor_() const;
  Tensor ceil() const;
  Tensor& ceil_() const;
  Tensor round() const;
  Tensor& round_() const;
  Tensor trunc() const;
  Tensor& trunc_() const;
  Tensor frac() const;
  Tensor& frac_() const;
  Tensor exp() const;
  Tensor& exp_() const;
  Tensor exp2() const;
  Tensor& exp2_() const;
  Tensor expm1() const;
  Tensor& expm1_() const;
  Tensor log() const;
  Tensor& log_() const;
  Tensor log2() const;
  Tensor& log2_() const;
  Tensor log10() const;
  Tensor& log10_() const;
  Tensor log1p() const;
  Tensor& log1p_() const;
  Tensor sin() const;
  Tensor& sin_() const;
  Tensor cos() const;
  Tensor& cos_() const;
  Tensor tan() const;
  Tensor& tan_() const;
  Tensor asin() const;
  Tensor& asin_() const;
  Tensor acos() const;
  Tensor& acos_() const;
  Tensor atan() const;
  Tensor& atan_() const;
  Tensor sinh() const;
  Tensor& sinh_() const;
  Tensor cosh() const;
  Tensor& cosh_() const;
  Tensor tanh() const;
  Tensor& tanh_() const;
  Tensor asinh() const;
  Tensor& asinh_() const;
  Tensor acosh() const;
  Tensor& acosh_() const;
  Tensor atanh() const;
  Tensor& atanh_() const;
  Tensor sigmoid() const;
  Tensor& sigmoid_() const;
  Tensor erf() const;
  Tensor& erf_() const;
  Tensor erfc() const;
  Tensor& erfc_() const;
  Tensor erfinv() const;
  Tensor& erfinv_() const;
  Tensor i0() const;
  Tensor& i0_() const;
  Tensor lgamma() const;
  Tensor& lgamma_() const;
  Tensor digamma() const;
  Tensor& digamma_() const;
  Tensor mvlgamma(int64_t p) const;
  Tensor& mvlgamma_(int64_t p) const;
  Tensor angle() const;
  Tensor relu() const;
  Tensor& relu_() const;
  Tensor absolute() const { return abs(); }
  Tensor& absolute_() const { return abs_(); }
  Tensor negative() const { return neg(); }
  Tensor& negative_() const { return neg_(); }
  Tensor arccos() const { return acos(); }
  Tensor& arccos_() const { return acos_(); }
  Tensor arcsin() const { return asin(); }
  Tensor& arcsin_() const { return asin_(); }
  Tensor arctan() const { return atan(); }
  Tensor& arctan_() const { return atan_(); }
  Tensor arccosh() const { return acosh(); }
  Tensor& arccosh_() const { return acosh_(); }
  Tensor arcsinh() const { return asinh(); }
  Tensor& arcsinh_() const { return asinh_(); }
  Tensor arctanh() const { return atanh(); }
  Tensor& arctanh_() const { return atanh_(); }
  Tensor fix() const { return trunc(); }
  Tensor& fix_() const { return trunc_(); }
  Tensor sgn() const { return sign(); }
  Tensor& sgn_() const { return sign_(); }
  Tensor round(int64_t decimals) const;
  Tensor& round_(int64_t decimals) const;
  Tensor polygamma(int64_t n) const;
  Tensor& polygamma_(int64_t n) const;
  Tensor logit(std::optional<double> eps = std::nullopt) const;
  Tensor& logit_(std::optional<double> eps = std::nullopt) const;
  Tensor sinc() const;
  Tensor deg2rad() const;
  Tensor rad2deg() const;
  Tensor& sinc_() const;
  Tensor& deg2rad_() const;
  Tensor& rad2deg_() const;
  Tensor nan_to_num(std::optional<double> nan = std::nullopt,
                    std::optional<double> posinf = std::nullopt,
                    std::optional<double> neginf = std::nullopt) const;
  Tensor& nan_to_num_(std::optional<double> nan = std::nullopt,
                      std::optional<double> posinf = std::nullopt,
                      std::optional<double> neginf = std::nullopt) const;
  Tensor positive() const;
  Tensor eq(const Tensor& o) const;
  Tensor eq(const Scalar& o) const;
  Tensor& eq_(const Tensor& o) const;
  Tensor& eq_(const Scalar& o) const;
  Tensor ne(const Tensor& o) const;
  Tensor ne(const Scalar& o) const;
  Tensor& ne_(const Tensor& o) const;
  Tensor& ne_(const Scalar& o) const;
  Tensor lt(const Tensor& o) const;
  Tensor lt(const Scalar& o) const;
  Tensor& lt_(const Tensor& o) const;
  Tensor& lt_(const Scalar& o) const;
  Tensor le(const Tensor& o) const;
  Tensor le(const Scalar& o) const;
  Tensor& le_(const Tensor& o) const;
  Tensor& le_(const Scalar& o) const;
  Tensor gt(const Tensor& o) const;
  Tensor gt(const Scalar& o) const;
  Tensor& gt_(const Tensor& o) const;
  Tensor& gt_(const Scalar& o) const;
  Tensor ge(const Tensor& o) const;
  Tensor ge(const Scalar& o) const;
  Tensor& ge_(const Tensor& o) const;
  Tensor& ge_(const Scalar& o) const;
  Tensor greater(const Tensor& o) const { return gt(o); }
  Tensor greater(const Scalar& o) const { return gt(o); }
  Tensor& greater_(const Tensor& o) const { return gt_(o); }
  Tensor& greater_(const Scalar& o) const { return gt_(o); }
  Tensor greater_equal(const Tensor& o) const { return ge(o); }
  Tensor greater_equal(const Scalar& o) const { return ge(o); }
  Tensor& greater_equal_(const Tensor& o) const { return ge_(o); }
  Tensor& greater_equal_(const Scalar& o) const { return ge_(o); }
  Tensor less(const Tensor& o) const { return lt(o); }
  Tensor less(const Scalar& o) const { return lt(o); }
  Tensor& less_(const Tensor& o) const { return lt_(o); }
  Tensor& less_(const Scalar& o) const { return lt_(o); }
  Tensor less_equal(const Tensor& o) const { return le(o); }
  Tensor less_equal(const Scalar& o) const { return le(o); }
  Tensor& less_equal_(const Tensor& o) const { return le_(o); }
  Tensor& less_equal_(const Scalar& o) const { return le_(o); }
  Tensor not_equal(const Tensor& o) const { return ne(o); }
  Tensor not_equal(const Scalar& o) const { return ne(o); }
  Tensor& not_equal_(const Tensor& o) const { return ne_(o); }
  Tensor& not_equal_(const Scalar& o) const { return ne_(o); }
  Tensor logical_and(const Tensor& o) const;
  Tensor& logical_and_(const Tensor& o) const;
  Tensor logical_or(const Tensor& o) const;
  Tensor& logical_or_(const Tensor& o) const;
  Tensor logical_xor(const Tensor& o) const;
  Tensor& logical_xor_(const Tensor& o) const;
  Tensor bitwise_and(const Tensor& o) const;
  Tensor bitwise_and(const Scalar& o) const;
  Tensor& bitwise_and_(const Tensor& o) const;
  Tensor& bitwise_and_(const Scalar& o) const;
  Tensor bitwise_or(const Tensor& o) const;
  Tensor bitwise_or(const Scalar& o) const;
  Tensor& bitwise_or_(const Tensor& o) const;
  Tensor& bitwise_or_(const Scalar& o) const;
  Tensor bitwise_xor(const Tensor& o) const;
  Tensor bitwise_xor(const Scalar& o) const;
  Tensor& bitwise_xor_(const Tensor& o) const;
  Tensor& bitwise_xor_(const Scalar& o) const;
  Tensor __and__(const Tensor& o) const { return bitwise_and(o); }
  Tensor __or__(const Tensor& o) const { return bitwise_or(o); }
  Tensor __xor__(const Tensor& o) const { return bitwise_xor(o); }
  Tensor __and__(const Scalar& o) const { return bitwise_and(o); }
  Tensor __or__(const Scalar& o) const { return bitwise_or(o); }
  Tensor __xor__(const Scalar& o) const { return bitwise_xor(o); }
  Tensor& __iand__(const Tensor& o) const { return bitwise_and_(o); }
  Tensor& __iand__(const Scalar& o) const { return bitwise_and_(o); }
  Tensor& __ior__(const Tensor& o) const { return bitwise_or_(o); }
  Tensor& __ior__(const Scalar& o) const { return bitwise_or_(o); }
  Tensor& __ixor__(const Tensor& o) const { return bitwise_xor_(o); }
  Tensor& __ixor__(const Scalar& o) const { return bitwise_xor_(o); }
  Tensor bitwise_left_shift(const Tensor& o) const;
  Tensor bitwise_right_shift(const Tensor& o) const;
  Tensor bitwise_left_shift(const Scalar& o) const;
  Tensor bitwise_right_shift(const Scalar& o) const;
  Tensor& bitwise_left_shift_(const Tensor& o) const;
  Tensor& bitwise_right_shift_(const Tensor& o) const;
  Tensor& bitwise_left_shift_(const Scalar& o) const;
  Tensor& bitwise_right_shift_(const Scalar& o) const;
  Tensor __lshift__(const Tensor& o) const { return bitwise_left_shift(o); }
  Tensor __lshift__(const Scalar& o) const { return bitwise_left_shift(o); }
  Tensor __rshift__(const Tensor& o) const { return bitwise_right_shift(o); }
  Tensor __rshift__(const Scalar& o) const { return bitwise_right_shift(o); }
  Tensor& __ilshift__(const Tensor& o) const { return bitwise_left_shift_(o); }
  Tensor& __ilshift__(const Scalar& o) const { return bitwise_left_shift_(o); }
  Tensor& __irshift__(const Tensor& o) const { return bitwise_right_shift_(o); }
  Tensor& __irshift__(const Scalar& o) const { return bitwise_right_shift_(o); }
  Tensor logical_not() const;
  Tensor& logical_not_() const;
  Tensor bitwise_not() const;
  Tensor& bitwise_not_() const;
  Tensor operator~() const { return bitwise_not(); }
  Tensor operator!() const { return logical_not(); }
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;
  Tensor isposinf() const;
  Tensor isneginf() const;
  Tensor isreal() const;
  Tensor signbit() const;
  Tensor isclose(const Tensor& o, double rtol = 1e-5, double atol = 1e-8,
                 bool equal_nan = false) const;
  bool allclose(const Tensor& o, double rtol = 1e-5, double atol = 1e-8,
                bool equal_nan = false) const;
  bool equal(const Tensor& o) const;
  Tensor& operator&=(const Tensor& o) { return bitwise_and_(o); }
  Tensor& operator|=(const Tensor& o) { return bitwise_or_(o); }
  Tensor& operator^=(const Tensor& o) { return bitwise_xor_(o); }
  Tensor& operator&=(const Scalar& o) { return bitwise_and_(o); }
  Tensor& operator|=(const Scalar& o) { return bitwise_or_(o); }
  Tensor& operator^=(const Scalar& o) { return bitwise_xor_(o); }
  Tensor maximum(const Tensor& o) const;
  Tensor minimum(const Tensor& o) const;
  Tensor fmax(const Tensor& o) const;
  Tensor fmin(const Tensor& o) const;
  Tensor atan2(const Tensor& o) const;
  Tensor hypot(const Tensor& o) const;
  Tensor nextafter(const Tensor& o) const;
  Tensor heaviside(const Tensor& o) const;
  Tensor gcd(const Tensor& o) const;
  Tensor lcm(const Tensor& o) const;
  Tensor logaddexp(const Tensor& o) const;
  Tensor logaddexp2(const Tensor& o) const;
  Tensor remainder(const Tensor& o) const;
  Tensor fmod(const Tensor& o) const;
  Tensor copysign(const Tensor& o) const;
  Tensor xlogy(const Tensor& o) const;
  Tensor igamma(const Tensor& x) const;
  Tensor& igamma_(const Tensor& x) const;
  Tensor igammac(const Tensor& x) const;
  Tensor& igammac_(const Tensor& x) const;
  Tensor floor_divide(const Tensor& o) const;
  Tensor& atan2_(const Tensor& o) const;
  Tensor& hypot_(const Tensor& o) const;
  Tensor& nextafter_(const Tensor& o) const;
  Tensor& heaviside_(const Tensor& o) const;
  Tensor& gcd_(const Tensor& o) const;
  Tensor& lcm_(const Tensor& o) const;
  Tensor& remainder_(const Tensor& o) const;
  Tensor& fmod_(const Tensor& o) const;
  Tensor& copysign_(const Tensor& o) const;
  Tensor& xlogy_(const Tensor& o) const;
  Tensor& floor_divide_(const Tensor& o) const;
  Tensor remainder(const Scalar& o) const;
  Tensor& remainder_(const Scalar& o) const;
  Tensor fmod(const Scalar& o) const;
  Tensor& fmod_(const Scalar& o) const;
  Tensor copysign(const Scalar& o) const;
  Tensor& copysign_(const Scalar& o) const;
  Tensor xlogy(const Scalar& o) const;
  Tensor& xlogy_(const Scalar& o) const;
  Tensor floor_divide(const Scalar& o) const;
  Tensor& floor_divide_(const Scalar& o) const;
  Tensor div(const Tensor& o, std::optional<std::string_view> mode) const;
  Tensor div(const Scalar& o, std::optional<std::string_view> mode) const;
  Tensor& div_(const Tensor& o, std::optional<std::string_view> mode) const;
  Tensor& div_(const Scalar& o, std::optional<std::string_view> mode) const;
  Tensor pow(const Tensor& e) const;
  Tensor pow(const Scalar& e) const;
  Tensor& pow_(const Tensor& e) const;
  Tensor& pow_(const Scalar& e) const;
  Tensor float_power(const Tensor& e) const;
  Tensor float_power(const Scalar& e) const;
  Tensor ldexp(const Tensor& o) const;
  Tensor& float_power_(const Tensor& e) const;
  Tensor& float_power_(const Scalar& e) const;
  Tensor& ldexp_(const Tensor& o) const;
  Tensor& operator%=(const Tensor& o) { return remainder_(o); }
  Tensor& operator%=(const Scalar& o) { return remainder_(o); }
  Tensor subtract(const Tensor& o, const Scalar& alpha = 1) const { return sub(o, alpha); }
  Tensor subtract(const Scalar& o, const Scalar& alpha = 1) const { return sub(o, alpha); }
  Tensor& subtract_(const Tensor& o, const Scalar& alpha = 1) const { return sub_(o, alpha); }
  Tensor& subtract_(const Scalar& o, const Scalar& alpha = 1) const { return sub_(o, alpha); }
  Tensor multiply(const Tensor& o) const { return mul(o); }
  Tensor& multiply_(const Tensor& o) const { return mul_(o); }
  Tensor multiply(const Scalar& o) const { return mul(o); }
  Tensor& multiply_(const Scalar& o) const { return mul_(o); }
  Tensor divide(const Tensor& o) const { return div(o); }
  Tensor& divide_(const Tensor& o) const { return div_(o); }
  Tensor divide(const Scalar& o) const { return div(o); }
  Tensor& divide_(const Scalar& o) const { return div_(o); }
  Tensor divide(const Tensor& o, std::optional<std::string_view> mode) const {
    return div(o, mode);
  }
  Tensor divide(const Scalar& o, std::optional<std::string_view> mode) const {
    return div(o, mode);
  }
  Tensor& divide_(const Tensor& o, std::optional<std::string_view> mode) const {
    return div_(o, mode);
  }
  Tensor& divide_(const Scalar& o, std::optional<std::string_view> mode) const {
    return div_(o, mode);
  }
  Tensor true_divide(const Tensor& o) const { return div(o); }
  Tensor& true_divide_(const Tensor& o) const { return div_(o); }
  Tensor true_divide(const Scalar& o) const { return div(o); }
  Tensor& true_divide_(const Scalar& o) const { return div_(o); }
  Tensor arctan2(const Tensor& o) const { return atan2(o); }
  Tensor& arctan2_(const Tensor& o) const { return atan2_(o); }
  Tensor where(const Tensor& condition, const Tensor& o) const;
  Tensor where(const Tensor& condition, const Scalar& o) const;
  Tensor clamp(const std::optional<Scalar>& min,
               const std::optional<Scalar>& max = std::nullopt) const;
  Tensor clamp(const std::optional<Tensor>& min,
               const std::optional<Tensor>& max = std::nullopt) const;
  Tensor& clamp_(const std::optional<Scalar>& min,
                 const std::optional<Scalar>& max = std::nullopt) const;
  Tensor clip(const std::optional<Scalar>& min,
              const std::optional<Scalar>& max = std::nullopt) const {
    return clamp(min, max);
  }
  Tensor clip(const std::optional<Tensor>& min,
              const std::optional<Tensor>& max = std::nullopt) const {
    return clamp(min, max);
  }
  Tensor& clip_(const std::optional<Scalar>& min,
                const std::optional<Scalar>& max = std::nullopt) const {
    return clamp_(min, max);
  }
  Tensor& clamp_(const std::optional<Tensor>& min,
                 const std::optional<Tensor>& max = std::nullopt) const;
  Tensor& clip_(const std::optional<Tensor>& min,
                const std::optional<Tensor>& max = std::nullopt) const {
    return clamp_(min, max);
  }
  Tensor clamp_min(const Scalar& min) const;
  Tensor clamp_min(const Tensor& min) const;
  Tensor clamp_max(const Scalar& max) const;
  Tensor clamp_max(const Tensor& max) const;
  Tensor& clamp_min_(const Scalar& min) const;
  Tensor& clamp_max_(const Scalar& max) const;
  Tensor& clamp_min_(const Tensor& min) const;
  Tensor& clamp_max_(const Tensor& max) const;
  Tensor addcmul(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor& addcmul_(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor addcdiv(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor& addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor lerp(const Tensor& end, const Tensor& weight) const;
  Tensor lerp(const Tensor& end, const Scalar& weight) const;
  Tensor& lerp_(const Tensor& end, const Tensor& weight) const;
  Tensor& lerp_(const Tensor& end, const Scalar& weight) const;
  Tensor hardshrink(const Scalar& lambda = 0.5) const;
  Tensor prelu(const Tensor& weight) const;

  // -- reductions (ops/reduction*.cpp) ----------------------------------------------------------
  Tensor sum(std::optional<DType> dtype = std::nullopt) const;
  Tensor sum(OptionalIntArrayRef dim, bool keepdim = false,
             std::optional<DType> dtype = std::nullopt) const;
  Tensor nansum(OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                std::optional<DType> dtype = std::nullopt) const;
  Tensor mean(std::optional<DType> dtype = std::nullopt) const;
  Tensor mean(OptionalIntArrayRef dim, bool keepdim = false,
              std::optional<DType> dtype = std::nullopt) const;
  Tensor nanmean(OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                 std::optional<DType> dtype = std::nullopt) const;
  Tensor prod(std::optional<DType> dtype = std::nullopt) const;
  Tensor prod(int64_t dim, bool keepdim = false, std::optional<DType> dtype = std::nullopt) const;
  Tensor any() const;
  Tensor any(int64_t dim, bool keepdim = false) const;
  Tensor all() const;
  Tensor all(int64_t dim, bool keepdim = false) const;
  Tensor count_nonzero(IntArrayRef dim) const;
  Tensor count_nonzero(int64_t dim) const;
  Tensor count_nonzero(std::optional<int64_t> dim = std::nullopt) const;
  Tensor max() const;
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
  Tensor max(const Tensor& o) const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor min(const Tensor& o) const;
  Tensor amax(IntArrayRef dim = {}, bool keepdim = false) const;
  Tensor amin(IntArrayRef dim = {}, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> aminmax(std::optional<int64_t> dim = std::nullopt,
                                     bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = std::nullopt, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = std::nullopt, bool keepdim = false) const;
  // A template, lest var(0) mean var(false) and not dimension 0.
  template <class B>
  requires(std::is_same_v<B, bool>) Tensor var(B unbiased)
  const { return var(std::nullopt, unbiased, false); }
  Tensor var(OptionalIntArrayRef dim, bool unbiased, bool keepdim = false) const;
  Tensor var(OptionalIntArrayRef dim = std::nullopt,
             std::optional<int64_t> correction = std::nullopt, bool keepdim = false) const;
  // A template, lest std(0) mean std(false) and not dimension 0.
  template <class B>
  requires(std::is_same_v<B, bool>) Tensor std(B unbiased)
  const { return std(std::nullopt, unbiased, false); }
  Tensor std(OptionalIntArrayRef dim, bool unbiased, bool keepdim = false) const;
  Tensor std(OptionalIntArrayRef dim = std::nullopt,
             std::optional<int64_t> correction = std::nullopt, bool keepdim = false) const;
  Tensor norm(const Scalar& p = 2) const;
  Tensor norm(const std::optional<Scalar>& p, DType dtype) const;
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) const;
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, DType dtype) const;
  Tensor logsumexp(IntArrayRef dim, bool keepdim = false) const;
  Tensor softmax(int64_t dim, std::optional<DType> dtype = std::nullopt) const;
  Tensor log_softmax(int64_t dim, std::optional<DType> dtype = std::nullopt) const;
  Tensor dist(const Tensor& o, const Scalar& p = 2) const;
  Tensor diff(int64_t n = 1, int64_t dim = -1, const std::optional<Tensor>& prepend = std::nullopt,
              const std::optional<Tensor>& append = std::nullopt) const;
  Tensor cov(int64_t correction = 1, const std::optional<Tensor>& fweights = std::nullopt,
             const std::optional<Tensor>& aweights = std::nullopt) const;
  Tensor corrcoef() const;

  // -- scans (ops/scan.cpp) ---------------------------------------------------------------------
  Tensor cumsum(int64_t dim, std::optional<DType> dtype = std::nullopt) const;
  Tensor& cumsum_(int64_t dim, std::optional<DType> dtype = std::nullopt) const;
  Tensor cumprod(int64_t dim, std::optional<DType> dtype = std::nullopt) const;
  Tensor& cumprod_(int64_t dim, std::optional<DType> dtype = std::nullopt) const;
  std::tuple<Tensor, Tensor> cummax(int64_t dim) const;
  std::tuple<Tensor, Tensor> cummin(int64_t dim) const;
  Tensor logcumsumexp(int64_t dim) const;

  // -- sorting (ops/sort*.cpp) ------------------------------------------------------------------
  std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;
  std::tuple<Tensor, Tensor> sort(std::optional<bool> stable, int64_t dim = -1,
                                  bool descending = false) const;
  Tensor argsort(int64_t dim = -1, bool descending = false) const;
  Tensor argsort(bool stable, int64_t dim = -1, bool descending = false) const;
  Tensor msort() const;
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true,
                                  bool sorted = true) const;
  std::tuple<Tensor, Tensor> kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) const;
  Tensor renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const;
  Tensor& renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const;
  Tensor median() const;
  std::tuple<Tensor, Tensor> median(int64_t dim, bool keepdim = false) const;
  Tensor nanmedian() const;
  std::tuple<Tensor, Tensor> nanmedian(int64_t dim, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> mode(int64_t dim = -1, bool keepdim = false) const;
  Tensor quantile(const Tensor& q, std::optional<int64_t> dim = std::nullopt, bool keepdim = false,
                  const std::string& interpolation = "linear") const;
  Tensor quantile(double q, std::optional<int64_t> dim = std::nullopt, bool keepdim = false,
                  const std::string& interpolation = "linear") const;
  Tensor nanquantile(const Tensor& q, std::optional<int64_t> dim = std::nullopt,
                     bool keepdim = false, const std::string& interpolation = "linear") const;
  Tensor nanquantile(double q, std::optional<int64_t> dim = std::nullopt, bool keepdim = false,
                     const std::string& interpolation = "linear") const;
  std::tuple<Tensor, Tensor> histogram(int64_t bins = 100,
                                       std::optional<ArrayRef<double>> range = std::nullopt,
                                       const std::optional<Tensor>& weight = std::nullopt,
                                       bool density = false) const;
  std::tuple<Tensor, Tensor> histogram(const Tensor& bins,
                                       const std::optional<Tensor>& weight = std::nullopt,
                                       bool density = false) const;
  Tensor histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) const;
  Tensor bincount(const std::optional<Tensor>& weights = std::nullopt, int64_t minlength = 0) const;

  // -- indexing, gather and scatter (ops/indexing.cpp, gather.cpp) ------------------------------
  /// x[2]: one slice of the first dimension, a view.
  Tensor operator[](int64_t index) const;
  Tensor operator[](const Scalar& index) const;
  Tensor operator[](const Tensor& index) const;
  /// x.index({0, Slice(1, None), "...", mask}): see ops/tensor_index.h.
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values,
                     bool accumulate = false) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value,
                     bool accumulate = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values,
                     bool accumulate = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value,
                     bool accumulate = false) const;
  Tensor index_put(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values,
                   bool accumulate = false) const;
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& values,
                   bool accumulate = false) const;

  Tensor gather(int64_t dim, const Tensor& index, bool sparse_grad = false) const;
  Tensor take_along_dim(const Tensor& indices, std::optional<int64_t> dim = std::nullopt) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src,
                 std::string_view reduce) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value,
                 std::string_view reduce) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self = true) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src,
                   std::string_view reduce) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value,
                   std::string_view reduce) const;
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce, bool include_self = true) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& src,
                   const Scalar& alpha = 1) const;
  Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& src,
                     const Scalar& alpha = 1) const;
  Tensor index_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self = true) const;
  Tensor& index_reduce_(int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self = true) const;
  Tensor index_copy(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor index_fill(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor index_fill(int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor take(const Tensor& index) const;
  Tensor put(const Tensor& index, const Tensor& src, bool accumulate = false) const;
  Tensor& put_(const Tensor& index, const Tensor& src, bool accumulate = false) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;
  Tensor masked_select(const Tensor& mask) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& src) const;
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& src) const;
  Tensor nonzero() const;
  Tensor argwhere() const;
  std::vector<Tensor> nonzero_numpy() const;

  // -- other orders, repetitions (ops/rearrange.cpp, join.cpp) ------------------------------------
  Tensor flip(IntArrayRef dims) const;
  Tensor fliplr() const;
  Tensor flipud() const;
  Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) const;
  Tensor rot90(int64_t k = 1, IntArrayRef dims = {0, 1}) const;
  Tensor tril(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor& tril_(int64_t diagonal = 0) const;
  Tensor& triu_(int64_t diagonal = 0) const;
  Tensor diag(int64_t diagonal = 0) const;
  Tensor diagflat(int64_t offset = 0) const;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) const;
  Tensor diagonal_scatter(const Tensor& src, int64_t offset = 0, int64_t dim1 = 0,
                          int64_t dim2 = 1) const;
  Tensor select_scatter(const Tensor& src, int64_t dim, int64_t index) const;
  Tensor slice_scatter(const Tensor& src, int64_t dim = 0,
                       std::optional<int64_t> start = std::nullopt,
                       std::optional<int64_t> end = std::nullopt, int64_t step = 1) const;
  Tensor as_strided_scatter(const Tensor& src, IntArrayRef size, IntArrayRef stride,
                            std::optional<int64_t> offset = std::nullopt) const;
  Tensor repeat(IntArrayRef repeats) const;
  Tensor tile(IntArrayRef repeats) const;
  Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim = std::nullopt,
                           std::optional<int64_t> output_size = std::nullopt) const;
  Tensor repeat_interleave(int64_t repeats, std::optional<int64_t> dim = std::nullopt,
                           std::optional<int64_t> output_size = std::nullopt) const;

  // -- products and linear algebra (ops/matmul.cpp, linalg.cpp) ---------------------------------
  Tensor matmul(const Tensor& o) const;
  Tensor mm(const Tensor& o) const;
  Tensor bmm(const Tensor& o) const;
  Tensor mv(const Tensor& vector) const;
  Tensor dot(const Tensor& o) const;
  Tensor vdot(const Tensor& o) const;
  Tensor inner(const Tensor& o) const;
  Tensor outer(const Tensor& o) const;
  Tensor ger(const Tensor& o) const;
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
               const Scalar& alpha = 1) const;
  Tensor& addmm_(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const;
  Tensor addmv(const Tensor& matrix, const Tensor& vector, const Scalar& beta = 1,
               const Scalar& alpha = 1) const;
  Tensor& addmv_(const Tensor& matrix, const Tensor& vector, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const;
  Tensor addr(const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
              const Scalar& alpha = 1) const;
  Tensor& addr_(const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
                const Scalar& alpha = 1) const;
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const;
  Tensor& baddbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                   const Scalar& alpha = 1) const;
  Tensor addbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                const Scalar& alpha = 1) const;
  Tensor& addbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                  const Scalar& alpha = 1) const;

  Tensor inverse() const;
  Tensor det() const;
  Tensor logdet() const;
  std::tuple<Tensor, Tensor> slogdet() const;
  Tensor cholesky(bool upper = false) const;
  Tensor cholesky_solve(const Tensor& factor, bool upper = false) const;
  Tensor cholesky_inverse(bool upper = false) const;
  std::tuple<Tensor, Tensor> triangular_solve(const Tensor& a, bool upper = true,
                                              bool transpose = false,
                                              bool unitriangular = false) const;
  Tensor lu_solve(const Tensor& lu, const Tensor& pivots) const;
  std::tuple<Tensor, Tensor> qr(bool some = true) const;
  std::tuple<Tensor, Tensor, Tensor> svd(bool some = true, bool compute_uv = true) const;
  std::tuple<Tensor, Tensor> symeig(bool eigenvectors = false, bool upper = true) const;
  Tensor pinverse(double rcond = 1e-15) const;
  Tensor matrix_exp() const;
  Tensor matrix_power(int64_t n) const;
  Tensor trace() const;
  Tensor kron(const Tensor& o) const;
  Tensor cross(const Tensor& o, std::optional<int64_t> dim = std::nullopt) const;

  // -- random (ops/random.cpp) ------------------------------------------------------------------
  Tensor& uniform_(double from = 0, double to = 1,
                   std::optional<Generator> generator = std::nullopt) const;
  Tensor& normal_(double mean = 0, double std = 1,
                  std::optional<Generator> generator = std::nullopt) const;
  Tensor& random_(int64_t from, std::optional<int64_t> to,
                  std::optional<Generator> generator = std::nullopt) const;
  Tensor& random_(int64_t to, std::optional<Generator> generator = std::nullopt) const;
  Tensor& random_(std::optional<Generator> generator = std::nullopt) const;
  Tensor& bernoulli_(double p = 0.5, std::optional<Generator> generator = std::nullopt) const;
  Tensor& bernoulli_(const Tensor& p, std::optional<Generator> generator = std::nullopt) const;
  Tensor& exponential_(double lambd = 1, std::optional<Generator> generator = std::nullopt) const;
  Tensor& geometric_(double p, std::optional<Generator> generator = std::nullopt) const;
  Tensor& cauchy_(double median = 0, double sigma = 1,
                  std::optional<Generator> generator = std::nullopt) const;
  Tensor& log_normal_(double mean = 1, double std = 2,
                      std::optional<Generator> generator = std::nullopt) const;
  Tensor bernoulli(std::optional<Generator> generator = std::nullopt) const;
  Tensor bernoulli(double p, std::optional<Generator> generator = std::nullopt) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false,
                     std::optional<Generator> generator = std::nullopt) const;

 private:
  TensorImpl& checked() const {
    if (!impl_) [[unlikely]]
      fail_undefined();
    if (t_mode.recorder) [[unlikely]]
      note_seen();
    return *impl_;
  }
  [[noreturn]] static void fail_undefined();
  void note_seen() const;
  void expect_dtype(DType t) const;
  void expect_dim(size_t n) const;
  unsigned add_hook(std::function<Tensor(const Tensor&)> hook) const;

  intrusive_ptr<TensorImpl> impl_;
};

/// Values, shape and dtype; long tensors abridged.
std::ostream& operator<<(std::ostream& out, const Tensor& t);

}  // namespace tandem
