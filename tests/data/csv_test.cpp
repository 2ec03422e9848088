// Tables: reading, chosen columns, missing values, labels.
#include "tandem/data/csv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tandem/data/loader.h"
#include "tandem/data/transforms.h"
#include "tandem/ops/ops.h"
#include "tests/io/scratch.h"

namespace tandem::data {
namespace {

using io::CSVOptions;
using io::parse_csv;

std::string message_of(std::string_view text, const CSVOptions& options = {}) {
  try {
    parse_csv(text, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "read";
}

TEST(CSV, ColumnsThatAreAskedFor) {
  const char* text = "a,\"b \"\"x\"\"\",c\n1,2,3\r\n\n\"4\",5.5,-6e1";
  const auto all = parse_csv(text);
  EXPECT_EQ(all.names, (std::vector<std::string>{"a", "b \"x\"", "c"}));
  EXPECT_TRUE(equal(all.values, tensor({1.f, 2.f, 3.f, 4.f, 5.5f, -60.f}).view({2, 3})));
  EXPECT_EQ(all.lines, (std::vector<size_t>{2, 4}));
  const auto some = parse_csv(text, CSVOptions().columns({"c", "a"}).dtype(kDouble));
  EXPECT_TRUE(equal(some.values, tensor({3., 1., -60., 4.}, kDouble).view({2, 2})));
  EXPECT_NE(
      message_of(text, CSVOptions().columns({"d"})).find("no column 'd'; the columns are 'a'"),
      std::string::npos);
  const auto bare = parse_csv("1;2\n3;4", CSVOptions().header(false).delimiter(';').dtype(kLong));
  EXPECT_EQ(bare.names, (std::vector<std::string>{"0", "1"}));
  EXPECT_TRUE(equal(bare.values, tensor({1, 2, 3, 4}, kLong).view({2, 2})));
}

TEST(CSV, MissingValues) {
  const char* text = "a,b\n1,\nNA,4\n";
  const Tensor nan = parse_csv(text).values;
  EXPECT_TRUE(std::isnan(nan[0][1].item<float>()));
  EXPECT_TRUE(std::isnan(nan[1][0].item<float>()));
  EXPECT_TRUE(equal(parse_csv(text, CSVOptions().fill(-1)).values,
                    tensor({1.f, -1.f, -1.f, 4.f}).view({2, 2})));
  EXPECT_NE(message_of(text, CSVOptions().dtype(kInt)).find("line 2, column 2 ('b'): a number is"),
            std::string::npos);
  EXPECT_TRUE(equal(parse_csv(text, CSVOptions().dtype(kInt).fill(0)).values,
                    tensor({1, 0, 0, 4}, kInt).view({2, 2})));
  EXPECT_NE(message_of(text, CSVOptions().missing({"NA"})).find("'' is not a number"),
            std::string::npos);
}

TEST(CSV, NumbersThatDoNotFit) {
  EXPECT_NE(message_of("a\n256", CSVOptions().dtype(kByte)).find("'256' does not fit"),
            std::string::npos);
  EXPECT_NE(message_of("a\n1.5", CSVOptions().dtype(kLong)).find("is not a whole number"),
            std::string::npos);
  EXPECT_NE(message_of("a\n1e39").find("'1e39' does not fit"), std::string::npos);
  EXPECT_EQ(message_of("a\n1e39", CSVOptions().dtype(kDouble)), "read");
  EXPECT_EQ(parse_csv("a\n9007199254740993", CSVOptions().dtype(kLong)).values.item<int64_t>(),
            9007199254740993);
  EXPECT_EQ(message_of("a\n9223372036854775808", CSVOptions().dtype(kLong)),
            "csv: line 2, column 1 ('a'): '9223372036854775808' does not fit Long");
  EXPECT_NE(message_of("a", CSVOptions().delimiter('"')), "read");
  EXPECT_NE(message_of("a\n1", CSVOptions().dtype(kByte).fill(-1)), "read");
  EXPECT_NE(message_of("a\n1", CSVOptions().dtype(kLong).fill(0.5)), "read");
  EXPECT_NE(message_of("a\n1", CSVOptions().dtype(kLong).fill(NAN)), "read");
  EXPECT_EQ(message_of("a\n1", CSVOptions().fill(NAN)), "read");
}

TEST(CSV, LinesAreCountedThroughQuotes) {
  EXPECT_EQ(message_of("\"a\n\",b\n\"1\",2\n\"x\n\",3\n"),
            "csv: line 4, column 1 ('a\n'): 'x\n' is not a number");
}

struct File : Scratch {
  explicit File(const std::string& text) { std::ofstream(*this / "t.csv") << text; }
  std::string name() const { return *this / "t.csv"; }
};

TEST(CSV, LabelsAreNamesOrNumbers) {
  const File f("x,kind,y\n1,cat,2\n3,ant,4\n5,cat,6\n");
  datasets::CSV set(f.name(), "kind");
  EXPECT_EQ(set.size(), 3u);
  EXPECT_EQ(set.columns(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"ant", "cat"}));
  EXPECT_TRUE(equal(set.targets(), tensor({1, 0, 1}, kLong)));
  EXPECT_TRUE(equal(set.get(1).data, tensor({3.f, 4.f})));
  EXPECT_EQ(set.get(1).target.item<int64_t>(), 0);
  EXPECT_THROW(set.get(3), IndexError);
  EXPECT_THROW(datasets::CSV(f.name(), "none"), FileError);
  EXPECT_THROW(datasets::CSV(f.name(), ""), Error);
  try {
    datasets::CSV wrong(f.name(), "kind", {}, kFloat);
    FAIL();
  } catch (const FileError& e) {
    EXPECT_NE(std::string(e.what()).find("t.csv: line 2: the label 'cat' is not a number"),
              std::string::npos)
        << e.what();
  }
  datasets::CSV numbers(f.name(), "y", CSVOptions().columns({"x"}));
  EXPECT_TRUE(numbers.classes().empty());
  EXPECT_TRUE(equal(numbers.targets(), tensor({2, 4, 6}, kLong)));
  datasets::CSV fitted(f.name(), "y", CSVOptions().columns({"x"}), kFloat);
  EXPECT_TRUE(equal(fitted.targets(), tensor({2.f, 4.f, 6.f})));

  int64_t rows = 0;
  const auto loader =
      make_data_loader(set.map(transforms::Stack<>()), DataLoaderOptions(2).workers(1));
  for (auto& b : *loader) rows += b.data.size(0);
  EXPECT_EQ(rows, 3);

  const File missing("x,y\n1,a\n2,\n");
  try {
    datasets::CSV wrong(missing.name(), "y");
    FAIL();
  } catch (const FileError& e) {
    EXPECT_NE(std::string(e.what()).find("line 3: the label ''"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tandem::data
