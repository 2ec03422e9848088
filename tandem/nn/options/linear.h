#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/arg.h"

namespace tandem::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in_features);
  TANDEM_ARG(int64_t, out_features);
  TANDEM_ARG(bool, bias) = true;
};

struct FlattenOptions {
  TANDEM_ARG(int64_t, start_dim) = 1;
  TANDEM_ARG(int64_t, end_dim) = -1;
};

struct UnflattenOptions {
  using namedshape_t = std::vector<std::pair<std::string, int64_t>>;

  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  UnflattenOptions(const char* dimname, namedshape_t namedshape)
      : UnflattenOptions(std::string(dimname), std::move(namedshape)) {}
  UnflattenOptions(std::string dimname, namedshape_t namedshape)
      : dimname_(std::move(dimname)), namedshape_(std::move(namedshape)) {}

  TANDEM_ARG(int64_t, dim) = 0;
  /// Names of dimensions: accepted and printed, but tensors have none.
  TANDEM_ARG(std::string, dimname);
  TANDEM_ARG(std::vector<int64_t>, sizes);
  TANDEM_ARG(namedshape_t, namedshape);
};

struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in1_features);
  TANDEM_ARG(int64_t, in2_features);
  TANDEM_ARG(int64_t, out_features);
  TANDEM_ARG(bool, bias) = true;
};

}  // namespace tandem::nn
