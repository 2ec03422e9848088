#include "tandem/base/error_context.h"

#include "tandem/base/error.h"

namespace tandem {

namespace {
constinit thread_local const ErrorContext* t_context = nullptr;
}  // namespace

ErrorContext::ErrorContext() : outer_(t_context) { t_context = this; }
ErrorContext::~ErrorContext() { t_context = outer_; }
const ErrorContext* ErrorContext::current() { return t_context; }

std::string detail::in_context(const std::string& message) {
  const ErrorContext* context = t_context;
  if (!context) return message;
  // What a context says comes from users' code too. An error in there must not hide this one, nor
  // ask for its own context.
  t_context = nullptr;
  std::string text = message;
  try {
    text += context->text();
  } catch (...) {
  }
  t_context = context;
  return text;
}

}  // namespace tandem
