#include "tandem/kernels/sort.h"

#include <algorithm>
#include <cmath>

#include "tandem/base/parallel.h"
#include "tandem/kernels/nest.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/sort_keys.h"

namespace tandem::kernels {
namespace {

// Gives the lines of `in` along dim one after another, as entries, with where the outputs' lines
// start.
class LineWalk {
 public:
  LineWalk(const Array& in, int64_t dim, const Array* values, const Array* indices) {
    for (int d = 0; d < in.ndim; ++d) {
      if (d == dim) continue;
      sizes_.push_back(in.sizes[d]);
      in_strides_.push_back(in.strides[d]);
      value_strides_.push_back(values ? values->strides[d] : 0);
      index_strides_.push_back(indices ? indices->strides[d] : 0);
      lines *= in.sizes[d];
    }
    if (in.ndim > 0) {
      length = in.sizes[dim];
      step = in.strides[dim];
      if (values) value_step = values->strides[dim];
      if (indices) index_step = indices->strides[dim];
    }
  }
  Odometer<3> walk() const {
    return Odometer<3>(sizes_, {in_strides_.data(), value_strides_.data(), index_strides_.data()});
  }
  int64_t grain() const { return std::max<int64_t>(1, 2048 / std::max<int64_t>(1, length)); }

  int64_t lines = 1, length = 1, step = 0, value_step = 0, index_step = 0;

 private:
  Dims sizes_, in_strides_, value_strides_, index_strides_;
};

void fill_entries(const Array& in, int64_t offset, int64_t step, int64_t n, bool descending,
                  std::vector<uint32_t>& keys, NarrowEntry* e) {
  keys.resize(static_cast<size_t>(n));
  load_keys(in.dtype, at(in, offset), step, n, keys.data());
  const uint32_t flip = descending ? ~0u : 0u;
  for (int64_t i = 0; i < n; ++i)
    e[i].bits =
        static_cast<uint64_t>(keys[static_cast<size_t>(i)] ^ flip) << 32 | static_cast<uint64_t>(i);
}

void fill_entries(const Array& in, int64_t offset, int64_t step, int64_t n, bool descending,
                  std::vector<uint64_t>& keys, WideEntry* e) {
  keys.resize(static_cast<size_t>(n));
  if (size_of(in.dtype) == 8) {
    load_keys(in.dtype, at(in, offset), step, n, keys.data());
  } else {
    // Lines longer than 32-bit positions can count.
    dispatch(in.dtype, [&]<class T>(T) {
      const T* p = in.ptr<const T>() + offset;
      for (int64_t i = 0; i < n; ++i) keys[static_cast<size_t>(i)] = sort_key(p[i * step]);
    });
  }
  const uint64_t flip = descending ? ~uint64_t{0} : 0;
  for (int64_t i = 0; i < n; ++i) e[i] = {keys[static_cast<size_t>(i)] ^ flip, i};
  // The key of a narrow dtype is 32 bits wide; flipping more changes no order.
}

// Calls fn(Entry(), Key()) with the entry type that suits the lines.
template <class F>
void with_entries(const Array& in, int64_t length, const F& fn) {
  if (size_of(in.dtype) < 8 && length <= int64_t{0xffffffff}) {
    fn(NarrowEntry(), uint32_t());
  } else {
    fn(WideEntry(), uint64_t());
  }
}

template <class Entry>
void put_line(const Array& in, int64_t from, int64_t step, const Entry* e, int64_t n,
              const Array* values, int64_t value, int64_t value_step, const Array* indices,
              int64_t index, int64_t index_step) {
  if (values) {
    by_size(size_of(in.dtype), [&]<class T>(T) {
      const T* p = in.ptr<const T>() + from;
      T* to = values->ptr<T>() + value;
      for (int64_t i = 0; i < n; ++i) to[i * value_step] = p[index_of(e[i]) * step];
    });
  }
  if (indices) {
    int64_t* to = indices->ptr<int64_t>() + index;
    for (int64_t i = 0; i < n; ++i) to[i * index_step] = index_of(e[i]);
  }
}

bool is_nan_key(const Array& in, uint64_t key, bool wide) {
  return is_floating(in.dtype) && key == (wide && in.dtype == kDouble ? ~uint64_t{0} : 0xffffffffu);
}

// The position in the line of the element that fn asks for. Entries may be reordered.
template <class Entry>
int64_t ranked(RankFn fn, const Array& in, Entry* e, int64_t n, int64_t k, Entry* scratch) {
  constexpr bool kWide = std::is_same_v<Entry, WideEntry>;
  if (fn == RankFn::Median || fn == RankFn::NanMedian) {
    int64_t numbers = n;
    if (is_floating(in.dtype)) {
      numbers = 0;
      int64_t first_nan = -1;
      for (int64_t i = 0; i < n; ++i) {
        const bool nan = is_nan_key(in, key_of(e[i]), kWide);
        numbers += !nan;
        if (nan && first_nan < 0) first_nan = i;
      }
      if (first_nan >= 0 && (fn == RankFn::Median || numbers == 0)) return first_nan;
    }
    k = (numbers - 1) / 2;
  }
  if (fn != RankFn::Mode) {
    std::nth_element(e, e + k, e + n);
    return index_of(e[k]);
  }
  sort_entries(e, n, scratch);
  int64_t best = 0, best_count = 0;
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && key_of(e[end]) == key_of(e[i])) ++end;
    if (end - i > best_count) {
      best_count = end - i;
      best = index_of(e[end - 1]);
    }
    i = end;
  }
  return best;
}

}  // namespace

