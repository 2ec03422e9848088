#include "tandem/jit/llvm/api.h"

#include <dlfcn.h>

namespace tandem::jit {
namespace {

struct Loaded {
  LlvmApi api;
  std::string why;
};

Loaded load() {
  Loaded l;
  // By name first: the run-time package may lie elsewhere than where the build found it.
  void* library = nullptr;
  for (const char* name :
       {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so", TANDEM_LLVM_PATH}) {
    library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    const char* error = dlerror();
    l.why = error != nullptr ? error : "LLVM's library was not found";
    return l;
  }
#define TANDEM_CASE(name)                                                            \
  l.api.name = reinterpret_cast<decltype(l.api.name)>(dlsym(library, "LLVM" #name)); \
  if (l.api.name == nullptr) l.why = "LLVM's library has no function LLVM" #name;
  TANDEM_LLVM_FUNCTIONS(TANDEM_CASE)
#undef TANDEM_CASE
  return l;
}

}  // namespace

const LlvmApi* load_llvm(std::string* why) {
  // Never closed: LLVM is not made to be unloaded.
  static const Loaded& loaded = *new Loaded(load());
  if (why != nullptr) *why = loaded.why;
  return loaded.why.empty() ? &loaded.api : nullptr;
}

}  // namespace tandem::jit
