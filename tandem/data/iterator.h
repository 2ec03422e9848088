#pragma once

#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/base/error.h"

namespace tandem::data {

/// Goes through the batches of a loader, once. Copies move on together.
template <class Batch>
class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;
  using Producer = std::function<std::optional<Batch>()>;

  /// The end.
  Iterator() = default;
  explicit Iterator(Producer next) : state_(std::make_shared<State>(State{std::move(next)})) {}

  Iterator& operator++() {
    TANDEM_CHECK(state_, "Incrementing the DataLoader's past-the-end iterator is not allowed");
    TANDEM_CHECK(state_->look(), "Attempted to increment iterator past the end");
    state_->batch = state_->next();
    return *this;
  }
  Batch& operator*() const {
    TANDEM_CHECK(state_, "Dereferencing the DataLoader's past-the-end iterator is not allowed");
    TANDEM_CHECK(state_->look(), "Attempted to dereference iterator that was past the end");
    return *state_->batch;
  }
  Batch* operator->() const { return &**this; }

  bool operator==(const Iterator& o) const {
    if (state_ == o.state_) return true;
    if (state_ && o.state_) return false;
    return !(state_ ? state_ : o.state_)->look();
  }

 private:
  struct State {
    Producer next;
    std::optional<Batch> batch = std::nullopt;
    bool begun = false;
    // The first batch is made when it is looked at.
    bool look() {
      if (!begun) {
        begun = true;
        batch = next();
      }
      return batch.has_value();
    }
  };
  std::shared_ptr<State> state_;
};

}  // namespace tandem::data
