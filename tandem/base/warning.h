#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tandem/base/error.h"

/// Warnings: what is probably a mistake but can go on. They go to the thread's handler, which
/// prints them to stderr unless a program sets its own.
namespace tandem {

struct SourceLocation {
  const char* function = "";
  const char* file = "";
  uint32_t line = 0;
};
std::ostream& operator<<(std::ostream& out, const SourceLocation& where);

/// What becomes of warnings. Derive, override process, and pass it to Warning::set_warning_handler.
class WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  virtual void process(const SourceLocation& where, const std::string& message,
                       const bool verbatim);
};

namespace Warning {

/// Hands a warning to this thread's handler.
void warn(const SourceLocation& where, const std::string& message, bool verbatim = false);
/// Each thread has a handler of its own; the caller keeps it alive.
void set_warning_handler(WarningHandler* handler) noexcept;
WarningHandler* get_warning_handler() noexcept;
/// Whether warnings that are given once are given each time instead.
void set_warnAlways(bool on) noexcept;
bool get_warnAlways() noexcept;

/// Sets warnAlways for a scope.
class WarnAlways {
 public:
  explicit WarnAlways(bool on = true) : before_(get_warnAlways()) { set_warnAlways(on); }
  ~WarnAlways() { set_warnAlways(before_); }
  WarnAlways(const WarnAlways&) = delete;
  WarnAlways& operator=(const WarnAlways&) = delete;

 private:
  bool before_;
};

/// Sets the thread's handler for a scope.
class WarningHandlerGuard {
 public:
  explicit WarningHandlerGuard(WarningHandler* handler) : before_(get_warning_handler()) {
    set_warning_handler(handler);
  }
  ~WarningHandlerGuard() { set_warning_handler(before_); }
  WarningHandlerGuard(const WarningHandlerGuard&) = delete;
  WarningHandlerGuard& operator=(const WarningHandlerGuard&) = delete;

 private:
  WarningHandler* before_;
};

}  // namespace Warning
}  // namespace tandem

/// Warns with the joined arguments: TANDEM_WARN("x has ", n, " dims").
#define TANDEM_WARN(...)                                                         \
  ::tandem::Warning::warn({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, \
                          ::tandem::str(__VA_ARGS__))

/// Warns the first time that this line is reached.
#define TANDEM_WARN_ONCE(...)                                         \
  do {                                                                \
    static ::std::atomic<bool> tandem_warned{false};                  \
    if (!tandem_warned.exchange(true, ::std::memory_order_relaxed) || \
        ::tandem::Warning::get_warnAlways())                          \
      TANDEM_WARN(__VA_ARGS__);                                       \
  } while (false)
