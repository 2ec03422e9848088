#include "tandem/data/vocabulary.h"

#include <charconv>

#include "tandem/io/file.h"
#include "tandem/io/utf8.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
namespace {

constexpr const char* kUnits[] = {"character", "word", "byte"};
constexpr std::string_view kFirstLine = "tandem vocabulary 1";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

/// A piece on a line of its own: white space, control characters and bytes that are not UTF-8 are
/// written as \xHH.
std::string escaped(const std::string& token) {
  std::string out;
  for (size_t at = 0; at < token.size();) {
    const size_t n = io::utf8_length(token, at);
    const auto c = static_cast<unsigned char>(token[at]);
    if (n == 0 || c <= ' ' || c == 0x7f) {
      static constexpr char kDigits[] = "0123456789abcdef";
      out += {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]};
      ++at;
      continue;
    }
    if (c == '\\') out += '\\';
    out.append(token, at, n);
    at += n;
  }
  return out;
}

/// The inverse; nothing if it is none.
std::optional<std::string> unescaped(std::string_view line) {
  std::string out;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '\\') {
      out += line[at];
    } else if (at + 1 < line.size() && line[at + 1] == '\\') {
      out += '\\';
      ++at;
    } else {
      unsigned value = 0;
      if (at + 3 >= line.size() || line[at + 1] != 'x') return std::nullopt;
      const char* digits = line.data() + at + 2;
      if (std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return std::nullopt;
      out += static_cast<char>(value);
      at += 3;
    }
  }
  return out;
}

/// Lines of a vocabulary's file, counted for the errors.
class Lines {
 public:
  Lines(std::string_view text, const std::string& path) : text_(text), path_(path) {}
  std::string_view next() {
    if (at_ >= text_.size()) fail("the file ends too early");
    const size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) fail("the line has no end");
    ++line_;
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  /// What follows a word and a space.
  std::string_view value(std::string_view word) {
    const std::string_view line = next();
    if (!line.starts_with(word) || line.size() <= word.size() || line[word.size()] != ' ')
      fail(str("expected '", word, "'"));
    return line.substr(word.size() + 1);
  }
  /// A number; -1 stands for none.
  int64_t number(std::string_view word) {
    const std::string_view v = value(word);
    int64_t n = 0;
    const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), n);
    if (error != std::errc() || end != v.data() + v.size() || n < -1)
      fail(str("expected a number, got '", v, "'"));
    return n;
  }
  bool done() const { return at_ == text_.size(); }
  [[noreturn]] void fail(const std::string& what) const {
    tandem::detail::raise<FileError>(str(path_, ": line ", line_, ": ", what));
  }

 private:
  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0, line_ = 0;
};

}  // namespace

namespace detail {

void for_each_piece(std::string_view text, TextUnit unit, const std::string& name,
                    const std::function<void(std::string_view, size_t)>& fn) {
  size_t at = 0;
  if (unit == TextUnit::kByte) {
    for (; at < text.size(); ++at) fn(text.substr(at, 1), at);
    return;
  }
  if (unit == TextUnit::kCharacter) {
    while (at < text.size()) {
      const size_t n = io::utf8_length(text, at);
      TANDEM_CHECK(n > 0, name, ": byte ", at, ": is not UTF-8");
      fn(text.substr(at, n), at);
      at += n;
    }
    return;
  }
  while (at < text.size()) {
    if (is_space(text[at])) {
      if (text[at] == '\n') fn(text.substr(at, 1), at);
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    fn(text.substr(begin, at - begin), begin);
  }
  // The last line may lack the sign of its end.
  if (!text.empty() && text.back() != '\n') fn("\n", at);
}

}  // namespace detail

int64_t Vocabulary::add(std::string_view token) {
  if (const auto known = find(token)) return *known;
  const int64_t id = size();
  tokens_.emplace_back(token);
  ids_.emplace(token, id);
  return id;
}

std::optional<int64_t> Vocabulary::find(std::string_view token) const {
  const auto at = ids_.find(token);
  return at == ids_.end() ? std::nullopt : std::optional(at->second);
}

const std::string& Vocabulary::token(int64_t id) const {
  TANDEM_CHECK_INDEX(id >= 0 && id < size(), "Vocabulary: number ", id, " of ", size());
  return tokens_[static_cast<size_t>(id)];
}

void Vocabulary::set_unknown(std::string_view token) { unknown_ = add(token); }
void Vocabulary::set_end_of_line(std::string_view token) { end_of_line_ = add(token); }

Tensor Vocabulary::encode(std::string_view text, const std::string& name) const {
  std::vector<int64_t> ids;
  ids.reserve(unit_ == TextUnit::kWord ? text.size() / 5 : text.size());
  detail::for_each_piece(text, unit_, name, [&](std::string_view piece, size_t at) {
    if (unit_ == TextUnit::kWord && piece == "\n") {
      if (end_of_line_) ids.push_back(*end_of_line_);
      return;
    }
    const auto id = find(piece);
    TANDEM_CHECK(id || unknown_, name, ": byte ", at, ": '", escaped(std::string(piece)),
                 "' is not in the vocabulary");
    ids.push_back(id ? *id : *unknown_);
  });
  return tensor(ids, kLong);
}

std::string Vocabulary::decode(const Tensor& ids) const {
  TANDEM_CHECK(ids.defined() && isIntegralType(ids.scalar_type()),
               "Vocabulary: expected whole numbers to decode");
  const Tensor flat = ids.detach().reshape({-1}).to(kLong).contiguous();
  const int64_t* at = flat.data_ptr<int64_t>();
  std::string text;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const bool end = unit_ == TextUnit::kWord && at[i] == end_of_line_;
    if (unit_ == TextUnit::kWord && !end && !text.empty() && text.back() != '\n') text += ' ';
    text += end ? "\n" : token(at[i]);
  }
  return text;
}

void Vocabulary::save(const std::string& path) const {
  io::AtomicFile file(path);
  file.write(str(kFirstLine, "\nunit ", kUnits[static_cast<int>(unit_)], "\nunknown ",
                 unknown_.value_or(-1), "\nend_of_line ", end_of_line_.value_or(-1), "\npieces ",
                 size(), "\n"));
  for (const std::string& t : tokens_) file.write(escaped(t) + "\n");
  file.commit();
}

Vocabulary Vocabulary::load(const std::string& path) {
  const auto file = io::MappedFile::open(path);
  Lines lines(file->bytes(), path);
  if (lines.next() != kFirstLine) lines.fail("is not a vocabulary");
  const std::string_view unit = lines.value("unit");
  size_t u = 0;
  while (u < std::size(kUnits) && unit != kUnits[u]) ++u;
  if (u == std::size(kUnits)) lines.fail(str("the unit '", unit, "' is unknown"));
  Vocabulary v(static_cast<TextUnit>(u));
  const int64_t unknown = lines.number("unknown"), end = lines.number("end_of_line");
  const int64_t count = lines.number("pieces");
  if (count < 0 || unknown >= count || end >= count)
    lines.fail(str(count, " pieces, of which ", unknown, " and ", end, " are special"));
  for (int64_t i = 0; i < count; ++i) {
    const auto token = unescaped(lines.next());
    if (!token) lines.fail("an unknown escape");
    if (token->empty()) lines.fail("a piece without characters");
    if (v.add(*token) != i) lines.fail(str("'", escaped(*token), "' appears twice"));
  }
  if (!lines.done()) lines.fail(str("something follows the ", count, " pieces"));
  if (unknown >= 0) v.unknown_ = unknown;
  if (end >= 0) v.end_of_line_ = end;
  return v;
}

}  // namespace tandem::data
