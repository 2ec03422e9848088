#pragma once

#include <string>
#include <string_view>

namespace tandem::cli {

enum class FileKind {
  kSafetensors,
  kNpy,
  kNpz,
  kPyTorch,  // what torch.save writes
  kZip,
  kIdx,
  kGzip,
  kPng,
  kJpeg,
  kGraph,
  kEmpty,
  kText,
  kUnknown
};

/// What the file is. Its contents decide, not its name.
FileKind file_kind(const std::string& path);

/// "a safetensors file"
const char* name_of(FileKind kind);

}  // namespace tandem::cli
