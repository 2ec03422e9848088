#pragma once

#include <functional>
#include <utility>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

/// A function as a module, for example in a Sequential. Further arguments are bound:
///
///     Functional(tandem::relu)    Functional(tandem::leaky_relu, 0.2)
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<Tensor(Tensor)>;

  explicit FunctionalImpl(Function function);
  template <class F, class... Args>
  requires(sizeof...(Args) > 0) explicit FunctionalImpl(F function, Args&&... args)
      : FunctionalImpl(Function(
            std::bind(std::move(function), std::placeholders::_1, std::forward<Args>(args)...))) {}

  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
  Tensor operator()(Tensor input) { return forward(std::move(input)); }
  /// A function cannot be saved.
  bool is_serializable() const override { return false; }

 private:
  Function function_;
};
TANDEM_MODULE(Functional);

}  // namespace tandem::nn
