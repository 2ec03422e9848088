#include "tandem/base/words.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Words, DistanceCountsChangedLetters) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("resnet18", "resent18"), 2u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Words, NearestIsNearEnoughOrNone) {
  const std::vector<std::string> known = {"train", "evaluate", "predict"};
  EXPECT_EQ(nearest_word("trian", known), "train");
  EXPECT_EQ(nearest_word("predicts", known), "predict");
  EXPECT_EQ(nearest_word("quantise", known), "");
  EXPECT_EQ(nearest_word(std::string(1000000, 'x'), known), "");
  EXPECT_EQ(nearest_word("x", {}), "");
  EXPECT_EQ(nearest_word("x", {"lr"}), "");
  // Of equals the first in the alphabet.
  EXPECT_EQ(nearest_word("cat", {"hat", "bat"}), "bat");
}

TEST(Words, DidYouMeanListsAll) {
  EXPECT_EQ(did_you_mean("adma", {"adam", "sgd"}), " (did you mean 'adam'? There are: adam sgd)");
  EXPECT_EQ(did_you_mean("momentum", {"adam", "sgd"}), " (There are: adam sgd)");
}

}  // namespace
}  // namespace tandem
