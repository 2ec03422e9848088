#pragma once

namespace tandem {

/// When on, every op gives the same bits for any number of threads, matmul included (which then
/// leaves oneDNN, whose split depends on the thread count). Off at first.
void use_deterministic_algorithms(bool on);
bool deterministic_algorithms();

}  // namespace tandem
