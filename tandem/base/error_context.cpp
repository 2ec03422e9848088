#include "tandem/base/error_context.h"

#include <typeinfo>

namespace tandem {

namespace {
constinit thread_local const ErrorContext* t_context = nullptr;

template <class E>
void rethrow_as(const Error& error, const std::string& message) {
  // Only the very class: one that a user derived from it may hold more than a message.
  if (typeid(error) == typeid(E)) throw E(message);
}
}  // namespace

ErrorContext::ErrorContext() : outer_(t_context) { t_context = this; }
ErrorContext::~ErrorContext() { t_context = outer_; }
const ErrorContext* ErrorContext::current() { return t_context; }

void detail::rethrow_in_context(const Error& error) {
  // An error passes through several contexts on its way up; the innermost has told the whole path.
  thread_local std::string told;
  if (!t_context || told == error.what()) throw;
  told = error.what() + t_context->text();
  rethrow_as<ShapeError>(error, told);
  rethrow_as<TypeError>(error, told);
  rethrow_as<IndexError>(error, told);
  rethrow_as<ValueError>(error, told);
  rethrow_as<NotImplementedError>(error, told);
  rethrow_as<Error>(error, told);
  throw;
}

}  // namespace tandem
