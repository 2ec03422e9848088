#include "tandem/data/csv.h"

#include <algorithm>
#include <charconv>

#include "tandem/ops/ops.h"

namespace tandem::data::datasets {
namespace {

template <class T>
bool parse(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Where a row's label is wrong.
std::string place(const std::string& path, const io::CSVTable& table, size_t row) {
  return str(path, ": line ", table.lines[row], ": the label '", table.text[row], "'");
}

/// The labels as numbers; nothing if one is not a whole number.
std::optional<std::vector<int64_t>> numbers(const std::vector<std::string>& labels) {
  std::vector<int64_t> classes(labels.size());
  for (size_t i = 0; i < labels.size(); ++i)
    if (!parse(labels[i], classes[i])) return std::nullopt;
  return classes;
}

}  // namespace

CSV::CSV(const std::string& path, const std::string& label, io::CSVOptions options,
         DType label_dtype) {
  TANDEM_CHECK(!label.empty(), "CSV: which column holds the labels?");
  TANDEM_CHECK_TYPE(isFloatingType(label_dtype) || label_dtype == kLong,
                    "CSV: labels are int64 classes or floating-point numbers, not ", label_dtype);
  io::CSVTable table = io::read_csv(path, options.text_column(label));
  for (size_t i = 0; i < table.text.size(); ++i) {
    const auto& missing = options.missing();
    TANDEM_CHECK_AS(FileError,
                    std::find(missing.begin(), missing.end(), table.text[i]) == missing.end(),
                    place(path, table, i), " stands for one that is missing");
  }
  if (isFloatingType(label_dtype)) {
    std::vector<double> wanted(table.text.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      TANDEM_CHECK_AS(FileError, parse(table.text[i], wanted[i]), place(path, table, i),
                      " is not a number");
    targets_ = tensor(wanted, kDouble).to(label_dtype);
  } else if (const auto classes = numbers(table.text)) {
    targets_ = tensor(*classes, kLong);
  } else {
    classes_ = table.text;
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
    std::vector<int64_t> ids;
    for (const std::string& label : table.text)
      ids.push_back(std::lower_bound(classes_.begin(), classes_.end(), label) - classes_.begin());
    targets_ = tensor(ids, kLong);
  }
  columns_ = std::move(table.names);
  values_ = std::move(table.values);
}

Example<> CSV::get(size_t index) {
  TANDEM_CHECK_INDEX(index < *size(), "CSV: row ", index, " of ", *size());
  const auto i = static_cast<int64_t>(index);
  return {values_[i], targets_[i]};
}

}  // namespace tandem::data::datasets
