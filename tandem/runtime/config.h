#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem {

/// What this Tandem is and runs on, as names and values: version, compiler, processor, instruction
/// set, threads, libraries, generated code and where it is kept.
std::vector<std::pair<std::string, std::string>> configuration();

/// The same as text, one line each.
std::string show_config();

}  // namespace tandem
