#pragma once

#include <cstddef>
#include <string_view>

namespace tandem::io {

/// How many bytes the character at `at` takes; 0 if there is none that is well formed: overlong
/// forms, surrogates and what lies beyond U+10FFFF are not.
inline size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  if (at >= text.size()) return 0;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t more = first >= 0xC2 && first < 0xE0   ? 1
                      : first >= 0xE0 && first < 0xF0 ? 2
                      : first >= 0xF0 && first < 0xF5 ? 3
                                                      : 0;
  bool good = more > 0;
  for (size_t i = 1; i <= more; ++i) good = good && (byte(i) & 0xC0) == 0x80;
  const unsigned second = byte(1);
  if (first == 0xE0) good = good && second >= 0xA0;
  if (first == 0xED) good = good && second < 0xA0;
  if (first == 0xF0) good = good && second >= 0x90;
  if (first == 0xF4) good = good && second < 0x90;
  return good ? more + 1 : 0;
}

}  // namespace tandem::io
