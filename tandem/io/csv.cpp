#include "tandem/io/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>

#include "tandem/io/file.h"
#include "tandem/ops/ops.h"

namespace tandem::io {
namespace {

struct Field {
  std::string text;
  size_t line = 0;
};

/// Cuts a text into rows of fields.
class Rows {
 public:
  Rows(std::string_view text, const CSVOptions& options, const std::string& name)
      : text_(text), options_(options), name_(name) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the mark of UTF-8
  }

  /// The fields of the next row that is not empty; false at the end. Strings are used again, the
  /// row's length is `count`.
  bool next(std::vector<Field>& fields, size_t& count) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n")) {
      at_ += text_[at_] == '\n' ? 1 : 2;
      ++line_;
    }
    if (at_ >= text_.size()) return false;
    for (count = 0;; ++at_) {
      if (count == fields.size()) fields.emplace_back();
      read(fields[count], count + 1);
      ++count;
      if (at_ >= text_.size() || text_[at_] == '\n') break;
    }
    if (at_ < text_.size()) {
      ++at_;
      ++line_;
    }
    return true;
  }

  [[noreturn]] void fail(size_t line, size_t column, const std::string& what) const {
    tandem::detail::raise<FileError>(str(name_, ": line ", line, ", column ", column, ": ", what));
  }

 private:
  /// One field; `at_` stands then on the delimiter, the end of the line or of the text.
  void read(Field& field, size_t column) {
    field.text.clear();
    field.line = line_;
    const char quote = options_.quote();
    if (quote && at_ < text_.size() && text_[at_] == quote) {
      quoted(field, column);
    } else {
      const size_t begin = at_;
      for (; at_ < text_.size() && text_[at_] != options_.delimiter() && text_[at_] != '\n';
           ++at_) {
        if (quote && text_[at_] == quote) fail(line_, column, "a quote inside of a field");
        if (text_[at_] == 0) fail(line_, column, "a zero byte");
      }
      size_t end = at_;
      if (at_ < text_.size() && text_[at_] == '\n' && end > begin && text_[end - 1] == '\r') --end;
      field.text = text_.substr(begin, end - begin);
    }
  }

  void quoted(Field& field, size_t column) {
    const char quote = options_.quote();
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) fail(field.line, column, "a quote is opened and never closed");
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != quote) break;
      }
      if (c == 0) fail(line_, column, "a zero byte");
      if (c == '\n') ++line_;
      field.text += c;
    }
    if (text_.substr(at_, 2) == "\r\n") ++at_;
    if (at_ < text_.size() && text_[at_] != options_.delimiter() && text_[at_] != '\n')
      fail(line_, column, "something follows the closing quote");
  }

  std::string_view text_;
  const CSVOptions& options_;
  const std::string& name_;
  size_t at_ = 0, line_ = 1;
};

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

/// Long fields are abridged in messages.
std::string shown(std::string_view field) {
  return field.size() <= 40 ? str("'", field, "'") : str("'", field.substr(0, 40), "...'");
}

