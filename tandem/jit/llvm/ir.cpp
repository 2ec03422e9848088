#include "tandem/jit/llvm/ir.h"

#include <cstring>
#include <vector>

#include "tandem/base/error.h"

namespace tandem::jit {

Ir::Ir(const LlvmApi& a, const std::string& symbol) : api(a), context(api.ContextCreate()) {
  module = api.ModuleCreateWithNameInContext("tandem", context);
  builder = api.CreateBuilderInContext(context);
  i1 = api.IntTypeInContext(context, 1);
  i8 = api.IntTypeInContext(context, 8);
  i16 = api.IntTypeInContext(context, 16);
  i32 = api.IntTypeInContext(context, 32);
  i64 = api.IntTypeInContext(context, 64);
  f16 = api.HalfTypeInContext(context);
  f32 = api.FloatTypeInContext(context);
  f64 = api.DoubleTypeInContext(context);
  ptr = api.PointerTypeInContext(context, 0);
  none = api.VoidTypeInContext(context);
  Type parameters[] = {ptr, i64, i64};
  function = api.AddFunction(module, symbol.c_str(), api.FunctionType(none, parameters, 3, 0));
  auto attribute = [&](const char* key, const char* value) {
    api.AddAttributeAtIndex(
        function, static_cast<LLVMAttributeIndex>(LLVMAttributeFunctionIndex),
        api.CreateStringAttribute(context, key, static_cast<unsigned>(std::strlen(key)), value,
                                  static_cast<unsigned>(std::strlen(value))));
  };
  attribute("prefer-vector-width", "512");
  // An exception of a function that is called (division by zero) passes through.
  const unsigned unwind = api.GetEnumAttributeKindForName("uwtable", 7);
  api.AddAttributeAtIndex(function, static_cast<LLVMAttributeIndex>(LLVMAttributeFunctionIndex),
                          api.CreateEnumAttribute(context, unwind, 1));
  entry = block();
  go_on_in(entry);
}

Ir::~Ir() {
  api.DisposeBuilder(builder);
  api.DisposeModule(module);
  api.ContextDispose(context);
}

Value Ir::integer(Type t, uint64_t x, int n) {
  const Value scalar = api.ConstInt(t, x, 0);
  if (n == 0) return scalar;
  std::vector<Value> lanes(static_cast<size_t>(n), scalar);
  return api.ConstVector(lanes.data(), static_cast<unsigned>(n));
}

Value Ir::real(Type t, double x, int n) {
  const Value scalar = api.ConstReal(t, x);
  if (n == 0) return scalar;
  std::vector<Value> lanes(static_cast<size_t>(n), scalar);
  return api.ConstVector(lanes.data(), static_cast<unsigned>(n));
}

Value Ir::iota(int n) {
  if (n == 0) return num(0);
  std::vector<Value> lanes;
  for (int i = 0; i < n; ++i) lanes.push_back(num(i));
  return api.ConstVector(lanes.data(), static_cast<unsigned>(n));
}

Value Ir::spread(Value x, int n) {
  if (n == 0) return x;
  const Type t = vec(type(x), n);
  const Value first = insert(poison(t), x, 0);
  return api.BuildShuffleVector(builder, first, poison(t), zero(vec(i32, n)), "");
}

Value Ir::part(Value x, int from, int n) {
  std::vector<Value> lanes;
  for (int i = 0; i < n; ++i)
    lanes.push_back(api.ConstInt(i32, static_cast<unsigned>(from + i), 0));
  return api.BuildShuffleVector(builder, x, poison(type(x)),
                                api.ConstVector(lanes.data(), static_cast<unsigned>(n)), "");
}

Value Ir::rotated(Value x, int by, int n) {
  std::vector<Value> lanes;
  for (int i = 0; i < n; ++i)
    lanes.push_back(api.ConstInt(i32, static_cast<unsigned>((i + by) % n), 0));
  return api.BuildShuffleVector(builder, x, poison(type(x)),
                                api.ConstVector(lanes.data(), static_cast<unsigned>(n)), "");
}

Value Ir::load(Type t, Value pointer, int align) {
  const Value v = api.BuildLoad2(builder, t, pointer, "");
  api.SetAlignment(v, static_cast<unsigned>(align));
  return v;
}

void Ir::store(Value v, Value pointer, int align) {
  api.SetAlignment(api.BuildStore(builder, v, pointer), static_cast<unsigned>(align));
}

void Ir::prefetch(Value pointer) {
  const auto flag = [&](unsigned v) { return api.ConstInt(i32, v, 0); };
  // For reading, to the first cache, data.
  intrinsic("llvm.prefetch", {ptr}, {pointer, flag(0), flag(3), flag(1)});
}

Value Ir::stack(int64_t bytes) {
  // In the entry block, where it is part of the frame.
  const Block before = here();
  const Value first = api.GetFirstInstruction(entry);
  if (first != nullptr) {
    api.PositionBuilderBefore(builder, first);
  } else {
    go_on_in(entry);
  }
  const Value v = api.BuildAlloca(builder, api.ArrayType2(i8, static_cast<uint64_t>(bytes)), "");
  api.SetAlignment(v, 64);
  go_on_in(before);
  return v;
}

Value Ir::intrinsic(const char* name, std::initializer_list<Type> overloads,
                    std::initializer_list<Value> arguments) {
  const unsigned id = api.LookupIntrinsicID(name, std::strlen(name));
  TANDEM_ASSERT(id != 0, "jit: LLVM has no intrinsic ", name);
  std::vector<Type> types(overloads);
  std::vector<Value> values(arguments);
  const Value f = api.GetIntrinsicDeclaration(module, id, types.data(), types.size());
  return api.BuildCall2(builder, api.IntrinsicGetType(context, id, types.data(), types.size()), f,
                        values.data(), static_cast<unsigned>(values.size()), "");
}

Value Ir::call(const std::string& symbol, Type result, std::initializer_list<Value> arguments) {
  std::vector<Value> values(arguments);
  std::vector<Type> types;
  for (const Value v : values) types.push_back(type(v));
  const Type t = api.FunctionType(result, types.data(), static_cast<unsigned>(types.size()), 0);
  Value f = api.GetNamedFunction(module, symbol.c_str());
  if (f == nullptr) f = api.AddFunction(module, symbol.c_str(), t);
  return api.BuildCall2(builder, t, f, values.data(), static_cast<unsigned>(values.size()), "");
}

}  // namespace tandem::jit
