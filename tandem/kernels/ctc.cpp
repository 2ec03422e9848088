#include "tandem/kernels/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/kernels/ctc_simd.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/reduce_plan.h"

// Note: states
// A sample with the labels a, b, c is spelled by walks through the 2 * 3 + 1 states
// blank a blank b blank c blank: each step stays, goes on by one, or goes on by two, over a blank
// between two different labels. alpha[t][s] is the logarithm of the probability of all walks that
// are in state s at step t, beta that of all ways to go on from there to the end. A walk in state s
// at step t that can have begun at the start has s < 2 t + 2; one that can reach the end has
// s >= states - 2 (steps - t). Only the states between are worked out; the others stay at -inf.
namespace tandem::kernels {
namespace {

struct Sample {
  const int64_t* labels = nullptr;
  int64_t n_labels = 0, steps = 0;
  int64_t states() const { return 2 * n_labels + 1; }
  // The states that count at step t.
  int64_t first(int64_t t) const { return std::max<int64_t>(0, states() - 2 * (steps - t)); }
  int64_t end(int64_t t) const { return std::min(states(), 2 * t + 2); }
};

std::vector<int64_t> read(const Array& a) {
  std::vector<int64_t> v(static_cast<size_t>(a.numel));
  for (int64_t i = 0; i < a.numel; ++i)
    load(
        a.dtype,
        static_cast<const char*>(a.data) + offset_of(a, i) * static_cast<int64_t>(size_of(a.dtype)),
        1, 1, &v[static_cast<size_t>(i)]);
  return v;
}

// What the samples are, checked.
struct Samples {
  Samples(const Array& log_probs, const Array& targets, const Array& input_lengths,
          const Array& target_lengths)
      : labels(read(targets)) {
    const int64_t steps = log_probs.sizes[0], n = log_probs.sizes[1], classes = log_probs.sizes[2];
    const std::vector<int64_t> in = read(input_lengths), of_targets = read(target_lengths);
    const bool padded = targets.ndim == 2;
    int64_t used = 0;
    list.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      Sample& s = list[static_cast<size_t>(i)];
      s.steps = in[static_cast<size_t>(i)];
      s.n_labels = of_targets[static_cast<size_t>(i)];
      TANDEM_CHECK(s.steps >= 0 && s.steps <= steps,
                   "ctc_loss: Expected input_lengths to have value at most ", steps,
                   " and at least 0, but got value ", s.steps, " (while checking sample ", i, ")");
      const int64_t room = padded ? targets.sizes[1] : targets.numel - used;
      TANDEM_CHECK(
          s.n_labels >= 0 && s.n_labels <= room, "ctc_loss: Expected tensor to have size at least ",
          padded ? s.n_labels : used + s.n_labels, " at dimension ", padded ? 1 : 0,
          ", but got targets of shape ", targets.shape(), ": target_lengths is ", s.n_labels,
          " for sample ", i, ", and must be at most ", room, " and at least 0");
      s.labels = labels.data() + (padded ? i * targets.sizes[1] : used);
      used += s.n_labels;
      for (int64_t k = 0; k < s.n_labels; ++k)
        TANDEM_CHECK_INDEX(s.labels[k] >= 0 && s.labels[k] < classes, "ctc_loss: label ",
                           s.labels[k], " at position ", k, " of sample ", i,
                           " is out of range: there are ", classes, " classes");
    }
    TANDEM_CHECK(padded || used == targets.numel, "ctc_loss: the target_lengths add up to ", used,
                 ", but there are ", targets.numel, " targets");
  }
  std::vector<int64_t> labels;
  std::vector<Sample> list;
};

int64_t rounded(int64_t n) { return (n + kCtcLanes - 1) / kCtcLanes * kCtcLanes; }

/// One sample after another; memory is kept for the next one.
template <class T>
class Worker {
 public:
  Worker(const Array& log_probs, int64_t blank, bool zero_infinity, const Array& loss,
         const Array* grad)
      : x_(log_probs),
        loss_(loss),
        grad_(grad),
        blank_(blank),
        zero_infinity_(zero_infinity),
        classes_(log_probs.sizes[2]) {}

