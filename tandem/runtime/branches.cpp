#include "tandem/runtime/branches.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem::runtime {
namespace {

// Waking a thread and waiting for it costs some microseconds, more on a busy machine.
constexpr double kWorthNs = 40000;
// More lanes than most machines' cores would only make them shorter.
constexpr size_t kLanes = 4;
// Multiplications that a product does on one thread: as in kernels/gemm.cpp.
constexpr double kSerialProduct = 128 * 1024;
constexpr int64_t kSerialElements = 8192;

/// Components of the steps [first, end) by what they read of each other, each in order.
std::vector<std::vector<int32_t>> parts_of(int32_t first, int32_t end,
                                           const std::vector<std::vector<int32_t>>& reads) {
  std::vector<int32_t> head(end - first);
  std::iota(head.begin(), head.end(), 0);
  auto find = [&](int32_t i) {
    while (head[i] != i) i = head[i] = head[head[i]];
    return i;
  };
  for (int32_t s = first; s < end; ++s)
    for (const int32_t from : reads[s])
      if (from >= first) {
        const int32_t a = find(s - first), b = find(from - first);
        head[std::max(a, b)] = std::min(a, b);
      }
  std::vector<std::vector<int32_t>> parts(end - first);
  for (int32_t s = first; s < end; ++s) parts[find(s - first)].push_back(s);
  std::erase_if(parts, [](const auto& p) { return p.empty(); });
  return parts;
}

}  // namespace

std::vector<Branches> find_branches(const std::vector<double>& ns,
                                    const std::vector<std::vector<int32_t>>& reads) {
  std::vector<Branches> found;
  const auto n = static_cast<int32_t>(ns.size());
  for (int32_t first = 0; first < n; ++first) {
    int32_t end = first;
    double total = 0;
    for (; end < n && ns[end] > 0; ++end) total += ns[end];
    if (total < kWorthNs) {
      first = end;
      continue;
    }
    const auto parts = parts_of(first, end, reads);
    std::vector<double> cost;
    for (const auto& p : parts) {
      double sum = 0;
      for (const int32_t s : p) sum += ns[s];
      cost.push_back(sum);
    }
    // The longest part first, each to the lane that is shortest so far.
    std::vector<size_t> order(parts.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return cost[a] > cost[b]; });
    Branches b{first, end - 1, {}};
    b.lanes.resize(std::min(kLanes, parts.size()));
    std::vector<double> length(b.lanes.size(), 0);
    for (const size_t p : order) {
      const size_t lane = std::min_element(length.begin(), length.end()) - length.begin();
      length[lane] += cost[p];
      b.lanes[lane].insert(b.lanes[lane].end(), parts[p].begin(), parts[p].end());
    }
    // On two cores half of the lanes run after the others.
    const double longest = *std::max_element(length.begin(), length.end());
    if (total - std::max(longest, total / 2) >= kWorthNs / 2) found.push_back(std::move(b));
    first = end;
  }
  return found;
}

LoopSplit split_of(const FusedGroup& group) {
  // How many elements are worth a thread depends on how much is done to each.
  const auto work = static_cast<int64_t>(group.nest.program.size());
  const int64_t elements = std::clamp<int64_t>(262144 / std::max<int64_t>(1, work), 4096, 65536);
  if (group.nest.outer_dims == 0 && !group.nest.by_rows())
    return {group.columns(), (elements + 63) / 64 * 64};
  return {group.rows(), std::max<int64_t>(1, elements / std::max<int64_t>(1, group.columns()))};
}

double serial_ns(const Node& n) {
  auto numel = [](const TensorType& t) { return static_cast<double>(numel_of(t.sizes)); };
  if (const FusedGroup* group = fused_group(n)) {
    const LoopSplit split = split_of(*group);
    if (split.count > split.grain) return 0;
    const double elements =
        static_cast<double>(group->rows()) * static_cast<double>(group->columns());
    double ns = 100 + 0.03 * elements * static_cast<double>(group->nest.program.size());
    if (group->product.op) {
      // The geometric mean of the three extents' products, two by two, is the product of the three.
      double product = numel(n.outputs()[group->product.output]);
      const auto& factors = group->product.factors;
      for (size_t f = factors.size() - 2; f < factors.size(); ++f)
        product *= static_cast<double>(numel_of(factors[f].sizes));
      product = std::sqrt(product);
      if (product > kSerialProduct) return 0;
      ns += 0.05 * product;
    }
    return ns;
  }
  const bool simple = n.op->map != MapFn{0} || n.op->reduction;
  if (!simple || n.op->impure) return 0;
  double most = numel(n.outputs()[0]);
  for (uint32_t k = 0; k < n.n_inputs; ++k)
    most = std::max(most, numel(n.inputs()[k].node->outputs()[n.inputs()[k].index]));
  return most <= static_cast<double>(kSerialElements) ? 50 + most : 0;
}

}  // namespace tandem::runtime
