// The chains of W11, written once for both libraries: `torch` is whichever was included. The list
// is each file's own: were it shared, both libraries' columns would show the same one.
#pragma once

#include "bench/pointwise.h"

/// Every function here reads one tensor and writes one.
inline torch::Tensor arithmetic_chain(torch::Tensor x, int ops) {
  for (int i = 0; i < ops; ++i) {
    switch (i % 4) {
      case 0:
        x = x * 1.01;
        break;
      case 1:
        x = x + 0.25;
        break;
      case 2:
        x = torch::relu(x);
        break;
      case 3:
        x = -x;
        break;
    }
  }
  return x;
}
inline torch::Tensor activation_chain(torch::Tensor x, int ops) {
  for (int i = 0; i < ops; ++i) {
    switch (i % 4) {
      case 0:
        x = torch::tanh(x);
        break;
      case 1:
        x = x * 1.5;
        break;
      case 2:
        x = torch::sigmoid(x);
        break;
      case 3:
        x = torch::exp(x);
        break;
    }
  }
  return x;
}

[[maybe_unused]] static std::vector<PointwiseWorkload> make_pointwise_workloads() {
  std::vector<PointwiseWorkload> all;
  for (int64_t n : {1000, 10000, 100000, 1000000, 10000000}) {
    const torch::Tensor x = torch::ones({n}) * 0.5;
    for (int ops : {2, 5, 20}) {
      all.push_back({"arithmetic", ops, n, [=] { arithmetic_chain(x, ops); }});
      all.push_back({"activations", ops, n, [=] { activation_chain(x, ops); }});
    }
  }
  return all;
}
