#include "tandem/base/warning.h"

#include <iostream>

namespace tandem {
namespace {

// Prints, and holds no state: one for all threads.
WarningHandler& printing_handler() {
  static WarningHandler handler;
  return handler;
}
constinit thread_local WarningHandler* t_handler = nullptr;
constinit std::atomic<bool> warn_always{false};

}  // namespace

std::ostream& operator<<(std::ostream& out, const SourceLocation& where) {
  return out << where.function << " at " << where.file << ':' << where.line;
}

void WarningHandler::process(const SourceLocation& where, const std::string& message, const bool) {
  // One string, so that the warnings of two threads do not mix.
  std::string_view file = where.file;
  file = file.substr(file.rfind('/') + 1);
  std::cerr << str("[W ", file, ':', where.line, "] Warning: ", message, " (function ",
                   where.function, ")\n");
}

namespace Warning {

void warn(const SourceLocation& where, const std::string& message, bool verbatim) {
  get_warning_handler()->process(where, message, verbatim);
}
void set_warning_handler(WarningHandler* handler) noexcept { t_handler = handler; }
WarningHandler* get_warning_handler() noexcept {
  return t_handler ? t_handler : &printing_handler();
}
void set_warnAlways(bool on) noexcept { warn_always.store(on, std::memory_order_relaxed); }
bool get_warnAlways() noexcept { return warn_always.load(std::memory_order_relaxed); }

}  // namespace Warning
}  // namespace tandem
