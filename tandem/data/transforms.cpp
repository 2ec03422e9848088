#include "tandem/data/transforms.h"

#include "tandem/ops/ops.h"

namespace tandem::data::transforms {

Example<> Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  std::vector<Tensor> data, targets;
  for (Example<>& e : examples) {
    data.push_back(std::move(e.data));
    targets.push_back(std::move(e.target));
  }
  return {stack(data), stack(targets)};
}

TensorExample Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  std::vector<Tensor> data;
  for (TensorExample& e : examples) data.push_back(std::move(e.data));
  return stack(data);
}

namespace detail {

Tensor per_channel(ArrayRef<double> values) {
  return tensor(values, kFloat).unsqueeze(1).unsqueeze(2);
}

Tensor normalize(const Tensor& image, const Tensor& mean, const Tensor& stddev) {
  return image.sub(mean).div(stddev);
}

}  // namespace detail
}  // namespace tandem::data::transforms
