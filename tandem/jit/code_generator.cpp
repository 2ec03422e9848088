#include "tandem/jit/code_generator.h"

#include <cstdlib>
#include <mutex>

#include "tandem/base/error.h"
#include "tandem/jit/machine.h"

#if TANDEM_WITH_LLVM

#include "tandem/jit/llvm/emitter.h"

namespace tandem::jit {
namespace {

// Note: LLVM at the end of the process
// LLVM's library has static objects, whose destructors run at exit: before ours, because it is
// loaded later, and even while it is being loaded. A kernel that is being made then would lose its
// ground. So stop_generating() waits for that kernel and lets no other begin. The thread that ends
// the process calls it before any destructor of static objects if it is the main one, see
// kernel_cache.cpp; a handler that is registered when LLVM has been loaded calls it for others.
struct Ending {
  std::mutex generating;
  bool ended = false;  // guarded by `generating`
};
Ending& ending() {
  static Ending& e = *new Ending;
  return e;
}

const LlvmApi& llvm() {
  std::string why;
  const LlvmApi* api = load_llvm(&why);
  TANDEM_CHECK(api != nullptr, "jit: LLVM cannot be loaded: ", why);
  static const bool once = [] {
    std::atexit(&stop_generating);
    return true;
  }();
  (void)once;
  return *api;
}

// LLVM's description of this machine. Making one takes a while and it is never changed.
LLVMTargetMachineRef target_machine(const LlvmApi& api) {
  static const LLVMTargetMachineRef machine = [&api] {
    api.InitializeX86TargetInfo();
    api.InitializeX86Target();
    api.InitializeX86TargetMC();
    api.InitializeX86AsmPrinter();
    char* triple = api.GetDefaultTargetTriple();
    char* cpu = api.GetHostCPUName();
    char* features = api.GetHostCPUFeatures();
    LLVMTargetRef target = nullptr;
    char* message = nullptr;
    LLVMTargetMachineRef result = nullptr;
    if (api.GetTargetFromTriple(triple, &target, &message) == 0) {
      result = api.CreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelLess,
                                       LLVMRelocPIC, LLVMCodeModelSmall);
    }
    for (char* text : {triple, cpu, features, message})
      if (text != nullptr) api.DisposeMessage(text);
    return result;
  }();
  TANDEM_CHECK(machine != nullptr, "jit: LLVM does not know this machine");
  return machine;
}

void write(Ir& ir, const LoopNest& nest) {
  const Schedule schedule(nest);
  Emitter(ir, nest, schedule, this_machine()).emit();
  // Wrong IR would take the process with it; a check takes a few percent of the time.
  char* message = nullptr;
  const bool broken = ir.api.VerifyModule(ir.module, LLVMReturnStatusAction, &message) != 0;
  const std::string text = message != nullptr ? message : "";
  if (message != nullptr) ir.api.DisposeMessage(message);
  TANDEM_ASSERT(!broken, "jit: the IR is wrong: ", text);
}

}  // namespace

bool can_generate() { return this_machine().lanes > 0; }

void stop_generating() {
  const std::lock_guard lock(ending().generating);
  ending().ended = true;
}

std::string generate_object(const LoopNest& nest) {
  const std::lock_guard lock(ending().generating);
  TANDEM_CHECK(!ending().ended, "jit: the process is ending");
  const LlvmApi& api = llvm();
  const LLVMTargetMachineRef machine = target_machine(api);
  Ir ir(api, kKernelSymbol);
  const LLVMTargetDataRef layout = api.CreateTargetDataLayout(machine);
  api.SetModuleDataLayout(ir.module, layout);
  api.DisposeTargetData(layout);
  write(ir, nest);
  char* message = nullptr;
  LLVMMemoryBufferRef buffer = nullptr;
  const bool failed = api.TargetMachineEmitToMemoryBuffer(machine, ir.module, LLVMObjectFile,
                                                          &message, &buffer) != 0;
  const std::string text = message != nullptr ? message : "";
  if (message != nullptr) api.DisposeMessage(message);
  TANDEM_CHECK(!failed, "jit: LLVM made no code: ", text);
  const std::string object(api.GetBufferStart(buffer), api.GetBufferSize(buffer));
  api.DisposeMemoryBuffer(buffer);
  return object;
}

std::string generate_ir(const LoopNest& nest) {
  const std::lock_guard lock(ending().generating);
  TANDEM_CHECK(!ending().ended, "jit: the process is ending");
  Ir ir(llvm(), kKernelSymbol);
  write(ir, nest);
  char* text = ir.api.PrintModuleToString(ir.module);
  const std::string result = text;
  ir.api.DisposeMessage(text);
  return result;
}

}  // namespace tandem::jit

#else

namespace tandem::jit {

bool can_generate() { return false; }

void stop_generating() {}

std::string generate_object(const LoopNest&) {
  TANDEM_CHECK(false, "jit: this build of Tandem has no code generator (TANDEM_WITH_LLVM)");
  return {};
}

std::string generate_ir(const LoopNest&) {
  TANDEM_CHECK(false, "jit: this build of Tandem has no code generator (TANDEM_WITH_LLVM)");
  return {};
}

}  // namespace tandem::jit

#endif
