#include "tandem/optim/line_search.h"

#include <algorithm>
#include <cmath>

#include "tandem/ops/ops.h"

namespace tandem::optim {
namespace {

constexpr double kEnough = 1e-4;  // of the loss that the slope promises must be gained
constexpr double kFlat = 0.9;     // of the slope at the start may be left
constexpr int64_t kMostEvaluations = 25;

/// Where the cubic through two points with these slopes is smallest, within bounds.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double at = a.t <= b.t
                        ? b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                        : a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::min(std::max(at, low), high);
}
double cubic_minimum(const LinePoint& a, const LinePoint& b) {
  return cubic_minimum(a, b, std::min(a.t, b.t), std::max(a.t, b.t));
}

}  // namespace

LinePoint strong_wolfe(const std::function<std::pair<double, Tensor>(double t)>& evaluate,
                       const LinePoint& start, const Tensor& direction, double t,
                       double tolerance_change, int64_t& evaluations) {
  const double reach = direction.abs().max().item<double>();
  int64_t made = 0;
  const auto look = [&](double at) {
    LinePoint p;
    p.t = at;
    std::tie(p.loss, p.gradient) = evaluate(at);
    p.gradient = p.gradient.clone();
    p.slope = p.gradient.dot(direction).item<double>();
    ++made;
    return p;
  };
  const auto rises = [&](const LinePoint& p) {
    return p.loss > start.loss + kEnough * p.t * start.slope;
  };
  const auto flat = [&](const LinePoint& p) { return std::abs(p.slope) <= -kFlat * start.slope; };

  // Widen until the interval between the last two points must hold a good one.
  LinePoint previous = start, next = look(t);
  LinePoint bracket[2];
  bool done = false, found = false;
  int64_t round = 0;
  for (; round < kMostEvaluations; ++round) {
    const bool worse = rises(next) || (round > 1 && next.loss >= previous.loss);
    if (worse || flat(next) || next.slope >= 0) {
      done = !worse && flat(next);
      bracket[0] = done ? next : previous;
      bracket[1] = next;
      found = true;
      break;
    }
    const double low = next.t + 0.01 * (next.t - previous.t), high = next.t * 10;
    const double further = cubic_minimum(previous, next, low, high);
    previous = next;
    next = look(further);
  }
  if (!found) {
    bracket[0] = start;
    bracket[1] = next;
  }

  // Narrow it. `low` is the end with the smaller loss.
  bool slow = false;
  int low = done || bracket[0].loss <= bracket[1].loss ? 0 : 1;
  while (!done && round < kMostEvaluations) {
    LinePoint &best = bracket[low], &other = bracket[1 - low];
    if (std::abs(bracket[1].t - bracket[0].t) * reach < tolerance_change) break;
    const double least = std::min(bracket[0].t, bracket[1].t);
    const double most = std::max(bracket[0].t, bracket[1].t);
    double at = cubic_minimum(bracket[0], bracket[1]);
    // Points close to an end are of little use twice in a row.
    const double margin = 0.1 * (most - least);
    if (std::min(most - at, at - least) < margin) {
      if (slow || at >= most || at <= least) {
        at = std::abs(at - most) < std::abs(at - least) ? most - margin : least + margin;
        slow = false;
      } else {
        slow = true;
      }
    } else {
      slow = false;
    }
    const LinePoint point = look(at);
    ++round;
    if (rises(point) || point.loss >= best.loss) {
      other = point;
      low = bracket[0].loss <= bracket[1].loss ? 0 : 1;
    } else {
      if (flat(point))
        done = true;
      else if (point.slope * (other.t - best.t) >= 0)
        other = best;
      best = point;
    }
  }
  evaluations += made;
  return bracket[low];
}

}  // namespace tandem::optim
