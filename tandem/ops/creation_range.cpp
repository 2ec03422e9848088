// Sequences, and tensors of indices.
#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

enum class Sequence : uint8_t { Whole, Real, Linear, Powers };

struct SequenceAttrs {
  Sequence kind;
  int64_t count;
  DType dtype;
  Device device;
  int64_t whole_start, whole_step;
  double start, step, end, base;
  TANDEM_FIELDS(kind, count, dtype, device, whole_start, whole_step, start, step, end, base)
};

struct EyeAttrs {
  int64_t rows, columns;
  DType dtype;
  Device device;
  TANDEM_FIELDS(rows, columns, dtype, device)
};

struct TriangleAttrs {
  int64_t rows, columns, offset;
  bool upper;
  DType dtype;
  Device device;
  TANDEM_FIELDS(rows, columns, offset, upper, dtype, device)
};

// Made in chunks of one type, converted by copy().
template <class T, class F>
void fill_by(const Array& out, const F& value) {
  constexpr int64_t kChunk = 512;
  T buffer[kChunk];
  for (int64_t i = 0; i < out.numel; i += kChunk) {
    const int64_t n = std::min(kChunk, out.numel - i);
    for (int64_t k = 0; k < n; ++k) buffer[k] = value(i + k);
    kernels::convert(dtype_v<T>, buffer, out.dtype,
                     static_cast<char*>(out.data) + i * static_cast<int64_t>(size_of(out.dtype)),
                     n);
  }
}

void sequence_kernel(const KernelArgs& a) {
  const auto& s = a.attrs<SequenceAttrs>();
  const Array& out = a.out();
  const int64_t half = s.count / 2;
  // From both ends, so that the last is exactly the end.
  const auto linear = [&](int64_t i) {
    return i < half ? s.start + s.step * static_cast<double>(i)
                    : s.end - s.step * static_cast<double>(s.count - 1 - i);
  };
  switch (s.kind) {
    case Sequence::Whole:
      return fill_by<int64_t>(out, [&](int64_t i) { return s.whole_start + i * s.whole_step; });
    case Sequence::Real:
      return fill_by<double>(out,
                             [&](int64_t i) { return s.start + s.step * static_cast<double>(i); });
    case Sequence::Linear:
      return fill_by<double>(out, linear);
    case Sequence::Powers:
      return fill_by<double>(out, [&](int64_t i) { return std::pow(s.base, linear(i)); });
  }
}

// Of a matrix whose triangle is listed. More rows than this are not counted in reasonable time.
constexpr int64_t kMaxSide = int64_t{1} << 31;

int64_t triangle_count(const TriangleAttrs& t) {
  int64_t n = 0;
  for (int64_t r = 0; r < t.rows; ++r) {
    const int64_t edge =
        std::clamp<int64_t>(t.upper ? r + t.offset : r + t.offset + 1, 0, t.columns);
    n += t.upper ? t.columns - edge : edge;
  }
  return n;
}

Tensor finish(Tensor t, const TensorOptions& o) {
  if (o.requires_grad()) t.set_requires_grad(true);
  return t;
}

}  // namespace

TANDEM_OP(kSequence) = {
    .name = "arange",
    .infer =
        [](const InferArgs& a) {
          const auto& s = a.attrs<SequenceAttrs>();
          detail::check_choice(a, s.kind, Sequence::Powers);
          a.out().sizes = {s.count};
          a.out().dtype = s.dtype;
          a.out().device = s.device;
        },
    .kernel = sequence_kernel,
    .attrs = attrs_of<SequenceAttrs>,
    .inputs = 0,
};

TANDEM_OP(kEye) = {
    .name = "eye",
    .infer =
        [](const InferArgs& a) {
          const auto& e = a.attrs<EyeAttrs>();
          a.out().sizes = {e.rows, e.columns};
          a.out().dtype = e.dtype;
          a.out().device = e.device;
        },
    .kernel =
        [](const KernelArgs& a) {
          const Array& out = a.out();
          kernels::fill(out, int64_t{0});
          const int64_t n = std::min(out.sizes[0], out.sizes[1]);
          const int64_t step = out.strides[0] + out.strides[1];
          const Array diagonal{out.data, &n, &step, n, 1, out.dtype, n <= 1};
          if (n > 0) kernels::fill(diagonal, int64_t{1});
        },
    .attrs = attrs_of<EyeAttrs>,
    .inputs = 0,
};

