#include "tandem/core/device.h"

#include <charconv>

#include "tandem/base/error.h"

namespace tandem {

const char* name_of(DeviceType t) {
  switch (t) {
    case kCPU:
      return "cpu";
    case kCUDA:
      return "cuda";
    case kOpenCL:
      return "opencl";
    case kMeta:
      return "meta";
    case DeviceType::MKLDNN:
      return "mkldnn";
    case DeviceType::OPENGL:
      return "opengl";
    case DeviceType::IDEEP:
      return "ideep";
    case DeviceType::HIP:
      return "hip";
  }
  return "unknown";
}

std::string DeviceTypeName(DeviceType t, bool lower_case) {
  std::string name = name_of(t);
  if (!lower_case)
    for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
  return name;
}

std::ostream& operator<<(std::ostream& out, DeviceType t) { return out << name_of(t); }

Device::Device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  bool known = false;
  for (DeviceType t : {kCPU, kCUDA, kOpenCL, kMeta, DeviceType::MKLDNN, DeviceType::OPENGL,
                       DeviceType::IDEEP, DeviceType::HIP})
    if (name == name_of(t)) type_ = t, known = true;
  TANDEM_CHECK(known, "Invalid device string: '", text,
               "'; expected one of cpu, cuda, opencl, meta, with an optional index as in opencl:0");
  if (colon == std::string::npos) return;
  int index = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, index);
  TANDEM_CHECK(parsed.ec == std::errc() && parsed.ptr == end && index >= 0 && index < 128,
               "Invalid device string: '", text, "'; the index must be a number below 128");
  index_ = static_cast<DeviceIndex>(index);
}

std::string Device::str() const {
  std::string s = name_of(type_);
  if (has_index()) s += ":" + std::to_string(index_);
  return s;
}

std::ostream& operator<<(std::ostream& out, Device d) { return out << d.str(); }

bool is_available(DeviceType t) { return t == kCPU || t == kMeta; }

}  // namespace tandem
