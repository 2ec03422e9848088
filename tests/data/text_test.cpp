// Text: vocabularies, corpora, windows for back-propagation through time.
#include "tandem/data/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tandem/data/loader.h"
#include "tandem/ops/ops.h"
#include "tests/io/scratch.h"

namespace tandem::data {
namespace {

using datasets::BPTT;
using datasets::BPTTOptions;

std::vector<int64_t> ids(const Tensor& t) {
  const Tensor c = t.contiguous();
  return {c.data_ptr<int64_t>(), c.data_ptr<int64_t>() + c.numel()};
}
using Ids = std::vector<int64_t>;

TEST(Text, CharactersAreNumberedByTheirCode) {
  const auto c = TextCorpus::from_text("béa\n ébb");
  EXPECT_EQ(c.vocabulary().tokens(), (std::vector<std::string>{"\n", " ", "a", "b", "é"}));
  EXPECT_EQ(ids(c.ids()), (Ids{3, 4, 2, 0, 1, 4, 3, 3}));
  EXPECT_EQ(c.decode(c.ids()), "béa\n ébb");
  EXPECT_EQ(ids(c.encode("abba")), (Ids{2, 3, 3, 2}));
  try {
    c.encode("abc");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "text: byte 2: 'c' is not in the vocabulary");
  }
  EXPECT_THROW(c.decode(tensor({5}, kLong)), IndexError);
  EXPECT_THROW(c.decode(tensor({-1}, kLong)), IndexError);
  EXPECT_THROW(c.decode(tensor({0.5f})), Error);
  EXPECT_THROW(TextCorpus::from_text("a\xff"), Error);
}

TEST(Text, WordsAreNumberedByFrequency) {
  const auto c = TextCorpus::from_text("the cat  the dog\n\na cat the end", TextUnit::kWord);
  EXPECT_EQ(c.vocabulary().tokens(),
            (std::vector<std::string>{"<unk>", "<eos>", "the", "cat", "a", "dog", "end"}));
  EXPECT_EQ(ids(c.ids()), (Ids{2, 3, 2, 5, 1, 1, 4, 3, 2, 6, 1}));
  EXPECT_EQ(c.decode(c.ids()), "the cat the dog\n\na cat the end\n");
  EXPECT_EQ(ids(c.encode("the bird")), (Ids{2, 0, 1}));

  const auto few = TextCorpus::from_text(
      "A a b B c", TextCorpusOptions(TextUnit::kWord).lower_case(true).max_size(2).end_of_line(""));
  EXPECT_EQ(few.vocabulary().size(), 3);
  EXPECT_EQ(ids(few.ids()), (Ids{1, 1, 2, 2, 0}));
  EXPECT_EQ(ids(few.encode("B")), (Ids{2}));
  const auto often = TextCorpus::from_text("aab", TextCorpusOptions().min_count(2));
  EXPECT_EQ(ids(often.ids()), (Ids{1, 1, 0}));
}

TEST(Text, BytesAreThemselves) {
  const auto c = TextCorpus::from_text(std::string("\xff\0a", 3), TextUnit::kByte);
  EXPECT_EQ(c.vocabulary().size(), 256);
  EXPECT_EQ(ids(c.ids()), (Ids{255, 0, 97}));
  EXPECT_EQ(c.decode(c.ids()), std::string("\xff\0a", 3));
}

TEST(Text, AVocabularyFromElsewhere) {
  const auto train = TextCorpus::from_text("one two two", TextUnit::kWord);
  const auto test =
      TextCorpus::from_text("two three", TextCorpusOptions().vocabulary(train.vocabulary()));
  EXPECT_EQ(ids(test.ids()), (Ids{2, 0, 1}));
  const auto [a, b] = train.split(0.5);
  EXPECT_EQ(a.size() + b.size(), train.size());
  EXPECT_EQ(a.size(), 2);
  EXPECT_TRUE(a.vocabulary() == b.vocabulary());
  EXPECT_THROW(train.split(1.5), Error);
}

TEST(Text, VocabulariesAreSavedAndLoaded) {
  const Scratch s;
  const auto words = TextCorpus::from_text("a\\b é <x> ", TextUnit::kWord).vocabulary();
  const auto characters = TextCorpus::from_text(" \t\r\n\\é\x7f").vocabulary();
  const auto bytes = TextCorpus::from_text("x", TextUnit::kByte).vocabulary();
  for (const Vocabulary& v : {words, characters, bytes, Vocabulary()}) {
    v.save(s / "v");
    EXPECT_TRUE(Vocabulary::load(s / "v") == v);
  }
  EXPECT_THROW(Vocabulary::load(s / "none"), FileError);
}

TEST(Text, FilesAreNamed) {
  const Scratch s;
  std::ofstream(s / "bad.txt") << "abc\xc3";
  try {
    TextCorpus c(s / "bad.txt");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("bad.txt: byte 3: is not UTF-8"), std::string::npos);
  }
  std::ofstream(s / "empty.txt");
  EXPECT_THROW(TextCorpus(s / "empty.txt"), FileError);
  EXPECT_THROW(TextCorpus(s / "none.txt"), FileError);
  std::ofstream(s / "good.txt") << "hello";
  EXPECT_EQ(TextCorpus(s / "good.txt").size(), 5);
}

