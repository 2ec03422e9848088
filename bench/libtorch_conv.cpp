#include <torch/torch.h>

#include <memory>

#define TANDEM_BENCH_LIBTORCH 1
#include "bench/conv_shapes.h"

namespace libtorch_bench {

Conv conv(const ConvShape& s, int64_t batch) {
  struct Data {
    torch::Tensor x, w, g;
  };
  auto d = std::make_shared<Data>();
  d->x = torch::randn({batch, s.in, s.size, s.size});
  d->w = torch::randn({s.out, s.in / s.groups, s.kernel, s.kernel});
  d->g = torch::randn({batch, s.out, s.result(), s.result()});
  const auto gradient = [d, s](bool by_x, bool by_w) {
    torch::NoGradGuard no_grad;
    const std::vector<int64_t> stride(2, s.stride), padding(2, s.padding()), one(2, 1), zero(2, 0);
    at::convolution_backward(d->g, d->x, d->w, c10::nullopt, stride, padding, one, false, zero,
                             s.groups, {by_x, by_w, false});
  };
  return {[d, s] {
            torch::NoGradGuard no_grad;
            torch::conv2d(d->x, d->w, {}, s.stride, s.padding(), 1, s.groups);
          },
          [gradient] { gradient(true, false); }, [gradient] { gradient(false, true); }};
}

}  // namespace libtorch_bench
