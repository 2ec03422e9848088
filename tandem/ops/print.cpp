#include "tandem/ops/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace tandem {
namespace {

constexpr int64_t kMostElements = 1000;  // more are abridged
constexpr int64_t kEdge = 3;             // entries shown at either end of an abridged dimension
constexpr int64_t kGap = -1;             // stands for the entries left out

// The indices of a dimension that are shown, in order.
std::vector<int64_t> shown(int64_t size, bool abridge) {
  std::vector<int64_t> list;
  if (!abridge || size <= 2 * kEdge) {
    for (int64_t i = 0; i < size; ++i) list.push_back(i);
    return list;
  }
  for (int64_t i = 0; i < kEdge; ++i) list.push_back(i);
  list.push_back(kGap);
  for (int64_t i = size - kEdge; i < size; ++i) list.push_back(i);
  return list;
}

std::string printed(const char* format, int precision, double v) {
  char text[400];
  std::snprintf(text, sizeof text, format, precision, v);
  return text;
}

// How the real numbers of one matrix are written, so that they line up.
struct RealFormat {
  enum { kWhole, kFixed, kScientific } kind = kWhole;
  double scale = 1;

  explicit RealFormat(const std::vector<double>& values) {
    bool whole = true;
    double least = INFINITY, most = 0;
    for (double v : values) {
      if (!std::isfinite(v)) continue;
      whole &= v == std::trunc(v);
      least = std::min(least, std::fabs(v));
      most = std::max(most, std::fabs(v));
    }
    if (!std::isfinite(least)) return;
    const int low = digits(least), high = digits(most);
    if (whole) {
      kind = high > 9 ? kScientific : kWhole;
    } else if (high - low > 4) {
      kind = kScientific;
    } else {
      kind = kFixed;
      if (high > 5 || high < 0) scale = std::pow(10.0, high - 1);
    }
  }
  std::string write(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    switch (kind) {
      case kWhole:
        return printed("%.*f", 0, v == 0 ? 0 : v);
      case kFixed:
        return printed("%.*f", 4, v / scale);
      default:
        return printed("%.*e", 4, v);
    }
  }

 private:
  // Digits before the point; 0 or less for numbers below 1.
  static int digits(double v) {
    return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1;
  }
};

// A matrix as texts, all of one width and with room for a sign.
struct Texts {
  std::vector<std::string> cells;
  int width = 0;
  double scale = 1;
};

class Printer {
 public:
  Printer(std::ostream& out, const TensorImpl& t, int64_t linesize)
      : out_(out), t_(t), linesize_(linesize), abridge_(t.numel > kMostElements) {}

  void print() {
    const int64_t n = t_.type.dim();
    if (n == 0) {
      out_ << scalar() << '\n';
    } else if (n == 1) {
      column();
    } else {
      Dims at;
      blocks(at);
    }
  }

 private:
  // Zero dimensions need no alignment: as a stream would write the number.
  std::string scalar() const {
    if (is_floating(t_.type.dtype)) return str(real_at(0));
    return std::to_string(whole_at(0));
  }
  double real_at(int64_t offset) const {
    return dispatch(t_.type.dtype, [&]<class T>(T) {
      return static_cast<double>(static_cast<const T*>(t_.data)[offset]);
    });
  }
  int64_t whole_at(int64_t offset) const {
    return dispatch(t_.type.dtype, [&]<class T>(T) -> int64_t {
      if constexpr (std::is_integral_v<T>) return static_cast<const T*>(t_.data)[offset];
      return 0;
    });
  }

  Texts texts_at(const std::vector<int64_t>& offsets) const {
    Texts result;
    if (is_floating(t_.type.dtype)) {
      std::vector<double> values;
      for (int64_t o : offsets) values.push_back(real_at(o));
      const RealFormat format(values);
      for (double v : values) result.cells.push_back(format.write(v));
      result.scale = format.scale;
    } else {
      for (int64_t o : offsets) result.cells.push_back(std::to_string(whole_at(o)));
    }
    for (const std::string& c : result.cells)
      result.width = std::max(result.width, static_cast<int>(c.size() - (c[0] == '-')) + 1);
    return result;
  }

  void cell(const std::string& text, int width) {
    for (int i = static_cast<int>(text.size()); i < width; ++i) out_ << ' ';
    out_ << text;
  }

