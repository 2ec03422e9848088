#include "tandem/nn/modules/fold.h"

#include <ostream>

#include "tandem/nn/functional/fold.h"

namespace tandem::nn {

FoldImpl::FoldImpl(const FoldOptions& o) : options(o) {}
void FoldImpl::reset() {}
void FoldImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Fold"} << "(output_size=" << options.output_size()
         << ", kernel_size=" << options.kernel_size() << ", dilation=" << options.dilation()
         << ", padding=" << options.padding() << ", stride=" << options.stride() << ")";
}
Tensor FoldImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::fold(input, options);
}

UnfoldImpl::UnfoldImpl(const UnfoldOptions& o) : options(o) {}
void UnfoldImpl::reset() {}
void UnfoldImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Unfold"} << "(kernel_size=" << options.kernel_size()
         << ", dilation=" << options.dilation() << ", padding=" << options.padding()
         << ", stride=" << options.stride() << ")";
}
Tensor UnfoldImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::unfold(input, options);
}

}  // namespace tandem::nn
