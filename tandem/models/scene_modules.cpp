#include "tandem/models/scene_modules.h"

#include <ostream>
#include <string_view>

#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

// An answer given where an attention is wanted would be broadcast, and nobody would notice.
void expect_attention(const char* module, const Tensor& seen, const Tensor& attention) {
  TANDEM_CHECK_SHAPE(attention.defined() && attention.dim() == 4 &&
                         attention.size(0) == seen.size(0) && attention.size(1) == 1 &&
                         attention.size(2) == seen.size(2) && attention.size(3) == seen.size(3),
                     module, ": an attention [", seen.size(0), ", 1, ", seen.size(2), ", ",
                     seen.size(3), "] is wanted, got ",
                     attention.defined() ? str(attention.type_of()) : "an undefined tensor");
}

Tensor sum_of(const Tensor& attention) { return attention.flatten(1).sum(1, /*keepdim=*/true); }

}  // namespace

void FindModuleImpl::reset() {
  hidden = register_module("hidden", nn::Conv2d(channels_, channels_, 1));
  output = register_module("output", nn::Conv2d(channels_, 1, 1));
}
void FindModuleImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::FindModule(" << channels_ << ")";
}
Tensor FindModuleImpl::forward(const Tensor& seen) {
  const nn::ForwardScope scope(*this);
  return output(relu(hidden(seen))).sigmoid();
}

void RelocateModuleImpl::reset() {
  hidden = register_module("hidden",
                           nn::Conv2d(nn::Conv2dOptions(1, channels_, width_).padding(width_ / 2)));
  output = register_module("output", nn::Conv2d(channels_, 1, 1));
}
void RelocateModuleImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::RelocateModule(" << channels_ << ", width=" << width_ << ")";
}
Tensor RelocateModuleImpl::forward(const Tensor& seen, const Tensor& attention) {
  const nn::ForwardScope scope(*this);
  expect_attention("RelocateModule", seen, attention);
  return output(relu(hidden(attention))).sigmoid();
}

CombineModuleImpl::CombineModuleImpl(const char* name)
    : name_(name), both_(std::string_view(name) == "and") {
  TANDEM_CHECK(both_ || std::string_view(name) == "or", "CombineModule: 'and' or 'or', not '", name,
               "'");
}
void CombineModuleImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::CombineModule(" << name_ << ")";
}
Tensor CombineModuleImpl::forward(const Tensor& seen, const Tensor& a, const Tensor& b) {
  const nn::ForwardScope scope(*this);
  expect_attention(name_, seen, a);
  expect_attention(name_, seen, b);
  return both_ ? a * b : a + b - a * b;
}

void NotModuleImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::NotModule()";
}
Tensor NotModuleImpl::forward(const Tensor& seen, const Tensor& attention) {
  const nn::ForwardScope scope(*this);
  expect_attention("not", seen, attention);
  return 1 - attention;
}

template <class Derived>
AnswerModuleBase<Derived>::AnswerModuleBase(const char* name, int64_t features, int64_t channels,
                                            int64_t answers)
    : name_(name), features_(features), channels_(channels), answers_(answers) {
  AnswerModuleBase::reset();
}
template <class Derived>
void AnswerModuleBase<Derived>::reset() {
  hidden = this->register_module("hidden", nn::Linear(features_, channels_));
  output = this->register_module("output", nn::Linear(channels_, answers_));
}
template <class Derived>
void AnswerModuleBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::" << name_ << "(" << channels_ << ", " << answers_ << ")";
}
template <class Derived>
Tensor AnswerModuleBase<Derived>::answer(const Tensor& features) {
  return output(relu(hidden(features)));
}
template class AnswerModuleBase<DescribeModuleImpl>;
template class AnswerModuleBase<MeasureModuleImpl>;
template class AnswerModuleBase<CompareModuleImpl>;

Tensor DescribeModuleImpl::forward(const Tensor& seen, const Tensor& attention) {
  const nn::ForwardScope scope(*this);
  expect_attention(name_, seen, attention);
  const Tensor sum = (seen.flatten(2) * attention.flatten(2)).sum(2);
  return answer(sum / (sum_of(attention) + 1e-6));
}

Tensor MeasureModuleImpl::forward(const Tensor& seen, const Tensor& attention) {
  const nn::ForwardScope scope(*this);
  expect_attention(name_, seen, attention);
  const Tensor most = attention.flatten(1).amax({1}, /*keepdim=*/true);
  return answer(cat({sum_of(attention), most}, 1));
}

Tensor CompareModuleImpl::forward(const Tensor& seen, const Tensor& a, const Tensor& b) {
  const nn::ForwardScope scope(*this);
  expect_attention(name_, seen, a);
  expect_attention(name_, seen, b);
  return answer(sum_of(a) - sum_of(b));
}

}  // namespace tandem::models
