#include "tandem/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tandem::runtime {
namespace {

/// What any arrangement needs: the most bytes that are in use at one step.
int64_t lower_bound(const std::vector<Block>& blocks) {
  int64_t most = 0;
  for (const Block& at : blocks) {
    int64_t sum = 0;
    for (const Block& b : blocks)
      if (b.first <= at.first && at.first <= b.last)
        sum += (b.bytes + kAlignment - 1) / kAlignment * kAlignment;
    most = std::max(most, sum);
  }
  return most;
}

/// Writes every block's number over its bytes when it comes to life and looks for it until it dies.
void expect_no_overlap(const std::vector<Block>& blocks, int64_t arena) {
  int32_t end = 0;
  for (const Block& b : blocks) {
    EXPECT_GE(b.offset, 0);
    EXPECT_EQ(b.offset % kAlignment, 0);
    EXPECT_LE(b.offset + b.bytes, arena);
    end = std::max(end, b.last);
  }
  std::vector<int> memory(arena, -1);
  for (int32_t step = 0; step <= end; ++step) {
    for (size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].first == step)
        std::fill_n(memory.begin() + blocks[i].offset, blocks[i].bytes, static_cast<int>(i));
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Block& b = blocks[i];
      if (b.first > step || b.last < step) continue;
      ASSERT_TRUE(std::all_of(memory.begin() + b.offset, memory.begin() + b.offset + b.bytes,
                              [&](int who) { return who == static_cast<int>(i); }))
          << "block " << i << " of " << b.bytes << " bytes at " << b.offset << ", step " << step;
    }
  }
}

TEST(MemoryPlan, BlocksNeededTogetherDoNotOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<Block> blocks;
    const int n = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < n; ++i) {
      const auto first = static_cast<int32_t>(random() % 40);
      blocks.push_back({static_cast<int64_t>(random() % 700), first,
                        first + static_cast<int32_t>(random() % 12)});
    }
    const int64_t arena = assign_offsets(blocks);
    expect_no_overlap(blocks, arena);
    EXPECT_GE(arena, lower_bound(blocks));
    EXPECT_LE(arena, 2 * lower_bound(blocks));
  }
}

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  std::vector<Block> blocks;
  for (int32_t i = 0; i < 50; ++i) blocks.push_back({1000, i, i + 1});
  EXPECT_EQ(assign_offsets(blocks), 2 * 1024);
  expect_no_overlap(blocks, 2 * 1024);
}

TEST(MemoryPlan, SmallBlocksFillTheGapsOfLargeOnes) {
  // A block that dies early leaves room beside one that lives on.
  std::vector<Block> blocks = {{6400, 0, 9}, {3200, 0, 2}, {1600, 3, 9}, {1600, 4, 8}};
  EXPECT_EQ(assign_offsets(blocks), 9600);
  expect_no_overlap(blocks, 9600);
}

TEST(MemoryPlan, NothingNeedsNothing) {
  std::vector<Block> blocks;
  EXPECT_EQ(assign_offsets(blocks), 0);
  blocks = {{0, 0, 5}, {0, 2, 3}};
  EXPECT_EQ(assign_offsets(blocks), 0);
}

}  // namespace
}  // namespace tandem::runtime
