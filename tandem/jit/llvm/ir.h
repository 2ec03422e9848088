#pragma once

#include <initializer_list>
#include <string>

#include "tandem/base/array_ref.h"
#include "tandem/jit/llvm/api.h"

namespace tandem::jit {

using Value = LLVMValueRef;
using Type = LLVMTypeRef;
using Block = LLVMBasicBlockRef;

/// One function under construction, in the words that the emitter speaks. Vectors have n lanes;
/// n = 0 stands for a plain scalar everywhere.
class Ir {
 public:
  Ir(const LlvmApi& api, const std::string& symbol);
  ~Ir();
  Ir(const Ir&) = delete;
  Ir& operator=(const Ir&) = delete;

  const LlvmApi& api;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  Type i1, i8, i16, i32, i64, f16, f32, f64, ptr, none;
  Value function;
  Block entry;

  Type vec(Type t, int n) const { return n == 0 ? t : api.VectorType(t, static_cast<unsigned>(n)); }
  Type element(Type t) const { return is_vector(t) ? api.GetElementType(t) : t; }
  bool is_vector(Type t) const { return api.GetTypeKind(t) == LLVMVectorTypeKind; }
  Type type(Value v) const { return api.TypeOf(v); }

  // Constants, also in every lane.
  Value num(int64_t x) { return api.ConstInt(i64, static_cast<unsigned long long>(x), 1); }
  Value integer(Type t, uint64_t x, int n);
  Value real(Type t, double x, int n);
  Value poison(Type t) { return api.GetPoison(t); }
  Value zero(Type t) { return api.ConstNull(t); }
  /// 0, 1, 2, ... as i64.
  Value iota(int n);
  /// A scalar in every lane.
  Value spread(Value x, int n);
  /// n lanes from `from`.
  Value part(Value x, int from, int n);
  /// Lane i is lane (i + by) % n of x.
  Value rotated(Value x, int by, int n);

#define TANDEM_IR_BINARY(name, function) \
  Value name(Value a, Value b) { return api.Build##function(builder, a, b, ""); }
  TANDEM_IR_BINARY(add, Add)
  TANDEM_IR_BINARY(sub, Sub)
  TANDEM_IR_BINARY(mul, Mul)
  TANDEM_IR_BINARY(udiv, UDiv)
  TANDEM_IR_BINARY(urem, URem)
  TANDEM_IR_BINARY(fadd, FAdd)
  TANDEM_IR_BINARY(fsub, FSub)
  TANDEM_IR_BINARY(fmul, FMul)
  TANDEM_IR_BINARY(fdiv, FDiv)
  TANDEM_IR_BINARY(and_, And)
  TANDEM_IR_BINARY(or_, Or)
  TANDEM_IR_BINARY(xor_, Xor)
  TANDEM_IR_BINARY(shl, Shl)
  TANDEM_IR_BINARY(lshr, LShr)
  TANDEM_IR_BINARY(ashr, AShr)
#undef TANDEM_IR_BINARY
  Value fneg(Value a) { return api.BuildFNeg(builder, a, ""); }
  Value not_(Value a) { return api.BuildNot(builder, a, ""); }
  Value icmp(LLVMIntPredicate p, Value a, Value b) { return api.BuildICmp(builder, p, a, b, ""); }
  Value fcmp(LLVMRealPredicate p, Value a, Value b) { return api.BuildFCmp(builder, p, a, b, ""); }
  Value select(Value m, Value a, Value b) { return api.BuildSelect(builder, m, a, b, ""); }
#define TANDEM_IR_CAST(name, function) \
  Value name(Value a, Type t) { return api.Build##function(builder, a, t, ""); }
  TANDEM_IR_CAST(bitcast, BitCast)
  TANDEM_IR_CAST(sext, SExt)
  TANDEM_IR_CAST(zext, ZExt)
  TANDEM_IR_CAST(trunc, Trunc)
  TANDEM_IR_CAST(fpext, FPExt)
  TANDEM_IR_CAST(fptrunc, FPTrunc)
  TANDEM_IR_CAST(fptosi, FPToSI)
  TANDEM_IR_CAST(sitofp, SIToFP)
#undef TANDEM_IR_CAST
  Value extract(Value v, int lane) { return api.BuildExtractElement(builder, v, num(lane), ""); }
  Value insert(Value v, Value x, int lane) {
    return api.BuildInsertElement(builder, v, x, num(lane), "");
  }

  Value at(Value pointer, Value bytes) {
    return api.BuildGEP2(builder, i8, pointer, &bytes, 1, "");
  }
  Value at(Value pointer, int64_t bytes) { return bytes == 0 ? pointer : at(pointer, num(bytes)); }
  Value load(Type t, Value pointer, int align);
  void store(Value v, Value pointer, int align);
  /// The line at the pointer, which need not be memory of ours, is going to be read.
  void prefetch(Value pointer);
  /// Memory of the call, `bytes` long, aligned to 64.
  Value stack(int64_t bytes);

  Value intrinsic(const char* name, std::initializer_list<Type> overloads,
                  std::initializer_list<Value> arguments);
  Value call(const std::string& symbol, Type result, std::initializer_list<Value> arguments);

  Block block() { return api.AppendBasicBlockInContext(context, function, ""); }
  Block here() { return api.GetInsertBlock(builder); }
  void go_on_in(Block b) { api.PositionBuilderAtEnd(builder, b); }
  void jump(Block b) { api.BuildBr(builder, b); }
  void branch(Value condition, Block yes, Block no) {
    api.BuildCondBr(builder, condition, yes, no);
  }
  Value phi(Type t) { return api.BuildPhi(builder, t, ""); }
  void incoming(Value phi, Value v, Block from) { api.AddIncoming(phi, &v, &from, 1); }
};

}  // namespace tandem::jit
