#include "tandem/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/kernels/cross_entropy_simd.h"
#include "tandem/kernels/flat.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/reduce_simd.h"

namespace tandem::kernels {
namespace {

/// x [N, C, ...] as [outer, classes, inner].
struct Shape {
  explicit Shape(const Array& x) : outer(x.sizes[0]), classes(x.sizes[1]) {
    for (int d = 2; d < x.ndim; ++d) inner *= x.sizes[d];
  }
  int64_t outer, classes, inner = 1;
  int64_t places() const { return outer * inner; }
};

[[noreturn, gnu::cold]] void refuse(const char* name, int64_t target, int64_t place, int64_t inner,
                                    int64_t classes) {
  std::string where = str("sample ", place / inner);
  if (inner > 1) where += str(", position ", place % inner);
  tandem::detail::raise<IndexError>(str(name, ": Target ", target,
                                        " is out of bounds: the class of ", where,
                                        ", where there are ", classes, " classes"));
}

/// The classes of all places, checked.
class Targets {
 public:
  Targets(const ClassLossOptions& o, const Shape& s, const Array& target)
      : ignore_(o.ignore), values_(target) {
    const int64_t* v = values_.get();
    const uint64_t classes = static_cast<uint64_t>(s.classes);
    for (int64_t i = 0; i < s.places(); ++i)
      if (static_cast<uint64_t>(v[i]) >= classes && v[i] != ignore_) [[unlikely]]
        refuse(o.name, v[i], i, s.inner, s.classes);
  }
  bool counts(int64_t place) const { return values_[place] != ignore_; }
  int64_t operator[](int64_t place) const { return values_[place]; }

 private:
  int64_t ignore_;
  Flat<int64_t> values_;
};

/// The classes' weights: all 1 if there are none.
template <class T>
class Weights {
 public:
  Weights(const Array* weight, int64_t classes) : sum_(static_cast<T>(classes)) {
    if (!weight) return;
    values_.resize(static_cast<size_t>(classes));
    load(weight->dtype, weight->data, weight->strides[0], classes, values_.data());
    sum_ = 0;
    for (T v : values_) sum_ += v;
  }
  bool given() const { return !values_.empty(); }
  T operator[](int64_t c) const { return given() ? values_[static_cast<size_t>(c)] : T(1); }
  T sum() const { return sum_; }

 private:
  std::vector<T> values_;
  T sum_;
};

template <class T>
T sum_of(const T* x, int64_t n) {
  const CombineOps<T>& ops = combine_ops<T>(Combine::Sum);
  return by_blocks<T>(n, ops.join,
                      [&](int64_t at, int64_t count) { return ops.block(x + at, count); });
}

/// The losses of all places, on their way to becoming one.
template <class T>
class Losses {
 public:
  Losses(const ClassLossOptions& o, int64_t places) : o_(o), each_(places), weight_(places) {}
  void set(int64_t place, T loss, T weight) {
    each_[place] = loss;
    weight_[place] = weight;
  }
  void finish(int64_t places, const Array& loss, const Array& total) const {
    const T weight = sum_of(weight_.get(), places);
    store(total.dtype, total.data, 1, 1, &weight);
    if (o_.sum == LossSum::None) {
      const Dims strides = contiguous_strides(loss.shape());
      copy({each_.get(), loss.sizes, strides.data(), loss.numel, loss.ndim, dtype_v<T>, true},
           loss);
      return;
    }
    T sum = sum_of(each_.get(), places);
    if (o_.sum == LossSum::Mean) sum /= weight;
    store(loss.dtype, loss.data, 1, 1, &sum);
  }

 private:
  const ClassLossOptions& o_;
  Scratch<T> each_, weight_;
};

/// The gradient of each place's own loss.
template <class T>
class PlaceGrads {
 public:
  PlaceGrads(const ClassLossOptions& o, const Array& grad, const Array& total) : grad_(grad) {
    T t;
    load(total.dtype, total.data, 1, 1, &t);
    divisor_ = o.sum == LossSum::Mean ? t : T(1);
    step_ = o.sum == LossSum::None ? 1 : 0;
  }
  T operator[](int64_t place) const { return grad_[place * step_] / divisor_; }

