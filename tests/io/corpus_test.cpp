// Every file of tests/corpus/make_malformed.py is refused, with the message that it says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tandem/io/npy.h"
#include "tandem/io/safetensors.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"
#include "tests/io/scratch.h"

namespace tandem {
namespace {

void load_by_name(const std::string& path) {
  if (path.ends_with(".safetensors")) {
    load_safetensors(path);
  } else if (path.ends_with(".npy")) {
    load_npy(path);
  } else if (path.ends_with(".npz")) {
    load_npz(path);
  } else {
    FAIL() << "a file of unknown kind: " << path;
  }
}

TEST(Corpus, MalformedFilesAreRefused) {
  const Scratch s;
  const std::string command =
      "python3 " TANDEM_SOURCE_DIR "/tests/corpus/make_malformed.py '" + s.path() + "' >/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream list(s / "list.txt");
  std::string name, message;
  int bad = 0;
  while (std::getline(list, name, '\t') && std::getline(list, message)) {
    const std::string path = s / name;
    std::string got = "ok";
    try {
      load_by_name(path);
    } catch (const FileError& e) {
      got = e.what();
      EXPECT_NE(got.find(name), std::string::npos) << got << " does not name the file";
    }
    if (message == "ok") {
      EXPECT_EQ(got, "ok") << name;
      continue;
    }
    ++bad;
    EXPECT_NE(got.find(message), std::string::npos)
        << name << ": " << got << "\nwanted: " << message;
  }
  EXPECT_GE(bad, 80);
}

}  // namespace
}  // namespace tandem
