#include <charconv>
#include <cmath>

#include "tandem/inspect/text_detail.h"
#include "tandem/io/utf8.h"

namespace tandem::inspect {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

uint32_t code_point(std::string_view text, size_t at, size_t length) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (length == 1) return byte(0);
  uint32_t code = byte(0) & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3Fu);
  return code;
}

// Controls, the line and paragraph separators, marks that turn the direction of what follows, and
// what XML does not allow at all.
bool is_control(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || (c & 0xFFFE) == 0xFFFE;
}

bool is_wide(uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

}  // namespace

std::string clean(std::string_view text, bool keep_newlines) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = io::utf8_length(text, at);
    if (length == 0) {
      out += kReplacement;
      ++at;
      continue;
    }
    const uint32_t c = code_point(text, at, length);
    if (c == '\n' && keep_newlines)
      out += '\n';
    else if (c == '\n' || c == '\t' || c == '\r')
      out += ' ';
    else if (is_control(c))
      out += kReplacement;
    else
      out.append(text, at, length);
    at += length;
  }
  return out;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : clean(text, /*keep_newlines=*/true)) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : clean(text, /*keep_newlines=*/true)) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    // Graphviz reads entities of HTML in its strings.
    if (c == '&') {
      out += "&amp;";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : clean(text, /*keep_newlines=*/true)) switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '<':  // "</script>" and "<!--" would end or confuse what is around it
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  return out + '"';
}

size_t columns(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = io::utf8_length(text, at);
    n += length && is_wide(code_point(text, at, length)) ? 2 : 1;
    at += length ? length : 1;
  }
  return n;
}

std::string shorten(std::string_view text, size_t longest) {
  if (columns(text) <= longest) return std::string(text);
  size_t at = 0, n = 0;
  while (at < text.size()) {
    const size_t length = io::utf8_length(text, at);
    n += length && is_wide(code_point(text, at, length)) ? 2 : 1;
    if (n + 1 > longest) break;
    at += length ? length : 1;
  }
  return std::string(text.substr(0, at)) + "\xE2\x80\xA6";
}

std::string number(double v) {
  const double rounded = std::round(v * 100) / 100 + 0.0;  // -0 is 0
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, rounded, std::chars_format::fixed).ptr;
  return {text, end};
}

}  // namespace tandem::inspect
