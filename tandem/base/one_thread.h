#pragma once

namespace tandem {

/// While one exists, parallel loops that this thread begins run on it alone, and so do those of
/// libraries. For threads that work beside others: a team of helpers for each would only make them
/// wait for each other.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  bool before_;
};

}  // namespace tandem
