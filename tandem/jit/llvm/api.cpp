#include "tandem/jit/llvm/api.h"

#include <dlfcn.h>

#include <string>

namespace tandem::jit {
namespace {

struct Loaded {
  LlvmApi api;
  std::string why;
};

/// The folder of the library or program that this code is part of, with its last slash.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return {};
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

Loaded load() {
  Loaded l;
  const std::string ours = "libtandem_llvm.so";
  void* library = nullptr;
  const auto open = [&](const std::string& name) {
    library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    return library != nullptr;
  };
  const bool is_ours = open(own_folder() + ours) || open(ours);
  if (!is_ours && !open("libLLVM.so.19.1")) {
    l.why = "neither " + ours + " nor LLVM's own library was found";
    return l;
  }
#define _(name)                                                                      \
  l.api.name = reinterpret_cast<decltype(l.api.name)>(dlsym(library, "LLVM" #name)); \
  if (l.api.name == nullptr) l.why = "LLVM's library has no function LLVM" #name;
#include "tandem/jit/llvm/functions.inc"
#undef _
  // Kernels say how they go through memory. Looking for a better way takes a fifth of the time that
  // machine code takes; but LLVM's own library may serve others in this process.
  if (is_ours && l.why.empty()) {
    const char* const options[] = {"tandem", "-disable-lsr"};
    l.api.ParseCommandLineOptions(2, options, "");
  }
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
