#include "tandem/data/drawn_digits.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/data/detail/images.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
namespace {

constexpr int kSide = 28;

struct Point {
  float x, y;
};
using Stroke = std::vector<Point>;

/// Strokes of a digit in a unit square, y downwards.
const std::vector<Stroke>& strokes(int digit) {
  auto arc = [](float cx, float cy, float rx, float ry, float from, float to) {
    Stroke s;
    const int n = 12;
    for (int i = 0; i <= n; ++i) {
      const float a = (from + (to - from) * static_cast<float>(i) / n) * 3.14159265f / 180;
      s.push_back({cx + rx * std::cos(a), cy + ry * std::sin(a)});
    }
    return s;
  };
  static const std::vector<std::vector<Stroke>> all = {
      {arc(.5f, .5f, .28f, .42f, 0, 360)},
      {{{.35f, .22f}, {.55f, .08f}, {.55f, .92f}}},
      {arc(.5f, .30f, .25f, .22f, 180, 380), {{.73f, .38f}, {.25f, .92f}, {.78f, .92f}}},
      {arc(.47f, .29f, .25f, .21f, 200, 450), arc(.47f, .71f, .28f, .21f, 270, 520)},
      {{{.62f, .92f}, {.62f, .08f}, {.20f, .65f}, {.82f, .65f}}},
      {{{.75f, .08f}, {.32f, .08f}, {.29f, .46f}}, arc(.47f, .66f, .28f, .26f, 225, 510)},
      {{{.66f, .08f}, {.34f, .48f}, {.26f, .68f}}, arc(.5f, .68f, .25f, .24f, 0, 360)},
      {{{.22f, .08f}, {.78f, .08f}, {.42f, .92f}}},
      {arc(.5f, .28f, .22f, .20f, 0, 360), arc(.5f, .70f, .27f, .22f, 0, 360)},
      {arc(.5f, .32f, .25f, .24f, 0, 360), {{.74f, .34f}, {.70f, .60f}, {.50f, .92f}}},
  };
  return all[digit];
}

float distance_to_segment(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy + 1e-12f);
  const float t = std::clamp(along, 0.f, 1.f);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// How far each pixel's centre lies from the shape, exactly where that is less than `reach`.
void distances(const std::vector<Stroke>& shape, float reach, float (&nearest)[kSide * kSide]) {
  std::fill(std::begin(nearest), std::end(nearest), 1e9f);
  const auto first = [&](float v) { return std::clamp(static_cast<int>(v - reach) - 1, 0, kSide); };
  const auto last = [&](float v) { return std::clamp(static_cast<int>(v + reach) + 1, 0, kSide); };
  for (const Stroke& stroke : shape) {
    for (size_t i = 1; i < stroke.size(); ++i) {
      const Point a = stroke[i - 1], b = stroke[i];
      const auto [left, right] = std::minmax(a.x, b.x);
      const auto [top, bottom] = std::minmax(a.y, b.y);
      for (int row = first(top); row < last(bottom); ++row)
        for (int column = first(left); column < last(right); ++column) {
          const Point p = {static_cast<float>(column) + .5f, static_cast<float>(row) + .5f};
          float& d = nearest[row * kSide + column];
          d = std::min(d, distance_to_segment(p, a, b));
        }
    }
  }
}

/// Draws one digit into 28 x 28 bytes.
void draw(int digit, std::mt19937& random, const DrawnDigitsOptions& o, uint8_t* out) {
  auto uniform = [&](float lo, float hi) {
    return lo + (hi - lo) * static_cast<float>(random() >> 8) * 0x1p-24f;
  };
  const auto turn = static_cast<float>(o.rotation()), most = static_cast<float>(o.noise());
  const float angle = uniform(-turn, turn), shear = uniform(-.25f, .25f);
  const float sx = uniform(15, 23), sy = uniform(17, 24);
  const float cx = 14 + uniform(-3, 3), cy = 14 + uniform(-2.5f, 2.5f);
  const float pen = uniform(.7f, 1.8f), ink = uniform(170, 255);
  const float noise = uniform(most / 9, most);
  const float c = std::cos(angle), s = std::sin(angle);
  std::vector<Stroke> shape = strokes(digit);
  for (Stroke& stroke : shape) {
    for (Point& p : stroke) {
      const float y = (p.y - .5f) * sy + uniform(-.3f, .3f);
      const float x = (p.x - .5f) * sx + shear * y + uniform(-.3f, .3f);
      p = {cx + c * x - s * y, cy + s * x + c * y};
    }
  }
  float nearest[kSide * kSide];
  distances(shape, pen + .5f, nearest);
  for (int i = 0; i < kSide * kSide; ++i) {
    const float cover = std::clamp(pen + .5f - nearest[i], 0.f, 1.f);
    const float value = ink * cover + uniform(-noise, noise);
    out[i] = static_cast<uint8_t>(std::clamp(value, 0.f, 255.f));
  }
}

}  // namespace

io::LabelledImages draw_digits(int64_t n, uint64_t seed, const DrawnDigitsOptions& options) {
  TANDEM_CHECK(n >= 0, "draw_digits: ", n, " digits");
  TANDEM_CHECK(
      std::isfinite(options.rotation()) && std::isfinite(options.noise()) && options.noise() >= 0,
      "draw_digits: a rotation of ", options.rotation(), " and noise of ", options.noise());
  io::LabelledImages result{empty({n, kSide, kSide}, kByte), empty({n}, kLong)};
  uint8_t* images = result.images.data_ptr<uint8_t>();
  int64_t* labels = result.labels.data_ptr<int64_t>();
  const auto low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
  parallel_for(0, n, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::vector<uint32_t> words = {low, static_cast<uint32_t>(i)};
      if (high) words.push_back(high);
      std::seed_seq sequence(words.begin(), words.end());
      std::mt19937 random(sequence);
      labels[i] = i % 10;
      draw(static_cast<int>(i % 10), random, options, images + i * kSide * kSide);
    }
  });
  return result;
}

namespace datasets {

DrawnDigits::DrawnDigits(int64_t n, uint64_t seed, const DrawnDigitsOptions& options) {
  const io::LabelledImages digits = draw_digits(n, seed, options);
  images_ = data::detail::zero_to_one(digits.images.unsqueeze(1));
  targets_ = digits.labels;
}

Example<> DrawnDigits::get(size_t index) {
  TANDEM_CHECK_INDEX(index < *size(), "DrawnDigits: image ", index, " of ", *size());
  const auto i = static_cast<int64_t>(index);
  return {images_[i], targets_[i]};
}

std::optional<size_t> DrawnDigits::size() const { return static_cast<size_t>(images_.size(0)); }

}  // namespace datasets
}  // namespace tandem::data
