#pragma once

#include <locale>
#include <sstream>
#include <string>
#include <string_view>

/// Text from users, made fit for the formats.
namespace tandem::inspect {

/// Numbers look the same wherever the program runs.
struct TextStream : std::ostringstream {
  TextStream() { imbue(std::locale::classic()); }
};
/// Its arguments, one after the other.
template <class... Args>
std::string text_of(const Args&... args) {
  TextStream out;
  (out << ... << args);
  return out.str();
}

/// Well-formed UTF-8 without control characters: what is not becomes U+FFFD, and tabs and newlines
/// become spaces unless they are kept.
std::string clean(std::string_view text, bool keep_newlines = false);
/// For XML and HTML, between tags and in attributes with double quotes.
std::string xml(std::string_view text);
/// A DOT string with its quotes.
std::string dot_string(std::string_view text);
/// A JSON string with its quotes, which may stand inside <script>.
std::string json_string(std::string_view text);

/// How many columns of a font with fixed width it takes. Characters of East Asia take two.
size_t columns(std::string_view text);
/// At most so many columns of it, ending in an ellipsis if that is not all.
std::string shorten(std::string_view text, size_t longest);

/// A coordinate: at most two digits behind the point, never in the locale's manner.
std::string number(double v);

}  // namespace tandem::inspect
