#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tandem::trainer {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// "41,200"
inline std::string with_commas(double value) {
  std::string digits = std::to_string(static_cast<int64_t>(value + .5));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

/// "8 s", "2 min 05 s"
inline std::string duration(double seconds) {
  const int64_t whole = static_cast<int64_t>(seconds + .5);
  char text[40];
  if (whole < 60)
    std::snprintf(text, sizeof text, "%d s", static_cast<int>(whole));
  else
    std::snprintf(text, sizeof text, "%lld min %02lld s", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  return text;
}

/// A line that is drawn over and over on a terminal; silent when the output goes elsewhere.
class ProgressBar {
 public:
  explicit ProgressBar(int64_t total) : total_(total), terminal_(isatty(STDOUT_FILENO)) {}
  ~ProgressBar() { clear(); }

  bool on_terminal() const { return terminal_; }
  /// Shows that `done` of the total is done, ten times a second at most. `text` is asked for only
  /// then.
  template <class F>
  void update(int64_t done, const F& text) {
    if (!terminal_ || (seconds_since(last_) < .1 && done < total_)) return;
    last_ = Clock::now();
    constexpr int kWidth = 28;
    const int filled = static_cast<int>(kWidth * done / total_);
    const double elapsed = seconds_since(start_);
    const double left = done ? elapsed / done * (total_ - done) : 0;
    std::string bar(filled, '=');
    if (filled < kWidth) bar += '>' + std::string(kWidth - filled - 1, '.');
    std::printf("\r\033[K[%s] %3d %%  %s  %s left", bar.c_str(),
                static_cast<int>(100 * done / total_), text().c_str(), duration(left).c_str());
    std::fflush(stdout);
    drawn_ = true;
  }
  /// Removes the bar, so that a line can be printed in its place.
  void clear() {
    if (drawn_) std::printf("\r\033[K");
    std::fflush(stdout);
    drawn_ = false;
  }

 private:
  int64_t total_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_ - std::chrono::seconds(1);
};

}  // namespace tandem::trainer
