#include "tandem/nn/modules/padding.h"

#include <ostream>

namespace tandem::nn {
namespace {

namespace F = functional;

template <size_t D>
std::vector<int64_t> numbers(const ExpandingArray<D>& padding) {
  return {padding->begin(), padding->end()};
}

// "ReflectionPad2d(padding=[1, 1, 2, 0]"
template <size_t D>
std::ostream& print_padding(std::ostream& stream, const char* name,
                            const ExpandingArray<D * 2>& padding) {
  return stream << PrintedName{name} << D << "d(padding=" << padding;
}

}  // namespace

template <size_t D, class Derived>
ReflectionPadImpl<D, Derived>::ReflectionPadImpl(const ReflectionPadOptions<D>& o) : options(o) {}
template <size_t D, class Derived>
void ReflectionPadImpl<D, Derived>::reset() {}
template <size_t D, class Derived>
Tensor ReflectionPadImpl<D, Derived>::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::pad(input, F::PadFuncOptions(numbers(options.padding())).mode(kReflect));
}
template <size_t D, class Derived>
void ReflectionPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "ReflectionPad", options.padding()) << ")";
}

template <size_t D, class Derived>
ReplicationPadImpl<D, Derived>::ReplicationPadImpl(const ReplicationPadOptions<D>& o)
    : options(o) {}
template <size_t D, class Derived>
void ReplicationPadImpl<D, Derived>::reset() {}
template <size_t D, class Derived>
Tensor ReplicationPadImpl<D, Derived>::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::pad(input, F::PadFuncOptions(numbers(options.padding())).mode(kReplicate));
}
template <size_t D, class Derived>
void ReplicationPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "ReplicationPad", options.padding()) << ")";
}

template <size_t D, class Derived>
ConstantPadImpl<D, Derived>::ConstantPadImpl(const ConstantPadOptions<D>& o) : options(o) {}
template <size_t D, class Derived>
void ConstantPadImpl<D, Derived>::reset() {}
template <size_t D, class Derived>
Tensor ConstantPadImpl<D, Derived>::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::pad(input, F::PadFuncOptions(numbers(options.padding())).value(options.value()));
}
template <size_t D, class Derived>
void ConstantPadImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_padding<D>(stream, "ConstantPad", options.padding())
      << ", value=" << options.value() << ")";
}

ZeroPad2dImpl::ZeroPad2dImpl(const ZeroPad2dOptions& o) : options(o) {}
void ZeroPad2dImpl::reset() {}
Tensor ZeroPad2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::pad(input, F::PadFuncOptions(numbers(options.padding())));
}
void ZeroPad2dImpl::pretty_print(std::ostream& stream) const {
  print_padding<2>(stream, "ZeroPad", options.padding()) << ")";
}

template class ReflectionPadImpl<1, ReflectionPad1dImpl>;
template class ReflectionPadImpl<2, ReflectionPad2dImpl>;
template class ReflectionPadImpl<3, ReflectionPad3dImpl>;
template class ReplicationPadImpl<1, ReplicationPad1dImpl>;
template class ReplicationPadImpl<2, ReplicationPad2dImpl>;
template class ReplicationPadImpl<3, ReplicationPad3dImpl>;
template class ConstantPadImpl<1, ConstantPad1dImpl>;
template class ConstantPadImpl<2, ConstantPad2dImpl>;
template class ConstantPadImpl<3, ConstantPad3dImpl>;

}  // namespace tandem::nn
