// Backward through the steps of a recurrent layer: the mirror image of rnn.cpp. The gradient by the
// weights is one product over all steps at the end.
#include <memory>
#include <optional>

#include "tandem/base/error.h"
#include "tandem/kernels/rnn_detail.h"

namespace tandem::kernels {
namespace detail {
namespace {

template <class T>
class Backward {
 public:
  explicit Backward(const RnnBackward& b)
      : b_(b), steps_(b), ops_(gate_ops<T>()), n_gates_(gates_of(b.cell)) {}

  void run() {
    const int64_t h = b_.hidden, rows = steps_.rows();
    const bool packs = b_.steps >= kFewSteps;
    if (packs) weights_.emplace(in(b_.w_hh), b_.out, 1, n_gates_ * h, 1, b_.out);
    if (!packs) products_.emplace(b_.batch * b_.out);
    if (b_.w_hr) {
      projection_.emplace(in(b_.w_hr), h, 1, b_.out, 1, h);
      projected_.emplace(rows * b_.out);
    }
    if (b_.cell == RnnCell::gru) past_.emplace(b_.batch * h);
    if (b_.cell == RnnCell::lstm) {
      if (!b_.dc0) cell_.emplace(b_.batch * h);
      dc_ = b_.dc0 ? out(b_.dc0) : cell_->get();
      copy_elements(in(b_.dcn), b_.batch * h, dc_);
    }
    for (int64_t i = b_.steps - 1; i >= 0; --i) {
      const int64_t t = steps_.at(i);
      if (!weights_) products_of(steps_.after(t), 0, steps_.count(t));
      if (projection_)
        projected_step(t);
      else
        step(t);
      // Sequences that begin with this step.
      if (b_.dh0) begins(t, steps_.count(steps_.before(t)), steps_.count(t));
    }
    if (b_.dh0 && b_.steps == 0) copy_elements(in(b_.dhn), b_.batch * b_.out, out(b_.dh0));
    if (b_.dw_hh) weight_gradient();
    if (b_.dw_hr) projection_gradient();
  }

 private:
  static const T* in(const void* p) { return static_cast<const T*>(p); }
  static T* out(void* p) { return static_cast<T*>(p); }

  // Without packed weights: rows [begin, end) of the gradients of step s times the weights.
  void products_of(int64_t s, int64_t begin, int64_t end) {
    const int64_t h = b_.hidden, m = std::min(end, steps_.count(s)) - begin;
    if (m <= 0) return;
    const bool gru = b_.cell == RnnCell::gru;
    const int64_t direct = (gru ? 2 : n_gates_) * h, row = steps_.first(s) + begin;
    Gemm g{.dtype = b_.dtype,
           .m = m,
           .n = b_.out,
           .k = direct,
           .a = in(b_.dgx) + row * n_gates_ * h,
           .lda = n_gates_ * h,
           .b = b_.w_hh,
           .ldb = b_.out,
           .c = products_->get() + begin * b_.out,
           .ldc = b_.out};
    gemm(g);
    if (!gru) return;
    g.k = h;
    g.a = in(b_.dnew) + row * h;
    g.lda = h;
    g.b = in(b_.w_hh) + direct * b_.out;
    g.beta = 1;
    gemm(g);
  }

  // The same for one block of columns: products has `cols` elements a row. Gives where the rows
  // are, and how far apart.
  std::pair<const T*, int64_t> block_products(int64_t s, int64_t begin, int64_t m, int64_t block,
                                              int64_t cols, T* products) const {
    if (!weights_) return {products_->get() + begin * b_.out + block * cols, b_.out};
    const int64_t h = b_.hidden, row = steps_.first(s) + begin;
    const bool gru = b_.cell == RnnCell::gru;
    const int64_t direct = (gru ? 2 : n_gates_) * h;
    weights_->multiply(m, in(b_.dgx) + row * n_gates_ * h, n_gates_ * h, 0, direct, block, products,
                       false);
    if (gru)
      weights_->multiply(m, in(b_.dnew) + row * h, h, direct, direct + h, block, products, true);
    return {products, cols};
  }

