#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/base/error.h"
#include "tandem/data/transforms.h"

// Transforms of images [..., height, width], of bytes or numbers. Random ones draw from
// sample_generator(): what happens to a sample depends on the epoch's seed and its index, not on
// the number of workers.
namespace tandem::data::transforms {

namespace detail {

/// True with this probability.
bool chance(double probability);
void check_probability(const char* name, double probability);
/// {n} stands for {n, n}.
std::vector<int64_t> height_and_width(const char* name, IntArrayRef size);
/// A window of an image; what lies outside of the image is filled.
Tensor window(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width,
              double fill);
Tensor random_crop(const Tensor& image, IntArrayRef size, int64_t padding, double fill);
Tensor center_crop(const Tensor& image, IntArrayRef size);
Tensor resize(const Tensor& image, IntArrayRef size);
Tensor mirror(const Tensor& image, int64_t dim);
Tensor to_float(const Tensor& image);
Tensor subtract(const Tensor& image, const Tensor& mean);

/// Sums over the images of a set, for each channel or for each element.
class Moments {
 public:
  explicit Moments(bool by_channel) : by_channel_(by_channel) {}
  void add(const Tensor& image);
  Tensor mean() const;
  Tensor stddev() const;

 private:
  bool by_channel_;
  int64_t count_ = 0;
  Tensor sum_, squares_;
};

}  // namespace detail

/// Mirrors left and right with a probability.
template <class Target = Tensor>
struct RandomHorizontalFlip : TensorTransform<Target> {
  explicit RandomHorizontalFlip(double p = 0.5) : p(p) {
    detail::check_probability("RandomHorizontalFlip", p);
  }
  Tensor operator()(Tensor image) override {
    return detail::chance(p) ? detail::mirror(image, -1) : image;
  }
  double p;
};

/// Mirrors top and bottom with a probability.
template <class Target = Tensor>
struct RandomVerticalFlip : TensorTransform<Target> {
  explicit RandomVerticalFlip(double p = 0.5) : p(p) {
    detail::check_probability("RandomVerticalFlip", p);
  }
  Tensor operator()(Tensor image) override {
    return detail::chance(p) ? detail::mirror(image, -2) : image;
  }
  double p;
};

/// Of RandomCrop: {height, width} or one number for both.
struct RandomCropOptions {
  RandomCropOptions(int64_t side) : RandomCropOptions(IntArrayRef(side)) {}
  RandomCropOptions(std::initializer_list<int64_t> size) : RandomCropOptions(IntArrayRef(size)) {}
  RandomCropOptions(IntArrayRef size) : size_(detail::height_and_width("RandomCrop", size)) {}
  TANDEM_ARG(std::vector<int64_t>, size);
  /// Pixels that are put around the image first, and what they are.
  TANDEM_ARG(int64_t, padding) = 0;
  TANDEM_ARG(double, fill) = 0;
};

/// A window at a random place of the image:
///
///     RandomCrop<>({32, 32})   RandomCrop<>(RandomCropOptions(32).padding(4))
template <class Target = Tensor>
struct RandomCrop : TensorTransform<Target> {
  explicit RandomCrop(RandomCropOptions options) : options(std::move(options)) {
    TANDEM_CHECK(this->options.padding() >= 0, "RandomCrop: a border of ", this->options.padding(),
                 " pixels");
  }
  Tensor operator()(Tensor image) override {
    return detail::random_crop(image, options.size(), options.padding(), options.fill());
  }
  RandomCropOptions options;
};

/// The window of this size in the middle; if the image is smaller, there are zeros around it.
template <class Target = Tensor>
struct CenterCrop : TensorTransform<Target> {
  explicit CenterCrop(IntArrayRef size) : size(detail::height_and_width("CenterCrop", size)) {}
  Tensor operator()(Tensor image) override { return detail::center_crop(image, size); }
  std::vector<int64_t> size;
};

/// Another size: {height, width}, or {n} for a shorter side of n pixels.
template <class Target = Tensor>
struct Resize : TensorTransform<Target> {
  explicit Resize(IntArrayRef size) : size(size.vec()) {}
  Tensor operator()(Tensor image) override { return detail::resize(image, size); }
  std::vector<int64_t> size;
};

/// Bytes to float32 numbers from 0 to 1.
template <class Target = Tensor>
struct ToFloat : TensorTransform<Target> {
  Tensor operator()(Tensor image) override { return detail::to_float(image); }
};

/// Takes away a number for each channel, or a whole image such as mean_image gives.
template <class Target = Tensor>
struct SubtractMean : TensorTransform<Target> {
  explicit SubtractMean(ArrayRef<double> mean) : mean(detail::per_channel(mean)) {}
  explicit SubtractMean(Tensor mean) : mean(std::move(mean)) {}
  Tensor operator()(Tensor image) override { return detail::subtract(image, mean); }
  Tensor mean;
};

}  // namespace tandem::data::transforms

namespace tandem::data {

/// The mean of all images of a set, float32.
template <class Dataset>
Tensor mean_image(Dataset& dataset) {
  transforms::detail::Moments moments(/*by_channel=*/false);
  for (size_t i = 0; i < dataset.size().value(); ++i) moments.add(dataset.get(i).data);
  return moments.mean();
}

/// Mean and standard deviation of each channel over all images of a set, float32 [channels], as
/// Normalize wants them.
struct ChannelStatistics {
  Tensor mean, stddev;
};
template <class Dataset>
ChannelStatistics channel_statistics(Dataset& dataset) {
  transforms::detail::Moments moments(/*by_channel=*/true);
  for (size_t i = 0; i < dataset.size().value(); ++i) moments.add(dataset.get(i).data);
  return {moments.mean(), moments.stddev()};
}

}  // namespace tandem::data
