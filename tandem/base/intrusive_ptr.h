#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace tandem {

/// A pointer to an object that counts its own references.
///
/// T supplies two free functions found by argument lookup: `void retain(T*)` and `void release(T*)`;
/// release frees the object when it drops the last reference.
template <class T>
class intrusive_ptr {
 public:
  using element_type = T;
  constexpr intrusive_ptr() = default;
  constexpr intrusive_ptr(std::nullptr_t) {}
  /// Shares ownership: adds a reference.
  explicit intrusive_ptr(T* p) : p_(p) {
    if (p_) retain(p_);
  }
  intrusive_ptr(const intrusive_ptr& o) : p_(o.p_) {
    if (p_) retain(p_);
  }
  intrusive_ptr(intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~intrusive_ptr() {
    if (p_) release(p_);
  }
  intrusive_ptr& operator=(const intrusive_ptr& o) {
    intrusive_ptr(o).swap(*this);
    return *this;
  }
  intrusive_ptr& operator=(intrusive_ptr&& o) noexcept {
    intrusive_ptr(std::move(o)).swap(*this);
    return *this;
  }
  /// Takes over a reference that the caller already owns.
  static intrusive_ptr adopt(T* p) {
    intrusive_ptr r;
    r.p_ = p;
    return r;
  }
  /// Gives the reference up to the caller.
  T* detach() { return std::exchange(p_, nullptr); }
  void reset() { intrusive_ptr().swap(*this); }
  void swap(intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  /// Programs written for LibTorch keep nodes of the graph as such.
  operator std::shared_ptr<T>() const {
    if (!p_) return nullptr;
    return {p_, [keep = *this](T*) {}};
  }
  friend bool operator==(const intrusive_ptr& a, const intrusive_ptr& b) { return a.p_ == b.p_; }
  friend bool operator==(const intrusive_ptr& a, std::nullptr_t) { return a.p_ == nullptr; }

 private:
  T* p_ = nullptr;
};

}  // namespace tandem