  int64_t block_cols() const { return weights_ ? weights_->cols() : 32; }
  int64_t blocks() const { return (b_.out + block_cols() - 1) / block_cols(); }
  int64_t work() const {
    return weights_ ? n_gates_ * b_.hidden * block_cols() : 16 * block_cols();
  }

  // The gradient by the state after step t for some of its rows and a block of columns: what came
  // back from the result, from the step after, or from the state at the end. dh[b * width + j].
  void state_gradient(int64_t t, int64_t begin, int64_t end, int64_t block, int64_t width,
                      T* dh) const {
    const int64_t s = steps_.after(t), u = block * block_cols();
    const int64_t m = std::min(end, steps_.count(s));
    alignas(64) T room[kMostProducts / 4];
    const T* products = nullptr;
    int64_t stride = 0;
    if (m > begin)
      std::tie(products, stride) = block_products(s, begin, m - begin, block, block_cols(), room);
    for (int64_t b = begin; b < end; ++b, dh += width) {
      const T* dy = in(b_.dy) + (steps_.first(t) + b) * b_.out + u;
      const T* back = b < m ? products + (b - begin) * stride : in(b_.dhn) + b * b_.out + u;
      for (int64_t j = 0; j < width; ++j) dh[j] = dy[j] + back[j];
      if (b < m && past_) {
        const T* past = past_->get() + b * b_.hidden + u;
        for (int64_t j = 0; j < width; ++j) dh[j] += past[j];
      }
    }
  }

  void step(int64_t t) {
    each_block(steps_.count(t), blocks(), work(), [&](int64_t block, int64_t begin, int64_t end) {
      alignas(64) T dh[kMostRows * kMostPanelCols];
      const int64_t u = block * block_cols(), width = std::min(block_cols(), b_.out - u);
      state_gradient(t, begin, end, block, width, dh);
      gates(t, begin, end, u, width, dh, width);
    });
  }

  void projected_step(int64_t t) {
    T* dh = projected_->get() + steps_.first(t) * b_.out;
    each_block(steps_.count(t), blocks(), work(), [&](int64_t block, int64_t begin, int64_t end) {
      alignas(64) T part[kMostRows * kMostPanelCols];
      const int64_t u = block * block_cols(), width = std::min(block_cols(), b_.out - u);
      state_gradient(t, begin, end, block, width, part);
      for (int64_t b = begin; b < end; ++b)
        copy_elements(part + (b - begin) * width, width, dh + b * b_.out + u);
    });
    const int64_t cols = projection_->cols();
    each_block(steps_.count(t), projection_->blocks(), b_.out * cols,
               [&](int64_t block, int64_t begin, int64_t end) {
                 alignas(64) T products[kMostProducts / 4];
                 projection_->multiply(end - begin, dh + begin * b_.out, b_.out, 0, b_.out, block,
                                       products, false);
                 gates(t, begin, end, block * cols, projection_->columns(block), products, cols);
               });
  }

  // dh[b * stride]: the gradient by the units' states.
  void gates(int64_t t, int64_t begin, int64_t end, int64_t u, int64_t width, const T* dh,
             int64_t stride) {
    const int64_t h = b_.hidden;
    for (int64_t b = begin; b < end; ++b, dh += stride) {
      const int64_t row = steps_.first(t) + b;
      T* dgates = out(b_.dgx) + row * n_gates_ * h + u;
      switch (b_.cell) {
        case RnnCell::lstm: {
          const T* c = steps_.row_before(t, b, in(b_.cells), h);
          ops_.lstm_backward(width, h, in(b_.gates) + row * 4 * h + u, in(b_.cells) + row * h + u,
                             (c ? c : in(b_.c0) + b * h) + u, dh, dc_ + b * h + u, dgates);
          break;
        }
        case RnnCell::gru: {
          const T* y = steps_.row_before(t, b, in(b_.y), h);
          ops_.gru_backward(width, h, in(b_.gates) + row * 4 * h + u,
                            (y ? y : in(b_.h0) + b * h) + u, dh, dgates, out(b_.dnew) + row * h + u,
                            past_->get() + b * h + u);
          break;
        }
        case RnnCell::tanh:
          ops_.tanh_backward(width, in(b_.y) + row * h + u, dh, dgates);
          break;
        case RnnCell::relu:
          ops_.relu_backward(width, in(b_.y) + row * h + u, dh, dgates);
          break;
      }
    }
  }

