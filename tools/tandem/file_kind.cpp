#include "tools/tandem/file_kind.h"

#include <algorithm>
#include <cstdint>

#include "tandem/base/error.h"
#include "tandem/io/file.h"
#include "tandem/io/zip.h"

namespace tandem::cli {
namespace {

using namespace std::string_view_literals;

/// The length of the header as a number of 8 bytes, and then the header's brace.
bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < 9 || bytes[8] != '{') return false;
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(bytes[i]);
  // A header longer than the file is still one, of a file that was cut off.
  return length >= 2 && length < (uint64_t{1} << 32);
}

FileKind zip_kind(std::string_view bytes, const std::string& path) {
  try {
    const auto entries = io::read_zip_directory(bytes, path);
    const auto any = [&](auto&& is) { return std::any_of(entries.begin(), entries.end(), is); };
    if (any([](const auto& e) { return e.name.ends_with("/data.pkl"); })) return FileKind::kPyTorch;
    if (any([](const auto& e) { return !e.name.ends_with(".npy"); })) return FileKind::kZip;
  } catch (const FileError&) {
    // Whoever reads it will say what is wrong.
  }
  return FileKind::kNpz;
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) {
    return c >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

/// The first line that is not a comment says "graph(".
bool is_graph(std::string_view text) {
  while (!text.empty()) {
    const size_t at = text.find_first_not_of(" \t\r\n");
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at);
    if (text[0] != '#') return text.starts_with("graph(") || text.starts_with("graph (");
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return false;
}

}  // namespace

FileKind file_kind(const std::string& path) {
  const auto file = io::MappedFile::open(path);
  const std::string_view bytes = file->bytes();
  if (bytes.empty()) return FileKind::kEmpty;
  if (bytes.starts_with("\x93NUMPY"sv)) return FileKind::kNpy;
  if (bytes.starts_with("PK\x03\x04"sv) || bytes.starts_with("PK\x05\x06"sv))
    return zip_kind(bytes, path);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return FileKind::kPng;
  if (bytes.starts_with("\xff\xd8\xff"sv)) return FileKind::kJpeg;
  // gzip is only looked into by idx files' own reader; the name says whether there is hope.
  if (bytes.starts_with("\x1f\x8b"sv))
    return path.find("idx") != std::string::npos ? FileKind::kIdx : FileKind::kGzip;
  if (is_safetensors(bytes)) return FileKind::kSafetensors;
  if (bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 && bytes[2] <= 14)
    return FileKind::kIdx;
  const std::string_view head = bytes.substr(0, 4096);
  if (is_text(head)) return is_graph(head) ? FileKind::kGraph : FileKind::kText;
  return FileKind::kUnknown;
}

const char* name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kSafetensors:
      return "a safetensors file";
    case FileKind::kNpy:
      return "an npy file";
    case FileKind::kNpz:
      return "an npz file";
    case FileKind::kPyTorch:
      return "a PyTorch file (torch.save)";
    case FileKind::kZip:
      return "a zip archive";
    case FileKind::kIdx:
      return "an idx file";
    case FileKind::kGzip:
      return "a gzip file";
    case FileKind::kPng:
      return "a PNG image";
    case FileKind::kJpeg:
      return "a JPEG image";
    case FileKind::kGraph:
      return "a graph as text";
    case FileKind::kEmpty:
      return "an empty file";
    case FileKind::kText:
      return "a text file";
    case FileKind::kUnknown:
      break;
  }
  return "a file of a kind that is not known";
}

}  // namespace tandem::cli
