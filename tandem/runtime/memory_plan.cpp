#include "tandem/runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace tandem::runtime {
namespace {

int64_t rounded_up(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool needed_together(const Block& a, const Block& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

int64_t assign_offsets(std::vector<Block>& blocks) {
  std::vector<uint32_t> by_size(blocks.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<uint32_t> placed;  // by offset
  placed.reserve(blocks.size());
  int64_t arena = 0;
  for (const uint32_t which : by_size) {
    Block& block = blocks[which];
    block.offset = 0;
    if (block.bytes == 0) continue;
    const int64_t bytes = rounded_up(block.bytes);
    // Gaps between the placed blocks that are needed at the same time as this one.
    int64_t free_from = 0, best = -1, best_gap = INT64_MAX;
    for (const uint32_t p : placed) {
      const Block& other = blocks[p];
      if (!needed_together(block, other)) continue;
      const int64_t gap = other.offset - free_from;
      if (gap >= bytes && gap < best_gap) {
        best = free_from;
        best_gap = gap;
      }
      free_from = std::max(free_from, other.offset + rounded_up(other.bytes));
    }
    block.offset = best >= 0 ? best : free_from;
    arena = std::max(arena, block.offset + bytes);
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), which,
                      [&](uint32_t a, uint32_t b) { return blocks[a].offset < blocks[b].offset; }),
                  which);
  }
  return arena;
}

}  // namespace tandem::runtime