void sort(const Array& in, int64_t dim, bool descending, const Array* values,
          const Array* indices) {
  const LineWalk lines(in, dim, values, indices);
  topk(in, dim, lines.length, descending, values, indices);
}

void topk(const Array& in, int64_t dim, int64_t k, bool largest, const Array* values,
          const Array* indices) {
  const LineWalk lines(in, dim, values, indices);
  const int64_t n = lines.length;
  if (lines.lines == 0 || n == 0 || k == 0) return;
  with_entries(in, n, [&]<class Entry, class Key>(Entry, Key) {
    parallel_for(0, lines.lines, lines.grain(), [&](int64_t begin, int64_t end) {
      std::vector<Entry> entries(static_cast<size_t>(n)), scratch(static_cast<size_t>(n));
      std::vector<Key> keys;
      Entry* e = entries.data();
      auto walk = lines.walk();
      walk.seek(begin);
      for (int64_t l = begin; l < end; ++l, walk.next()) {
        fill_entries(in, walk.offset[0], lines.step, n, largest, keys, e);
        if (k < n) std::nth_element(e, e + k, e + n);
        if (k < n) {
          // The k first are in no order, so counting passes would not keep positions ascending.
          std::sort(e, e + k);
        } else {
          sort_entries(e, n, scratch.data());
        }
        put_line(in, walk.offset[0], lines.step, e, k, values, walk.offset[1], lines.value_step,
                 indices, walk.offset[2], lines.index_step);
      }
    });
  });
}

void rank(RankFn fn, const Array& in, int64_t dim, int64_t k, const Array* values,
          const Array* indices) {
  const LineWalk lines(in, dim, values, indices);
  const int64_t n = lines.length;
  if (lines.lines == 0) return;
  TANDEM_ASSERT(n > 0, "rank of an empty line");
  with_entries(in, n, [&]<class Entry, class Key>(Entry, Key) {
    parallel_for(0, lines.lines, lines.grain(), [&](int64_t begin, int64_t end) {
      std::vector<Entry> entries(static_cast<size_t>(n)), scratch(static_cast<size_t>(n));
      std::vector<Key> keys;
      auto walk = lines.walk();
      walk.seek(begin);
      for (int64_t l = begin; l < end; ++l, walk.next()) {
        fill_entries(in, walk.offset[0], lines.step, n, false, keys, entries.data());
        const int64_t i = ranked(fn, in, entries.data(), n, k, scratch.data());
        if (values)
          by_size(size_of(in.dtype), [&]<class T>(T) {
            values->ptr<T>()[walk.offset[1]] = in.ptr<const T>()[walk.offset[0] + i * lines.step];
          });
        if (indices) indices->ptr<int64_t>()[walk.offset[2]] = i;
      }
    });
  });
}

