// Winograd's convolution F(2 x 2, 3 x 3) on blocked tensors.
//
// Note: why
// A square of 2 x 2 results of a 3 x 3 kernel takes 36 multiplications for each pair of channels
// when it is worked out directly, and 16 when input and kernel are transformed first: sums of four
// inputs, sums of nine weights with factors of a half and a quarter. Transforms cost little beside
// the products over channels, and with this size of square they round no worse than direct sums do.
// What is infinite or no number spreads over all results of the squares that read it, though.
//
// Some squares at a time are transformed for all channels, multiplied with all kernels and
// transformed back while they are in the second cache. Every sum over channels is made from first
// to last by one thread, so that the bits do not depend on the number of threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/kernels/conv_impl.h"
#include "tandem/kernels/conv_weight_simd.h"
#include "tandem/kernels/conv_winograd_simd.h"

namespace tandem::kernels {
namespace {

constexpr int64_t B = kChannelBlock;
constexpr int64_t kKernels = 16;  // transformed weights are side by side for so many results
constexpr int64_t kPoints = 16;
// Floats of transformed input that stay in the second cache.
constexpr int64_t kCached = 80 * 1024;
// Squares that a gradient by the weight adds up at a time.
constexpr int64_t kSummed = 64;
// Points lie so far apart that they do not compete for the same lines of the first cache.
constexpr int64_t kApart = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Images of so many positions, as squares of 2 x 2 of them.
struct Squares {
  int64_t batch, height, width;
  int64_t rows, cols;
  Squares(int64_t batch, int64_t height, int64_t width)
      : batch(batch),
        height(height),
        width(width),
        rows(ceil_div(height, 2)),
        cols(ceil_div(width, 2)) {}
  int64_t count() const { return batch * rows * cols; }
};

/// What squares of kSide x kSide positions see of images [batch, channels / 8, height, width, 8] if
/// square (0, 0) begins `top` above and `left` left of the first position. Offsets are from the
/// first block of channels of the first image.
template <int kSide>
void list(const Squares& s, int64_t first, int64_t n, int64_t channels, int64_t height,
          int64_t width, int64_t top, int64_t left, Square* to) {
  const auto inside = [](int64_t v) {
    return static_cast<int8_t>(std::clamp<int64_t>(v, 0, kSide));
  };
  for (int64_t i = 0; i < n; ++i) {
    const int64_t image = (first + i) / (s.rows * s.cols), at = (first + i) % (s.rows * s.cols);
    const int64_t y = at / s.cols * 2 - top, x = at % s.cols * 2 - left;
    to[i] = {image * channels * height * width + (y * width + x) * B, inside(-y),
             inside(height - y), inside(-x), inside(width - x)};
  }
}

/// y = conv(x, u) with padding; from blocked x [batch, in, height, width].
struct Direct {
  int64_t batch, in, out;
  int64_t in_size[2], out_size[2], pad[2];
};

Direct direct_of(ConvPart part, const ConvForm& f) {
  if (part == ConvPart::y)
    return {f.batch,
            f.in_channels,
            f.out_channels,
            {f.in[0], f.in[1]},
            {f.out[0], f.out[1]},
            {f.begin[0], f.begin[1]}};
  // The gradient by x is the convolution of that by y with the kernel turned round.
  return {f.batch,
          f.out_channels,
          f.in_channels,
          {f.out[0], f.out[1]},
          {f.in[0], f.in[1]},
          {2 - f.begin[0], 2 - f.begin[1]}};
}

/// Some squares: all their results for all channels.
void strip(const Direct& c, const Squares& s, int64_t first, int64_t n, const float* x,
           const float* u, const float* bias, float* y, ConvEnd end) {
  const WinogradOps& ops = winograd_ops();
  const int64_t v_point = c.in * n + kApart, m_point = kKernels * n + kApart;
  const detail::Temporary v_room(static_cast<size_t>(kPoints * v_point) * sizeof(float));
  const detail::Temporary m_room(static_cast<size_t>(kPoints * m_point) * sizeof(float));
  float *v = static_cast<float*>(v_room.data()), *m = static_cast<float*>(m_room.data());
  std::vector<Square> from(static_cast<size_t>(n)), to(static_cast<size_t>(n));
  list<4>(s, first, n, c.in, c.in_size[0], c.in_size[1], c.pad[0], c.pad[1], from.data());
  list<2>(s, first, n, c.out, c.out_size[0], c.out_size[1], 0, 0, to.data());
  for (int64_t b = 0; b < c.in / B; ++b)
    ops.inputs(x + b * c.in_size[0] * c.in_size[1] * B, c.in_size[1] * B, from.data(), n,
               v + b * n * B, v_point);
  for (int64_t o = 0; o < c.out; o += kKernels) {
    for (int64_t p = 0; p < kPoints; ++p)
      ops.multiply(c.in, v + p * v_point, n * B, u + (p * c.out + o) * c.in, m + p * m_point, n * B,
                   n);
    for (int64_t half = 0; half < kKernels; half += B)
      ops.outputs(m + half * n, m_point, y + (o + half) * c.out_size[0] * c.out_size[1],
                  c.out_size[1] * B, to.data(), n, bias ? bias + o + half : nullptr, end.add,
                  end.relu);
  }
}

/// One part of a gradient by the weight: some channels of y and of x.
class WeightPart {
 public:
  WeightPart(const ConvForm& f, int64_t first_out, int64_t n_out, int64_t first_in, int64_t n_in)
      : f_(f),
        s_(f.batch, f.out[0], f.out[1]),
        first_out_(first_out),
        n_out_(n_out),
        first_in_(first_in),
        n_in_(n_in),
        sums_point_(n_out * B * n_in * B),
        sums_(static_cast<size_t>(kPoints * sums_point_) * sizeof(float)) {}

