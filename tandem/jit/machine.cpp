#include "tandem/jit/machine.h"

#include <string>

#include "tandem/jit/code_generator.h"
#include "tandem/kernels/scalar_expr.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace tandem::jit {
namespace {

Machine detect() {
  Machine m;
  m.lanes = 0;
#ifdef __x86_64__
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  // Less than AVX2 would also run, but nobody has measured it.
  if (!avx2) return m;
  m.fused = kernels::fma_is_fused();
  m.masks = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  m.lanes = m.masks ? 16 : 8;
#endif
  return m;
}

std::string describe() {
  std::string key;
#ifdef __x86_64__
  // The words of CPUID that list features. Not the one with the number of the core.
  auto add = [&key](unsigned word) { key += std::to_string(word) + "."; };
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    add(a);
    add(c);
    add(d);
  }
  for (unsigned leaf = 0; leaf < 2; ++leaf)
    if (__get_cpuid_count(7, leaf, &a, &b, &c, &d)) {
      add(b);
      add(c);
      if (leaf == 0) add(d);
    }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
    add(c);
    add(d);
  }
#endif
  const Machine& m = this_machine();
  key += "lanes" + std::to_string(m.lanes) + (m.fused ? "fma" : "") + (m.masks ? "masks" : "");
  return key;
}

}  // namespace

const Machine& this_machine() {
  static const Machine machine = detect();
  return machine;
}

const std::string& machine_key() {
  // Never destroyed: the worker of the kernel cache may read it while the process ends.
  static const std::string& key = *new std::string(describe());
  return key;
}

}  // namespace tandem::jit
