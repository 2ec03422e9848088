// GFLOP/s of matrix products: Tandem's choice, its own kernels alone, oneDNN and LibTorch, on one
// thread and on all, and the fraction of what the largest product reaches.
#include "tandem/kernels/matmul.h"

#include <dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/base/deterministic.h"
#include "tandem/base/parallel.h"

#ifdef TANDEM_BENCH_LIBTORCH
namespace libtorch_bench {
void set_threads(int n);
/// A function that computes C = op(A) op(B) once with LibTorch (a tensor made for each result).
std::function<void()> matmul(bool f64, int64_t m, int64_t n, int64_t k, bool ta, bool tb);
}  // namespace libtorch_bench
#endif

namespace {

// --best: the fastest of many short rounds instead of the median, for a machine that is not idle.
bool g_best = false;

using Clock = std::chrono::steady_clock;

/// Seconds a call takes, by enough calls to fill a millisecond.
double time_once(const std::function<void()>& fn, int64_t calls) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) fn();
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

/// Medians of interleaved rounds, so that a noisy neighbour hits all contestants alike.
std::vector<double> medians(const std::vector<std::function<void()>>& contestants) {
  std::vector<int64_t> calls;
  for (auto& fn : contestants) {
    if (!fn) {
      calls.push_back(0);
      continue;
    }
    fn();
    const double one = std::max(time_once(fn, 3), 1e-9);
    calls.push_back(std::max<int64_t>(1, static_cast<int64_t>((g_best ? 3e-4 : 2e-3) / one)));
  }
  std::vector<std::vector<double>> times(contestants.size());
  for (int round = 0; round < (g_best ? 40 : 9); ++round)
    for (size_t i = 0; i < contestants.size(); ++i)
      if (contestants[i]) times[i].push_back(time_once(contestants[i], calls[i]));
  std::vector<double> result;
  for (auto& t : times) {
    std::sort(t.begin(), t.end());
    result.push_back(t.empty() ? 0 : t[g_best ? 0 : t.size() / 2]);
  }
  return result;
}

struct Shape {
  int64_t m, n, k;
  bool ta = false, tb = false;
};

template <class T>
std::function<void()> tandem_matmul(const Shape& s, bool deterministic, const T* a, const T* b,
                                    T* c) {
  tandem::kernels::Gemm g{.dtype = tandem::dtype_of<T>(),
                          .m = s.m,
                          .n = s.n,
                          .k = s.k,
                          .a = a,
                          .lda = s.ta ? s.m : s.k,
                          .transa = s.ta,
                          .b = b,
                          .ldb = s.tb ? s.k : s.n,
                          .transb = s.tb,
                          .c = c,
                          .ldc = s.n};
  return [g, deterministic] {
    tandem::use_deterministic_algorithms(deterministic);
    tandem::kernels::gemm(g);
  };
}

double g_peak[2][2];  // [f64][all threads]: the largest product seen

template <class T>
void line(const Shape& s, int threads, bool all) {
  constexpr bool kF64 = sizeof(T) == 8;
  std::vector<T> a(s.m * s.k, T(1) / 3), b(s.k * s.n, T(1) / 7), c(s.m * s.n);
  tandem::set_num_threads(threads);
  std::vector<std::function<void()>> contestants = {
      tandem_matmul(s, false, a.data(), b.data(), c.data()),
      tandem_matmul(s, true, a.data(), b.data(), c.data()),
      nullptr,
      nullptr,
  };
  if constexpr (!kF64)
    contestants[2] = [&] {
      dnnl_sgemm(s.ta ? 'T' : 'N', s.tb ? 'T' : 'N', s.m, s.n, s.k, 1, a.data(), s.ta ? s.m : s.k,
                 b.data(), s.tb ? s.k : s.n, 0, c.data(), s.n);
    };
#ifdef TANDEM_BENCH_LIBTORCH
  libtorch_bench::set_threads(threads);
  contestants[3] = libtorch_bench::matmul(kF64, s.m, s.n, s.k, s.ta, s.tb);
#endif
  const std::vector<double> t = medians(contestants);
  const double gflop = 2e-9 * s.m * s.n * s.k;
  auto rate = [&](int i) { return t[i] > 0 ? gflop / t[i] : 0; };
  double& peak = g_peak[kF64][all];
  for (int i = 0; i < 4; ++i) peak = std::max(peak, rate(i));
  std::printf("%5ldx%5ldx%5ld %c%c %s %2d %10.2f %8.1f %8.1f %8.1f %8.1f %7.0f%% %8.2f %8.2f\n",
              static_cast<long>(s.m), static_cast<long>(s.n), static_cast<long>(s.k),
              s.ta ? 'T' : 'N', s.tb ? 'T' : 'N', kF64 ? "f64" : "f32", threads, t[0] * 1e6,
              rate(0), rate(1), rate(2), rate(3), 100 * rate(0) / peak, t[2] > 0 ? t[2] / t[0] : 0,
              t[3] > 0 ? t[3] / t[0] : 0);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false, one_thread = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) quick = true;
    if (std::strcmp(argv[i], "--best") == 0) g_best = true;
    if (std::strcmp(argv[i], "--one-thread") == 0) one_thread = true;
  }
  const int all = one_thread ? 1 : tandem::get_num_threads();
  std::vector<Shape> shapes = {{1024, 1024, 1024}};
  for (int64_t n : {16, 20, 32, 48, 64, 80, 96, 128, 192, 256, 384, 512, 768})
    shapes.push_back({n, n, n});
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      shapes.push_back({20, 20, 20, ta, tb});
      shapes.push_back({128, 512, 784, ta, tb});
      shapes.push_back({128, 10, 512, ta, tb});
      shapes.push_back({512, 10, 128, ta, tb});
      shapes.push_back({8, 32, 16, ta, tb});
    }
  for (bool t : {false, true}) {
    shapes.push_back({1, 20, 20, false, t});
    shapes.push_back({20, 1, 20, t, false});
    shapes.push_back({1, 1000, 1000, false, t});
    shapes.push_back({1000, 1, 1000, t, false});
  }
  shapes.push_back({20, 20, 1});
  shapes.push_back({64, 64, 20000});
  if (quick) shapes = {{1024, 1024, 1024}, {20, 20, 20}, {128, 512, 784}};
  std::printf(
      "    m     n     k op type thr        us    GF/s  own GF/s  oneDNN   Torch  of peak  x "
      "oneDNN  x Torch\n");
  for (bool f64 : {false, true})
    for (const Shape& s : shapes)
      for (int threads : all > 1 ? std::vector<int>{1, all} : std::vector<int>{1}) {
        if (f64)
          line<double>(s, threads, threads > 1);
        else
          line<float>(s, threads, threads > 1);
      }
}
