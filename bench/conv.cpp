// Convolutions of a ResNet-50: y, the gradient by x and that by the weight, in milliseconds. Tandem
// from plain tensors to plain tensors, Tandem in the blocked layout that compiled programs keep,
// and LibTorch.
//
//   conv [--batch N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "bench/conv_shapes.h"
#include "tandem/core/apply.h"
#include "tandem/ops/conv_blocked_op.h"
#include "tandem/tandem.h"

namespace {

using namespace tandem;
using Contestants = std::vector<std::function<void()>>;

/// The fastest of a few calls of each, taken in turns; milliseconds, 0 for those that are not
/// there.
std::vector<double> fastest(const Contestants& all) {
  std::vector<double> best(all.size(), 0);
  for (int round = 0; round < 6; ++round)
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i]) continue;
      const auto start = std::chrono::steady_clock::now();
      all[i]();
      const double ms =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count();
      if (round == 1 || (round > 1 && ms < best[i])) best[i] = ms;
    }
  return best;
}

/// Names of the columns, and one contestant for each.
struct Case {
  Contestants y, x, w;
};

Case contestants(const ConvShape& s, int64_t batch) {
  const Tensor x = randn({batch, s.in, s.size, s.size});
  const Tensor w = randn({s.out, s.in / s.groups, s.kernel, s.kernel});
  const Tensor g = randn({batch, s.out, s.result(), s.result()});
  const auto gradient = [=](bool by_x, bool by_w) {
    convolution_backward(g, x, w, std::nullopt, s.stride, s.padding(), 1, false, 0, s.groups,
                         {by_x, by_w, false});
  };
  Case c;
  c.y = {[=] { conv2d(x, w, {}, s.stride, s.padding(), 1, s.groups); }};
  c.x = {[=] { gradient(true, false); }};
  c.w = {[=] { gradient(false, true); }};

  BlockedConvAttrs a{{s.stride, s.stride}, {s.padding(), s.padding()}, {1, 1}, s.groups, {}};
  const bool plain_x = s.in % 8 != 0;
  const kernels::ConvForm form =
      conv_form({a.stride, a.padding, a.padding, a.dilation, a.groups, {}}, Dims(x.sizes()),
                Dims(w.sizes()), Dims(g.sizes()));
  const auto order_for = [&](kernels::ConvPart part) {
    kernels::WeightOrder order{};
    kernels::blocked_conv_order(part, form, &order);
    return order;
  };
  const auto order = order_for(kernels::ConvPart::y);
  const Tensor bx = plain_x ? x : to_blocked(x), bg = to_blocked(g),
               bw = to_blocked_weight(w, order);
  a.order = static_cast<int64_t>(order);
  a.sizes = {s.result(), s.result()};
  c.y.push_back([=] { apply(kBlockedConv, {bx, bw}, a); });
  a.order = static_cast<int64_t>(order_for(kernels::ConvPart::w));
  a.plain = kernels::prefers_blocked_conv_weight(form);
  a.sizes = {s.kernel, s.kernel};
  c.w.push_back([=] { apply(kBlockedConvWeight, {bx, bg}, a); });
  if (!plain_x) {
    const auto back_order = order_for(kernels::ConvPart::x);
    const Tensor back = to_blocked_weight(w, back_order);
    a.order = static_cast<int64_t>(back_order);
    a.sizes = {s.size, s.size};
    c.x.push_back([=] { apply(kBlockedConvInput, {bg, back}, a); });
  } else {
    c.x.push_back(nullptr);
  }
#ifdef TANDEM_BENCH_LIBTORCH
  const libtorch_bench::Conv other = libtorch_bench::conv(s, batch);
  c.y.push_back(other.y);
  c.x.push_back(other.x);
  c.w.push_back(other.w);
#endif
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t batch = 4;
  for (int i = 1; i + 1 < argc; ++i)
    if (!std::strcmp(argv[i], "--batch")) batch = std::max(1, std::atoi(argv[i + 1]));
  const NoGradGuard no_grad;
  std::printf("batch %ld; milliseconds: tandem, tandem blocked, libtorch\n",
              static_cast<long>(batch));
  std::printf("%-34s %26s %26s %26s\n", "convolution (times in ResNet-50)", "y", "by x",
              "by weight");
  double total[3][3] = {};
  for (const ConvShape& s : resnet_shapes()) {
    const Case c = contestants(s, batch);
    std::printf("%4ld -> %4ld, %3ld, kernel %ld / %ld (%ld)  ", static_cast<long>(s.in),
                static_cast<long>(s.out), static_cast<long>(s.size), static_cast<long>(s.kernel),
                static_cast<long>(s.stride), static_cast<long>(s.times));
    const Contestants* parts[] = {&c.y, &c.x, &c.w};
    for (int p = 0; p < 3; ++p) {
      // Nobody asks for the gradient by the image.
      const bool counts = p != 1 || s.in % 8 == 0;
      const std::vector<double> ms = counts ? fastest(*parts[p]) : std::vector<double>(3, 0);
      for (size_t i = 0; i < ms.size(); ++i) {
        std::printf(" %8.2f", ms[i]);
        total[p][i] += ms[i] * static_cast<double>(s.times);
      }
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("%-34s", "all");
  double sum[3] = {};
  for (auto& part : total)
    for (int i = 0; i < 3; ++i) {
      std::printf(" %8.1f", part[i]);
      sum[i] += part[i];
    }
  std::printf("\na step: tandem %.1f, tandem blocked %.1f, libtorch %.1f\n", sum[0], sum[1],
              sum[2]);
}
