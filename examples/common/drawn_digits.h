#pragma once

#include <tandem/io/idx.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

/// Digits drawn by the program, for machines without a data set: each is a few strokes, turned,
/// sheared, scaled, shifted and covered with noise.
namespace drawn_digits {

struct Point {
  float x, y;
};
using Stroke = std::vector<Point>;

/// Strokes of a digit in a unit square, y downwards.
inline const std::vector<Stroke>& strokes(int digit) {
  auto arc = [](float cx, float cy, float rx, float ry, float from, float to) {
    Stroke s;
    const int n = 12;
    for (int i = 0; i <= n; ++i) {
      const float a = (from + (to - from) * i / n) * 3.14159265f / 180;
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

inline float distance_to_segment(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy + 1e-12f);
  const float t = std::clamp(along, 0.f, 1.f);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// Draws one digit into 28 x 28 bytes.
inline void draw(int digit, std::mt19937& random, uint8_t* out) {
  auto uniform = [&](float lo, float hi) {
    return lo + (hi - lo) * static_cast<float>(random() >> 8) * 0x1p-24f;
  };
  const float angle = uniform(-.35f, .35f), shear = uniform(-.25f, .25f);
  const float sx = uniform(15, 23), sy = uniform(17, 24);
  const float cx = 14 + uniform(-3, 3), cy = 14 + uniform(-2.5f, 2.5f);
  const float pen = uniform(.7f, 1.8f), ink = uniform(170, 255), noise = uniform(5, 45);
  const float c = std::cos(angle), s = std::sin(angle);
  std::vector<Stroke> shape = strokes(digit);
  for (Stroke& stroke : shape) {
    for (Point& p : stroke) {
      const float y = (p.y - .5f) * sy + uniform(-.3f, .3f);
      const float x = (p.x - .5f) * sx + shear * y + uniform(-.3f, .3f);
      p = {cx + c * x - s * y, cy + s * x + c * y};
    }
  }
  for (int row = 0; row < 28; ++row) {
    for (int column = 0; column < 28; ++column) {
      const Point p = {column + .5f, row + .5f};
      float nearest = 1e9f;
      for (const Stroke& stroke : shape)
        for (size_t i = 1; i < stroke.size(); ++i)
          nearest = std::min(nearest, distance_to_segment(p, stroke[i - 1], stroke[i]));
      const float cover = std::clamp(pen + .5f - nearest, 0.f, 1.f);
      const float value = ink * cover + uniform(-noise, noise);
      out[row * 28 + column] = static_cast<uint8_t>(std::clamp(value, 0.f, 255.f));
    }
  }
}

/// n digits, every class equally often; image i depends on `seed` and i alone.
inline tandem::io::LabelledImages make(int64_t n, uint32_t seed) {
  tandem::io::LabelledImages result;
  result.images = tandem::empty({n, 28, 28}, tandem::kByte);
  result.labels = tandem::empty({n}, tandem::kLong);
  uint8_t* images = result.images.data_ptr<uint8_t>();
  int64_t* labels = result.labels.data_ptr<int64_t>();
  tandem::parallel_for(0, n, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::seed_seq sequence{seed, static_cast<uint32_t>(i)};
      std::mt19937 random(sequence);
      labels[i] = i % 10;
      draw(static_cast<int>(i % 10), random, images + i * 28 * 28);
    }
  });
  return result;
}

}  // namespace drawn_digits