 private:
  Flat<T> grad_;
  T divisor_;
  int64_t step_;
};

// Rows are dealt out so that each thread has about this many elements.
int64_t rows_at_once(int64_t length) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, length));
}
// Places side by side that are worked out together where classes are not the last dimension.
constexpr int64_t kSideBySide = 256;

template <class T>
class CrossEntropy {
 public:
  CrossEntropy(const ClassLossOptions& o, const Array& x, const Array& target, const Array* weight)
      : o_(o),
        shape_(x),
        targets_(o, shape_, target),
        weights_(weight, shape_.classes),
        x_(x),
        keep_(static_cast<T>(1 - o.smoothing)),
        share_(static_cast<T>(o.smoothing / static_cast<double>(shape_.classes))) {}

  void forward(const Array& loss, const Array& lse, const Array& total) {
    Losses<T> losses(o_, shape_.places());
    const Flat<T> sums = Flat<T>::result(lse);
    if (shape_.inner == 1) {
      parallel_for(0, shape_.outer, rows_at_once(shape_.classes), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* row = x_.get() + i * shape_.classes;
          const T top = ops_.top(row, shape_.classes);
          const T log = ops_.log(ops_.sum_exp(row, top, shape_.classes));
          sums.get()[i] = log + top;
          enter(losses, i, row, top, log);
        }
      });
    } else {
      for_blocks([&](int64_t place, const T* x, int64_t n) {
        T top[kSideBySide], sum[kSideBySide];
        std::fill(top, top + n, -std::numeric_limits<T>::infinity());
        std::fill(sum, sum + n, T(0));
        for (int64_t c = 0; c < shape_.classes; ++c) ops_.tops(top, x + c * shape_.inner, n);
        for (int64_t c = 0; c < shape_.classes; ++c)
          ops_.add_exp(sum, x + c * shape_.inner, top, n);
        ops_.logs(sum, n);
        for (int64_t i = 0; i < n; ++i) {
          sums.get()[place + i] = sum[i] + top[i];
          enter(losses, place + i, x + i, top[i], sum[i]);
        }
      });
    }
    sums.finish();
    losses.finish(shape_.places(), loss, total);
  }

  void backward(const Array& grad, const Array& lse, const Array& total, const Array& grad_x) {
    const PlaceGrads<T> grads(o_, grad, total);
    const Flat<T> sums(lse), out = Flat<T>::result(grad_x);
    if (shape_.inner == 1) {
      parallel_for(0, shape_.outer, rows_at_once(shape_.classes), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* to = out.get() + i * shape_.classes;
          if (!targets_.counts(i)) {
            std::fill(to, to + shape_.classes, T(0));
            continue;
          }
          const T g = grads[i], own = g * keep_ * weights_[targets_[i]], all = g * share_;
          ops_.slope(x_.get() + i * shape_.classes, sums[i], own + all * weights_.sum(),
                     weights_.given() ? T(0) : all, to, shape_.classes);
          if (weights_.given() && all != 0)
            for (int64_t c = 0; c < shape_.classes; ++c) to[c] -= all * weights_[c];
          to[targets_[i]] -= own;
        }
      });
    } else {
      for_blocks([&](int64_t place, const T* x, int64_t n) {
        T scale[kSideBySide], own[kSideBySide], all[kSideBySide];
        for (int64_t i = 0; i < n; ++i) {
          const bool counts = targets_.counts(place + i);
          const T g = counts ? grads[place + i] : T(0);
          own[i] = counts ? g * keep_ * weights_[targets_[place + i]] : T(0);
          all[i] = g * share_;
          scale[i] = own[i] + all[i] * weights_.sum();
        }
        T* to = out.get() + (x - x_.get());
        for (int64_t c = 0; c < shape_.classes; ++c)
          ops_.slopes(x + c * shape_.inner, sums.get() + place, scale, all, weights_[c],
                      to + c * shape_.inner, n);
        for (int64_t i = 0; i < n; ++i) {
          if (targets_.counts(place + i)) {
            to[targets_[place + i] * shape_.inner + i] -= own[i];
          } else {
            // Scores that are no numbers must not show where they do not count.
            for (int64_t c = 0; c < shape_.classes; ++c) to[c * shape_.inner + i] = 0;
          }
        }
      });
    }
    out.finish();
  }

 private:
  // The loss of one place, whose class c has the score row[c * inner].
  void enter(Losses<T>& losses, int64_t place, const T* row, T top, T log) const {
    if (!targets_.counts(place)) {
      losses.set(place, 0, 0);
      return;
    }
    const int64_t right = targets_[place];
    const T weight = weights_[right];
    T loss = keep_ * weight * (log + (top - row[right * shape_.inner]));
    if (o_.smoothing != 0) {
      T rest = 0;
      for (int64_t c = 0; c < shape_.classes; ++c)
        rest += weights_[c] * (log + (top - row[c * shape_.inner]));
      loss += share_ * rest;
    }
    losses.set(place, loss, weight);
  }

  // Calls fn(place, x, n) for runs of places that lie side by side.
  template <class F>
  void for_blocks(const F& fn) {
    const int64_t blocks = ceil_div(shape_.inner, kSideBySide);
    parallel_for(0, shape_.outer * blocks, rows_at_once(shape_.classes * kSideBySide),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t b = begin; b < end; ++b) {
                     const int64_t sample = b / blocks, at = b % blocks * kSideBySide;
                     fn(sample * shape_.inner + at,
                        x_.get() + sample * shape_.classes * shape_.inner + at,
                        std::min(kSideBySide, shape_.inner - at));
                   }
                 });
  }

  const ClassLossOptions& o_;
  const Shape shape_;
  const Targets targets_;
  const Weights<T> weights_;
  const Flat<T> x_;
  const T keep_, share_;
  const CrossEntropyOps<T>& ops_ = cross_entropy_ops<T>();
};

