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

inline double fastest(const std::function<void()>& call, int rounds = 9) {
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) times.push_back(seconds(call));
  return *std::min_element(times.begin(), times.end());
}
