#include "tandem/kernels/about.h"

#include <dnnl.hpp>

#include "hwy/highway.h"

extern "C" const char* openblas_get_config();

namespace tandem::kernels {

std::string instruction_set() {
  // The lowest bit is the best target, of those that loops were compiled for.
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(static_cast<uint32_t>(usable & -usable));
}

std::string dnnl_version() {
  const dnnl_version_t* v = ::dnnl_version();
  return std::to_string(v->major) + '.' + std::to_string(v->minor) + '.' + std::to_string(v->patch);
}

std::string blas_version() { return openblas_get_config(); }

}  // namespace tandem::kernels
