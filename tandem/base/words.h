#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Words that nobody knows are answered with the one that was probably meant.
namespace tandem {

/// How many letters must change to make one word of the other.
size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that is nearest, of equals the first in the alphabet; empty if none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

/// " (did you mean 'adam'? There are: ...)"
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tandem
