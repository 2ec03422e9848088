// Forward through the steps of a recurrent layer.
//
// Note: how a step runs
// The units are cut into blocks of a register panel's width. A task multiplies the state before by
// the weights of all gates of its units and carries on with the gates while the products are still
// in the first cache; one barrier a step is all that is needed, because the next one reads the
// whole state. The weights are packed once for all steps.
#include "tandem/kernels/rnn.h"

#include <memory>
#include <optional>

#include "tandem/base/error.h"
#include "tandem/kernels/rnn_detail.h"

namespace tandem::kernels {
namespace detail {
namespace {

template <class T>
class Forward {
 public:
  explicit Forward(const RnnForward& f)
      : f_(f), steps_(f), ops_(gate_ops<T>()), n_gates_(gates_of(f.cell)) {}

  void run() {
    const bool packs = f_.steps >= kFewSteps;
    const int64_t h = f_.hidden;
    if (packs) weights_.emplace(in(f_.w_hh), 1, f_.out, f_.out, n_gates_, h);
    if (!packs) products_.emplace(f_.batch * n_gates_ * h);
    if (f_.w_hr) projection_.emplace(in(f_.w_hr), 1, h, h, 1, f_.out);
    if (f_.w_hr) unprojected_.emplace(f_.batch * h);
    state_.emplace(f_.batch * f_.out);
    for (int64_t i = 0; i < f_.steps; ++i) step(steps_.at(i));
    last_rows(out(f_.y), in(f_.h0), out(f_.hn), f_.out);
    if (f_.cell == RnnCell::lstm) last_rows(out(f_.cells), in(f_.c0), out(f_.cn), h);
  }

 private:
  static const T* in(const void* p) { return static_cast<const T*>(p); }
  static T* out(void* p) { return static_cast<T*>(p); }

  // The state that step t starts from, with all its rows one after the other.
  const T* state_before(int64_t t) {
    const int64_t n = steps_.count(t), s = steps_.before(t), m = steps_.count(s);
    if (m == 0) return in(f_.h0);
    const T* y = in(f_.y) + steps_.first(s) * f_.out;
    if (m >= n) return y;
    copy_elements(y, m * f_.out, state_->get());
    copy_elements(in(f_.h0) + m * f_.out, (n - m) * f_.out, state_->get() + m * f_.out);
    return state_->get();
  }

  void step(int64_t t) {
    const int64_t n = steps_.count(t), h = f_.hidden;
    const T* state = state_before(t);
    if (!weights_) {
      gemm({.dtype = f_.dtype,
            .m = n,
            .n = n_gates_ * h,
            .k = f_.out,
            .a = state,
            .lda = f_.out,
            .b = f_.w_hh,
            .ldb = f_.out,
            .transb = true,
            .c = products_->get(),
            .ldc = n_gates_ * h});
      const int64_t width = 64;
      each_block(n, (h + width - 1) / width, width * n_gates_ * 16,
                 [&](int64_t block, int64_t begin, int64_t end) {
                   const int64_t u = block * width;
                   gates(t, state, begin, end, u, std::min(width, h - u),
                         products_->get() + begin * n_gates_ * h + u, h);
                 });
    } else {
      const int64_t cols = weights_->cols();
      each_block(n, weights_->blocks(), f_.out * cols * n_gates_,
                 [&](int64_t block, int64_t begin, int64_t end) {
                   alignas(64) T products[kMostProducts];
                   weights_->multiply(end - begin, state + begin * f_.out, f_.out, 0, f_.out, block,
                                      products, false);
                   gates(t, state, begin, end, block * cols, weights_->columns(block), products,
                         cols);
                 });
    }
    if (projection_) project(t);
  }

  // The gates of `width` units from u on, for rows [begin, end) of the step.
  void gates(int64_t t, const T* state, int64_t begin, int64_t end, int64_t u, int64_t width,
             const T* products, int64_t stride) {
    const int64_t h = f_.hidden;
    for (int64_t b = begin; b < end; ++b, products += n_gates_ * stride) {
      const int64_t row = steps_.first(t) + b;
      const T* gx = in(f_.gx) + row * n_gates_ * h + u;
      T* y = projection_ ? unprojected_->get() + b * h + u : out(f_.y) + row * f_.out + u;
      switch (f_.cell) {
        case RnnCell::lstm: {
          const T* c = steps_.row_before(t, b, in(f_.cells), h);
          ops_.lstm(width, h, gx, stride, products, (c ? c : in(f_.c0) + b * h) + u,
                    out(f_.gates) + row * 4 * h + u, out(f_.cells) + row * h + u, y);
          break;
        }
        case RnnCell::gru:
          ops_.gru(width, h, gx, stride, products, f_.b_hh ? in(f_.b_hh) + u : nullptr,
                   state + b * h + u, out(f_.gates) + row * 4 * h + u, y);
          break;
        case RnnCell::tanh:
          ops_.tanh(width, gx, products, y);
          break;
        case RnnCell::relu:
          ops_.relu(width, gx, products, y);
          break;
      }
    }
  }

  void project(int64_t t) {
    const int64_t h = f_.hidden, cols = projection_->cols();
    each_block(steps_.count(t), projection_->blocks(), h * cols,
               [&](int64_t block, int64_t begin, int64_t end) {
                 alignas(64) T products[kMostProducts];
                 projection_->multiply(end - begin, unprojected_->get() + begin * h, h, 0, h, block,
                                       products, false);
                 for (int64_t b = begin; b < end; ++b)
                   copy_elements(products + (b - begin) * cols, projection_->columns(block),
                                 out(f_.y) + (steps_.first(t) + b) * f_.out + block * cols);
               });
  }

  // What each sequence ends with.
  void last_rows(const T* data, const T* initial, T* last, int64_t width) const {
    for (int64_t i = 0; i < f_.steps; ++i) {
      const int64_t t = steps_.at(i);
      for (int64_t b = steps_.count(steps_.after(t)); b < steps_.count(t); ++b)
        copy_elements(data + (steps_.first(t) + b) * width, width, last + b * width);
    }
    if (f_.steps == 0) copy_elements(initial, f_.batch * width, last);
  }

  const RnnForward& f_;
  const Steps steps_;
  const GateOps<T>& ops_;
  const int64_t n_gates_;
  std::optional<PackedMatrix<T>> weights_, projection_;
  std::optional<Buffer<T>> products_, unprojected_, state_;
};

}  // namespace
}  // namespace detail

void rnn_forward(const RnnForward& f) {
  TANDEM_ASSERT(f.dtype == kFloat || f.dtype == kDouble, "rnn_forward: ", f.dtype);
  if (f.dtype == kFloat)
    detail::Forward<float>(f).run();
  else
    detail::Forward<double>(f).run();
}

}  // namespace tandem::kernels