TANDEM_OP(kTriangleIndices) = {
    .name = "tril_indices",
    .infer =
        [](const InferArgs& a) {
          const auto& t = a.attrs<TriangleAttrs>();
          TANDEM_CHECK(t.rows >= 0 && t.rows <= kMaxSide && t.columns >= 0 &&
                           t.columns <= kMaxSide && std::abs(t.offset) <= kMaxSide,
                       a.op.name, ": a triangle of ", t.rows, " rows and ", t.columns,
                       " columns at ", t.offset);
          a.out().sizes = {2, triangle_count(t)};
          a.out().dtype = t.dtype;
          a.out().device = t.device;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& t = a.attrs<TriangleAttrs>();
          const int64_t n = a.out().sizes[1];
          std::vector<int64_t> both(static_cast<size_t>(2 * n));
          size_t at = 0;
          for (int64_t r = 0; r < t.rows; ++r) {
            const int64_t edge =
                std::clamp<int64_t>(t.upper ? r + t.offset : r + t.offset + 1, 0, t.columns);
            const int64_t from = t.upper ? edge : 0, to = t.upper ? t.columns : edge;
            for (int64_t c = from; c < to; ++c, ++at) {
              both[at] = r;
              both[at + static_cast<size_t>(n)] = c;
            }
          }
          kernels::convert(kLong, both.data(), a.out().dtype, a.out().data, 2 * n);
        },
    .attrs = attrs_of<TriangleAttrs>,
    .inputs = 0,
};

namespace {

Tensor make_range(const char* name, const Scalar& start, const Scalar& end, const Scalar& step,
                  bool with_end, const TensorOptions& o) {
  const bool whole = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  DType t = o.dtype();
  // range() gives floats whatever its arguments, as in LibTorch.
  if (!o.has_dtype() && whole && !with_end) t = kLong;
  const double a = start.toDouble(), b = end.toDouble(), s = step.toDouble();
  TANDEM_CHECK_AS(ValueError, s != 0, name, ": step must be nonzero");
  TANDEM_CHECK_AS(ValueError, std::isfinite(a) && std::isfinite(b) && std::isfinite(s), name,
                  ": unsupported range: ", a, " -> ", b, " by ", s);
  TANDEM_CHECK_AS(ValueError, (s > 0 && b >= a) || (s < 0 && b <= a), name,
                  ": upper bound and larger bound inconsistent with step sign: ", a, " -> ", b,
                  " by ", s);
  double count;
  if (whole && !with_end) {
    const int64_t x = start.toLong(), y = end.toLong(), d = step.toLong();
    // The distance fits in 64 bits without a sign.
    const uint64_t distance = d > 0 ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
                                    : static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
    const uint64_t size = d > 0 ? static_cast<uint64_t>(d) : ~static_cast<uint64_t>(d) + 1;
    count = static_cast<double>(distance / size + (distance % size != 0));
  } else {
    count = with_end ? std::floor((b - a) / s) + 1 : std::ceil((b - a) / s);
  }
  TANDEM_CHECK_AS(ValueError, count < 9.2e18, name, ": invalid size, possible overflow: ", a,
                  " -> ", b, " by ", s);
  const bool exact = whole || !is_floating(t);
  return finish(
      apply(kSequence, {},
            SequenceAttrs{exact ? Sequence::Whole : Sequence::Real, static_cast<int64_t>(count), t,
                          o.device(), start.toLong(), step.toLong(), a, s, b, 0}),
      o);
}

Tensor make_linear(const char* name, Sequence kind, const Scalar& start, const Scalar& end,
                   int64_t steps, double base, const TensorOptions& o) {
  TANDEM_CHECK_AS(ValueError, steps >= 0, name, ": number of steps must be non-negative, got ",
                  steps);
  const double a = start.toDouble(), b = end.toDouble();
  const double step = steps > 1 ? (b - a) / static_cast<double>(steps - 1) : 0;
  // A single step is the start.
  const double last = steps == 1 ? a : b;
  return finish(apply(kSequence, {},
                      SequenceAttrs{kind, steps, o.dtype(), o.device(), 0, 0, a, step, last, base}),
                o);
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& o) {
  return make_range("arange", start, end, step, false, o);
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& o) {
  return arange(start, end, 1, o);
}
Tensor arange(const Scalar& end, const TensorOptions& o) { return arange(0, end, 1, o); }
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& o) {
  return make_range("range", start, end, step, true, o);
}
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& o) {
  return make_linear("linspace", Sequence::Linear, start, end, steps, 0, o);
}
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                const TensorOptions& o) {
  return make_linear("logspace", Sequence::Powers, start, end, steps, base, o);
}

