#include "tandem/nn/utils/convert_parameters.h"

#include "tandem/ops/ops.h"

namespace tandem::nn::utils {

namespace {

void check_devices(const std::vector<Tensor>& parameters) {
  for (const Tensor& parameter : parameters)
    TANDEM_CHECK(parameter.device() == parameters[0].device(),
                 "Found two parameters on different devices, this is currently not supported.");
}

}  // namespace

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  TANDEM_CHECK(!parameters.empty(), "parameters_to_vector: there are no parameters");
  check_devices(parameters);
  std::vector<Tensor> all;
  all.reserve(parameters.size());
  for (const Tensor& parameter : parameters) all.push_back(parameter.reshape({-1}));
  return cat(all);
}

void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters) {
  NoGradGuard no_grad;
  check_devices(parameters);
  int64_t total = 0;
  for (const Tensor& parameter : parameters) total += parameter.numel();
  TANDEM_CHECK_SHAPE(vec.dim() == 1 && vec.numel() == total,
                     "vector_to_parameters: the parameters hold ", total,
                     " values together, but the vector is ", vec.sizes());
  int64_t begin = 0;
  for (const Tensor& parameter : parameters) {
    const int64_t n = parameter.numel();
    parameter.copy_(vec.narrow(0, begin, n).view(parameter.sizes()));
    begin += n;
  }
}

}  // namespace tandem::nn::utils
