// What libFuzzer calls; compiled by scripts/fuzz, which says for which target.
#ifdef TANDEM_FUZZ_TARGET

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tandem/base/error.h"
#include "tests/fuzz/targets.h"

namespace {

const tandem::fuzz::Target& target() {
  static const tandem::fuzz::Target* const found = tandem::fuzz::find_target(TANDEM_FUZZ_TARGET);
  if (!found) {
    std::fprintf(stderr, "there is no target " TANDEM_FUZZ_TARGET "\n");
    std::abort();
  }
  return *found;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("TANDEM_FUZZ_SEEDS");
  int n = 0;
  for (const std::string& seed : target().seeds)
    if (folder)
      std::ofstream(std::string(folder) + "/seed" + std::to_string(n++), std::ios::binary) << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    target().run({reinterpret_cast<const char*>(data), size});
  } catch (const tandem::Error&) {
  }
  return 0;
}

#endif
