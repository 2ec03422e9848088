#pragma once

#include "tandem/compile/variant.h"

namespace tandem::detail {

/// Runs the plan of a variant that the call fits: its results, with their history where they can be
/// differentiated. What the function leaves behind (writes, gradients of leaves, flags) is left.
Args run(const Variant& v, const Args& args);

/// The same with eager beside it: the compiled call, everything put back, the eager call, which
/// stays, and an Error where the two differ.
Args run_verified(const Variant& v, const Args& args, const CompiledFunction::Body& body,
                  std::shared_ptr<const void>* like, const CompileOptions& options);

}  // namespace tandem::detail
