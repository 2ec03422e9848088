#include "tandem/kernels/pad.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/kernels/nest.h"
#include "tandem/kernels/packed.h"
#include "tandem/kernels/reduce_load.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrainElements = 1 << 14;

// Neighbours in the padded array that are neighbours in the plain one too, or that are all border.
struct Run {
  int64_t at, source, length;  // source -1: border
};

// One dimension: where each index of the padded array comes from in the plain one.
struct Axis {
  int64_t plain, padded;
  int64_t before, after;
  std::optional<PadMode> mode;

  int64_t source(int64_t at) const {
    const int64_t i = at - before;
    if (!mode) return i >= 0 && i < plain ? i : -1;
    switch (*mode) {
      case PadMode::Reflect:
        return i < 0 ? -i : i < plain ? i : 2 * (plain - 1) - i;
      case PadMode::Replicate:
        return std::clamp<int64_t>(i, 0, plain - 1);
      case PadMode::Circular:
        break;
    }
    // What is cut off does not come back on the other side.
    const int64_t first = std::max<int64_t>(-before, 0);
    const int64_t n = plain - first - std::max<int64_t>(-after, 0);
    const int64_t turn = (at - std::max<int64_t>(before, 0)) % n;
    return first + (turn < 0 ? turn + n : turn);
  }
};

// Rows of the padded array: runs of elements along the innermost padded dimension.
struct Rows {
  std::vector<Axis> outer;  // padded dimensions but the innermost
  Axis inner{1, 1, 0, 0, std::nullopt};
  int64_t planes = 1;  // of the dimensions before the padded ones
  int64_t block = 1;   // elements in the dimensions behind them
  int64_t rows_a_plane = 1, plain_plane = 1;
  std::vector<Run> runs;

  Rows(IntArrayRef plain, IntArrayRef padded, IntArrayRef padding, std::optional<PadMode> mode) {
    const auto ndim = static_cast<int64_t>(plain.size());
    const auto count = static_cast<int64_t>(padding.size() / 2);
    int64_t last = ndim;  // dimensions from here on are whole blocks
    while (last > ndim - count && padding[2 * (ndim - last)] == 0 &&
           padding[2 * (ndim - last) + 1] == 0)
      block *= plain[--last];
    for (int64_t d = 0; d < last; ++d) {
      const int64_t p = 2 * (ndim - 1 - d);
      if (d < ndim - count) {
        planes *= plain[d];
        continue;
      }
      const Axis axis{plain[d], padded[d], padding[p], padding[p + 1], mode};
      plain_plane *= axis.plain;
      if (d == last - 1) {
        inner = axis;
      } else {
        outer.push_back(axis);
        rows_a_plane *= axis.padded;
      }
    }
    for (int64_t at = 0; at < inner.padded; ++at) {
      const int64_t source = inner.source(at);
      if (!runs.empty()) {
        Run& run = runs.back();
        if (source < 0 ? run.source < 0 : run.source >= 0 && source == run.source + run.length) {
          ++run.length;
          continue;
        }
      }
      runs.push_back({at, source, 1});
    }
  }

  int64_t elements_a_row() const { return inner.padded * block; }
  int64_t plane_size() const { return plain_plane * block; }
  // For each row of a padded plane the first element, within the plain plane, of the row that it
  // comes from; -1: none.
  std::vector<int64_t> sources() const {
    std::vector<int64_t> result(static_cast<size_t>(rows_a_plane));
    for (int64_t r = 0; r < rows_a_plane; ++r) {
      int64_t rest = r, stride = inner.plain * block, offset = 0;
      for (size_t d = outer.size(); d-- > 0 && offset >= 0;) {
        const int64_t source = outer[d].source(rest % outer[d].padded);
        offset = source < 0 ? -1 : offset + source * stride;
        stride *= outer[d].plain;
        rest /= outer[d].padded;
      }
      result[static_cast<size_t>(r)] = offset;
    }
    return result;
  }
};

template <class T>
void gather_rows(const Rows& rows, const T* x, T border, T* out) {
  const int64_t width = rows.elements_a_row();
  const std::vector<int64_t> sources = rows.sources();
  const auto some_rows = [&](int64_t begin, int64_t end) {
    const T* plane = x + begin / rows.rows_a_plane * rows.plane_size();
    int64_t in_plane = begin % rows.rows_a_plane;
    for (int64_t r = begin; r < end; ++r) {
      T* to = out + r * width;
      const int64_t source = sources[static_cast<size_t>(in_plane)];
      if (source < 0) {
        std::fill_n(to, width, border);
      } else {
        for (const Run& run : rows.runs) {
          T* start = to + run.at * rows.block;
          const int64_t n = run.length * rows.block;
          if (run.source < 0)
            std::fill_n(start, n, border);
          else
            std::copy_n(plane + source + run.source * rows.block, n, start);
        }
      }
      if (++in_plane < rows.rows_a_plane) continue;
      in_plane = 0;
      plane += rows.plane_size();
    }
  };
  parallel_for(0, rows.planes * rows.rows_a_plane,
               std::max<int64_t>(1, kGrainElements / std::max<int64_t>(width, 1)), some_rows);
}

void gather_bits(const Array& x, const Rows& rows, const Array& out, uint64_t border) {
  if (out.numel == 0) return;
  const Packed from(x, x.dtype);
  PackedOutput to(out, out.dtype);
  by_size(size_of(x.dtype), [&]<class T>(T) {
    T value;
    std::memcpy(&value, &border, sizeof(T));
    gather_rows<T>(rows, from.as<T>(), value, to.as<T>());
  });
  to.commit();
}

template <class C>
C add(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

}  // namespace

void pad_constant(const Array& x, IntArrayRef padding, const void* value, const Array& out) {
  uint64_t border = 0;
  std::memcpy(&border, value, size_of(x.dtype));
  gather_bits(x, Rows(x.shape(), out.shape(), padding, std::nullopt), out, border);
}

void pad(const Array& x, IntArrayRef padding, PadMode mode, const Array& out) {
  gather_bits(x, Rows(x.shape(), out.shape(), padding, mode), out, 0);
}

void pad_transposed(const Array& g, IntArrayRef padding, PadMode mode, const Array& out) {
  if (out.numel == 0) return;
  const Rows rows(out.shape(), g.shape(), padding, mode);
  dispatch_compute(g.dtype, [&]<class C>(C) {
    const Packed from(g, dtype_v<C>);
    PackedOutput to(out, dtype_v<C>);
    const int64_t width = rows.elements_a_row(), size = rows.plane_size();
    const std::vector<int64_t> sources = rows.sources();
    const auto some_planes = [&](int64_t begin, int64_t end) {
      std::fill(to.as<C>() + begin * size, to.as<C>() + end * size, C(0));
      for (int64_t p = begin; p < end; ++p) {
        const C* row = from.as<C>() + p * rows.rows_a_plane * width;
        for (const int64_t first : sources) {
          C* target = to.as<C>() + p * size + first;
          for (const Run& run : rows.runs) {
            const C* source = row + run.at * rows.block;
            C* element = target + run.source * rows.block;
            for (int64_t i = 0; i < run.length * rows.block; ++i)
              element[i] = add(element[i], source[i]);
          }
          row += width;
        }
      }
    };
    parallel_for(0, rows.planes, std::max<int64_t>(1, kGrainElements / std::max<int64_t>(size, 1)),
                 some_planes);
    to.commit();
  });
}

}  // namespace tandem::kernels
