#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tandem/base/error.h"

/// In which order results are given that several workers make.
namespace tandem::data::detail::sequencers {

template <class Result>
struct Sequencer {
  using ResultProducer = std::function<std::optional<Result>()>;
  virtual ~Sequencer() = default;
  virtual std::optional<Result> next(ResultProducer next_result) = 0;
};

/// As they come.
template <class Result>
struct NoSequencer final : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  std::optional<Result> next(ResultProducer next_result) override { return next_result(); }
};

/// As they were asked for: those that come early wait. There are never more than max_jobs of them.
template <class Result>
struct OrderedSequencer : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  explicit OrderedSequencer(size_t max_jobs) : buffer_(max_jobs) {}

  std::optional<Result> next(ResultProducer next_result) override {
    while (!buffer(next_sequence_number_)) {
      std::optional<Result> result = next_result();
      if (!result) return std::nullopt;
      std::optional<Result>& place = buffer(result->sequence_number);
      TANDEM_ASSERT(!place, "two results in one place");
      place = std::move(result);
    }
    return std::exchange(buffer(next_sequence_number_++), std::nullopt);
  }

  std::optional<Result>& buffer(size_t index) { return buffer_.at(index % buffer_.size()); }

  size_t next_sequence_number_ = 0;
  std::vector<std::optional<Result>> buffer_;
};

}  // namespace tandem::data::detail::sequencers
