#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tandem {

/// What a user can get wrong. Every error that Tandem throws on purpose is one of these.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  const char* what_without_backtrace() const noexcept { return what(); }
  std::string msg() const { return what(); }
};

class IndexError : public Error {
 public:
  using Error::Error;
};
class TypeError : public Error {
 public:
  using Error::Error;
};
class ValueError : public Error {
 public:
  using Error::Error;
};
class ShapeError : public Error {
 public:
  using Error::Error;
};
class FileError : public Error {
 public:
  using Error::Error;
};
class NotImplementedError : public Error {
 public:
  using Error::Error;
};

/// Joins its arguments by operator<<: str("got ", 3, " dims").
template <class... Args>
std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}
inline std::string str(const char* text) { return text; }
inline std::string str(const std::string& text) { return text; }
inline std::string str() { return {}; }

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   const std::string& message);

/// The message, and where the program is if somebody said so (base/error_context.h).
std::string in_context(const std::string& message);

template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void raise(const std::string& message) {
  throw E(in_context(message));
}
}  // namespace detail

}  // namespace tandem

/// For what a user can get wrong: throws the given error type with the joined message.
#define TANDEM_CHECK_AS(error_type, condition, ...)                              \
  do {                                                                           \
    if (!(condition)) [[unlikely]]                                               \
      ::tandem::detail::raise<error_type>(::tandem::str(__VA_ARGS__));           \
  } while (false)

#define TANDEM_CHECK(condition, ...) TANDEM_CHECK_AS(::tandem::Error, condition, __VA_ARGS__)
#define TANDEM_CHECK_SHAPE(condition, ...) \
  TANDEM_CHECK_AS(::tandem::ShapeError, condition, __VA_ARGS__)
#define TANDEM_CHECK_TYPE(condition, ...) TANDEM_CHECK_AS(::tandem::TypeError, condition, __VA_ARGS__)
#define TANDEM_CHECK_INDEX(condition, ...) \
  TANDEM_CHECK_AS(::tandem::IndexError, condition, __VA_ARGS__)

/// For our own bugs: never reached by anything a user does.
#define TANDEM_ASSERT(condition, ...)                                                  \
  do {                                                                                 \
    if (!(condition)) [[unlikely]]                                                     \
      ::tandem::detail::assertion_failed(#condition, __FILE__, __LINE__,               \
                                         ::tandem::str(__VA_ARGS__));                  \
  } while (false)
