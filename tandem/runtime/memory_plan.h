#pragma once

#include <cstdint>
#include <vector>

namespace tandem::runtime {

/// Values in an arena begin at multiples of this many bytes: a cache line, the widest vector.
inline constexpr int64_t kAlignment = 64;

/// A piece of memory that is needed from one step to another, both included.
struct Block {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;
  int64_t offset = 0;  // from the start of the arena: what assign_offsets finds
};

/// Gives every block a place in one arena such that blocks needed at the same time do not overlap,
/// and returns the bytes that the arena must have.
///
/// The largest blocks are placed first, each in the tightest gap that those placed before it leave
/// open: large blocks end up side by side at the bottom, and small ones fill what is left between
/// them. The result depends on nothing but the blocks and their order.
int64_t assign_offsets(std::vector<Block>& blocks);

}  // namespace tandem::runtime
