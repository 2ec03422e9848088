#include "tools/tandem/text.h"

#include <algorithm>
#include <cstdio>

#include "tandem/train/progress.h"

namespace tandem::cli {

std::string bytes_text(double bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < std::size(units)) bytes /= 1000, ++unit;
  char text[40];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

std::string count(int64_t n, const std::string& noun) {
  return trainer::with_commas(static_cast<double>(n)) + " " + noun +
         (n == 1                ? ""
          : noun.ends_with("s") ? "es"
                                : "s");
}

std::string type_text(const Tensor& t) { return str(name_of(t.scalar_type()), " ", t.sizes()); }

void Table::print() const {
  std::vector<size_t> widths;
  for (const auto& cells : rows_) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  for (const auto& cells : rows_) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      line += "  " + cells[i];
      if (i + 1 < cells.size()) line.append(widths[i] - cells[i].size(), ' ');
    }
    std::printf("%s\n", line.c_str());
  }
}

}  // namespace tandem::cli
