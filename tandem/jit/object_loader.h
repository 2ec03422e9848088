#pragma once

#include <string>
#include <string_view>

namespace tandem::jit {

/// Puts an ELF object of this machine into executable memory, where it stays until the process
/// ends, and gives the address of `symbol`. Null if the object is damaged or asks for what there is
/// not; `why` then says what.
///
/// LLVM could do this too. But a process whose kernels are on disk would have to load LLVM for it.
void* load_object(std::string_view object, std::string_view symbol, std::string* why);

}  // namespace tandem::jit
