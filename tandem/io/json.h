#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "tandem/base/error.h"

namespace tandem::io {

/// Reads JSON from front to back, without building a tree of it: nothing is allocated that the
/// reader did not ask for, and mistakes are reported with their place.
///
///     json.object([&](const std::string& key) { if (key == "shape") json.array([&] { ...
///     json.integer(); }); });
class JsonReader {
 public:
  /// `what` begins every message, `offset` is where the text begins in the file.
  JsonReader(std::string_view text, std::string what, size_t offset = 0)
      : text_(text), what_(std::move(what)), offset_(offset) {}

  /// Calls f(key) for each member; f reads the value.
  template <class F>
  void object(F&& f) {
    enter('{', "an object");
    if (!next('}')) {
      do {
        f(key());
      } while (next(','));
      expect('}', "',' or '}'");
    }
    --depth_;
  }
  /// Calls f() for each element; f reads it.
  template <class F>
  void array(F&& f) {
    enter('[', "an array");
    if (!next(']')) {
      do {
        f();
      } while (next(','));
      expect(']', "',' or ']'");
    }
    --depth_;
  }
  std::string string();
  /// A number without fraction that fits.
  int64_t integer();
  double number();
  bool boolean();
  /// Reads a value of any kind and forgets it.
  void skip();
  /// The first character of what follows: '{', '[', '"', 't', 'f', 'n', a digit or '-'; 0 at the
  /// end.
  char peek();
  /// Nothing but space may follow.
  void end();
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void enter(char open, const char* what);
  bool next(char c);
  void expect(char c, const char* what);
  std::string key();
  std::string_view digits();
  void escape(std::string& out);
  unsigned hex4();
  void utf8(std::string& out);
  void word(std::string_view w);

  std::string_view text_;
  std::string what_;
  size_t offset_;
  size_t at_ = 0;
  int depth_ = 0;
};

/// The text in quotes, with escapes.
void write_json(std::ostream& out, std::string_view text);

}  // namespace tandem::io
