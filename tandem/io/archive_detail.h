#pragma once

#include <string>

#include "tandem/io/safetensors.h"

/// The remarks by which a safetensors file is an archive.
namespace tandem::io {

inline constexpr const char *kArchiveVersionKey = "tandem.archive",
                            *kArchiveEntriesKey = "tandem.entries",
                            *kArchiveChecksumKey = "tandem.checksum";
inline constexpr const char* kArchiveVersion = "1";

/// Changes whenever a name, a type or a value does.
std::string archive_checksum(const std::string& entries, NamedTensors tensors);

}  // namespace tandem::io
