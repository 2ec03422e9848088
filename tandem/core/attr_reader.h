#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/small_vector.h"
#include "tandem/core/device.h"
#include "tandem/core/scalar.h"

namespace tandem {

/// Walks over the text of a graph, or of one attribute struct, and takes it apart.
///
/// Text comes from files and from users, so nothing in it may do harm: every mistake is an Error
/// that says what was expected at which line and column, and memory grows with the text, never with
/// a number that is written in it.
class AttrReader {
 public:
  explicit AttrReader(std::string_view text, const char* what = "graph text")
      : text_(text), what_(what) {}

  /// A place in the text, to be named in an error later.
  size_t place() const { return at_; }
  /// Throws an Error that begins with line and column: of the current place, or of an earlier one.
  [[noreturn]] void fail(const std::string& message) const { fail_at(at_, message); }
  [[noreturn]] void fail_at(size_t place, const std::string& message) const;
  /// Throws "expected ..., found ...".
  [[noreturn]] void expected(const std::string& what) const;

  /// Skips blanks and comments (# to the end of the line), but not ends of lines.
  void skip_blanks();
  /// Skips ends of lines as well.
  void skip_lines();
  bool at_end() const { return at_ == text_.size(); }
  /// The next character; 0 at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  /// Takes the next character, which is a digit.
  int digit() { return text_[at_++] - '0'; }

  /// Takes a token if it comes next, after blanks. A token of letters ends where the word ends.
  bool accept(std::string_view token);
  void expect(std::string_view token);
  void expect_end_of_line();
  /// A name: letters, digits and '_', not beginning with a digit.
  std::string_view word(const char* what);
  /// The beginning of the next field, "name=", after a comma unless it is the first.
  void field(std::string_view name, bool first);

  bool truth();
  int64_t whole(int64_t min = std::numeric_limits<int64_t>::min(),
                int64_t max = std::numeric_limits<int64_t>::max());
  double real();
  /// A number that was written as a float32: read as one, for rounding twice may go wrong.
  float single();
  Scalar number();
  std::string quoted();
  DType dtype();
  Device device();
  /// Bytes written as 0x and two digits each; there must be exactly that many.
  void hex_bytes(std::string& bytes, size_t count);

  /// Guards against text that is nested without end.
  class Nesting {
   public:
    explicit Nesting(AttrReader& in);
    ~Nesting() { --in_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    AttrReader& in_;
  };

 private:
  /// The part of the text that looks like a number.
  std::string_view number_text() const;
  template <class T>
  T real_as(const char* type);

  std::string_view text_;
  const char* what_;
  size_t at_ = 0;
  int depth_ = 0;
};

// -- one field, by its type -----------------------------------------------------------------------
// A type that attributes hold and that is not listed here has its read_field beside its operator<<.

inline void read_field(AttrReader& in, bool& v) { v = in.truth(); }
inline void read_field(AttrReader& in, double& v) { v = in.real(); }
inline void read_field(AttrReader& in, Scalar& v) { v = in.number(); }
inline void read_field(AttrReader& in, std::string& v) { v = in.quoted(); }
inline void read_field(AttrReader& in, DType& v) { v = in.dtype(); }
inline void read_field(AttrReader& in, Device& v) { v = in.device(); }

template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) void read_field(AttrReader& in, T& v) {
  constexpr auto max = std::numeric_limits<T>::max();
  constexpr int64_t bound =
      sizeof(T) >= 8 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(max);
  v = static_cast<T>(in.whole(static_cast<int64_t>(std::numeric_limits<T>::min()), bound));
}

/// An enumerator is its number; whether there is one with that number is for the op's infer to say.
template <class T>
requires(std::is_enum_v<T>) void read_field(AttrReader& in, T& v) {
  std::underlying_type_t<T> number{};
  read_field(in, number);
  v = static_cast<T>(number);
}

template <class T>
void read_list(AttrReader& in, T& list) {
  AttrReader::Nesting nesting(in);
  list.clear();
  in.expect("[");
  if (in.accept("]")) return;
  do {
    typename T::value_type element{};
    read_field(in, element);
    list.push_back(std::move(element));
  } while (in.accept(","));
  in.expect("]");
}
template <class T, size_t N>
void read_field(AttrReader& in, SmallVector<T, N>& v) {
  read_list(in, v);
}
template <class T>
void read_field(AttrReader& in, std::vector<T>& v) {
  read_list(in, v);
}
template <class T>
void read_field(AttrReader& in, std::optional<T>& v) {
  v.reset();
  if (in.accept("none")) return;
  read_field(in, v.emplace());
}

}  // namespace tandem
