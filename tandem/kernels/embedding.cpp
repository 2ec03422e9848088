#include "tandem/kernels/embedding.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/kernels/norm_detail.h"

namespace tandem::kernels {
namespace {

int64_t row_grain(int64_t d) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(d, 1)); }

void check_indices(const char* op, const int64_t* index, int64_t n, int64_t rows) {
  for (int64_t i = 0; i < n; ++i)
    TANDEM_CHECK_INDEX(index[i] >= 0 && index[i] < rows, op, ": index ", index[i], " (number ", i,
                       " of the input) is out of range for a table of ", rows, " rows");
}

// For each row the indices that name it, in order.
struct ByRow {
  ByRow(const int64_t* index, int64_t n, int64_t rows)
      : first(static_cast<size_t>(rows) + 1, 0), places(static_cast<size_t>(n)) {
    for (int64_t i = 0; i < n; ++i) ++first[static_cast<size_t>(index[i]) + 1];
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) first[r + 1] += first[r];
    std::vector<int64_t> next(first.begin(), first.end() - 1);
    for (int64_t i = 0; i < n; ++i)
      places[static_cast<size_t>(next[static_cast<size_t>(index[i])]++)] = i;
  }
  std::vector<int64_t> first, places;
};

template <class C>
void add_to(C* to, const C* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}
template <class C>
void add_scaled(C* to, const C* from, C by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i] * by;
}

// Row r of a contiguous matrix in the compute type, where it lies or in the buffer.
template <class C>
const C* matrix_row(const Array& a, int64_t r, int64_t d, C* buffer) {
  if (a.dtype == dtype_v<C>) return a.ptr<const C>() + r * d;
  load(a.dtype, at(a, r * d), 1, d, buffer);
  return buffer;
}

}  // namespace

void embedding(const Array& weight, const Array& indices, const Array& out) {
  const int64_t rows = weight.sizes[0], d = weight.sizes[1], n = indices.numel;
  const Contiguous kept(indices);
  const int64_t* index = kept.get().ptr<const int64_t>();
  check_indices("embedding", index, n, rows);
  if (out.numel == 0) return;
  const int64_t bytes = static_cast<int64_t>(size_of(weight.dtype));
  const bool direct = d == 1 || weight.strides[1] == 1;
  parallel_for(0, n, row_grain(d), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* from = at(weight, index[i] * weight.strides[0]);
      char* to = at_mutable(out, i * d);
      if (direct) {
        std::memcpy(to, from, static_cast<size_t>(d * bytes));
        continue;
      }
      for (int64_t k = 0; k < d; ++k)
        std::memcpy(to + k * bytes, from + k * weight.strides[1] * bytes,
                    static_cast<size_t>(bytes));
    }
  });
}

void embedding_grad(const Array& g_any, const Array& indices, int64_t padding, bool by_frequency,
                    const Array& out) {
  const int64_t rows = out.sizes[0], d = out.sizes[1], n = indices.numel;
  const Contiguous kept(indices), g(g_any);
  const int64_t* index = kept.get().ptr<const int64_t>();
  check_indices("embedding_backward", index, n, rows);
  if (out.numel == 0) return;
  const ByRow by_row(index, n, rows);
  dispatch_real(out.dtype, [&]<class C>(C) {
    const bool direct = out.dtype == dtype_v<C>;
    parallel_for(0, rows, row_grain(d), [&](int64_t begin, int64_t end) {
      Scratch<C> memory(2 * d);
      C *buffer = memory.get(), *sum = buffer + d;
      for (int64_t r = begin; r < end; ++r) {
        C* to = direct ? out.ptr<C>() + r * d : sum;
        const int64_t first = by_row.first[static_cast<size_t>(r)],
                      last = by_row.first[static_cast<size_t>(r) + 1];
        if (r == padding || first == last) {
          std::fill_n(to, d, C(0));
        } else {
          for (int64_t k = first; k < last; ++k) {
            const C* from =
                matrix_row<C>(g.get(), by_row.places[static_cast<size_t>(k)], d, buffer);
            if (k == first)
              std::copy_n(from, d, to);
            else
              add_to(to, from, d);
          }
          if (by_frequency)
            for (int64_t k = 0; k < d; ++k) to[k] /= static_cast<C>(last - first);
        }
        if (!direct) store(out.dtype, at_mutable(out, r * d), 1, d, sum);
      }
    });
  });
}

