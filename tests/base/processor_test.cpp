#include "tandem/base/processor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tandem {
namespace {

// What the system says of the first processor; "" where it does not name vendors, as on ARM.
std::string processor_line(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return line.substr(line.find(':') + 2);
  return "";
}

TEST(Processor, IsWhatTheSystemSays) {
  const std::string vendor = processor_line("vendor_id"), family = processor_line("cpu family");
  const Processor& p = this_processor();
  EXPECT_EQ(p.vendor == Processor::Vendor::kAmd, vendor == "AuthenticAMD");
  EXPECT_EQ(p.vendor == Processor::Vendor::kIntel, vendor == "GenuineIntel");
  EXPECT_EQ(std::to_string(p.family), family.empty() ? "0" : family);
}

}  // namespace
}  // namespace tandem