  void run(int64_t n, const Sample& s) {
    prepare(s);
    const T loss = forward(n, s);
    const T given = zero_infinity_ && loss == kInf ? T(0) : loss;
    store(loss_.dtype, at(loss_, n * loss_.strides[0]), 1, 1, &given);
    if (!grad_) return;
    if (zero_infinity_ && loss == kInf) {
      zero_from(n, 0);
    } else {
      backward(n, s, loss);
      zero_from(n, s.steps);
    }
  }

 private:
  static constexpr T kInf = std::numeric_limits<T>::infinity();
  // Room before the first state and behind the last, so that neighbours can be read.
  static constexpr int64_t kMargin = kCtcLanes;

  static void* at(const Array& a, int64_t offset) {
    return static_cast<char*>(a.data) + offset * static_cast<int64_t>(size_of(a.dtype));
  }

  void prepare(const Sample& s) {
    width_ = rounded(s.states()) + 2 * kMargin;
    const size_t rows = grad_ ? static_cast<size_t>(std::max<int64_t>(s.steps, 1)) : 2;
    alpha_.assign(rows * static_cast<size_t>(width_), -kInf);
    emit_.assign(static_cast<size_t>(width_), -kInf);
    skip_.assign(static_cast<size_t>(width_), -kInf);
    class_of_.resize(static_cast<size_t>(s.states()));
    row_.resize(static_cast<size_t>(classes_));
    for (int64_t i = 0; i < s.states(); ++i)
      class_of_[static_cast<size_t>(i)] = i % 2 ? s.labels[i / 2] : blank_;
    for (int64_t k = 1; k < s.n_labels; ++k)
      if (s.labels[k] != s.labels[k - 1]) skip_[static_cast<size_t>(kMargin + 2 * k + 1)] = 0;
  }

  T* alpha(int64_t t) { return alpha_.data() + (grad_ ? t : t % 2) * width_ + kMargin; }
  T* skip() { return skip_.data() + kMargin; }
  T* emit() { return emit_.data() + kMargin; }

  // The logarithms of all classes at step t, side by side.
  const T* classes_at(int64_t n, int64_t t) {
    const void* p = at(x_, t * x_.strides[0] + n * x_.strides[1]);
    if (x_.dtype == dtype_v<T> && x_.strides[2] == 1) return static_cast<const T*>(p);
    load(x_.dtype, p, x_.strides[2], classes_, row_.data());
    return row_.data();
  }
  // The logarithms of the states' classes; those of the states that do not count keep -inf or what
  // an earlier step had, which only unreachable states see.
  void gather(const T* row, int64_t first, int64_t end) {
    T* e = emit();
    for (int64_t s = first; s < end; ++s) e[s] = row[class_of_[static_cast<size_t>(s)]];
  }

  T forward(int64_t n, const Sample& s) {
    if (s.steps == 0) return s.n_labels == 0 ? T(0) : kInf;
    const T* row = classes_at(n, 0);
    alpha(0)[0] = row[blank_];
    if (s.n_labels) alpha(0)[1] = row[s.labels[0]];
    for (int64_t t = 1; t < s.steps; ++t) {
      const int64_t first = s.first(t), end = s.end(t);
      if (first >= end) return kInf;
      gather(classes_at(n, t), first, end);
      const int64_t from = first / kCtcLanes * kCtcLanes;
      ctc_ops<T>().forward(alpha(t - 1) + from, skip() + from, emit() + from, alpha(t) + from,
                           rounded(end) - from);
    }
    const T* last = alpha(s.steps - 1);
    const T a = last[s.states() - 1], b = s.n_labels ? last[s.states() - 2] : -kInf;
    const T top = std::max(a, b);
    if (top == -kInf) return kInf;
    return -(std::log(std::exp(a - top) + std::exp(b - top)) + top);
  }

