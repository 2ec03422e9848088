#include "tandem/nn/modules/container/functional.h"

#include <ostream>

namespace tandem::nn {

FunctionalImpl::FunctionalImpl(Function function) : function_(std::move(function)) {
  TANDEM_CHECK(function_, "Functional: the function is empty");
}

void FunctionalImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Functional"} << "()";
}

Tensor FunctionalImpl::forward(Tensor input) {
  ForwardScope scope(*this);
  return function_(std::move(input));
}

}  // namespace tandem::nn
