#pragma once

#include <string>

#include "tandem/core/loop_nest.h"

namespace tandem::jit {

/// The name of a kernel's function in its object.
inline constexpr const char* kKernelSymbol = "tandem_kernel";

/// Raised whenever the same nest gives other code than before.
inline constexpr int kGeneratorVersion = 6;

/// True iff this build and this machine can run generated code: x86-64 with AVX2 or more.
bool can_generate();

/// What code depends on besides the nest: the processor's features, as text.
const std::string& machine_key();

/// The object code of a nest. Throws where LLVM is not there or refuses.
std::string generate_object(const LoopNest& nest);
/// Waits for the object that is being made; from now on none is. For the end of the process.
void stop_generating();
/// LLVM's IR of a nest, for people.
std::string generate_ir(const LoopNest& nest);

}  // namespace tandem::jit
