#include "tandem/ops/window.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "tandem/ops/ops.h"

namespace tandem {
namespace {

constexpr double kPi = std::numbers::pi;

// Computes the whole window, of which a periodic one leaves out the last value.
template <class F>
Tensor window(const char* name, int64_t n, bool periodic, const TensorOptions& o, const F& values) {
  TANDEM_CHECK(o.layout() == kStrided, name, ": there are no windows of layout ", o.layout());
  TANDEM_CHECK_TYPE(is_floating(o.dtype()), name, " expects floating point dtypes, got: ", o);
  TANDEM_CHECK(n >= 0, name, " requires non-negative window_length, got window_length=", n);
  const TensorOptions plain = TensorOptions().dtype(o.dtype()).device(o.device());
  const int64_t length = periodic ? n + 1 : n;
  Tensor w = n <= 1 ? ones({n}, plain) : values(length, plain).narrow(0, 0, n);
  if (w.numel() != length && n > 1) w = w.contiguous();
  return w.set_requires_grad(o.requires_grad());
}

}  // namespace

Tensor bartlett_window(int64_t n, bool periodic, const TensorOptions& o) {
  return window("bartlett_window", n, periodic, o, [](int64_t length, const TensorOptions& plain) {
    const Tensor rising = arange(length, plain) * (2.0 / static_cast<double>(length - 1));
    return minimum(rising, 2 - rising);
  });
}

Tensor blackman_window(int64_t n, bool periodic, const TensorOptions& o) {
  return window("blackman_window", n, periodic, o, [](int64_t length, const TensorOptions& plain) {
    const Tensor angle = arange(length, plain) * (kPi / static_cast<double>(length - 1));
    return (angle * 4).cos() * 0.08 - (angle * 2).cos() * 0.5 + 0.42;
  });
}

namespace {
Tensor cosine_window(const char* name, int64_t n, bool periodic, double alpha, double beta,
                     const TensorOptions& o) {
  return window(name, n, periodic, o, [&](int64_t length, const TensorOptions& plain) {
    const Tensor angle = arange(length, plain) * (2 * kPi / static_cast<double>(length - 1));
    return angle.cos() * -beta + alpha;
  });
}
}  // namespace

Tensor hamming_window(int64_t n, bool periodic, double alpha, double beta, const TensorOptions& o) {
  return cosine_window("hamming_window", n, periodic, alpha, beta, o);
}
Tensor hann_window(int64_t n, bool periodic, const TensorOptions& o) {
  return cosine_window("hann_window", n, periodic, 0.5, 0.5, o);
}

Tensor kaiser_window(int64_t n, bool periodic, double beta, const TensorOptions& o) {
  return window("kaiser_window", n, periodic, o, [&](int64_t length, const TensorOptions& plain) {
    std::vector<double> values;
    for (int64_t i = 0; i < length; ++i) {
      const double place = 2.0 * static_cast<double>(i) / static_cast<double>(length - 1) - 1;
      const double root = std::sqrt(std::max(0.0, 1 - place * place));
      values.push_back(std::cyl_bessel_i(0, std::abs(beta) * root) /
                       std::cyl_bessel_i(0, std::abs(beta)));
    }
    return tensor(values, plain);
  });
}

Tensor bartlett_window(int64_t n, const TensorOptions& o) { return bartlett_window(n, true, o); }
Tensor blackman_window(int64_t n, const TensorOptions& o) { return blackman_window(n, true, o); }
Tensor hann_window(int64_t n, const TensorOptions& o) { return hann_window(n, true, o); }
Tensor hamming_window(int64_t n, const TensorOptions& o) { return hamming_window(n, true, o); }
Tensor hamming_window(int64_t n, bool periodic, const TensorOptions& o) {
  return hamming_window(n, periodic, 0.54, o);
}
Tensor hamming_window(int64_t n, bool periodic, double alpha, const TensorOptions& o) {
  return hamming_window(n, periodic, alpha, 0.46, o);
}
Tensor kaiser_window(int64_t n, const TensorOptions& o) { return kaiser_window(n, true, o); }
Tensor kaiser_window(int64_t n, bool periodic, const TensorOptions& o) {
  return kaiser_window(n, periodic, 12.0, o);
}

}  // namespace tandem