  void run(const float* x, const float* y, float* w) {
    std::memset(sums_.data(), 0, static_cast<size_t>(kPoints * sums_point_) * sizeof(float));
    const int64_t strips = ceil_div(s_.count(), kSummed);
    for (int64_t i = 0; i < strips; ++i)
      add(s_.count() * i / strips, s_.count() * (i + 1) / strips, x, y);
    store(w);
  }

 private:
  float* sums() const { return static_cast<float*>(sums_.data()); }

  void add(int64_t first, int64_t last, const float* x, const float* y) {
    const WinogradOps& ops = winograd_ops();
    const int64_t n = last - first;
    const int64_t v_point = n_in_ * B * n + kApart, z_point = n_out_ * B * n + kApart;
    const detail::Temporary v_room(static_cast<size_t>(kPoints * v_point) * sizeof(float));
    const detail::Temporary z_room(static_cast<size_t>(kPoints * z_point) * sizeof(float));
    float *v = static_cast<float*>(v_room.data()), *z = static_cast<float*>(z_room.data());
    Square squares[kSummed];
    list<4>(s_, first, n, f_.in_channels, f_.in[0], f_.in[1], f_.begin[0], f_.begin[1], squares);
    for (int64_t b = 0; b < n_in_; ++b)
      ops.inputs(x + (first_in_ + b) * f_.in_numel() * B, f_.in[1] * B, squares, n, v + b * n * B,
                 v_point);
    list<2>(s_, first, n, f_.out_channels, f_.out[0], f_.out[1], 0, 0, squares);
    for (int64_t b = 0; b < n_out_; ++b)
      ops.gradients(y + (first_out_ + b) * f_.out_numel() * B, f_.out[1] * B, squares, n,
                    z + b * n * B, z_point);
    for (int64_t p = 0; p < kPoints; ++p)
      products(n, v + p * v_point, z + p * z_point, sums() + p * sums_point_);
  }

  /// sums[o][i] += the sum over squares of z[o] * v[i].
  void products(int64_t n, const float* v, const float* z, float* to) const {
    const OuterOps& ops = outer_ops();
    OuterRows r{.y = nullptr,
                .y_row = 0,
                .x = {},
                .x_row = 0,
                .x_step = B,
                .rows = 1,
                .n = n,
                .images = 1,
                .y_image = 0,
                .x_image = 0};
    for (int64_t b = 0; b < n_in_; b += 3) {
      const int64_t blocks = std::min<int64_t>(3, n_in_ - b);
      for (int64_t t = 0; t < blocks; ++t) r.x[t] = v + (b + t) * n * B;
      const auto outer = blocks == 3 ? ops.four_by_3 : blocks == 2 ? ops.four_by_2 : ops.eight_by_1;
      for (int64_t o = 0; o < n_out_ * B; o += blocks == 1 ? 8 : 4) {
        r.y = z + o / B * n * B + o % B;
        outer(r, to + o * n_in_ * B + b * B, n_in_ * B);
      }
    }
  }

  void store(float* w) const {
    const WinogradOps& ops = winograd_ops();
    float g[9 * B];
    for (int64_t o = 0; o < n_out_ * B; ++o)
      for (int64_t b = 0; b < n_in_; ++b) {
        ops.weight_gradients(sums() + (o * n_in_ + b) * B, sums_point_, g);
        float* to = w + ((first_out_ * B + o) * f_.in_channels + (first_in_ + b) * B) * 9;
        for (int64_t i = 0; i < B; ++i)
          for (int64_t k = 0; k < 9; ++k) to[i * 9 + k] = g[k * B + i];
      }
  }

