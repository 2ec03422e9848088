// The targets of scripts/fuzz over what is known: the files of tests/corpus, what the fuzzer once
// found, and changed copies of both. An exception other than tandem::Error fails, as does a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "tandem/base/error.h"
#include "tests/fuzz/targets.h"
#include "tests/io/scratch.h"

namespace tandem::fuzz {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> files_of(const std::string& folder,
                                  const std::vector<std::string>& endings) {
  std::vector<std::string> found;
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().string();
    const auto ends = [&](const std::string& e) { return name.ends_with(e); };
    if (entry.is_regular_file() && std::any_of(endings.begin(), endings.end(), ends))
      found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// True iff the bytes were accepted.
bool run(const Target& target, const std::string& bytes) {
  try {
    target.run(bytes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Cut, flipped, overwritten, repeated: what a fuzzer does first.
std::string changed(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (size_t n = 1 + below(3); n-- > 0 && !bytes.empty();) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(20)));
        break;
      case 4:
        bytes.erase(at, 1 + below(8));
        break;
      default:
        // Large and negative numbers, where a size may be.
        for (size_t i = at; i < std::min(bytes.size(), at + 8); ++i)
          bytes[i] = static_cast<char>(i + 1 == at + 8 ? 0x7f : 0xff);
    }
  }
  return bytes;
}

TEST(Fuzz, TargetsRefuseWithErrorsOnly) {
  const Scratch scratch;
  const std::string command = "python3 " TANDEM_SOURCE_DIR "/tests/corpus/make_malformed.py '" +
                              scratch.path() + "' >/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    std::vector<std::string> inputs = target.seeds;
    for (const std::string& file : files_of(scratch.path(), target.endings))
      inputs.push_back(read(file));
    for (const std::string& file :
         files_of(std::string(TANDEM_SOURCE_DIR "/tests/fuzz/found/") + target.name, {""}))
      inputs.push_back(read(file));
    ASSERT_FALSE(inputs.empty());
    std::mt19937 random(1);
    size_t accepted = 0;
    for (const std::string& bytes : inputs) {
      accepted += run(target, bytes);
      // Large seeds take long.
      const int changes = bytes.size() > 20'000 ? 4 : 60;
      for (int i = 0; i < changes; ++i) run(target, changed(bytes, random));
    }
    run(target, "");
    // A target that refuses all of its seeds tests nothing behind the first check.
    EXPECT_GT(accepted, 0u);
  }
}

}  // namespace
}  // namespace tandem::fuzz