void embedding_renorm(const Array& weight, const Array& indices, double max_norm, double p) {
  const int64_t rows = weight.sizes[0], d = weight.sizes[1], n = indices.numel;
  const Contiguous kept(indices);
  const int64_t* index = kept.get().ptr<const int64_t>();
  check_indices("embedding_renorm_", index, n, rows);
  std::vector<bool> done(static_cast<size_t>(rows), false);
  std::vector<double> row(static_cast<size_t>(d));
  for (int64_t i = 0; i < n; ++i) {
    if (done[static_cast<size_t>(index[i])]) continue;
    done[static_cast<size_t>(index[i])] = true;
    char* at_row = at_mutable(weight, index[i] * weight.strides[0]);
    load(weight.dtype, at_row, weight.strides[1], d, row.data());
    double norm = 0;
    if (std::isinf(p)) {
      for (double v : row) norm = std::max(norm, std::abs(v));
    } else if (p == 2) {
      for (double v : row) norm += v * v;
      norm = std::sqrt(norm);
    } else if (p == 0) {
      for (double v : row) norm += v != 0;
    } else {
      for (double v : row) norm += std::pow(std::abs(v), p);
      norm = std::pow(norm, 1 / p);
    }
    if (!(norm > max_norm)) continue;
    const double scale = max_norm / (norm + 1e-7);
    for (double& v : row) v *= scale;
    store(weight.dtype, at_row, weight.strides[1], d, row.data());
  }
}

void embedding_bag(const Array& weight_any, const Array& indices_any, const Array& offsets_any,
                   const Array* index_weights, const Bags& how, const Array& out,
                   const Array& bag_of, const Array& sizes, const Array& chosen) {
  const Contiguous weight(weight_any), indices(indices_any), offsets(offsets_any);
  const int64_t rows = weight_any.sizes[0], d = weight_any.sizes[1], n = indices_any.numel;
  const int64_t bags = out.sizes[0];
  const int64_t* index = indices.get().ptr<const int64_t>();
  const int64_t* offset = offsets.get().ptr<const int64_t>();
  check_indices("embedding_bag", index, n, rows);
  const auto end_of = [&](int64_t b) { return b + 1 < offsets_any.numel ? offset[b + 1] : n; };
  TANDEM_CHECK(offsets_any.numel == 0 || offset[0] == 0,
               "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch "
               "has to start from position 0. However, got ",
               offset[0]);
  TANDEM_CHECK(bags > 0 || n == 0, "embedding_bag: ", n, " indices belong to no bag");
  for (int64_t b = 0; b < bags; ++b)
    TANDEM_CHECK(offset[b] >= 0 && offset[b] <= end_of(b) && end_of(b) <= n,
                 "embedding_bag: offsets must rise and may not exceed the number of indices, ", n,
                 ": bag ", b, " would be [", offset[b], ", ", end_of(b), ")");
  // With a last offset given, indices behind it belong to no bag: they count as the last one's.
  int64_t* bag = bag_of.ptr<int64_t>();
  std::fill_n(bag, n, std::max<int64_t>(bags - 1, 0));
  dispatch_real(weight_any.dtype, [&]<class C>(C) {
    const Numbers<C> scales =
        index_weights ? Numbers<C>(*index_weights) : Numbers<C>(int64_t{0}, C(0));
    const bool direct = out.dtype == dtype_v<C>;
    parallel_for(0, bags, 1, [&](int64_t begin, int64_t end) {
      Scratch<C> memory(2 * d);
      C *buffer = memory.get(), *sum = buffer + d;
      for (int64_t b = begin; b < end; ++b) {
        C* to = direct ? out.ptr<C>() + b * d : sum;
        int64_t* from = how.mode == BagMode::Max ? chosen.ptr<int64_t>() + b * d : nullptr;
        std::fill_n(to, d, C(0));
        if (from) std::fill_n(from, d, int64_t{-1});
        int64_t count = 0;
        for (int64_t i = offset[b]; i < end_of(b); ++i) {
          bag[i] = b;
          if (index[i] == how.padding) continue;
          const C* row = matrix_row<C>(weight.get(), index[i], d, buffer);
          if (from) {
            for (int64_t k = 0; k < d; ++k)
              if (count == 0 || row[k] > to[k] || (row[k] != row[k] && to[k] == to[k])) {
                to[k] = row[k];
                from[k] = index[i];
              }
          } else if (index_weights) {
            add_scaled(to, row, scales[i], d);
          } else {
            add_to(to, row, d);
          }
          ++count;
        }
        if (how.mode == BagMode::Mean && count > 0)
          for (int64_t k = 0; k < d; ++k) to[k] /= static_cast<C>(count);
        sizes.ptr<int64_t>()[b] = count;
        if (!direct) store(out.dtype, at_mutable(out, b * d), 1, d, sum);
      }
    });
  });
}

}  // namespace tandem::kernels