  void column() {
    const auto rows = shown(t_.type.sizes[0], abridge_);
    std::vector<int64_t> offsets;
    for (int64_t i : rows)
      if (i != kGap) offsets.push_back(i * t_.strides[0]);
    const Texts texts = texts_at(offsets);
    if (texts.scale != 1) out_ << texts.scale << " *\n";
    size_t next = 0;
    for (int64_t i : rows) {
      if (i == kGap)
        cell("...", texts.width);
      else
        cell(texts.cells[next++], texts.width);
      out_ << '\n';
    }
  }

  // One matrix for each index of the leading dimensions.
  void blocks(Dims& at) {
    const auto d = at.size();
    if (static_cast<int64_t>(d) == t_.type.dim() - 2) {
      if (d > 0) {
        out_ << (first_ ? "" : "\n") << '(';
        for (int64_t i : at) out_ << i + 1 << ',';
        out_ << ".,.) = \n";
      }
      first_ = false;
      matrix(at, d > 0 ? 1 : 0);
      return;
    }
    for (int64_t i : shown(t_.type.sizes[d], abridge_)) {
      if (i == kGap) {
        out_ << "\n...\n";
        continue;
      }
      at.push_back(i);
      blocks(at);
      at.pop_back();
    }
  }

  void matrix(const Dims& at, int indent) {
    const size_t r = at.size(), c = r + 1;
    int64_t start = 0;
    for (size_t d = 0; d < r; ++d) start += at[d] * t_.strides[d];
    const auto rows = shown(t_.type.sizes[r], abridge_),
               columns = shown(t_.type.sizes[c], abridge_);
    std::vector<int64_t> offsets;
    for (int64_t i : rows)
      for (int64_t j : columns)
        if (i != kGap && j != kGap)
          offsets.push_back(start + i * t_.strides[r] + j * t_.strides[c]);
    const Texts texts = texts_at(offsets);
    const std::string margin(indent, ' ');
    if (texts.scale != 1) out_ << margin << texts.scale << " *\n";

    const size_t in_line =
        std::max<int64_t>(1, (linesize_ - indent) / std::max(texts.width + 1, 1));
    const size_t real_columns =
        std::count_if(columns.begin(), columns.end(), [](int64_t j) { return j != kGap; });
    for (size_t from = 0; from < columns.size(); from += in_line) {
      const size_t to = std::min(columns.size(), from + in_line);
      if (in_line < columns.size())
        out_ << (from ? "\n" : "") << margin << "Columns " << name_of_column(columns, from)
             << " to " << name_of_column(columns, to - 1) << '\n';
      size_t row = 0;
      for (int64_t i : rows) {
        out_ << margin;
        if (i == kGap) {
          cell("...", texts.width);
          out_ << '\n';
          continue;
        }
        for (size_t k = from; k < to; ++k) {
          if (k > from) out_ << ' ';
          if (columns[k] == kGap) {
            out_ << " ...";
            continue;
          }
          const size_t past_gap = k > static_cast<size_t>(kEdge) && real_columns < columns.size();
          cell(texts.cells[row * real_columns + k - past_gap], texts.width);
        }
        out_ << '\n';
        ++row;
      }
    }
  }

  // Columns are counted from 1; a gap has the name of its neighbour.
  static int64_t name_of_column(const std::vector<int64_t>& columns, size_t k) {
    return (columns[k] == kGap ? columns[k - 1] + 1 : columns[k]) + 1;
  }

  std::ostream& out_;
  const TensorImpl& t_;
  const int64_t linesize_;
  const bool abridge_;
  bool first_ = true;
};

}  // namespace

std::ostream& print(std::ostream& out, const Tensor& t, int64_t linesize) {
  if (!t.defined()) return out << "[ Tensor (undefined) ]";
  if (t.numel() > 0 && !t.is_meta()) {
    t.impl()->need_values("print");
    Printer(out, *t.impl(), linesize).print();
  }
  out << "[ " << t.toString() << '{';
  for (int64_t d = 0; d < t.dim(); ++d) out << (d ? "," : "") << t.size(d);
  return out << "} ]";
}

void print(const Tensor& t, int64_t linesize) { print(std::cout, t, linesize); }

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return print(out, t, 80); }

void Tensor::print() const {
  if (defined())
    std::cerr << '[' << toString() << ' ' << sizes() << "]\n";
  else
    std::cerr << "[UndefinedTensor]\n";
}

}  // namespace tandem
