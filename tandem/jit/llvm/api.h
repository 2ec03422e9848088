#pragma once

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include <string>

namespace tandem::jit {

/// The functions of LLVM that are used, found at run time in libtandem_llvm.so, which is what these
/// functions need of LLVM's archives and nothing else.
///
/// The background thread opens it when the first kernel has to be made; a process that finds its
/// kernels on disk never does. LLVM's own shared library, where all of LLVM lies, does as well, but
/// is four times as large and takes six times as long to open: it serves programs that were linked
/// to libtandem.a and have no libtandem_llvm.so beside them. The C interface is what can be used in
/// this way, and it is the one that stays the same from release to release.
struct LlvmApi {
#define _(name) decltype(&LLVM##name) name = nullptr;
#include "tandem/jit/llvm/functions.inc"
#undef _
};

/// LLVM's functions, or null if its library cannot be loaded; then `why` says what is missing.
const LlvmApi* load_llvm(std::string* why);

}  // namespace tandem::jit