void search_sorted(const Array& sorted, const Array& values, bool right, const Array* sorter,
                   const Array& out) {
  if (values.numel == 0) return;
  const int64_t n = sorted.ndim == 0 ? 1 : sorted.sizes[sorted.ndim - 1];
  const int64_t rows = sorted.ndim <= 1 ? 1 : sorted.numel / std::max<int64_t>(n, 1);
  const int64_t each = values.numel / std::max<int64_t>(rows, 1);
  const DType common = promote_types(sorted.dtype, values.dtype);
  dispatch_compute(common, [&]<class C>(C) {
    auto less = [](C a, C b) { return a < b || (b != b && a == a); };
    std::vector<C> row(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      // The row in ascending order, once, in the type in which it is compared.
      for (int64_t i = 0; i < n; ++i) {
        const int64_t k = sorter ? sorter->ptr<const int64_t>()[offset_of(*sorter, r * n + i)] : i;
        TANDEM_CHECK_INDEX(k >= 0 && k < n, "searchsorted: index ", k,
                           " in sorter is out of bounds for a sequence of length ", n);
        load(sorted.dtype, at(sorted, offset_of(sorted, r * n + k)), 1, 1,
             &row[static_cast<size_t>(i)]);
      }
      parallel_for(0, each, 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t number = r * each + i;
          C want;
          load(values.dtype, at(values, offset_of(values, number)), 1, 1, &want);
          const auto it = right ? std::upper_bound(row.begin(), row.end(), want, less)
                                : std::lower_bound(row.begin(), row.end(), want, less);
          const int64_t found = it - row.begin();
          store(out.dtype, at_mutable(out, offset_of(out, number)), 1, 1, &found);
        }
      });
    }
  });
}

void histogram(const Array& in, double low, double high, const Array& out) {
  const int64_t bins = out.numel;
  std::vector<int64_t> counts(static_cast<size_t>(bins), 0);
  const double scale = static_cast<double>(bins) / (high - low);
  AxesWalk walk([&] {
    Axes axes;
    for (int d = 0; d < in.ndim; ++d) axes.push_back({in.sizes[d], in.strides[d], 0});
    return axes;
  }());
  for (int64_t i = 0; i < in.numel; ++i, walk.next()) {
    double x;
    load(in.dtype, at(in, walk.in), 1, 1, &x);
    if (!(x >= low && x <= high)) continue;
    const int64_t bin = static_cast<int64_t>((x - low) * scale);
    ++counts[static_cast<size_t>(std::min(bin, bins - 1))];
  }
  for (int64_t b = 0; b < bins; ++b)
    store(out.dtype, at_mutable(out, offset_of(out, b)), 1, 1, &counts[static_cast<size_t>(b)]);
}

void bincount(const Array& in, const Array* weights, const Array& out) {
  const size_t bins = static_cast<size_t>(out.numel);
  auto value = [&](int64_t i) {
    int64_t v;
    load(in.dtype, at(in, offset_of(in, i)), 1, 1, &v);
    TANDEM_ASSERT(v >= 0 && v < out.numel, "bincount: ", v, " is outside");
    return static_cast<size_t>(v);
  };
  auto finish = [&](const auto& sums) {
    for (size_t b = 0; b < bins; ++b)
      store(out.dtype, at_mutable(out, offset_of(out, static_cast<int64_t>(b))), 1, 1, &sums[b]);
  };
  if (!weights) {
    std::vector<int64_t> counts(bins, 0);
    for (int64_t i = 0; i < in.numel; ++i) ++counts[value(i)];
    return finish(counts);
  }
  std::vector<double> sums(bins, 0);
  for (int64_t i = 0; i < in.numel; ++i) {
    double w;
    load(weights->dtype, at(*weights, offset_of(*weights, i)), 1, 1, &w);
    sums[value(i)] += w;
  }
  finish(sums);
}

}  // namespace tandem::kernels