  // Every state's share in the probability of all walks, by class, is taken from the probability of
  // the class.
  void backward(int64_t n, const Sample& s, T loss) {
    std::vector<T>& shares = shares_;
    beta_.assign(static_cast<size_t>(2 * width_), -kInf);
    share_.resize(static_cast<size_t>(width_));
    shares.assign(static_cast<size_t>(classes_), 0);
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      const T* row = classes_at(n, t);
      const int64_t first = s.first(t), end = s.end(t), from = first / kCtcLanes * kCtcLanes;
      T* now = beta_.data() + (t % 2) * width_ + kMargin;
      if (loss == kInf) {
        // There is no walk to have a share in.
        std::fill(shares.begin(), shares.end(), std::numeric_limits<T>::quiet_NaN());
      } else if (t == s.steps - 1) {
        for (int64_t i = std::max<int64_t>(0, s.states() - 2); i < s.states(); ++i) {
          const int64_t c = class_of_[static_cast<size_t>(i)];
          now[i] = row[c];
          shares[static_cast<size_t>(c)] += std::exp(alpha(t)[i] + loss);
        }
      } else {
        gather(row, first, end);
        const T* next = beta_.data() + ((t + 1) % 2) * width_ + kMargin;
        ctc_ops<T>().backward(next + from, skip() + from, emit() + from, alpha(t) + from, loss,
                              now + from, share_.data() + from, rounded(end) - from);
        for (int64_t i = first; i < end; ++i)
          shares[static_cast<size_t>(class_of_[static_cast<size_t>(i)])] +=
              share_[static_cast<size_t>(i)];
      }
      write_row(n, t, row);
      if (loss == kInf) continue;
      for (int64_t c : class_of_) shares[static_cast<size_t>(c)] = 0;
    }
  }

  void write_row(int64_t n, int64_t t, const T* row) {
    void* p = at(*grad_, t * grad_->strides[0] + n * grad_->strides[1]);
    const bool direct = grad_->dtype == dtype_v<T> && grad_->strides[2] == 1;
    if (!direct) result_.resize(static_cast<size_t>(classes_));
    T* to = direct ? static_cast<T*>(p) : result_.data();
    ctc_ops<T>().exp_minus(row, shares_.data(), to, classes_);
    if (!direct) store(grad_->dtype, p, grad_->strides[2], classes_, to);
  }

  void zero_from(int64_t n, int64_t t) {
    result_.assign(static_cast<size_t>(classes_), 0);
    for (; t < grad_->sizes[0]; ++t)
      store(grad_->dtype, at(*grad_, t * grad_->strides[0] + n * grad_->strides[1]),
            grad_->strides[2], classes_, result_.data());
  }

  const Array &x_, &loss_;
  const Array* grad_;
  const int64_t blank_;
  const bool zero_infinity_;
  const int64_t classes_;
  int64_t width_ = 0;  // of a row of states
  std::vector<T> alpha_, beta_, emit_, skip_, share_, row_, shares_, result_;
  std::vector<int64_t> class_of_;  // by state
};

}  // namespace

void ctc_loss(const Array& log_probs, const Array& targets, const Array& input_lengths,
              const Array& target_lengths, int64_t blank, bool zero_infinity, const Array& loss,
              const Array* grad) {
  const Samples samples(log_probs, targets, input_lengths, target_lengths);
  const int64_t n = log_probs.sizes[1];
  dispatch_compute(log_probs.dtype, [&]<class C>(C) {
    if constexpr (std::is_floating_point_v<C>) {
      parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
        Worker<C> worker(log_probs, blank, zero_infinity, loss, grad);
        for (int64_t i = begin; i < end; ++i) worker.run(i, samples.list[static_cast<size_t>(i)]);
      });
    }
  });
}

}  // namespace tandem::kernels
