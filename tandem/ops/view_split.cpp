// Cutting a tensor into views along one dimension.
#include "tandem/ops/view.h"

namespace tandem {
namespace {

int64_t checked_dim(const char* op, const Tensor& x, int64_t dim) {
  TANDEM_CHECK_SHAPE(x.dim() > 0, op, " expects at least a 1-dimensional tensor");
  return wrap_dim(op, dim, x.dim());
}

}  // namespace

std::vector<Tensor> Tensor::split_with_sizes(IntArrayRef sizes, int64_t dim) const {
  dim = checked_dim("split_with_sizes", *this, dim);
  std::vector<Tensor> parts;
  parts.reserve(sizes.size());
  int64_t at = 0;
  for (int64_t s : sizes) {
    TANDEM_CHECK_SHAPE(s >= 0,
                       "split_with_sizes expects split_sizes have only "
                       "non-negative entries, but got ",
                       sizes);
    at += s;
  }
  TANDEM_CHECK_SHAPE(at == size(dim), "split_with_sizes expects split_sizes to sum exactly to ",
                     size(dim), " (input tensor's size at dimension ", dim,
                     "), but got split_sizes=", sizes);
  at = 0;
  for (int64_t s : sizes) {
    parts.push_back(narrow(dim, at, s));
    at += s;
  }
  return parts;
}

std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const {
  dim = checked_dim("split", *this, dim);
  const int64_t n = this->size(dim);
  TANDEM_CHECK_SHAPE(size >= 0,
                     "split expects split_size be non-negative, but got split_size=", size);
  TANDEM_CHECK_SHAPE(size > 0 || n == 0,
                     "split: split_size can only be 0 if dimension size is 0, "
                     "but got dimension size of ",
                     n);
  std::vector<Tensor> parts;
  if (n == 0) parts.push_back(narrow(dim, 0, 0));
  for (int64_t at = 0; at < n; at += size) parts.push_back(narrow(dim, at, std::min(size, n - at)));
  return parts;
}

std::vector<Tensor> Tensor::split(IntArrayRef sizes, int64_t dim) const {
  return split_with_sizes(sizes, dim);
}

std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const {
  dim = checked_dim("chunk", *this, dim);
  TANDEM_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t n = size(dim), each = (n + chunks - 1) / chunks;
  if (each == 0) return split_with_sizes(Dims(chunks, 0), dim);
  return split(each, dim);
}

std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t dim) const {
  dim = checked_dim("tensor_split", *this, dim);
  TANDEM_CHECK(sections > 0, "tensor_split: number of sections must be larger than 0, got ",
               sections);
  const int64_t n = size(dim), each = n / sections, longer = n % sections;
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t length = each + (i < longer);
    parts.push_back(narrow(dim, at, length));
    at += length;
  }
  return parts;
}

std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t dim) const {
  dim = checked_dim("tensor_split", *this, dim);
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t i : indices) {
    parts.push_back(slice(dim, at, i));
    at = i;
  }
  parts.push_back(slice(dim, at));
  return parts;
}

std::vector<Tensor> Tensor::tensor_split(const Tensor& where, int64_t dim) const {
  TANDEM_CHECK_TYPE(where.dtype() == kLong && where.device().is_cpu() && where.dim() <= 1,
                    "tensor_split expected tensor_indices_or_sections to be a "
                    "zero- or one-dimensional "
                    "int64 tensor on the cpu, but got ",
                    where.type_of());
  if (where.dim() == 0) return tensor_split(where.item<int64_t>(), dim);
  const Tensor flat = where.contiguous();
  return tensor_split(IntArrayRef(flat.data_ptr<int64_t>(), static_cast<size_t>(flat.numel())),
                      dim);
}

std::vector<Tensor> Tensor::unbind(int64_t dim) const {
  dim = checked_dim("unbind", *this, dim);
  std::vector<Tensor> parts;
  parts.reserve(size(dim));
  for (int64_t i = 0; i < size(dim); ++i) parts.push_back(select(dim, i));
  return parts;
}

namespace {

int64_t stacked_dim(const char* op, const Tensor& x, int64_t needed, int64_t dim) {
  TANDEM_CHECK_SHAPE(x.dim() >= needed, "torch.", op, " requires a tensor with at least ", needed,
                     " dimension", needed > 1 ? "s" : "", ", but got a tensor with ", x.dim(),
                     " dimensions!");
  return dim;
}

std::vector<Tensor> split_evenly(const char* op, const Tensor& x, int64_t sections, int64_t dim) {
  TANDEM_CHECK(sections > 0 && x.size(dim) % sections == 0, "torch.", op,
               " attempted to split along dimension ", dim, ", but the size of the dimension ",
               x.size(dim), " is not divisible by the split_size ", sections, "!");
  return x.tensor_split(sections, dim);
}

}  // namespace

std::vector<Tensor> Tensor::hsplit(int64_t sections) const {
  return split_evenly("hsplit", *this, sections,
                      stacked_dim("hsplit", *this, 1, dim() == 1 ? 0 : 1));
}
std::vector<Tensor> Tensor::hsplit(IntArrayRef indices) const {
  return tensor_split(indices, stacked_dim("hsplit", *this, 1, dim() == 1 ? 0 : 1));
}
std::vector<Tensor> Tensor::vsplit(int64_t sections) const {
  return split_evenly("vsplit", *this, sections, stacked_dim("vsplit", *this, 2, 0));
}
std::vector<Tensor> Tensor::vsplit(IntArrayRef indices) const {
  return tensor_split(indices, stacked_dim("vsplit", *this, 2, 0));
}
std::vector<Tensor> Tensor::dsplit(int64_t sections) const {
  return split_evenly("dsplit", *this, sections, stacked_dim("dsplit", *this, 3, 2));
}
std::vector<Tensor> Tensor::dsplit(IntArrayRef indices) const {
  return tensor_split(indices, stacked_dim("dsplit", *this, 3, 2));
}

// -- free forms
// -----------------------------------------------------------------------------------

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  return x.chunk(chunks, dim);
}
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) { return x.split(size, dim); }
std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim) {
  return x.split(sizes, dim);
}
std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim) {
  return x.split_with_sizes(sizes, dim);
}
std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  return x.tensor_split(sections, dim);
}
std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim) {
  return x.tensor_split(indices, dim);
}
std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& where, int64_t dim) {
  return x.tensor_split(where, dim);
}
std::vector<Tensor> unbind(const Tensor& x, int64_t dim) { return x.unbind(dim); }
std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) { return x.hsplit(sections); }
std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices) { return x.hsplit(indices); }
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) { return x.vsplit(sections); }
std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices) { return x.vsplit(indices); }
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) { return x.dsplit(sections); }
std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices) { return x.dsplit(indices); }

}  // namespace tandem
