#include "tandem/train/source.h"

#include "tandem/ops/ops.h"

namespace tandem::trainer {

Source::Source(Tensor x, Tensor y) {
  TANDEM_CHECK(x.defined() && y.defined() && x.dim() > 0 && y.dim() > 0,
               "fit: x and y must be tensors of examples along their first dimension");
  TANDEM_CHECK_SHAPE(x.size(0) == y.size(0), "fit: ", x.size(0), " examples in x, ", y.size(0),
                     " in y");
  size_ = x.size(0);
  open_ = [x, y](const How& how) -> Reader {
    const int64_t n = x.size(0), batch = static_cast<int64_t>(how.batch_size);
    const Tensor order = how.shuffle ? randperm(n) : Tensor();
    auto at = std::make_shared<int64_t>(0);
    return [=]() -> std::optional<Batch> {
      if (*at >= n) return std::nullopt;
      const int64_t from = *at, count = std::min(batch, n - from);
      *at += count;
      if (!order.defined()) return Batch(x.narrow(0, from, count), y.narrow(0, from, count));
      const Tensor pick = order.narrow(0, from, count);
      return Batch(x.index_select(0, pick), y.index_select(0, pick));
    };
  };
}

}  // namespace tandem::trainer