  // dh0 of the sequences [begin, end), which begin with step t.
  void begins(int64_t t, int64_t begin, int64_t end) {
    if (begin >= end) return;
    if (!weights_) products_of(t, begin, end);
    each_block(end - begin, blocks(), work(), [&](int64_t block, int64_t first, int64_t last) {
      alignas(64) T room[kMostProducts / 4];
      const int64_t u = block * block_cols(), width = std::min(block_cols(), b_.out - u);
      const auto [products, stride] =
          block_products(t, begin + first, last - first, block, block_cols(), room);
      for (int64_t b = begin + first; b < begin + last; ++b) {
        T* dh = out(b_.dh0) + b * b_.out + u;
        const T* from = products + (b - begin - first) * stride;
        for (int64_t j = 0; j < width; ++j) dh[j] = from[j];
        if (!past_) continue;
        const T* past = past_->get() + b * b_.hidden + u;
        for (int64_t j = 0; j < width; ++j) dh[j] += past[j];
      }
    });
  }

  void weight_gradient() {
    const int64_t h = b_.hidden, rows = steps_.rows();
    // The state that each row started from.
    const Buffer<T> before(rows * b_.out);
    for (int64_t t = 0; t < b_.steps; ++t)
      for (int64_t b = 0; b < steps_.count(t); ++b) {
        const T* y = steps_.row_before(t, b, in(b_.y), b_.out);
        copy_elements(y ? y : in(b_.h0) + b * b_.out, b_.out,
                      before.get() + (steps_.first(t) + b) * b_.out);
      }
    const bool gru = b_.cell == RnnCell::gru;
    Gemm g{.dtype = b_.dtype,
           .m = (gru ? 2 : n_gates_) * h,
           .n = b_.out,
           .k = rows,
           .a = b_.dgx,
           .lda = n_gates_ * h,
           .transa = true,
           .b = before.get(),
           .ldb = b_.out,
           .c = b_.dw_hh,
           .ldc = b_.out};
    gemm(g);
    if (!gru) return;
    g.c = out(b_.dw_hh) + g.m * b_.out;
    g.m = h;
    g.a = b_.dnew;
    g.lda = h;
    gemm(g);
  }

  void projection_gradient() {
    const int64_t h = b_.hidden, rows = steps_.rows();
    const Buffer<T> states(rows * h);
    parallel_for(0, rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, h)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; ++r)
                     ops_.lstm_state(h, in(b_.gates) + r * 4 * h + 3 * h, in(b_.cells) + r * h,
                                     states.get() + r * h);
                 });
    gemm({.dtype = b_.dtype,
          .m = b_.out,
          .n = h,
          .k = rows,
          .a = projected_->get(),
          .lda = b_.out,
          .transa = true,
          .b = states.get(),
          .ldb = h,
          .c = b_.dw_hr,
          .ldc = h});
  }

  const RnnBackward& b_;
  const Steps steps_;
  const GateOps<T>& ops_;
  const int64_t n_gates_;
  std::optional<PackedMatrix<T>> weights_, projection_;
  std::optional<Buffer<T>> products_, projected_, past_, cell_;
  T* dc_ = nullptr;
};

}  // namespace
}  // namespace detail

void rnn_backward(const RnnBackward& b) {
  TANDEM_ASSERT(b.dtype == kFloat || b.dtype == kDouble, "rnn_backward: ", b.dtype);
  if (b.dtype == kFloat)
    detail::Backward<float>(b).run();
  else
    detail::Backward<double>(b).run();
}

}  // namespace tandem::kernels
