#pragma once

#include <string>

#include "tandem/data/datasets.h"

namespace tandem::data::datasets {

/// The handwritten digits of LeCun, Cortes and Burges: images [1, 28, 28] of numbers from 0 to 1,
/// and classes from 0 to 9. The folder holds the four idx files, plain or gzipped.
class MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  /// All images, float32 [n, 1, 28, 28], and all classes, int64 [n].
  const Tensor& images() const { return images_; }
  const Tensor& targets() const { return targets_; }

 private:
  Mode mode_;
  Tensor images_, targets_;
};

/// Zalando's articles of clothing, in the same format. Without a folder, Debian's
/// dataset-fashion-mnist.
class FashionMNIST : public MNIST {
 public:
  explicit FashionMNIST(Mode mode = Mode::kTrain);
  using MNIST::MNIST;
};

}  // namespace tandem::data::datasets
