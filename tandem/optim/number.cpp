#include "tandem/optim/number.h"

#include "tandem/core/recorder.h"
#include "tandem/ops/creation.h"

namespace tandem::optim {
namespace {

// What is recorded runs again later, but plain C++ around it does not.
void check_not_recorded(const char* what) {
  const Recorder* r = t_mode.recorder;
  TANDEM_CHECK(!r || !r->keeps_branches(), what,
               " was changed while a function was being recorded: the compiled function would not "
               "do it again. Change it between the calls; compiled steps follow.");
}

// A tensor of one element that belongs to no recording, whoever asks for it.
Tensor one(const Scalar& value, DType dtype) {
  const RecorderScope eager(nullptr);
  const InferenceMode normal(false);
  const NoGradGuard no_grad;
  return full({}, value, dtype);
}

}  // namespace

const Tensor& Number::tensor() const {
  if (!tensor_.defined()) tensor_ = one(value_, kDouble);
  return tensor_;
}

void Number::set(double value) {
  if (value == value_) return;
  if (tensor_.defined()) {
    check_not_recorded("an option of an optimizer");
    // Asking for the address runs what is pending and still reads the old value.
    *tensor_.data_ptr<double>() = value;
  }
  value_ = value;
  nonzero_ = value != 0;
}

Counter::Counter(int64_t value) : tensor_(one(value, kLong)) {}

int64_t Counter::get() const { return *tensor_.const_data_ptr<int64_t>(); }

void Counter::set(int64_t value) {
  check_not_recorded("the step counter of an optimizer");
  *tensor_.data_ptr<int64_t>() = value;
}

}  // namespace tandem::optim
