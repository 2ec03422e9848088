#include "tandem/nn/modules/upsampling.h"

#include <ostream>

#include "tandem/base/array_ref.h"

namespace tandem::nn {

UpsampleImpl::UpsampleImpl(const UpsampleOptions& o) : options(o) {}

void UpsampleImpl::reset() {}

void UpsampleImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Upsample"} << "(";
  if (options.scale_factor())
    stream << "scale_factor=" << ArrayRef<double>(*options.scale_factor());
  else if (options.size())
    stream << "size=" << IntArrayRef(*options.size());
  stream << ", mode=" << enumtype::get_enum_name(options.mode()) << ")";
}

Tensor UpsampleImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  functional::InterpolateFuncOptions o;
  o.size(options.size())
      .scale_factor(options.scale_factor())
      .align_corners(options.align_corners());
  std::visit([&](auto mode) { o.mode(mode); }, options.mode());
  return functional::interpolate(input, o);
}

}  // namespace tandem::nn
