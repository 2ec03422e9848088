// Tensors made from the elements of others.
#include <limits>

#include "tandem/core/apply.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

struct OneHotIndexAttrs {
  int64_t num_classes;
  TANDEM_FIELDS(num_classes)
};

void check_class(int64_t value, int64_t num_classes) {
  TANDEM_CHECK_AS(ValueError, value >= 0, "one_hot: Class values must be non-negative.");
  TANDEM_CHECK_AS(ValueError, value < num_classes,
                  "one_hot: Class values must be smaller than num_classes: ", value, " and ",
                  num_classes);
}

}  // namespace

// Classes as they are, once they have been looked at. Only a kernel sees values wherever one_hot is
// called, while it is recorded too.
TANDEM_OP(kOneHotIndex) = {
    .name = "one_hot_index",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(
              a.in().dtype == kLong,
              "one_hot: one_hot is only applicable to index tensor of type LongTensor, got ",
              a.in().dtype);
          a.out().sizes = a.in().sizes;
          a.out().dtype = kLong;
        },
    .kernel =
        [](const KernelArgs& a) {
          const Array& out = a.out();
          kCopy.kernel({kCopy, &a.in(), 1, &out, 1, {}});
          const auto* values = out.ptr<int64_t>();
          const int64_t num_classes = a.attrs<OneHotIndexAttrs>().num_classes;
          for (int64_t i = 0; i < out.numel; ++i) check_class(values[i], num_classes);
        },
    .checks_values = true,
    .attrs = attrs_of<OneHotIndexAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  TANDEM_CHECK_SHAPE(x.dim() == 1, "vander: x must be a one-dimensional tensor, got ", x.type_of());
  const int64_t columns = n.value_or(x.size(0));
  TANDEM_CHECK(columns >= 0, "vander: N must be non-negative, got ", columns);
  const Tensor base = is_floating(x.dtype()) ? x : x.to(kLong);
  // 1, x, x^2, ... as a running product.
  Tensor result = ones({x.size(0), columns}, base.options().requires_grad(false));
  if (columns > 1) {
    const Tensor powers = base.unsqueeze(1).expand({x.size(0), columns - 1}).cumprod(1);
    result = cat({result.narrow(1, 0, 1), powers}, 1);
  }
  return increasing ? result : result.flip({1});
}

Tensor cartesian_prod(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "cartesian_prod: expects a non-empty TensorList");
  for (const Tensor& t : tensors)
    TANDEM_CHECK_SHAPE(t.dim() == 1, "cartesian_prod: Expect a 1D vector, but got shape ",
                       t.sizes());
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors)) columns.push_back(grid.reshape({-1}));
  return stack(columns, 1);
}

Tensor combinations(const Tensor& x, int64_t r, bool with_replacement) {
  TANDEM_CHECK_SHAPE(x.dim() == 1, "combinations: Expect a 1D vector, but got shape ", x.sizes());
  TANDEM_CHECK(r >= 0, "combinations: Expect a non-negative number, but got ", r);
  if (r == 0) return empty({0}, x.options().requires_grad(false));
  // Positions with rising (or not falling) order.
  const int64_t n = x.size(0);
  std::vector<int64_t> chosen;
  std::vector<int64_t> at(static_cast<size_t>(r));
  for (int64_t i = 0; i < r; ++i) at[static_cast<size_t>(i)] = with_replacement ? 0 : i;
  int64_t rows = 0;
  if (with_replacement ? n > 0 : r <= n) {
    while (true) {
      chosen.insert(chosen.end(), at.begin(), at.end());
      ++rows;
      int64_t i = r - 1;
      while (i >= 0 && at[static_cast<size_t>(i)] == (with_replacement ? n - 1 : n - r + i)) --i;
      if (i < 0) break;
      const int64_t next = at[static_cast<size_t>(i)] + 1;
      for (int64_t k = i; k < r; ++k)
        at[static_cast<size_t>(k)] = with_replacement ? next : next + k - i;
    }
  }
  Tensor index = empty({rows * r}, kLong);
  std::copy(chosen.begin(), chosen.end(), index.data_ptr<int64_t>());
  return x.index_select(0, index).reshape({rows, r});
}

Tensor one_hot(const Tensor& x, int64_t num_classes) {
  TANDEM_CHECK_TYPE(x.dtype() == kLong,
                    "one_hot: one_hot is only applicable to index tensor of type LongTensor, got ",
                    x.dtype());
  TANDEM_CHECK(num_classes > 0 || x.numel() > 0,
               "one_hot: Can not infer total number of classes from empty tensor.");
  TANDEM_CHECK(num_classes >= -1 && num_classes != 0,
               "one_hot: num_classes should be positive, got ", num_classes);
  // How many there are is found among the values; else the shape is known without them.
  Tensor classes = x;
  if (num_classes == -1) {
    check_class(x.min().item<int64_t>(), std::numeric_limits<int64_t>::max());
    num_classes = x.max().item<int64_t>() + 1;
  } else {
    classes = apply(kOneHotIndex, {x}, OneHotIndexAttrs{num_classes});
  }
  return (classes.unsqueeze(-1) == arange(num_classes, x.options())).to(kLong);
}

}  // namespace tandem
