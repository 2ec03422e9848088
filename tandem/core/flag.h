#pragma once

#include <memory>

namespace tandem {

/// A switch that decides what a function does, such as a module's training mode. What is recorded
/// while it is read holds for that value only: a compiled function that meets another one records
/// again.
class Flag {
 public:
  Flag(bool value = false) : value_(std::make_shared<bool>(value)) {}
  // A copy is a switch of its own.
  Flag(const Flag& o) : Flag(*o.value_) {}
  Flag& operator=(const Flag& o) { return *this = *o.value_; }
  Flag& operator=(bool value) {
    *value_ = value;
    return *this;
  }
  operator bool() const;

 private:
  std::shared_ptr<bool> value_;  // recordings keep it
};

}  // namespace tandem