  const ConvForm& f_;
  Squares s_;
  int64_t first_out_, n_out_, first_in_, n_in_, sums_point_;
  detail::Temporary sums_;
};

bool is_3x3(const ConvForm& f) {
  if (!winograd_ops().usable || f.spatial != 2 || f.groups != 1 || f.batch == 0) return false;
  for (int d = 0; d < 2; ++d)
    if (f.kernel[d] != 3 || f.stride[d] != 1 || f.dilation[d] != 1 || f.begin[d] < 0 ||
        f.begin[d] > 2 || f.in[d] < 1 || f.out[d] < 1)
      return false;
  return true;
}

/// True iff enough multiplications are saved to pay for the transform of the weights: squares must
/// be many, and not too many of their results lie outside.
bool is_worth_it(int64_t batch, int64_t height, int64_t width) {
  constexpr int64_t kSaved = 1500;  // multiplications for each pair of channels
  return 9 * batch * height * width - kPoints * Squares(batch, height, width).count() >= kSaved;
}

}  // namespace

bool detail::suits_winograd(ConvPart part, const ConvForm& f) {
  if (part == ConvPart::w)
    return is_3x3(f) && outer_ops().usable && f.in_channels % B == 0 && f.out_channels % B == 0 &&
           f.in_channels >= 2 * B && f.out_channels >= 2 * B &&
           is_worth_it(f.batch, f.out[0], f.out[1]);
  const Direct c = direct_of(part, f);
  return is_3x3(f) && f.in_channels % kKernels == 0 && f.out_channels % kKernels == 0 &&
         f.in_channels > 0 && f.out_channels > 0 &&
         is_worth_it(c.batch, c.out_size[0], c.out_size[1]);
}

void detail::winograd_conv(ConvPart part, const ConvForm& f, const float* a, const float* u,
                           const float* bias, float* out, ConvEnd end) {
  if (part == ConvPart::x) end = {};  // what ends a convolution does not end its gradient
  const Direct c = direct_of(part, f);
  const Squares s(c.batch, c.out_size[0], c.out_size[1]);
  const int64_t most = std::clamp<int64_t>(kCached / (kPoints * c.in) / 6 * 6, 12, 48);
  const int64_t threads = std::max(1, get_num_threads());
  const int64_t strips = ceil_div(ceil_div(s.count(), most), threads) * threads;
  parallel_for(0, strips, 1, [&](int64_t begin, int64_t last) {
    for (int64_t i = begin; i < last; ++i) {
      const int64_t first = s.count() * i / strips, next = s.count() * (i + 1) / strips;
      if (next > first) strip(c, s, first, next - first, a, u, bias, out, end);
    }
  });
}

void detail::winograd_conv_weight(const ConvForm& f, const float* x, const float* y, float* w) {
  // Sums of 64 x 64 channels at 16 points are half of the second cache.
  const int64_t outs = f.out_channels / B, ins = f.in_channels / B;
  int64_t n_out = std::min<int64_t>(8, outs);
  const int64_t n_in = std::min<int64_t>(ins % 9 == 0 ? 9 : 8, ins);
  while (n_out > 2 && ceil_div(outs, n_out) * ceil_div(ins, n_in) < 4) n_out = ceil_div(n_out, 2);
  const int64_t out_parts = ceil_div(outs, n_out), in_parts = ceil_div(ins, n_in);
  parallel_for(0, out_parts * in_parts, 1, [&](int64_t begin, int64_t last) {
    for (int64_t i = begin; i < last; ++i) {
      const int64_t o = i / in_parts * n_out, c = i % in_parts * n_in;
      WeightPart(f, o, std::min(n_out, outs - o), c, std::min(n_in, ins - c)).run(x, y, w);
    }
  });
}

void detail::winograd_weight(bool turned, int64_t out, int64_t in, const float* w, float* u) {
  // Of the convolution that is to be done; w is [out, in, 3, 3] unless it is turned round.
  const WinogradOps& ops = winograd_ops();
  const int64_t results = turned ? in : out, sums = turned ? out : in;
  const int64_t result_step = turned ? 9 : in * 9, sum_step = turned ? in * 9 : 9;
  const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, sums));
  parallel_for(0, results / kKernels, grain, [&](int64_t begin, int64_t last) {
    float g[9 * kKernels];
    for (int64_t r = begin; r < last; ++r)
      for (int64_t c = 0; c < sums; ++c) {
        const float* from = w + r * kKernels * result_step + c * sum_step;
        for (int64_t i = 0; i < kKernels; ++i)
          for (int64_t k = 0; k < 9; ++k)
            g[(turned ? 8 - k : k) * kKernels + i] = from[i * result_step + k];
        ops.weights(g, u + (r * sums + c) * kKernels, results * sums);
      }
  });
}

}  // namespace tandem::kernels
