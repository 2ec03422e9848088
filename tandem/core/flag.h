#pragma once

#include <memory>

namespace tandem {

/// A switch that decides what a function does, such as a module's training mode. What is recorded
/// while it is read holds for that value only: a compiled function that meets another one records
/// again. One that it sets itself is set by each of its calls.
class Flag {
 public:
  Flag(bool value = false) : value_(std::make_shared<bool>(value)) {}
  // A copy is a switch of its own.
  Flag(const Flag& o) : Flag(*o.value_) {}
  Flag& operator=(const Flag& o) { return *this = *o.value_; }
  Flag& operator=(bool value);
  operator bool() const;

 private:
  std::shared_ptr<bool> value_;  // recordings keep it
};

/// Something whose parts may change, such as a list of modules. What is recorded while it is read
/// holds until it changes. A copy has not been read by anybody.
class Watched {
 public:
  Watched() : has_changed_(std::make_shared<bool>(false)) {}
  Watched(const Watched&) : Watched() {}
  Watched& operator=(const Watched&) {
    changed();
    return *this;
  }
  void read() const;
  template <class T>
  T& read(T& parts) const {
    read();
    return parts;
  }
  void changed();

 private:
  std::shared_ptr<bool> has_changed_;
};

}  // namespace tandem
