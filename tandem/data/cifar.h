#pragma once

#include <string>

#include "tandem/data/datasets.h"

namespace tandem::data::datasets {

/// The small photographs of Krizhevsky, Nair and Hinton: images [3, 32, 32] of numbers from 0 to 1.
/// They are kept as bytes and converted when they are asked for.
template <class Self>
class CIFAR : public Dataset<Self> {
 public:
  enum class Mode { kTrain, kTest };
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  /// All images, float32 [n, 3, 32, 32], converted at every call; and all classes, int64 [n].
  Tensor images() const;
  const Tensor& targets() const { return targets_; }
  /// All images as they are in the files: bytes [n, 3, 32, 32].
  const Tensor& pixels() const { return pixels_; }

 protected:
  explicit CIFAR(Mode mode) : mode_(mode) {}
  Mode mode_;
  Tensor pixels_, targets_;
};

/// 10 classes. The folder, or cifar-10-batches-bin in it, holds data_batch_1.bin to
/// data_batch_5.bin and test_batch.bin.
class CIFAR10 : public CIFAR<CIFAR10> {
 public:
  explicit CIFAR10(const std::string& root, Mode mode = Mode::kTrain);
};

/// 100 classes in 20 groups. The folder, or cifar-100-binary in it, holds train.bin and test.bin.
class CIFAR100 : public CIFAR<CIFAR100> {
 public:
  explicit CIFAR100(const std::string& root, Mode mode = Mode::kTrain);
  /// The group of each image, int64 [n].
  const Tensor& coarse_targets() const { return coarse_targets_; }

 private:
  Tensor coarse_targets_;
};

extern template class CIFAR<CIFAR10>;
extern template class CIFAR<CIFAR100>;

}  // namespace tandem::data::datasets
