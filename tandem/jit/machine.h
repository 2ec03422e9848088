#pragma once

namespace tandem::jit {

/// What code is made for.
struct Machine {
  int lanes = 8;       // float32 values in a register
  bool fused = true;   // fma rounds once
  bool masks = false;  // loads and stores of any width take a mask (AVX-512)
};

/// This machine; lanes is 0 where no code can be made for it.
const Machine& this_machine();

}  // namespace tandem::jit
