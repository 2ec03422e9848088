#include <tandem/tandem.h>

#include <cstdio>

int main() {
  if (tandem::promote_types(tandem::kInt, tandem::kHalf) != tandem::kHalf) return 1;
  double sum[4] = {};
  tandem::parallel_for(0, 4, 1, [&](int64_t b, int64_t e) {
    for (; b < e; ++b) sum[b] = 1;
  });
  std::printf("%g\n", sum[0] + sum[1] + sum[2] + sum[3]);
}
