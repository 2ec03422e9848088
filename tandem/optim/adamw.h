#pragma once

#include "tandem/optim/adam.h"

namespace tandem::optim {

struct AdamWParamState : detail::AdamMoments<AdamWParamState> {
  friend bool operator==(const AdamWParamState& a, const AdamWParamState& b);
};

/// Adam whose weight decay does not go through the averages (Loshchilov and Hutter 2017).
class AdamW : public detail::AdamRule<AdamWOptions, AdamWParamState, true> {
 public:
  using AdamRule::AdamRule;
};

}  // namespace tandem::optim
