#include "tandem/base/env.h"

#include <cstdlib>

namespace tandem::env {
namespace {

std::string text(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value ? value : fallback;
}

int64_t number(const char* name, int64_t fallback) {
  const std::string value = text(name, "");
  if (value.empty()) return fallback;
  char* end = nullptr;
  const int64_t n = std::strtoll(value.c_str(), &end, 10);
  return *end == '\0' ? n : fallback;
}

}  // namespace

int64_t num_threads() {
  static const int64_t value = number("TANDEM_NUM_THREADS", 0);
  return value;
}

const std::string& log_topics() {
  static const std::string value = text("TANDEM_LOG", "");
  return value;
}

bool logs(std::string_view topic) {
  std::string_view rest = log_topics();
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (rest.substr(0, comma) == topic) return true;
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
  }
  return false;
}

bool verify_graphs() {
#ifdef NDEBUG
  static const bool value = number("TANDEM_VERIFY", 0) != 0;
  return value;
#else
  return true;
#endif
}

bool jit_enabled() {
  static const bool value = [] {
    const std::string v = text("TANDEM_JIT", "on");
    return v != "off" && v != "0";
  }();
  return value;
}

const std::string& cache_dir() {
  static const std::string value = [] {
    if (const char* own = std::getenv("TANDEM_CACHE")) return std::string(own);
    const std::string shared = text("XDG_CACHE_HOME", "");
    if (!shared.empty()) return shared + "/tandem";
    const std::string home = text("HOME", "");
    return home.empty() ? home : home + "/.cache/tandem";
  }();
  return value;
}

const std::string& fashion_mnist_dir() {
  static const std::string value =
      text("TANDEM_FASHION_MNIST", "/usr/share/datasets/fashion-mnist");
  return value;
}

}  // namespace tandem::env
