#include "tandem/ops/literal.h"

#include <cstring>

#include "tandem/ops/creation.h"
#include "tandem/ops/fits_detail.h"

namespace tandem {
namespace detail {
namespace {

std::string joined(IntArrayRef sizes) {
  std::string text;
  for (int64_t s : sizes) text += (text.empty() ? "" : " ") + std::to_string(s);
  return text;
}

}  // namespace

TensorDataContainer::TensorDataContainer()
    : kind_(Kind::kList), dtype_(get_default_dtype()), sizes_{0} {}

TensorDataContainer::TensorDataContainer(std::initializer_list<TensorDataContainer> list)
    : kind_(Kind::kList),
      dtype_(list.size() ? list.begin()->dtype_ : get_default_dtype()),
      list_(list) {
  sizes_.push_back(static_cast<int64_t>(list.size()));
  if (list.size() == 0) return;
  const TensorDataContainer& first = *list.begin();
  for (const TensorDataContainer& e : list) {
    TANDEM_CHECK_SHAPE(e.sizes_ == first.sizes_,
                       "tensor: Expected all sub-lists to have sizes: ", joined(first.sizes_),
                       " (e.g. ", first, "), but got sub-list ", e,
                       " with sizes: ", joined(e.sizes_));
    TANDEM_CHECK_TYPE(e.dtype_ == first.dtype_,
                      "tensor: Expected all elements of the tensor to have the "
                      "same scalar type: ",
                      first.dtype_, ", but got element of scalar type: ", e.dtype_);
  }
  sizes_.append(first.sizes_.begin(), first.sizes_.end());
}

TensorDataContainer::TensorDataContainer(const void* values, DType t, size_t n)
    : kind_(Kind::kTensor), dtype_(t), sizes_{static_cast<int64_t>(n)} {
  tensor_ = tensor_from(values, t, n, t);
}

TensorDataContainer::TensorDataContainer(const std::vector<bool>& values)
    : kind_(Kind::kTensor), dtype_(kBool), sizes_{static_cast<int64_t>(values.size())} {
  AutoGradMode plain(false);
  tensor_ = empty(sizes_, kBool);
  bool* p = tensor_.data_ptr<bool>();
  for (bool v : values) *p++ = v;
}

const Scalar& TensorDataContainer::scalar() const {
  TANDEM_CHECK(is_scalar(),
               "Can only call `scalar()` on a TensorDataContainer "
               "that has `is_scalar() == true`");
  return scalar_;
}

const std::initializer_list<TensorDataContainer>& TensorDataContainer::init_list() const {
  TANDEM_CHECK(is_init_list(),
               "Can only call `init_list()` on a TensorDataContainer that has "
               "`is_init_list() == true`");
  return list_;
}

const Tensor& TensorDataContainer::tensor() const {
  TANDEM_CHECK(is_tensor(),
               "Can only call `tensor()` on a TensorDataContainer "
               "that has `is_tensor() == true`");
  return tensor_;
}

// Writes the values in row-major order and moves `at` behind them.
void TensorDataContainer::copy_to(char*& at, DType t) const {
  if (is_scalar()) {
    check_fits("tensor", scalar_, t);
    dispatch(t, [&]<class T>(T) {
      const T v = scalar_.to<T>();
      std::memcpy(at, &v, sizeof v);
    });
    at += size_of(t);
  } else if (is_tensor()) {
    const Tensor converted = tensor_.to(t);
    if (converted.numel()) std::memcpy(at, converted.const_data_ptr(), converted.nbytes());
    at += converted.nbytes();
  } else {
    for (const TensorDataContainer& e : list_) e.copy_to(at, t);
  }
}

Tensor TensorDataContainer::convert_to_tensor(const TensorOptions& o) const {
  DType t = dtype_;
  if (o.has_dtype())
    t = o.dtype();
  else if (t == kInt)
    t = kLong;
  else if (t == kFloat || t == kDouble)
    t = get_default_dtype();
  TANDEM_CHECK(!o.requires_grad() || is_floating(t),
               "tensor: Only Tensors of floating point and complex dtype can "
               "require gradients, not ",
               name_of(t));
  AutoGradMode plain(false);
  Tensor result = empty(sizes_, t);
  char* at = static_cast<char*>(result.data_ptr());
  copy_to(at, t);
  return result.to(o.device(), t).set_requires_grad(o.requires_grad());
}

std::ostream& operator<<(std::ostream& out, const TensorDataContainer& c) {
  if (c.is_scalar()) return out << c.scalar_;
  out << '{';
  if (c.is_init_list()) {
    const char* comma = "";
    for (const TensorDataContainer& e : c.list_) out << std::exchange(comma, ", ") << e;
  } else {
    const int64_t n = c.tensor_.numel();
    for (int64_t i = 0; i < n; ++i) out << (i ? ", " : "") << c.tensor_[i].item();
  }
  return out << '}';
}

Tensor tensor_from(const void* values, DType t, size_t n, const TensorOptions& o) {
  AutoGradMode plain(false);
  const Tensor result = empty({static_cast<int64_t>(n)}, t);
  if (n) std::memcpy(result.data_ptr(), values, result.nbytes());
  return result.to(o.device(), o.has_dtype() ? o.dtype() : t).set_requires_grad(o.requires_grad());
}

}  // namespace detail

Tensor tensor(detail::TensorDataContainer data, const TensorOptions& o) {
  return data.convert_to_tensor(o);
}

}  // namespace tandem
