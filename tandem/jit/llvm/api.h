#pragma once

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include <string>

namespace tandem::jit {

/// The functions of LLVM that are used, found in its shared library at run time.
///
/// Loading that library takes 20 ms and 50 MB, which every program would pay if Tandem were linked
/// to it. So it is opened by the background thread, when the first kernel has to be made; a process
/// that finds its kernels on disk never does. LLVM's C interface is what can be used in this way,
/// and it is the one that stays the same from release to release.
#define TANDEM_LLVM_FUNCTIONS(_)                                                                  \
  _(AddAttributeAtIndex)                                                                          \
  _(AddFunction)                                                                                  \
  _(AddIncoming)                                                                                  \
  _(AppendBasicBlockInContext)                                                                    \
  _(ArrayType2) _(BuildAShr) _(BuildAdd) _(BuildAlloca) _(BuildAnd) _(BuildBitCast) _(BuildBr) _( \
      BuildCall2) _(BuildCondBr) _(BuildExtractElement) _(BuildFAdd) _(BuildFCmp) _(BuildFDiv)    \
      _(BuildFMul) _(BuildFNeg) _(BuildFPExt) _(BuildFPToSI) _(BuildFPTrunc) _(BuildFSub) _(      \
          BuildGEP2) _(BuildICmp) _(BuildInsertElement) _(BuildLShr) _(BuildLoad2) _(BuildMul)    \
          _(BuildNot) _(BuildOr) _(BuildPhi) _(BuildRetVoid) _(BuildSExt) _(BuildSIToFP) _(       \
              BuildSelect) _(BuildShl) _(BuildShuffleVector) _(BuildStore) _(BuildSub)            \
              _(BuildTrunc) _(BuildUDiv) _(BuildURem) _(BuildXor) _(BuildZExt) _(ConstInt) _(     \
                  ConstNull) _(ConstReal) _(ConstVector) _(ContextCreate) _(ContextDispose)       \
                  _(CreateBuilderInContext) _(CreateEnumAttribute) _(CreateStringAttribute) _(    \
                      CreateTargetDataLayout) _(CreateTargetMachine) _(DisposeBuilder)            \
                      _(DisposeMemoryBuffer) _(DisposeMessage) _(DisposeModule) _(                \
                          DisposeTargetData) _(DoubleTypeInContext) _(FloatTypeInContext)         \
                          _(FunctionType) _(GetBufferSize) _(GetBufferStart) _(                   \
                              GetDefaultTargetTriple) _(GetElementType)                           \
                              _(GetEnumAttributeKindForName) _(GetFirstInstruction) _(            \
                                  GetHostCPUFeatures) _(GetHostCPUName) _(GetInsertBlock)         \
                                  _(GetIntrinsicDeclaration) _(GetNamedFunction) _(GetParam) _(   \
                                      GetPoison) _(GetTargetFromTriple) _(GetTypeKind)            \
                                      _(HalfTypeInContext) _(InitializeX86AsmPrinter) _(          \
                                          InitializeX86Target) _(InitializeX86TargetInfo)         \
                                          _(InitializeX86TargetMC) _(IntTypeInContext) _(         \
                                              IntrinsicGetType) _(LookupIntrinsicID)              \
                                              _(ModuleCreateWithNameInContext) _(                 \
                                                  PointerTypeInContext) _(PositionBuilderAtEnd)   \
                                                  _(PositionBuilderBefore) _(PrintModuleToString) \
                                                      _(SetAlignment) _(SetModuleDataLayout)      \
                                                          _(SetTarget)                            \
                                                              _(TargetMachineEmitToMemoryBuffer)  \
                                                                  _(TypeOf) _(VectorType)         \
                                                                      _(VerifyModule)             \
                                                                          _(VoidTypeInContext)

struct LlvmApi {
#define TANDEM_CASE(name) decltype(&LLVM##name) name = nullptr;
  TANDEM_LLVM_FUNCTIONS(TANDEM_CASE)
#undef TANDEM_CASE
};

/// LLVM's functions, or null if its library cannot be loaded; then `why` says what is missing.
const LlvmApi* load_llvm(std::string* why);

}  // namespace tandem::jit