Tensor eye(int64_t n, int64_t m, const TensorOptions& o) {
  TANDEM_CHECK_SHAPE(n >= 0 && m >= 0, "eye: n and m must be greater or equal to 0, got ", n,
                     " and ", m);
  return finish(apply(kEye, {}, EyeAttrs{n, m, o.dtype(), o.device()}), o);
}
Tensor eye(int64_t n, const TensorOptions& o) { return eye(n, n, o); }

namespace {
Tensor triangle_indices(const char* name, int64_t rows, int64_t columns, int64_t offset, bool upper,
                        const TensorOptions& o) {
  TANDEM_CHECK_SHAPE(rows >= 0 && columns >= 0, name,
                     ": row and col must be non-negative, got row: ", rows, " and col: ", columns);
  const DType t = o.has_dtype() ? o.dtype() : kLong;
  TANDEM_CHECK_TYPE(t == kLong || t == kInt, name, ": expected dtype int64 or int32, got ", t);
  return apply(kTriangleIndices, {}, TriangleAttrs{rows, columns, offset, upper, t, o.device()});
}
}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& o) {
  return triangle_indices("tril_indices", row, col, offset, false, o);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& o) {
  return triangle_indices("triu_indices", row, col, offset, true, o);
}

std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing) {
  TANDEM_CHECK(!tensors.empty(), "meshgrid: expects a non-empty TensorList");
  TANDEM_CHECK_AS(ValueError, indexing == "ij" || indexing == "xy",
                  "meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  const size_t n = tensors.size();
  const bool swap = indexing == "xy" && n >= 2;
  Dims shape;
  for (const Tensor& t : tensors) {
    TANDEM_CHECK_SHAPE(t.dim() <= 1,
                       "meshgrid: Expected 0D or 1D tensor in the tensor list but "
                       "got: ",
                       t.type_of());
    TANDEM_CHECK_TYPE(t.dtype() == tensors[0].dtype(),
                      "meshgrid: expects all tensors to have the same dtype, got ",
                      tensors[0].dtype(), " and ", t.dtype());
    shape.push_back(t.numel());
  }
  if (swap) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (size_t i = 0; i < n; ++i) {
    const size_t d = swap && i < 2 ? 1 - i : i;
    Dims one(n, 1);
    one[d] = shape[d];
    grids.push_back(tensors[i].reshape(one).expand(shape));
  }
  return grids;
}
std::vector<Tensor> meshgrid(TensorList tensors) { return meshgrid(tensors, "ij"); }

Tensor empty_strided(IntArrayRef size, IntArrayRef strides, const TensorOptions& o) {
  TANDEM_CHECK_SHAPE(size.size() == strides.size(), "empty_strided: ", size.size(), " sizes and ",
                     strides.size(), " strides were given");
  int64_t last = numel_of(size) ? 1 : 0;
  for (size_t d = 0; d < size.size(); ++d) {
    TANDEM_CHECK_SHAPE(strides[d] >= 0, "empty_strided: strides must not be negative: ", strides);
    if (last > 0) last += (size[d] - 1) * strides[d];
  }
  const Tensor t = empty({last}, o.requires_grad(false));
  NoGradGuard no_grad;
  return finish(t.as_strided(size, strides), o);
}

}  // namespace tandem
