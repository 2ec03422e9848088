#pragma once

#include <string>

namespace tandem {

/// Where the program is, for the text of errors: while such an object lives, errors that are thrown
/// on this thread end in what it says. Making one costs two pointers; its text is asked for
/// only when something goes wrong.
class ErrorContext {
 public:
  ErrorContext(const ErrorContext&) = delete;
  ErrorContext& operator=(const ErrorContext&) = delete;

  /// The innermost of this thread; null if there is none.
  static const ErrorContext* current();
  const ErrorContext* outer() const { return outer_; }
  /// What errors end in; may look at the outer ones too.
  virtual std::string text() const = 0;

 protected:
  ErrorContext();
  virtual ~ErrorContext();

 private:
  const ErrorContext* outer_;
};

}  // namespace tandem