TEST(BPTT, WindowsGoOnWhereTheLastEnded) {
  // 23 numbers in 3 streams of 7 with a target each.
  BPTT set(arange(23, kLong), BPTTOptions(3, 3));
  EXPECT_EQ(set.size(), 3u);
  const Example<> first = set.get(0), last = set.get(2);
  EXPECT_EQ(first.data.sizes(), (IntArrayRef{3, 3}));
  EXPECT_EQ(ids(first.data), (Ids{0, 7, 14, 1, 8, 15, 2, 9, 16}));
  EXPECT_EQ(ids(first.target), (Ids{1, 8, 15, 2, 9, 16, 3, 10, 17}));
  EXPECT_EQ(ids(last.data), (Ids{6, 13, 20}));
  EXPECT_EQ(ids(last.target), (Ids{7, 14, 21}));
  EXPECT_EQ(BPTT(arange(23, kLong), BPTTOptions(3, 3).drop_last(true)).size(), 2u);

  BPTT rows(arange(23, kLong), BPTTOptions(3, 3).batch_first(true));
  EXPECT_EQ(ids(rows.get(1).data), (Ids{3, 4, 5, 10, 11, 12, 17, 18, 19}));
  EXPECT_TRUE(rows.get(1).data.is_contiguous());

  size_t windows = 0;
  for (auto [x, y] : set) {
    EXPECT_TRUE(equal(x + 1, y));
    ++windows;
  }
  EXPECT_EQ(windows, 3u);
  EXPECT_THROW(set.get(3), IndexError);
  EXPECT_THROW(BPTT(arange(3, kLong), BPTTOptions(3, 1)), Error);
  EXPECT_EQ(BPTT(arange(4, kLong), BPTTOptions(3, 1)).size(), 1u);
  EXPECT_THROW(BPTT(arange(9, kLong), BPTTOptions(0, 1)), Error);
  EXPECT_THROW(BPTT(Tensor(), BPTTOptions(1, 1)), Error);
  EXPECT_THROW(BPTT(zeros({3, 3}, kLong), BPTTOptions(1, 1)), Error);
}

TEST(BPTT, LoadersGoOnAfterABreak) {
  const BPTT set(arange(100, kLong), BPTTOptions(4, 3));
  const auto options = DataLoaderOptions(1).workers(2);
  const auto loader = make_data_loader<samplers::SequentialSampler>(set, options);
  auto it = loader->begin();
  for (int i = 0; i < 3; ++i) ++it;
  EXPECT_TRUE(equal((*it).data, set.get(3).data));
  serialize::OutputArchive out;
  loader->save(out);
  std::stringstream stream;
  out.save_to(stream);

  const auto other = make_data_loader<samplers::SequentialSampler>(set, options);
  serialize::InputArchive in;
  in.load_from(stream);
  other->load(in);
  size_t window = 4;
  for (auto& batch : *other) EXPECT_TRUE(equal(batch.data, set.get(window++).data));
  EXPECT_EQ(window, set.size());
  const auto two = make_data_loader<samplers::SequentialSampler>(set, DataLoaderOptions(2));
  EXPECT_THROW(*two->begin(), Error);
}

}  // namespace
}  // namespace tandem::data
