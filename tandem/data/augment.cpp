#include "tandem/data/augment.h"

#include <algorithm>

#include "tandem/data/detail/images.h"
#include "tandem/io/image.h"
#include "tandem/ops/ops.h"

namespace tandem::data::transforms::detail {
namespace {

void check_image(const char* name, const Tensor& image) {
  TANDEM_CHECK(image.defined(), name, ": the image is undefined");
  TANDEM_CHECK_SHAPE(image.dim() >= 2, name, ": expected an image [..., height, width], got ",
                     image.sizes());
}

/// From 0 to most.
int64_t draw_up_to(int64_t most) {
  if (most == 0) return 0;
  return randint(most + 1, {}, sample_generator(), kLong).item<int64_t>();
}

}  // namespace

void check_probability(const char* name, double probability) {
  TANDEM_CHECK(probability >= 0 && probability <= 1, name, ": a probability of ", probability);
}

bool chance(double probability) {
  return rand({}, sample_generator(), kFloat).item<float>() < probability;
}

std::vector<int64_t> height_and_width(const char* name, IntArrayRef size) {
  TANDEM_CHECK(size.size() == 1 || size.size() == 2, name,
               ": a size is {side} or {height, width}, got ", size);
  TANDEM_CHECK(size.front() > 0 && size.back() > 0, name, ": a size of ", size, " pixels");
  return {size.front(), size.back()};
}

Tensor window(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width,
              double fill) {
  const int64_t h = image.size(-2), w = image.size(-1);
  const int64_t y0 = std::clamp<int64_t>(top, 0, h), y1 = std::clamp<int64_t>(top + height, 0, h);
  const int64_t x0 = std::clamp<int64_t>(left, 0, w), x1 = std::clamp<int64_t>(left + width, 0, w);
  const Tensor inside = image.narrow(-2, y0, y1 - y0).narrow(-1, x0, x1 - x0);
  if (y1 - y0 == height && x1 - x0 == width) return inside;
  std::vector<int64_t> shape = image.sizes().vec();
  shape[shape.size() - 2] = height;
  shape[shape.size() - 1] = width;
  Tensor out = full(shape, fill, image.options());
  if (inside.numel() > 0)
    out.narrow(-2, y0 - top, y1 - y0).narrow(-1, x0 - left, x1 - x0).copy_(inside);
  return out;
}

Tensor random_crop(const Tensor& image, IntArrayRef size, int64_t padding, double fill) {
  check_image("RandomCrop", image);
  const int64_t rows = image.size(-2) + 2 * padding - size[0];
  const int64_t columns = image.size(-1) + 2 * padding - size[1];
  TANDEM_CHECK_SHAPE(rows >= 0 && columns >= 0, "RandomCrop: an image of ", image.size(-2), " x ",
                     image.size(-1), " pixels with a border of ", padding,
                     " is smaller than the window of ", size[0], " x ", size[1]);
  const int64_t top = draw_up_to(rows), left = draw_up_to(columns);
  return window(image, top - padding, left - padding, size[0], size[1], fill);
}

Tensor center_crop(const Tensor& image, IntArrayRef size) {
  check_image("CenterCrop", image);
  // Halves are rounded down also where the image is smaller.
  const auto half = [](int64_t n) { return n >= 0 ? n / 2 : -((1 - n) / 2); };
  return window(image, half(image.size(-2) - size[0]), half(image.size(-1) - size[1]), size[0],
                size[1], 0);
}

Tensor resize(const Tensor& image, IntArrayRef size) {
  check_image("Resize", image);
  const io::ImageSize to = io::scaled_size(image.size(-2), image.size(-1), size);
  return io::resize_image(image, to.height, to.width);
}

Tensor mirror(const Tensor& image, int64_t dim) {
  check_image("Flip", image);
  return image.flip({dim});
}

Tensor to_float(const Tensor& image) {
  TANDEM_CHECK(image.defined(), "ToFloat: the image is undefined");
  return data::detail::zero_to_one(image);
}

Tensor subtract(const Tensor& image, const Tensor& mean) {
  TANDEM_CHECK(image.defined() && mean.defined(), "SubtractMean: a tensor is undefined");
  return image.sub(mean);
}

void Moments::add(const Tensor& image) {
  TANDEM_CHECK(image.defined(), "an image of the data set is undefined");
  TANDEM_CHECK_SHAPE(!by_channel_ || image.dim() == 3,
                     "channel_statistics: expected images [channels, height, width], got ",
                     image.sizes());
  const Tensor x = image.detach().to(kDouble);
  const Tensor sum = by_channel_ ? x.sum(IntArrayRef{1, 2}) : x;
  TANDEM_CHECK_SHAPE(!sum_.defined() || sum.sizes() == sum_.sizes(),
                     "images of different shapes: ", sum.sizes(), " after ",
                     sum_.defined() ? sum_.sizes() : sum.sizes());
  const Tensor squares = by_channel_ ? x.mul(x).sum(IntArrayRef{1, 2}) : Tensor();
  sum_ = sum_.defined() ? sum_ + sum : sum;
  if (by_channel_) squares_ = squares_.defined() ? squares_ + squares : squares;
  count_ += by_channel_ ? image.size(1) * image.size(2) : 1;
}

Tensor Moments::mean() const {
  TANDEM_CHECK(count_ > 0, "the data set has no images to take the mean of");
  return sum_.div(static_cast<double>(count_)).to(kFloat);
}

Tensor Moments::stddev() const {
  const auto n = static_cast<double>(count_);
  const Tensor mean = sum_.div(n);
  return squares_.div(n).sub(mean.mul(mean)).clamp_min(0).sqrt().to(kFloat);
}

}  // namespace tandem::data::transforms::detail
