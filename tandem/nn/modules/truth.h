#pragma once

namespace tandem::nn::detail {

/// How modules print the flags among their options.
inline const char* truth(bool b) { return b ? "true" : "false"; }

}  // namespace tandem::nn::detail
