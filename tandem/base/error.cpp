#include "tandem/base/error.h"

namespace tandem::detail {

void assertion_failed(const char* condition, const char* file, int line,
                      const std::string& message) {
  throw std::logic_error(str("internal error at ", file, ":", line, ": ", condition,
                             message.empty() ? "" : ": ", message,
                             " (this is a bug in Tandem; please report it)"));
}

}  // namespace tandem::detail
