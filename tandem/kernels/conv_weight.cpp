// The gradient of a blocked convolution by its weight.
//
// Note: why not oneDNN's
// On processors without AVX-512 its loops for this part run at half the speed of those for the
// other two, split the batch among threads, and add up the threads' sums: results then depend on
// their number. Here a thread makes its part of the weight from beginning to end, and the weight
// comes out in row-major order.
#include <algorithm>
#include <cstring>

#include "tandem/base/parallel.h"
#include "tandem/kernels/conv_impl.h"
#include "tandem/kernels/conv_weight_simd.h"

namespace tandem::kernels {
namespace {

constexpr int64_t B = kChannelBlock;
// Positions whose channels are worked on at a time: they stay in the first cache.
constexpr int64_t kPositions = 400;
// Parts that the work is at least cut into, if possible, so that threads have something to share.
constexpr int64_t kParts = 8;

/// Which blocks of channels one part of the work is about.
struct Tiles {
  int64_t group_out, group_in;  // blocks of channels in a group
  int64_t out, in;              // in a part
  int64_t out_parts, in_parts;
  explicit Tiles(const ConvForm& f)
      : group_out(f.out_channels / f.groups / B), group_in(f.in_channels / f.groups / B) {
    const int64_t largest_in = f.kernel_numel() == 1 ? 12 : 4;
    out = 8;
    in = largest_in;
    for (bool both = true; count(f) < kParts && (out > 1 || in > 3); both = !both) {
      if ((both || in <= 3) && out > 1)
        out /= 2;
      else if (in > 3)
        in /= 2;
    }
    out = std::min(out, group_out);
    in = std::min(in, group_in);
    out_parts = (group_out + out - 1) / out;
    in_parts = (group_in + in - 1) / in;
  }
  int64_t count(const ConvForm& f) const {
    return f.groups * ((group_out + out - 1) / out) * ((group_in + in - 1) / in);
  }
};

/// One part: all sums for some blocks of channels of y and x.
class Part {
 public:
  Part(const ConvForm& f, const float* x, const float* y, float* w, const Tiles& tiles,
       int64_t number)
      : f_(f), x_(x), y_(y), w_(w), ops_(outer_ops()) {
    const int64_t i = number % tiles.in_parts, rest = number / tiles.in_parts;
    const int64_t o = rest % tiles.out_parts, group = rest / tiles.out_parts;
    first_in_ = i * tiles.in;
    n_in_ = std::min(tiles.in, tiles.group_in - first_in_);
    first_out_ = group * tiles.group_out + o * tiles.out;
    n_out_ = std::min(tiles.out, tiles.group_out - o * tiles.out);
    x_block_ = group * tiles.group_in + first_in_;
    places_ = f.kernel_numel();
    step_ = n_in_ * places_ * B;
    padded_w_ = (f.out[1] - 1) * f.stride[1] + (f.kernel[1] - 1) * f.dilation[1] + 1;
    rows_ = std::clamp<int64_t>(kPositions / f.out[1], 1, f.out[0]);
    images_ = std::clamp<int64_t>(kPositions / (rows_ * f.out[1]), 1, f.batch);
    plane_ = (rows_ - 1) * f.stride[0] + (f.kernel[0] - 1) * f.dilation[0] + 1;
    sums_ = detail::Temporary(static_cast<size_t>(n_out_ * B * step_) * sizeof(float));
    std::memset(sums(), 0, static_cast<size_t>(n_out_ * B * step_) * sizeof(float));
    if (is_plain()) {
      images_ = std::clamp<int64_t>(kPositions / f.out_numel(), 1, f.batch);
    } else {
      const int64_t floats = images_ * n_in_ * plane_ * padded_w_ * B;
      padded_ = detail::Temporary(static_cast<size_t>(floats) * sizeof(float));
    }
  }

  void run() {
    if (is_plain())
      for (int64_t n = 0; n < f_.batch; n += images_) plain_images(n);
    else
      for (int64_t n = 0; n < f_.batch; n += images_)
        for (int64_t row = 0; row < f_.out[0]; row += rows_) image_rows(n, row);
    store();
  }

 private:
  float* sums() const { return static_cast<float*>(sums_.data()); }
  const float* y_block(int64_t n, int64_t block) const {
    return y_ + (n * f_.out_channels / B + first_out_ + block) * f_.out_numel() * B;
  }
  const float* x_plane(int64_t n, int64_t block) const {
    return x_ + (n * f_.in_channels / B + x_block_ + block) * f_.in_numel() * B;
  }
  /// True iff every position of y reads the one of x with its number.
  bool is_plain() const {
    return places_ == 1 && f_.stride[0] == 1 && f_.stride[1] == 1 && f_.begin[0] == 0 &&
           f_.begin[1] == 0 && f_.in_numel() == f_.out_numel();
  }

  /// All channels of y with up to three runs of x, whose sums lie side by side from `at` on.
  void channels(OuterRows r, int64_t n_x, int64_t n, int64_t offset, int64_t at) {
    for (int64_t o = 0; o < n_out_ * B; o += n_x == 1 ? 8 : 4) {
      r.y = y_block(n, o / B) + offset + o % B;
      float* to = sums() + o * step_ + at * B;
      (n_x == 3 ? ops_.four_by_3 : n_x == 2 ? ops_.four_by_2 : ops_.eight_by_1)(r, to, step_);
    }
  }

