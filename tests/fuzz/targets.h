#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Readers of what others wrote. Each is given any bytes at all: it may read them or refuse them
/// with a tandem::Error, and nothing else. Under scripts/fuzz libFuzzer looks for bytes that do
/// worse; the tests run the same functions over what is known.
namespace tandem::fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
  /// Which files of tests/corpus are like what it reads.
  std::vector<std::string> endings;
  /// More to begin with, for what is not a file.
  std::vector<std::string> seeds;
};

const std::vector<Target>& targets();
const Target* find_target(std::string_view name);

}  // namespace tandem::fuzz
