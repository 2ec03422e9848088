#pragma once

#include "tandem/base/arg.h"

namespace tandem::nn {

/// For Dropout and all its kin.
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  /// Probability that an element (or channel) is dropped.
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

namespace functional {

struct DropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = true;
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;

struct AlphaDropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(bool, inplace) = false;
};
struct FeatureAlphaDropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(bool, inplace) = false;
};

}  // namespace functional
}  // namespace tandem::nn