  void plain_images(int64_t n) {
    const int64_t positions = f_.out_numel(), images = std::min(images_, f_.batch - n);
    for (int64_t p = 0; p < positions; p += kPositions)
      for (int64_t b = 0; b < n_in_; b += 3) {
        const int64_t blocks = std::min<int64_t>(3, n_in_ - b);
        OuterRows r{.y = nullptr,
                    .y_row = 0,
                    .x = {},
                    .x_row = 0,
                    .x_step = B,
                    .rows = 1,
                    .n = std::min(kPositions, positions - p),
                    .images = images,
                    .y_image = f_.out_channels * positions,
                    .x_image = f_.in_channels * positions};
        for (int64_t t = 0; t < blocks; ++t) r.x[t] = x_plane(n, b + t) + p * B;
        channels(r, blocks, n, p * B, b);
      }
  }

  void image_rows(int64_t n, int64_t row) {
    const int64_t rows = std::min(rows_, f_.out[0] - row);
    const int64_t images = std::min(images_, f_.batch - n);
    for (int64_t i = 0; i < images; ++i) pad(n + i, row, i);
    const auto at = [&](int64_t block, int64_t ky, int64_t kx) {
      return static_cast<const float*>(padded_.data()) +
             ((block * plane_ + ky * f_.dilation[0]) * padded_w_ + kx * f_.dilation[1]) * B;
    };
    OuterRows r{.y = nullptr,
                .y_row = f_.out[1] * B,
                .x = {},
                .x_row = f_.stride[0] * padded_w_ * B,
                .x_step = f_.stride[1] * B,
                .rows = rows,
                .n = f_.out[1],
                .images = images,
                .y_image = f_.out_channels * f_.out_numel(),
                .x_image = n_in_ * plane_ * padded_w_ * B};
    const int64_t offset = row * f_.out[1] * B;
    if (places_ == 1) {
      for (int64_t b = 0; b < n_in_; b += 3) {
        const int64_t blocks = std::min<int64_t>(3, n_in_ - b);
        for (int64_t t = 0; t < blocks; ++t) r.x[t] = at(b + t, 0, 0);
        channels(r, blocks, n, offset, b);
      }
      return;
    }
    for (int64_t b = 0; b < n_in_; ++b)
      for (int64_t ky = 0; ky < f_.kernel[0]; ++ky)
        for (int64_t kx = 0; kx < f_.kernel[1]; kx += 3) {
          const int64_t taps = std::min<int64_t>(3, f_.kernel[1] - kx);
          for (int64_t t = 0; t < taps; ++t) r.x[t] = at(b, ky, kx + t);
          channels(r, taps, n, offset, b * places_ + ky * f_.kernel[1] + kx);
        }
  }

  /// What rows of y from `row` on see of image n of x, with zeros around it.
  void pad(int64_t n, int64_t row, int64_t image) {
    float* to = static_cast<float*>(padded_.data()) + image * n_in_ * plane_ * padded_w_ * B;
    for (int64_t b = 0; b < n_in_; ++b) {
      const float* from = x_plane(n, b);
      for (int64_t i = 0; i < plane_; ++i, to += padded_w_ * B) {
        const int64_t y = row * f_.stride[0] - f_.begin[0] + i;
        if (y < 0 || y >= f_.in[0]) {
          std::fill_n(to, padded_w_ * B, 0.0f);
          continue;
        }
        const int64_t left = std::min(f_.begin[1], padded_w_);
        const int64_t inside = std::clamp<int64_t>(padded_w_ - left, 0, f_.in[1]);
        std::fill_n(to, left * B, 0.0f);
        std::memcpy(to + left * B, from + y * f_.in[1] * B,
                    static_cast<size_t>(inside * B) * sizeof(float));
        std::fill_n(to + (left + inside) * B, (padded_w_ - left - inside) * B, 0.0f);
      }
    }
  }

  /// [channel of y][channel of x][place] from [channel of y][block][place][channel in the block].
  void store() const {
    const int64_t row = f_.in_channels / f_.groups * places_;
    for (int64_t o = 0; o < n_out_ * B; ++o) {
      const float* from = sums() + o * step_;
      float* to = w_ + (first_out_ * B + o) * row + first_in_ * B * places_;
      for (int64_t b = 0; b < n_in_; ++b)
        for (int64_t i = 0; i < B; ++i)
          for (int64_t k = 0; k < places_; ++k)
            to[(b * B + i) * places_ + k] = from[(b * places_ + k) * B + i];
    }
  }

  const ConvForm& f_;
  const float *x_, *y_;
  float* w_;
  const OuterOps& ops_;
  int64_t first_in_, n_in_, first_out_, n_out_, x_block_;
  int64_t places_, step_, padded_w_, rows_, images_, plane_;
  detail::Temporary sums_, padded_;
};

}  // namespace

bool has_blocked_conv_weight(const ConvForm& f) {
  return outer_ops().usable && f.spatial == 2 && f.batch > 0 && f.out_numel() > 0 &&
         f.in_numel() > 0 && f.kernel_numel() > 0 && f.in_channels / f.groups % B == 0 &&
         f.out_channels / f.groups % B == 0;
}

bool prefers_blocked_conv_weight(const ConvForm& f) {
  // oneDNN's loops for kernels of one element are as good.
  return has_blocked_conv_weight(f) && f.kernel_numel() > 1;
}

void blocked_conv_weight(const ConvForm& f, const float* x, const float* y, float* w) {
  if (detail::suits_winograd(ConvPart::w, f)) return detail::winograd_conv_weight(f, x, y, w);
  const Tiles tiles(f);
  const int64_t parts = f.groups * tiles.out_parts * tiles.in_parts;
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) Part(f, x, y, w, tiles, i).run();
  });
}

}  // namespace tandem::kernels
