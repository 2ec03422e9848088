#include "tandem/core/attr_reader.h"

#include <charconv>
#include <cmath>

#include "tandem/base/error.h"

namespace tandem {
namespace {

constexpr int kMaxDepth = 32;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A piece of a text that may hold anything, fit for a message of one line.
std::string shown(std::string_view text) {
  std::string s;
  for (const char c : text.substr(0, 24)) s += static_cast<unsigned char>(c) < 32 ? '?' : c;
  return text.size() > 24 ? s + "..." : s;
}

}  // namespace

void AttrReader::fail_at(size_t place, const std::string& message) const {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < place; ++i) {
    ++column;
    if (text_[i] == '\n') ++line, column = 1;
  }
  throw Error(str(what_, ", line ", line, ", column ", column, ": ", message));
}

void AttrReader::expected(const std::string& what) const {
  if (at_end()) fail(str("expected ", what, ", found the end of the text"));
  if (peek() == '\n') fail(str("expected ", what, ", found the end of the line"));
  size_t end = at_ + 1;
  if (is_letter(peek()) || is_digit(peek()))
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  fail(str("expected ", what, ", found '", shown(text_.substr(at_, end - at_)), "'"));
}

void AttrReader::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
  if (peek() == '#')
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
}

void AttrReader::skip_lines() {
  for (skip_blanks(); peek() == '\n' && !at_end(); skip_blanks()) ++at_;
}

bool AttrReader::accept(std::string_view token) {
  skip_blanks();
  if (text_.substr(at_, token.size()) != token) return false;
  const size_t end = at_ + token.size();
  if (is_letter(token.back()) && end < text_.size() &&
      (is_letter(text_[end]) || is_digit(text_[end])))
    return false;
  at_ = end;
  return true;
}

void AttrReader::expect(std::string_view token) {
  if (!accept(token)) expected(str("'", token, "'"));
}

void AttrReader::expect_end_of_line() {
  skip_blanks();
  if (at_end()) return;
  if (peek() != '\n') expected("the end of the line");
  ++at_;
}

std::string_view AttrReader::word(const char* what) {
  skip_blanks();
  if (!is_letter(peek())) expected(what);
  const size_t begin = at_;
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  return text_.substr(begin, at_ - begin);
}

void AttrReader::field(std::string_view name, bool first) {
  if (!first && !accept(",")) expected(str("',' and the field '", name, "'"));
  skip_blanks();
  if (!accept(name)) expected(str("the field '", name, "'"));
  expect("=");
}

bool AttrReader::truth() {
  if (accept("true")) return true;
  if (accept("false")) return false;
  expected("true or false");
}

std::string_view AttrReader::number_text() const {
  size_t end = at_;
  while (end < text_.size() &&
         (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.' || text_[end] == '-' ||
          (text_[end] == '+' && end > at_)))
    ++end;
  return text_.substr(at_, end - at_);
}

int64_t AttrReader::whole(int64_t min, int64_t max) {
  skip_blanks();
  const std::string_view text = number_text();
  int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  const bool complete = end == text.data() + text.size() && !text.empty();
  if (error == std::errc::result_out_of_range)
    fail(str("the number ", shown(text), " does not fit 64 bits"));
  if (error != std::errc() || !complete) expected("a whole number");
  if (v < min || v > max) fail(str("the number ", v, " is not between ", min, " and ", max));
  at_ += text.size();
  return v;
}

template <class T>
T AttrReader::real_as(const char* type) {
  skip_blanks();
  const std::string_view text = number_text();
  T v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  const bool complete = end == text.data() + text.size() && !text.empty();
  if (error == std::errc::result_out_of_range)
    fail(str("the number ", shown(text), " does not fit a ", type));
  if (error != std::errc() || !complete) expected("a number");
  at_ += text.size();
  return v;
}

double AttrReader::real() { return real_as<double>("float64"); }
float AttrReader::single() { return real_as<float>("float32"); }

Scalar AttrReader::number() {
  skip_blanks();
  if (peek() == 't' || peek() == 'f') return truth();
  // Real numbers show it: by a point, an exponent, or letters as in inf and nan.
  if (number_text().find_first_of(".einEIN") != std::string_view::npos) return real();
  return whole();
}

std::string AttrReader::quoted() {
  skip_blanks();
  if (peek() != '"') expected("a text in quotes");
  const size_t begin = at_++;
  std::string s;
  for (;;) {
    if (at_end() || peek() == '\n') fail_at(begin, "the text in quotes has no end");
    const char c = text_[at_++];
    if (c == '"') return s;
    if (c != '\\') {
      s += c;
      continue;
    }
    const char escaped = peek();
    if (escaped == '"' || escaped == '\\') {
      s += escaped;
      ++at_;
    } else if (escaped == 'x' && at_ + 2 < text_.size() && hex_value(text_[at_ + 1]) >= 0 &&
               hex_value(text_[at_ + 2]) >= 0) {
      s += static_cast<char>(hex_value(text_[at_ + 1]) * 16 + hex_value(text_[at_ + 2]));
      at_ += 3;
    } else {
      fail("expected \\\", \\\\ or \\x and two digits in a text in quotes");
    }
  }
}

DType AttrReader::dtype() {
  skip_blanks();
  const size_t begin = at_;
  const std::string_view name = word("a dtype");
  for (int i = 0; i <= kNumDTypes; ++i)
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  fail_at(begin, str("'", shown(name),
                     "' is not a dtype (bool, uint8, int8, int16, int32, int64, float16, bfloat16, "
                     "float32, float64)"));
}

Device AttrReader::device() {
  skip_blanks();
  const size_t begin = at_;
  std::string text(word("a device"));
  if (peek() == ':') {
    ++at_;
    text += ":" + std::to_string(whole(0, 127));
  }
  try {
    return Device(text);
  } catch (const Error& e) {
    fail_at(begin, e.what());
  }
}

void AttrReader::hex_bytes(std::string& bytes, size_t count) {
  skip_blanks();
  if (text_.substr(at_, 2) != "0x") expected("bytes as 0x...");
  const size_t begin = at_;
  at_ += 2;
  size_t end = at_;
  while (end < text_.size() && hex_value(text_[end]) >= 0) ++end;
  if ((end - at_) % 2 || (end - at_) / 2 != count)
    fail_at(begin,
            str("expected ", count, " bytes, two digits each, found ", end - at_, " digits"));
  bytes.resize(count);
  for (char& b : bytes) {
    b = static_cast<char>(hex_value(text_[at_]) * 16 + hex_value(text_[at_ + 1]));
    at_ += 2;
  }
}

AttrReader::Nesting::Nesting(AttrReader& in) : in_(in) {
  if (in.depth_ >= kMaxDepth) in.fail(str("nested deeper than ", kMaxDepth, " levels"));
  ++in.depth_;
}

}  // namespace tandem
