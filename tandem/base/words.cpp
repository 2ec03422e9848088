#include "tandem/base/words.h"

#include <algorithm>
#include <utility>

namespace tandem {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  // A text of any length may come from a file or a command line; no name is that long.
  if (word.size() > 100) return "";
  std::string nearest;
  size_t best = 3 + word.size() / 4;
  for (const std::string& k : known) {
    const size_t d = edit_distance(word, k);
    if (d >= k.size()) continue;  // no letter in common
    if (d < best || (d == best && !nearest.empty() && k < nearest)) best = d, nearest = k;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  std::string text = " (";
  if (const std::string nearest = nearest_word(word, known); !nearest.empty())
    text += "did you mean '" + nearest + "'? ";
  text += "There are:";
  for (const std::string& k : known) text += " " + k;
  return text + ")";
}

}  // namespace tandem
