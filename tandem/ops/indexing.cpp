#include "tandem/base/warning.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/gather.h"
#include "tandem/ops/indexing_op.h"
#include "tandem/ops/tensor_index.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace indexing {

std::ostream& operator<<(std::ostream& out, const Slice& s) {
  return out << s.start() << ':' << s.stop() << ':' << s.step();
}

std::ostream& operator<<(std::ostream& out, const TensorIndex& i) {
  switch (i.type()) {
    case TensorIndexType::None:
      return out << "None";
    case TensorIndexType::Ellipsis:
      return out << "...";
    case TensorIndexType::Integer:
      return out << i.integer();
    case TensorIndexType::Boolean:
      return out << (i.boolean() ? "true" : "false");
    case TensorIndexType::Slice:
      return out << i.slice();
    default:
      return out << i.tensor();
  }
}

std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices) {
  out << '(';
  for (size_t i = 0; i < indices.size(); ++i) out << (i ? ", " : "") << indices[i];
  return out << ')';
}

}  // namespace indexing

namespace {

using indexing::TensorIndex;
using indexing::TensorIndexType;
using Indices = ArrayRef<TensorIndex>;

bool is_mask(const Tensor& t) { return t.dtype() == kBool || t.dtype() == kByte; }

// What an index means: a view of the tensor, of which some dimensions are then indexed by tensors.
struct Resolved {
  Tensor view;
  Dims dims;
  std::vector<Tensor> indices;
};

class Resolver {
 public:
  Resolver(const Tensor& x, Indices indices) : x_(x) {
    result_.view = x;
    int64_t spoken_of = 0;
    for (const TensorIndex& i : indices) spoken_of += dims_taken(i);
    TANDEM_CHECK_INDEX(spoken_of <= x.dim(), "too many indices for tensor of dimension ", x.dim());
    for (const TensorIndex& i : indices) {
      if (i.is_ellipsis()) {
        dim_ += x.dim() - spoken_of;
        from_ += x.dim() - spoken_of;
        spoken_of = x.dim();  // a second ellipsis stands for nothing
      } else {
        take(i);
      }
    }
  }
  Resolved result() && { return std::move(result_); }

 private:
  static int64_t dims_taken(const TensorIndex& i) {
    if (i.is_integer() || i.is_slice()) return 1;
    if (!i.is_tensor()) return 0;
    TANDEM_CHECK(i.tensor().defined(), "index: a tensor used as an index is undefined");
    return is_mask(i.tensor()) ? i.tensor().dim() : 1;
  }

  void take(const TensorIndex& i) {
    switch (i.type()) {
      case TensorIndexType::None:
        result_.view = result_.view.unsqueeze(dim_++);
        break;
      case TensorIndexType::Integer:
        select(i.integer());
        break;
      case TensorIndexType::Boolean:
        truth(i.boolean());
        break;
      case TensorIndexType::Slice:
        slice(i.slice());
        break;
      default:
        tensor(i.tensor());
    }
  }

  void select(int64_t i) {
    const int64_t n = x_.size(from_);
    TANDEM_CHECK_INDEX(i >= -n && i < n, "index ", i, " is out of bounds for dimension ", from_,
                       " with size ", n);
    result_.view = result_.view.select(dim_, i);
    ++from_;
  }

  void slice(const indexing::Slice& s) {
    TANDEM_CHECK(s.step() > 0, "index: step must be greater than zero, got the slice ", s);
    const int64_t n = x_.size(from_);
    if (s.start() != 0 || s.stop() < n || s.step() != 1)
      result_.view = result_.view.slice(dim_, s.start(), s.stop(), s.step());
    ++dim_;
    ++from_;
  }

  // A truth value is a mask without dimensions: it adds one that is 1 or 0 long.
  void truth(bool v) {
    result_.view = result_.view.unsqueeze(dim_);
    const TensorOptions o = TensorOptions(kLong).device(x_.device());
    record(v ? zeros({1}, o) : empty({0}, o));
  }

  void tensor(const Tensor& t) {
    TANDEM_CHECK_TYPE(isIntegralType(t.dtype(), /*include_bool=*/true),
                      "index: tensors used as indices must be long, byte or bool tensors, not ",
                      t.dtype());
    if (t.dim() == 0) {
      if (is_mask(t))
        truth(t.item<bool>());
      else
        select(t.item<int64_t>());
      return;
    }
    if (!is_mask(t)) {
      record(t);
      ++from_;
      return;
    }
    if (t.dtype() == kByte)
      TANDEM_WARN(
          "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
          "instead.");
    for (int64_t d = 0; d < t.dim(); ++d)
      TANDEM_CHECK_INDEX(t.size(d) == x_.size(from_ + d), "The shape of the mask ", t.sizes(),
                         " at index ", d, " does not match the shape of the indexed tensor ",
                         x_.sizes(), " at index ", from_ + d);
    for (const Tensor& column : t.nonzero_numpy()) record(column);
    from_ += t.dim();
  }

  void record(const Tensor& index) {
    result_.dims.push_back(dim_++);
    result_.indices.push_back(index);
  }

