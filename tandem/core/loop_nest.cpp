#include "tandem/core/loop_nest.h"

#include <bit>
#include <cstring>
#include <sstream>

#include "tandem/base/error.h"

namespace tandem {
namespace {

constexpr const char* kOpNames[] = {
    "load",     "constant", "column",   "columns", "add",   "sub",      "mul",     "div",
    "neg",      "lt",       "le",       "gt",      "ge",    "eq",       "ne",      "mask_and",
    "mask_or",  "mask_xor", "mask_not", "select",  "fma",   "min",      "max",     "abs",
    "sqrt",     "floor",    "ceil",     "trunc",   "round", "copysign", "signbit", "pow2",
    "exponent", "mantissa", "convert",  "narrow",  "call",  "patch",    "reduce"};
static_assert(sizeof(kOpNames) / sizeof(kOpNames[0]) == static_cast<int>(ScalarOp::reduce) + 1);
constexpr const char* kTypeNames[] = {"f32", "f64", "i64", "mask"};
constexpr const char* kCombineNames[] = {"sum", "prod", "max", "min"};
constexpr const char* kAlongNames[] = {"scalar", "still", "unit", "strided"};

bool same_name(const char* a, const char* b) {
  return a == b || (a != nullptr && b != nullptr && std::strcmp(a, b) == 0);
}

}  // namespace

bool operator==(const ScalarInstr& x, const ScalarInstr& y) {
  // Constants are equal iff their bits are: 0.0 and -0.0 are not.
  return x.op == y.op && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c &&
         x.index == y.index && x.dtype == y.dtype && x.combine == y.combine &&
         std::bit_cast<uint64_t>(x.value) == std::bit_cast<uint64_t>(y.value) &&
         same_name(x.name, y.name);
}

bool operator==(const LoopNest& x, const LoopNest& y) {
  return x.n_inputs == y.n_inputs && x.outer_dims == y.outer_dims && x.stores == y.stores &&
         x.operands == y.operands && x.program == y.program;
}

bool LoopNest::by_rows() const {
  for (const ScalarInstr& i : program)
    if (i.op == ScalarOp::reduce) return true;
  return false;
}

size_t LoopNest::hash() const {
  uint64_t h = 0x9e3779b97f4a7c15u;
  auto mix = [&h](uint64_t x) {
    h = (h ^ x) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  };
  mix(static_cast<uint64_t>(n_inputs) << 32 | static_cast<uint64_t>(outer_dims));
  for (const Operand& o : operands)
    mix(static_cast<uint64_t>(o.dtype) << 8 | static_cast<uint64_t>(o.along));
  for (const ScalarInstr& i : program) {
    mix(static_cast<uint64_t>(i.op) << 56 | static_cast<uint64_t>(i.type) << 52 |
        static_cast<uint64_t>(i.combine) << 48 | static_cast<uint64_t>(i.dtype) << 40 |
        static_cast<uint64_t>(static_cast<uint16_t>(i.index)));
    mix(static_cast<uint64_t>(static_cast<uint16_t>(i.a)) << 32 |
        static_cast<uint64_t>(static_cast<uint16_t>(i.b)) << 16 |
        static_cast<uint64_t>(static_cast<uint16_t>(i.c)));
    if (i.op == ScalarOp::constant) mix(std::bit_cast<uint64_t>(i.value));
    for (const char* c = i.name; c != nullptr && *c != '\0'; ++c) mix(static_cast<uint64_t>(*c));
  }
  for (const int16_t s : stores) mix(static_cast<uint64_t>(static_cast<uint16_t>(s)));
  return h;
}

std::string LoopNest::str() const {
  std::ostringstream out;
  out << "nest outer_dims=" << outer_dims << "\n";
  for (size_t k = 0; k < operands.size(); ++k) {
    const bool written = static_cast<int>(k) >= n_inputs;
    out << (written ? "out " : "in ") << k << " : " << name_of(operands[k].dtype) << " "
        << kAlongNames[static_cast<int>(operands[k].along)];
    if (written) {
      const size_t store = k - static_cast<size_t>(n_inputs);
      out << " <- %" << (store < stores.size() ? stores[store] : int16_t{-1});
    }
    out << "\n";
  }
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarInstr& i = program[n];
    out << "%" << n << " = " << kOpNames[static_cast<int>(i.op)];
    if (i.op == ScalarOp::reduce) out << " " << kCombineNames[static_cast<int>(i.combine)];
    if (i.op == ScalarOp::narrow) out << " " << name_of(i.dtype);
    if (i.op == ScalarOp::load) out << " " << i.index;
    if (i.name != nullptr) out << " " << i.name;
    // The bits as well: not every double has a short decimal form of its own.
    if (i.op == ScalarOp::constant)
      out << " " << i.value << " 0x" << std::hex << std::bit_cast<uint64_t>(i.value) << std::dec;
    for (const int16_t x : {i.a, i.b, i.c})
      if (x >= 0) out << " %" << x;
    out << " : " << kTypeNames[static_cast<int>(i.type)] << "\n";
  }
  return out.str();
}

}  // namespace tandem
