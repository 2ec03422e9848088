#include "tandem/runtime/config.h"

#include <unistd.h>

#include <fstream>

#include "tandem/base/env.h"
#include "tandem/base/error.h"
#include "tandem/base/parallel.h"
#include "tandem/base/version.h"
#include "tandem/jit/code_generator.h"
#include "tandem/jit/machine.h"
#include "tandem/kernels/about.h"

namespace tandem {
namespace {

/// What follows "model name" in the kernel's description of the processor.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line))
    if (line.starts_with("model name"))
      if (const size_t at = line.find(": "); at != std::string::npos) return line.substr(at + 2);
  return "unknown";
}

std::string memory() {
  const double bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return str(static_cast<int64_t>(bytes / 1e9 + .5), " GB");
}

std::string generated_code() {
  if (!env::jit_enabled()) return "off (TANDEM_JIT)";
  if (!jit::can_generate()) return "no: this build or this machine cannot make any";
  const auto& machine = jit::this_machine();
  return str("by LLVM, ", machine.lanes, " float32 values in a register");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> configuration() {
  const std::string& cache = env::cache_dir();
  return {
      {"Tandem", TANDEM_VERSION},
#ifdef __clang__
      {"compiler", str("clang ", __clang_version__)},
#else
      {"compiler", str("GCC ", __VERSION__)},
#endif
      {"processor", processor()},
      {"cores", str(::sysconf(_SC_NPROCESSORS_ONLN))},
      {"memory", memory()},
      {"threads", str(get_num_threads())},
      {"instruction set", kernels::instruction_set()},
      {"oneDNN", kernels::dnnl_version()},
      {"BLAS", kernels::blas_version()},
      {"generated code", generated_code()},
      {"kept in", cache.empty() ? "memory only" : cache},
  };
}

std::string show_config() {
  std::string text;
  for (const auto& [name, value] : configuration())
    text += name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + value + '\n';
  return text;
}

}  // namespace tandem
