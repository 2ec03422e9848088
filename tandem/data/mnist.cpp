#include "tandem/data/mnist.h"

#include "tandem/base/env.h"
#include "tandem/data/detail/images.h"
#include "tandem/io/idx.h"
#include "tandem/ops/ops.h"

namespace tandem::data::datasets {

MNIST::MNIST(const std::string& root, Mode mode) : mode_(mode) {
  const auto [images, labels] = io::read_idx_pair(root, is_train() ? "train" : "t10k");
  images_ = data::detail::zero_to_one(images.unsqueeze(1));
  targets_ = labels;
}

Example<> MNIST::get(size_t index) {
  const auto i = static_cast<int64_t>(index);
  return {images_[i], targets_[i]};
}

std::optional<size_t> MNIST::size() const { return static_cast<size_t>(images_.size(0)); }

FashionMNIST::FashionMNIST(Mode mode) : MNIST(env::fashion_mnist_dir(), mode) {}

}  // namespace tandem::data::datasets
