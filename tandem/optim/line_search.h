#pragma once

#include <functional>

#include "tandem/core/tensor.h"

namespace tandem::optim {

/// A point on the line along which a loss is searched.
struct LinePoint {
  double t = 0;  // how far along the line
  double loss = 0;
  Tensor gradient;   // of all parameters as one vector
  double slope = 0;  // along the line
};

/// Looks for a point where the loss has fallen enough and the slope has become flat enough (the
/// strong Wolfe conditions), by widening an interval and then narrowing it with cubics (Nocedal and
/// Wright, Numerical Optimization, algorithms 3.5 and 3.6).
///
/// `evaluate(t)` gives the loss and its gradient at t. `start` is at t = 0, `t` the first guess.
/// Adds the number of evaluations to `evaluations`.
LinePoint strong_wolfe(const std::function<std::pair<double, Tensor>(double t)>& evaluate,
                       const LinePoint& start, const Tensor& direction, double t,
                       double tolerance_change, int64_t& evaluations);

}  // namespace tandem::optim
