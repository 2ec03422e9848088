// What the benchmarks measure with.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

inline double seconds(const std::function<void()>& call, int64_t calls = 1) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(calls);
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// b / a in each round: what ran side by side is compared, so that a machine that is faster in some
/// minutes than in others does not matter.
struct Ratio {
  double low, median, high;  // the quartiles
  Ratio(const std::vector<double>& b, const std::vector<double>& a) {
    std::vector<double> r;
    for (size_t i = 0; i < a.size(); ++i) r.push_back(b[i] / a[i]);
    std::sort(r.begin(), r.end());
    low = r[r.size() / 4];
    median = r[r.size() / 2];
    high = r[r.size() - 1 - r.size() / 4];
  }
};

inline double fastest(const std::function<void()>& call, int rounds = 9) {
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) times.push_back(seconds(call));
  return *std::min_element(times.begin(), times.end());
}
