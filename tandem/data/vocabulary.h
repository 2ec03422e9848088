#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::data {

/// What a text is cut into: Unicode characters, words between white space, or single bytes.
enum class TextUnit { kCharacter, kWord, kByte };

/// The pieces of text that have numbers, from 0 on.
///
///     Vocabulary v(TextUnit::kCharacter);  v.add("a");  v.encode("aaa");  // 0 0 0
class Vocabulary {
 public:
  explicit Vocabulary(TextUnit unit = TextUnit::kCharacter) : unit_(unit) {}

  /// The number of a piece, which is a new one if the piece is.
  int64_t add(std::string_view token);
  std::optional<int64_t> find(std::string_view token) const;
  const std::string& token(int64_t id) const;
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  TextUnit unit() const { return unit_; }
  const std::vector<std::string>& tokens() const { return tokens_; }

  /// What stands for pieces that are not in it; without one, they are errors.
  void set_unknown(std::string_view token);
  std::optional<int64_t> unknown() const { return unknown_; }
  /// What stands for the end of a line of words; without one, lines are not told apart.
  void set_end_of_line(std::string_view token);
  std::optional<int64_t> end_of_line() const { return end_of_line_; }

  /// Numbers for a text, int64 [n]. Errors call it `name` and say at which byte.
  Tensor encode(std::string_view text, const std::string& name = "text") const;
  /// The text for numbers; words are put together with single spaces, and an end of line becomes
  /// one.
  std::string decode(const Tensor& ids) const;

  /// A text file with one piece a line, which a person can read.
  void save(const std::string& path) const;
  static Vocabulary load(const std::string& path);

  friend bool operator==(const Vocabulary& a, const Vocabulary& b) {
    return a.unit_ == b.unit_ && a.tokens_ == b.tokens_ && a.unknown_ == b.unknown_ &&
           a.end_of_line_ == b.end_of_line_;
  }

 private:
  TextUnit unit_;
  std::vector<std::string> tokens_;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
  std::optional<int64_t> unknown_, end_of_line_;
};

namespace detail {
/// Calls fn(piece, byte) for each piece of a text; the end of a line of words is a piece "\n".
void for_each_piece(std::string_view text, TextUnit unit, const std::string& name,
                    const std::function<void(std::string_view, size_t)>& fn);
}  // namespace detail

}  // namespace tandem::data
