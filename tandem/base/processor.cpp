#include "tandem/base/processor.h"

#include <cstring>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace tandem {
namespace {

Processor detect() {
  Processor p;
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return p;
  char vendor[12];
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  if (std::memcmp(vendor, "AuthenticAMD", 12) == 0) p.vendor = Processor::Vendor::kAmd;
  if (std::memcmp(vendor, "GenuineIntel", 12) == 0) p.vendor = Processor::Vendor::kIntel;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return p;
  const unsigned base = a >> 8 & 15, extended = a >> 20 & 255;
  p.family = base == 15 ? base + extended : base;
#endif
  return p;
}

}  // namespace

const Processor& this_processor() {
  static const Processor processor = detect();
  return processor;
}

}  // namespace tandem
