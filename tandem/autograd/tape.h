#pragma once

#include <initializer_list>

#include "tandem/core/tensor.h"

namespace tandem {

/// Gradients in the manner of TensorFlow:
///
///   std::vector<Tensor> g;
///   {
///     GradientTape tape;
///     tape.watch({w1, w2});
///     Tensor loss = (x.mm(w1).relu().mm(w2) - y).pow(2).sum();
///     g = tape.gradient(loss, {w1, w2});
///   }
///   w1 -= 1e-6 * g[0];
///
/// Tensors that require a gradient are watched without being told. Others are made to require one
/// by watch() for as long as the tape lives. A tape gives gradients once; a persistent one any
/// number of times, and its gradients can be differentiated again, by itself or, if tapes are
/// nested, by the outer one. A tape belongs to the thread that made it.
class GradientTape {
 public:
  struct Options {
    bool persistent;
  };

  GradientTape() : GradientTape(Options{false}) {}
  explicit GradientTape(const Options& options);
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// To be called before the tensor is used.
  void watch(const Tensor& t);
  void watch(TensorList tensors);

  /// The gradient of `target` by `source`, undefined if the one does not depend on the other. A
  /// target with several elements is summed, or weighed with `output_gradient` if that is given.
  Tensor gradient(const Tensor& target, const Tensor& source, const Tensor& output_gradient = {});
  std::vector<Tensor> gradient(const Tensor& target, TensorList sources,
                               const Tensor& output_gradient = {});
  std::vector<Tensor> gradient(const Tensor& target, std::initializer_list<Tensor> sources,
                               const Tensor& output_gradient = {}) {
    return gradient(target, TensorList(sources), output_gradient);
  }

 private:
  struct Watched {
    intrusive_ptr<TensorImpl> tensor;
    bool had_node;  // before it was watched
  };

  const bool persistent_;
  const int depth_;  // 1: no other tape is around this one
  bool used_ = false;
  AutoGradMode with_grad_;
  std::vector<Watched> watched_;
};

}  // namespace tandem