template <class F>
void dispatch_floats(DType t, const F& fn) {
  dispatch_compute(t, [&]<class T>(T x) {
    if constexpr (std::is_floating_point_v<T>) fn(x);
  });
}

int64_t element_offset(const Array& x, const Shape& s, const Dims& inner_offsets, int64_t place,
                       int64_t c) {
  return place / s.inner * x.strides[0] + c * x.strides[1] +
         inner_offsets[static_cast<size_t>(place % s.inner)];
}

// Where the places of one sample lie, counted from its first.
Dims inner_offsets(const Array& x, const Shape& s) {
  Dims offsets;
  for (int64_t i = 0; i < s.inner; ++i) {
    int64_t rest = i, offset = 0;
    for (int d = x.ndim - 1; d >= 2; --d) {
      offset += rest % x.sizes[d] * x.strides[d];
      rest /= x.sizes[d];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace

void cross_entropy(const ClassLossOptions& o, const Array& x, const Array& target,
                   const Array* weight, const Array& loss, const Array& lse, const Array& total) {
  dispatch_floats(x.dtype, [&]<class T>(T) {
    CrossEntropy<T>(o, x, target, weight).forward(loss, lse, total);
  });
}

void cross_entropy_backward(const ClassLossOptions& o, const Array& grad, const Array& x,
                            const Array& target, const Array* weight, const Array& lse,
                            const Array& total, const Array& grad_x) {
  dispatch_floats(x.dtype, [&]<class T>(T) {
    CrossEntropy<T>(o, x, target, weight).backward(grad, lse, total, grad_x);
  });
}

void nll_loss(const ClassLossOptions& o, const Array& x, const Array& target, const Array* weight,
              const Array& loss, const Array& total) {
  const Shape s(x);
  const Targets targets(o, s, target);
  const Dims offsets = inner_offsets(x, s);
  dispatch_floats(x.dtype, [&]<class T>(T) {
    const Weights<T> weights(weight, s.classes);
    Losses<T> losses(o, s.places());
    const char* data = static_cast<const char*>(x.data);
    const int64_t bytes = static_cast<int64_t>(size_of(x.dtype));
    parallel_for(0, s.places(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (!targets.counts(i)) {
          losses.set(i, 0, 0);
          continue;
        }
        T v;
        load(x.dtype, data + element_offset(x, s, offsets, i, targets[i]) * bytes, 1, 1, &v);
        const T w = weights[targets[i]];
        losses.set(i, -w * v, w);
      }
    });
    losses.finish(s.places(), loss, total);
  });
}

void nll_loss_backward(const ClassLossOptions& o, const Array& grad, const Array& target,
                       const Array* weight, const Array& total, const Array& grad_x) {
  const Shape s(grad_x);
  const Targets targets(o, s, target);
  const Dims offsets = inner_offsets(grad_x, s);
  fill(grad_x, 0.0);
  dispatch_floats(grad_x.dtype, [&]<class T>(T) {
    const Weights<T> weights(weight, s.classes);
    const PlaceGrads<T> grads(o, grad, total);
    char* data = static_cast<char*>(grad_x.data);
    const int64_t bytes = static_cast<int64_t>(size_of(grad_x.dtype));
    parallel_for(0, s.places(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (!targets.counts(i)) continue;
        const T v = -weights[targets[i]] * grads[i];
        store(grad_x.dtype, data + element_offset(grad_x, s, offsets, i, targets[i]) * bytes, 1, 1,
              &v);
      }
    });
  });
}

void multilabel_margin_loss(const Array& x, const Array& target, const Array& loss,
                            const Array& slope) {
  const int64_t rows = x.sizes[0], classes = x.sizes[1];
  const Flat<int64_t> targets(target);
  for (int64_t i = 0; i < target.numel; ++i)
    TANDEM_CHECK_INDEX(targets[i] >= -1 && targets[i] < classes, "multilabel_margin_loss: target ",
                       targets[i], " of sample ", i / std::max<int64_t>(1, classes),
                       " is out of range: there are ", classes, " classes, and -1 ends a list");
  dispatch_floats(x.dtype, [&]<class T>(T) {
    const Flat<T> scores(x);
    const Flat<T> losses = Flat<T>::result(loss), slopes = Flat<T>::result(slope);
    parallel_for(0, rows, rows_at_once(4 * classes), [&](int64_t begin, int64_t end) {
      std::vector<char> is_target(static_cast<size_t>(classes));
      for (int64_t r = begin; r < end; ++r) {
        const T* row = scores.get() + r * classes;
        const int64_t* of_row = targets.get() + r * classes;
        T* to = slopes.get() + r * classes;
        int64_t n = 0;
        std::fill(is_target.begin(), is_target.end(), 0);
        for (; n < classes && of_row[n] >= 0; ++n) is_target[static_cast<size_t>(of_row[n])] = 1;
        std::fill(to, to + classes, T(0));
        const T part = T(1) / static_cast<T>(classes);
        T sum = 0;
        for (int64_t k = 0; k < n; ++k)
          for (int64_t i = 0; i < classes; ++i) {
            const T z = 1 - (row[of_row[k]] - row[i]);
            if (is_target[static_cast<size_t>(i)] || !(z > 0)) continue;
            sum += z;
            to[i] += part;
            to[of_row[k]] -= part;
          }
        losses.get()[r] = sum * part;
      }
    });
    losses.finish();
    slopes.finish();
  });
}

void check_classes(const char* name, const Array& target, int64_t classes, const Array& out) {
  const Flat<int64_t> values(target);
  for (int64_t i = 0; i < target.numel; ++i)
    if (values[i] < 0 || values[i] >= classes) refuse(name, values[i], i, 1, classes);
  copy(target, out);
}

}  // namespace tandem::kernels
