// Every file of tests/corpus/make_malformed.py is refused, with the message that it says.
#include "tests/io/corpus.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tandem/data/vocabulary.h"
#include "tandem/io/cifar.h"
#include "tandem/io/csv.h"
#include "tandem/io/idx.h"
#include "tandem/io/image.h"
#include "tandem/io/npy.h"
#include "tandem/io/safetensors.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"

namespace tandem {
namespace {

void load_by_name(const std::string& path) {
  if (path.ends_with(".safetensors")) {
    load_safetensors(path);
  } else if (path.ends_with(".npy")) {
    load_npy(path);
  } else if (path.ends_with(".npz")) {
    load_npz(path);
  } else if (path.ends_with(".idx3")) {
    io::read_idx(path, 3);
  } else if (path.ends_with(".cifar10")) {
    io::read_cifar(path, {10});
  } else if (path.ends_with(".cifar100")) {
    io::read_cifar(path, {20, 100});
  } else if (path.ends_with(".csv")) {
    io::read_csv(path);
  } else if (path.ends_with(".png") || path.ends_with(".jpg")) {
    io::read_image(path);
  } else if (path.ends_with(".vocabulary")) {
    data::Vocabulary::load(path);
  } else {
    FAIL() << "a file of unknown kind: " << path;
  }
}

TEST(Corpus, MalformedFilesAreRefused) {
  const Corpus s;
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
  EXPECT_GE(bad, 200);
}

}  // namespace
}  // namespace tandem
