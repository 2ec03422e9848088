#pragma once

#include <cstdint>

#include "tandem/base/arg.h"
#include "tandem/data/datasets.h"
#include "tandem/io/idx.h"

namespace tandem::data {

struct DrawnDigitsOptions {
  /// How far digits are turned at most, either way, in radians.
  TANDEM_ARG(double, rotation) = 0.35;
  /// How much is added to a pixel or taken away at most, of 255. Each image has its own share of
  /// this.
  TANDEM_ARG(double, noise) = 45;
};

/// Digits drawn by the program, for machines without a data set: each is a few strokes, turned,
/// sheared, scaled, shifted and covered with noise. Bytes [n, 28, 28] and their classes, every one
/// equally often. Image i depends on the seed and i alone.
io::LabelledImages draw_digits(int64_t n, uint64_t seed = 0,
                               const DrawnDigitsOptions& options = {});

namespace datasets {

/// The same as a data set that looks like MNIST: images [1, 28, 28] of numbers from 0 to 1.
class DrawnDigits : public Dataset<DrawnDigits> {
 public:
  explicit DrawnDigits(int64_t n, uint64_t seed = 0, const DrawnDigitsOptions& options = {});
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  /// All images, float32 [n, 1, 28, 28], and all classes, int64 [n].
  const Tensor& images() const { return images_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor images_, targets_;
};

}  // namespace datasets
}  // namespace tandem::data
