#include "tandem/nn/functional/pooling.h"

#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

template <size_t D>
Dims known_size(const char* name, const Tensor& input,
                const ExpandingArrayWithOptionalElem<D>& size) {
  TANDEM_CHECK_SHAPE(input.dim() > static_cast<int64_t>(D), name, ": an input of shape ",
                     input.sizes(), " has no ", D, " dimensions to pool and channels before them");
  Dims result;
  for (size_t d = 0; d < D; ++d)
    result.push_back(
        (*size)[d].value_or(input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D))));
  return result;
}

template <size_t D>
Dims unpooled_size(const char* name, const Tensor& input, const MaxUnpoolFuncOptions<D>& options) {
  const auto n = static_cast<int64_t>(D);
  TANDEM_CHECK_SHAPE(input.dim() == n + 1 || input.dim() == n + 2, name, ": Expected ", n + 1,
                     "D or ", n + 2, "D input, but got ", input.sizes());
  Dims standard;
  for (int64_t d = 0; d < n; ++d) {
    const auto i = static_cast<size_t>(d);
    standard.push_back((input.size(d - n) - 1) * (*options.stride())[i] +
                       (*options.kernel_size())[i] - 2 * (*options.padding())[i]);
  }
  if (!options.output_size()) return standard;
  IntArrayRef given = *options.output_size();
  if (given.size() == D + 2) given = given.slice(2);
  TANDEM_CHECK(given.size() == D, "output_size should be a sequence containing ", D, " or ", D + 2,
               " elements, but it has a length of '", given.size(), "'");
  for (size_t d = 0; d < D; ++d) {
    const int64_t least = standard[d] - (*options.stride())[d],
                  most = standard[d] + (*options.stride())[d];
    TANDEM_CHECK(least <= given[d] && given[d] <= most, "invalid output_size ", given, " (dim ", d,
                 " must be between ", least, " and ", most, ")");
  }
  return Dims(given);
}

// The random numbers and the size of the result.
template <size_t D>
std::pair<Tensor, Dims> fractional_plan(const char* name, const Tensor& input,
                                        const FractionalMaxPoolOptions<D>& options) {
  TANDEM_CHECK(options.output_size() || options.output_ratio(), name,
               " requires specifying either an output_size or an output_ratio");
  const auto n = static_cast<int64_t>(D);
  TANDEM_CHECK_SHAPE(input.dim() == n + 1 || input.dim() == n + 2, name, ": Expected ", n + 1,
                     "D or ", n + 2, "D input, but got ", input.sizes());
  Dims size;
  for (int64_t d = 0; d < n; ++d) {
    const auto i = static_cast<size_t>(d);
    if (options.output_size()) {
      size.push_back((**options.output_size())[i]);
      continue;
    }
    const double ratio = (**options.output_ratio())[i];
    TANDEM_CHECK(ratio > 0 && ratio < 1, name, ": an output_ratio lies between 0 and 1, but ",
                 ratio, " was given");
    size.push_back(static_cast<int64_t>(static_cast<double>(input.size(d - n)) * ratio));
  }
  Tensor samples = options._random_samples();
  if (!samples.defined())
    samples = rand({input.dim() == n + 1 ? 1 : input.size(0), input.size(-n - 1), n},
                   TensorOptions(input.dtype()).device(input.device()));
  return {samples, size};
}

// |mean of powers| * elements is the sum of powers; the sign is kept for odd powers.
Tensor root_of_sum(const Tensor& mean, double elements, double norm_type) {
  return (sign(mean) * relu(abs(mean))).mul(elements).pow(1. / norm_type);
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& o) {
  return tandem::avg_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(),
                            o.count_include_pad());
}
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) {
  return tandem::avg_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(),
                            o.count_include_pad(), o.divisor_override());
}
Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& o) {
  return tandem::avg_pool3d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(),
                            o.count_include_pad(), o.divisor_override());
}

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return tandem::max_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(),
                            o.ceil_mode());
}
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return tandem::max_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(),
                            o.ceil_mode());
}
Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return tandem::max_pool3d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(),
                            o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input,
                                                   const MaxPool1dFuncOptions& o) {
  return tandem::max_pool1d_with_indices(input, o.kernel_size(), o.stride(), o.padding(),
                                         o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input,
                                                   const MaxPool2dFuncOptions& o) {
  return tandem::max_pool2d_with_indices(input, o.kernel_size(), o.stride(), o.padding(),
                                         o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input,
                                                   const MaxPool3dFuncOptions& o) {
  return tandem::max_pool3d_with_indices(input, o.kernel_size(), o.stride(), o.padding(),
                                         o.dilation(), o.ceil_mode());
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& o) {
  return tandem::adaptive_max_pool1d(input, o.output_size());
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& o) {
  return tandem::adaptive_max_pool2d(input,
                                     known_size<2>("adaptive_max_pool2d", input, o.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& o) {
  return tandem::adaptive_max_pool3d(input,
                                     known_size<3>("adaptive_max_pool3d", input, o.output_size()));
}
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, o));
}
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, o));
}
Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, o));
}

Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& o) {
  return tandem::adaptive_avg_pool1d(input, o.output_size());
}
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& o) {
  return tandem::adaptive_avg_pool2d(input,
                                     known_size<2>("adaptive_avg_pool2d", input, o.output_size()));
}
Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& o) {
  return tandem::adaptive_avg_pool3d(input,
                                     known_size<3>("adaptive_avg_pool3d", input, o.output_size()));
}

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& o) {
  Dims size = unpooled_size<1>("max_unpool1d", input, o);
  size.push_back(1);
  return tandem::max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1);
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& o) {
  return tandem::max_unpool2d(input, indices, unpooled_size<2>("max_unpool2d", input, o));
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const MaxUnpool3dFuncOptions& o) {
  return tandem::max_unpool3d(input, indices, unpooled_size<3>("max_unpool3d", input, o),
                              o.stride(), o.padding());
}

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(
    const Tensor& input, const FractionalMaxPool2dFuncOptions& o) {
  const auto [samples, size] = fractional_plan<2>("fractional_max_pool2d", input, o);
  return tandem::fractional_max_pool2d(input, o.kernel_size(), size, samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(
    const Tensor& input, const FractionalMaxPool3dFuncOptions& o) {
  const auto [samples, size] = fractional_plan<3>("fractional_max_pool3d", input, o);
  return tandem::fractional_max_pool3d(input, o.kernel_size(), size, samples);
}
Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& o) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, o));
}
Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& o) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, o));
}

Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& o) {
  const Tensor mean = tandem::avg_pool1d(input.pow(o.norm_type()), o.kernel_size(), o.stride(), 0,
                                         o.ceil_mode(), true);
  return root_of_sum(mean, static_cast<double>((*o.kernel_size())[0]), o.norm_type());
}
Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& o) {
  const Tensor mean = tandem::avg_pool2d(input.pow(o.norm_type()), o.kernel_size(), o.stride(), 0,
                                         o.ceil_mode(), true);
  const double elements = static_cast<double>((*o.kernel_size())[0] * (*o.kernel_size())[1]);
  return root_of_sum(mean, elements, o.norm_type());
}

}  // namespace tandem::nn::functional