std::pair<double, double> range_of(DType dtype) {
  switch (dtype) {
    case kBool:
      return {0, 1};
    case kByte:
      return {0, 255};
    case kChar:
      return {-128, 127};
    case kShort:
      return {-32768, 32767};
    case kInt:
      return {-0x1p31, 0x1p31 - 1};
    case kHalf:
      return {-65504, 65504};
    case kFloat:
    case kBFloat16:
      return {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()};
    default:
      return {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  }
}

/// Reads a table whose numbers are kept as T until all are there.
template <class T>
class Table {
 public:
  Table(std::string_view text, const CSVOptions& options, const std::string& name)
      : options_(options), name_(name), rows_(text, options, name) {
    TANDEM_CHECK_AS(FileError, !text.empty(), name, ": is empty");
    const auto [low, high] = range_of(options.dtype());
    low_ = low;
    high_ = high;
  }

  CSVTable read() {
    std::vector<Field> fields;
    size_t count = 0;
    bool more = rows_.next(fields, count);
    TANDEM_CHECK_AS(FileError, more, name_, ": there is no ", options_.header() ? "header" : "row");
    name_columns(fields, count);
    if (options_.header()) more = rows_.next(fields, count);
    TANDEM_CHECK_AS(FileError, more, name_, ": there are no rows");
    for (; more; more = rows_.next(fields, count)) add(fields, count);
    const auto n = static_cast<int64_t>(table_.lines.size());
    const auto width = static_cast<int64_t>(numbers_.size());
    const DType kept = std::is_same_v<T, double> ? kDouble : kLong;
    table_.values = values_.empty() ? empty({n, width}, options_.dtype())
                                    : from_blob(values_.data(), {n, width}, kept)
                                          .to(options_.dtype(), /*non_blocking=*/false,
                                              /*copy=*/true);
    return std::move(table_);
  }

 private:
  void name_columns(const std::vector<Field>& fields, size_t count) {
    for (size_t c = 0; c < count; ++c) {
      std::string n = options_.header() ? std::string(trimmed(fields[c].text)) : str(c);
      if (!places_.emplace(n, c).second)
        rows_.fail(fields[c].line, c + 1, str("the name ", shown(n), " appears twice"));
      all_.push_back(std::move(n));
    }
    if (!options_.text_column().empty()) text_ = find(options_.text_column());
    if (options_.columns().empty()) {
      for (size_t c = 0; c < count; ++c)
        if (c != text_) numbers_.push_back(c);
    }
    for (const std::string& n : options_.columns()) numbers_.push_back(find(n));
    for (const size_t c : numbers_) table_.names.push_back(all_[c]);
  }

  size_t find(const std::string& column) const {
    const auto at = places_.find(column);
    if (at == places_.end()) {
      std::string known;
      for (size_t c = 0; c < std::min<size_t>(all_.size(), 20); ++c)
        known += (c ? ", " : "") + shown(all_[c]);
      tandem::detail::raise<FileError>(str(name_, ": there is no column '", column,
                                           "'; the columns are ", known,
                                           all_.size() > 20 ? ", ..." : ""));
    }
    return at->second;
  }

  void add(const std::vector<Field>& fields, size_t count) {
    TANDEM_CHECK_AS(FileError, count == all_.size(), name_, ": line ", fields[0].line, ": ", count,
                    " fields, expected ", all_.size());
    table_.lines.push_back(fields[0].line);
    if (text_) table_.text.emplace_back(trimmed(fields[*text_].text));
    for (const size_t c : numbers_) values_.push_back(number(fields[c], c));
  }

  T number(const Field& field, size_t c) const {
    std::string_view s = trimmed(field.text);
    const auto fail = [&](const auto&... what) {
      tandem::detail::raise<FileError>(
          str(name_, ": line ", field.line, ", column ", c + 1, " ('", all_[c], "'): ", what...));
    };
    for (const std::string& m : options_.missing()) {
      if (s != m) continue;
      if (options_.fill()) return static_cast<T>(*options_.fill());
      if constexpr (std::is_same_v<T, double>) return std::numeric_limits<double>::quiet_NaN();
      fail("a number is missing, and ", options_.dtype(), " has no NaN; say what to fill in");
    }
    const std::string_view whole = s;
    if (s.starts_with('+') && !s.starts_with("+-")) s.remove_prefix(1);
    T value{};
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error == std::errc::invalid_argument || end != s.data() + s.size())
      fail(shown(whole), " is not a ", std::is_same_v<T, double> ? "number" : "whole number");
    const auto d = static_cast<double>(value);
    if (error == std::errc::result_out_of_range || (std::isfinite(d) && (d < low_ || d > high_)))
      fail(shown(whole), " does not fit ", options_.dtype());
    return value;
  }

  const CSVOptions& options_;
  const std::string& name_;
  Rows rows_;
  CSVTable table_;
  std::vector<std::string> all_;                    // names of all columns
  std::unordered_map<std::string, size_t> places_;  // and which column has which
  std::vector<size_t> numbers_;                     // which of them are wanted
  std::optional<size_t> text_;                      // and which is text
  std::vector<T> values_;
  double low_ = 0, high_ = 0;
};

}  // namespace

CSVTable parse_csv(std::string_view text, const CSVOptions& options, const std::string& name) {
  TANDEM_CHECK(options.delimiter() != options.quote() && options.delimiter() != '\n' &&
                   options.delimiter() != '\0' && options.quote() != '\n',
               "read_csv: the delimiter '", options.delimiter(), "' and the quote '",
               options.quote(), "' cannot be told apart");
  const bool whole = !isFloatingType(options.dtype());
  if (options.fill()) {
    const double fill = *options.fill();
    const auto [low, high] = range_of(options.dtype());
    const bool fits = fill >= low && fill <= high;
    const bool is_whole = fill == std::floor(fill) && std::abs(fill) <= 0x1p53;
    TANDEM_CHECK(whole ? fits && is_whole : fits || !std::isfinite(fill), "read_csv: ", fill,
                 " cannot be filled in for ", options.dtype());
  }
  if (whole) return Table<int64_t>(text, options, name).read();
  return Table<double>(text, options, name).read();
}

CSVTable read_csv(const std::string& path, const CSVOptions& options) {
  const auto file = MappedFile::open(path);
  return parse_csv(file->bytes(), options, path);
}

}  // namespace tandem::io
