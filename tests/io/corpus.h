#pragma once

#include <cstdlib>
#include <stdexcept>

#include "tests/io/scratch.h"

namespace tandem {

/// The files of tests/corpus/make_malformed.py, and list.txt which says what each is.
struct Corpus : Scratch {
  Corpus() {
    const std::string command =
        "python3 " TANDEM_SOURCE_DIR "/tests/corpus/make_malformed.py '" + path() + "' >/dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  }
};

}  // namespace tandem