  const Tensor& x_;
  Resolved result_;
  int64_t dim_ = 0;   // next dimension of the view
  int64_t from_ = 0;  // next dimension of x
};

void check_list(const char* method, Indices indices) {
  TANDEM_CHECK(!indices.empty(), "Passing an empty index list to Tensor::", method,
               "() is not valid syntax");
}

// A 0-d tensor has no dimension to index; say so before anything else.
void check_scalar(const Tensor& x, Indices indices) {
  if (x.dim() > 0) return;
  for (const TensorIndex& i : indices)
    TANDEM_CHECK_INDEX(!i.is_integer(),
                       "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim "
                       "tensor to a number");
}

Resolved resolve(const char* method, const Tensor& x, Indices indices) {
  check_list(method, indices);
  check_scalar(x, indices);
  return Resolver(x, indices).result();
}

// Values may have more dimensions than the place they go to if the first ones are 1.
Tensor without_leading_ones(const Tensor& values, int64_t dim) {
  if (values.dim() <= dim) return values;
  int64_t ones = 0;
  while (ones < values.dim() && values.size(ones) == 1) ++ones;
  ones = std::min(ones, values.dim() - dim);
  Dims sizes;
  for (int64_t d = ones; d < values.dim(); ++d) sizes.push_back(values.size(d));
  return values.view(sizes);
}

// How many dimensions the indexed part has.
int64_t indexed_dim(const Resolved& r) {
  int64_t most = 0;
  for (const Tensor& t : r.indices) most = std::max(most, t.dim());
  return r.view.dim() - static_cast<int64_t>(r.dims.size()) + most;
}

// If x is indexed by a mask of its first dimensions and nothing else: that mask, as it is broadcast
// over x; otherwise undefined.
Tensor only_mask(const Tensor& x, Indices indices) {
  if (indices.size() != 1 || !indices[0].is_tensor()) return {};
  const Tensor& mask = indices[0].tensor();
  if (!mask.defined() || mask.dtype() != kBool || mask.dim() > x.dim()) return {};
  Dims shape = mask.sizes();
  if (!std::equal(shape.begin(), shape.end(), x.sizes().begin())) return {};
  shape.resize(static_cast<size_t>(x.dim()), 1);
  return mask.reshape(shape);
}

void assign(const Tensor& x, Indices indices, const Tensor& values, bool accumulate) {
  const Resolved r = resolve("index_put_", x, indices);
  if (!r.indices.empty()) {
    index_put_at_("index_put_", r.view, r.dims, r.indices,
                  without_leading_ones(values, indexed_dim(r)), accumulate);
    return;
  }
  const Tensor v = without_leading_ones(values, r.view.dim());
  if (accumulate)
    r.view.add_(v);
  else
    r.view.copy_(v);
}

}  // namespace

Tensor Tensor::index(Indices indices) const {
  const Resolved r = resolve("index", *this, indices);
  if (!r.indices.empty()) return index_at("index", r.view, r.dims, r.indices);
  return r.view.is_same(*this) ? alias() : r.view;
}
Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const {
  return index(Indices(indices.begin(), indices.size()));
}

Tensor& Tensor::index_put_(Indices indices, const Tensor& values, bool accumulate) const {
  TANDEM_CHECK(values.defined(), "index_put_: the value is an undefined tensor");
  // One value where a mask holds needs no list of places.
  if (!accumulate && values.numel() == 1 && values.dtype() == dtype())
    if (const Tensor mask = only_mask(*this, indices); mask.defined())
      return masked_fill_(mask, values.view(Dims()));
  assign(*this, indices, values, accumulate);
  return const_cast<Tensor&>(*this);
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values,
                           bool accumulate) const {
  return index_put_(Indices(indices.begin(), indices.size()), values, accumulate);
}

Tensor& Tensor::index_put_(Indices indices, const Scalar& value, bool accumulate) const {
  return index_put_(indices, full({}, value, options()), accumulate);
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value,
                           bool accumulate) const {
  return index_put_(Indices(indices.begin(), indices.size()), value, accumulate);
}

Tensor Tensor::index_put(Indices indices, const Tensor& values, bool accumulate) const {
  return clone().index_put_(indices, values, accumulate);
}
Tensor Tensor::index_put(std::initializer_list<TensorIndex> indices, const Tensor& values,
                         bool accumulate) const {
  return clone().index_put_(indices, values, accumulate);
}

Tensor Tensor::operator[](int64_t i) const {
  TANDEM_CHECK_INDEX(
      dim() > 0,
      "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a "
      "number");
  return select(0, i);
}
Tensor Tensor::operator[](const Scalar& i) const {
  TANDEM_CHECK_TYPE(i.isIntegral(), "Can only index tensors with integral scalars, not ", i);
  return (*this)[i.toLong()];
}
Tensor Tensor::operator[](const Tensor& i) const {
  TANDEM_CHECK(i.defined(), "Can only index with tensors that are defined");
  TANDEM_CHECK_SHAPE(i.dim() == 0,
                     "Can only index with tensors that are scalars (zero-dim), not of shape ",
                     i.sizes());
  return (*this)[i.item()];
}

Tensor index(const Tensor& x, std::initializer_list<TensorIndex> indices) {
  return x.index(indices);
}
Tensor index(const Tensor& x, Indices indices) { return x.index(indices); }
Tensor index_put(const Tensor& x, std::initializer_list<TensorIndex> indices, const Tensor& values,
                 bool accumulate) {
  return x.index_put(indices, values, accumulate);
}
Tensor& index_put_(Tensor& x, std::initializer_list<TensorIndex> indices, const Tensor& values,
                   bool accumulate) {
  return x.index_put_(indices, values, accumulate);
}

}  // namespace tandem
