#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <queue>

#include "tandem/base/error.h"

namespace tandem::data::detail {

/// Values that go from threads to threads, first in, first out.
template <class T>
class Queue {
 public:
  void push(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push(std::move(value));
    }
    not_empty_.notify_one();
  }

  /// Waits for a value; throws when none came in time.
  T pop(std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return !values_.empty(); };
    if (timeout) {
      TANDEM_CHECK(not_empty_.wait_for(lock, *timeout, ready),
                   "Timeout in DataLoader queue while waiting for next batch (timeout was ",
                   timeout->count(), " ms)");
    } else {
      not_empty_.wait(lock, ready);
    }
    T value = std::move(values_.front());
    values_.pop();
    return value;
  }

  /// Empties the queue; the number of values that were in it.
  size_t clear() {
    const std::lock_guard lock(mutex_);
    const size_t n = values_.size();
    values_ = {};
    return n;
  }

 private:
  std::queue<T> values_;
  std::mutex mutex_;
  std::condition_variable not_empty_;
};

/// Jobs on their way to workers and results on their way back.
template <class Job, class Result>
class DataShuttle {
 public:
  void push_job(Job job) {
    jobs_.push(std::move(job));
    ++in_flight_jobs_;
  }
  void push_result(Result result) { results_.push(std::move(result)); }
  Job pop_job() { return jobs_.pop(); }
  /// The next result; nothing when no job is on its way.
  std::optional<Result> pop_result(
      std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    if (in_flight_jobs_ == 0) return std::nullopt;
    Result result = results_.pop(timeout);
    --in_flight_jobs_;
    return result;
  }
  /// Forgets the jobs that nobody has begun, and waits for the others.
  void drain() {
    in_flight_jobs_ -= jobs_.clear();
    while (in_flight_jobs_ > 0) pop_result();
  }
  size_t in_flight_jobs() const noexcept { return in_flight_jobs_; }

 private:
  Queue<Job> jobs_;
  Queue<Result> results_;
  size_t in_flight_jobs_ = 0;  // only the loader's own thread counts
};

}  // namespace tandem::data::detail
