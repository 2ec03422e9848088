#pragma once

#include <algorithm>

#include "tandem/core/op.h"

// Attributes that do not come from a function's own arguments but from the text of a graph may hold
// anything. What the public functions see to is checked again here, so that no text leads outside
// of a tensor.
namespace tandem::detail {

/// A dimension of the input; 0 for a 0-d one.
inline void check_dim(const InferArgs& a, int64_t dim, int input = 0) {
  TANDEM_CHECK_INDEX(dim >= 0 && dim < std::max<int64_t>(a.in(input).dim(), 1), a.op.name,
                     ": there is no dimension ", dim, " in ", a.in(input));
}

/// Dimensions of the input, in rising order.
inline void check_rising_dims(const InferArgs& a, IntArrayRef dims) {
  int64_t last = -1;
  for (const int64_t d : dims) {
    TANDEM_CHECK_INDEX(d > last && d < a.in().dim(), a.op.name, ": the dimensions ", dims,
                       " are not those of ", a.in(), " in rising order");
    last = d;
  }
}

/// The state of a random number generator: seed and counter.
inline void check_state(const InferArgs& a) {
  TANDEM_CHECK_TYPE(a.in().dtype == kLong && a.in().sizes.size() == 1 && a.in().sizes[0] >= 2,
                    a.op.name, ": the first input is the state of a generator, not ", a.in());
}

/// One of the enumerators, of which `last` is the last.
template <class E>
void check_choice(const InferArgs& a, E choice, E last) {
  TANDEM_CHECK(choice >= E{} && choice <= last, a.op.name, ": there is no choice ",
               static_cast<int64_t>(choice));
}

}  // namespace tandem::detail
