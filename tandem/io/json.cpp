#include "tandem/io/json.h"

#include <charconv>
#include <cmath>

#include "tandem/io/utf8.h"

namespace tandem::io {
namespace {

constexpr int kMaxDepth = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kFirst[more] | (code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
}

}  // namespace

void JsonReader::fail(const std::string& message) const {
  detail::raise<FileError>(str(what_, ": byte ", offset_ + at_, ": ", message));
}

char JsonReader::peek() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonReader::next(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonReader::expect(char c, const char* what) {
  if (!next(c))
    fail(str("expected ", what, at_ == text_.size() ? " before the end of the text" : ""));
}

void JsonReader::enter(char open, const char* what) {
  if (++depth_ > kMaxDepth) fail(str("nested more than ", kMaxDepth, " deep"));
  expect(open, what);
}

void JsonReader::end() {
  peek();
  if (at_ < text_.size()) fail("something follows the end of the text");
}

std::string JsonReader::key() {
  if (peek() != '"') fail("expected a key in quotes");
  std::string k = string();
  expect(':', "':'");
  return k;
}

unsigned JsonReader::hex4() {
  if (text_.size() - at_ < 4) fail("a \\u without four digits");
  unsigned code = 0;
  const char* begin = text_.data() + at_;
  const auto [rest, error] = std::from_chars(begin, begin + 4, code, 16);
  if (error != std::errc() || rest != begin + 4) fail("a \\u without four digits");
  at_ += 4;
  return code;
}

void JsonReader::escape(std::string& out) {
  static constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == 'u') {
    ++at_;
    unsigned code = hex4();
    if (code >= 0xD800 && code < 0xDC00) {
      if (text_.substr(at_, 2) != "\\u") fail("half of a surrogate pair");
      at_ += 2;
      const unsigned low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      fail("half of a surrogate pair");
    }
    append_utf8(out, code);
    return;
  }
  const size_t i = c ? kNames.find(c) : std::string_view::npos;
  if (i == std::string_view::npos) fail("an unknown escape in a string");
  out += kMeant[i];
  ++at_;
}

// One character of more than one byte.
void JsonReader::utf8(std::string& out) {
  const size_t length = utf8_length(text_, at_);
  if (length == 0) fail("a string that is not UTF-8");
  out.append(text_.substr(at_, length));
  at_ += length;
}

std::string JsonReader::string() {
  if (peek() != '"') fail("expected a string");
  ++at_;
  std::string out;
  for (;;) {
    if (at_ >= text_.size()) fail("a string without an end");
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (c < 0x20) fail("a control character in a string");
    if (c >= 0x80) {
      utf8(out);
      continue;
    }
    ++at_;
    if (c == '"') return out;
    if (c == '\\') {
      escape(out);
    } else {
      out += static_cast<char>(c);
    }
  }
}

// The characters of a number as JSON spells it.
std::string_view JsonReader::digits() {
  peek();
  const size_t begin = at_;
  const auto some = [&] {
    const size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ == from) fail("expected a number");
    return from;
  };
  const auto at = [&](char c) { return at_ < text_.size() && text_[at_] == c; };
  if (at('-')) ++at_;
  const size_t whole = some();
  if (text_[whole] == '0' && at_ - whole > 1) fail("a number that begins with 0");
  if (at('.')) {
    ++at_;
    some();
  }
  if (at('e') || at('E')) {
    ++at_;
    if (at('+') || at('-')) ++at_;
    some();
  }
  return text_.substr(begin, at_ - begin);
}

int64_t JsonReader::integer() {
  const std::string_view d = digits();
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(d.data(), d.data() + d.size(), value);
  if (error == std::errc::result_out_of_range) fail(str("the number ", d, " does not fit 64 bits"));
  if (error != std::errc() || rest != d.data() + d.size()) fail(str(d, " is not a whole number"));
  return value;
}

double JsonReader::number() {
  const std::string_view d = digits();
  double value = 0;
  std::from_chars(d.data(), d.data() + d.size(), value);
  return value;
}

void JsonReader::word(std::string_view w) {
  if (text_.substr(at_, w.size()) != w) fail(str("expected ", w));
  at_ += w.size();
}

bool JsonReader::boolean() {
  const bool value = peek() == 't';
  word(value ? "true" : "false");
  return value;
}

void JsonReader::skip() {
  switch (peek()) {
    case '{':
      object([&](const std::string&) { skip(); });
      break;
    case '[':
      array([&] { skip(); });
      break;
    case '"':
      string();
      break;
    case 't':
    case 'f':
      boolean();
      break;
    case 'n':
      word("null");
      break;
    default:
      digits();
  }
}

void write_json(std::ostream& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out << '"';
  for (const char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (u < 0x20) {
      out << "\\u00" << kHex[u >> 4] << kHex[u & 15];
    } else {
      out << c;
    }
  }
  out << '"';
}

}  // namespace tandem::io
