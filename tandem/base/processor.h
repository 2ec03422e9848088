#pragma once

namespace tandem {

/// Whose processor this is, for choices that features do not decide: which of two ways is faster.
struct Processor {
  enum class Vendor { kOther, kAmd, kIntel } vendor = Vendor::kOther;
  unsigned family = 0;  // as the vendor counts: 25 is AMD's Zen 3 and 4
};
const Processor& this_processor();

}  // namespace tandem
