#pragma once

#include <array>

#include "tandem/core/tensor.h"

namespace tandem {

/// A borrowed tensor argument.
struct TensorArg {
  TensorImpl* impl;
  TensorArg(const Tensor& t) : impl(t.impl()) {}
};
using TensorArgs = ArrayRef<TensorArg>;

/// Runs an op: infers types, computes, and lets the results remember how they were made. This is
/// the one door: nobody else asks how we are running.
Tensor apply(const OpDef& op, TensorArgs inputs, AttrRef attrs = {});
/// The same for ops with several outputs.
void apply(const OpDef& op, TensorArgs inputs, AttrRef attrs, Tensor* outputs);
template <size_t N>
std::array<Tensor, N> apply_n(const OpDef& op, TensorArgs inputs, AttrRef attrs = {}) {
  std::array<Tensor, N> out;
  apply(op, inputs, attrs, out.data());
  return out;
}
/// Runs an op and writes its result over `self`, which takes over the result's history. `self` may
/// be among the inputs, and must be when its old values or its old history matter. It may be a
/// view: then its base and the base's other views change too.
Tensor& apply_inplace(const OpDef& op, const Tensor& self, TensorArgs inputs, AttrRef attrs = {});

/// Throws unless a write to `self` can be recorded: not for leaves, views of leaves, and views that
/// were made without grad mode. `name` is the op's, without the underscore.
void check_history_rebinds(const char* name, TensorImpl* self);
/// What was written over `self` came from `edge`: its history, and its base's if it is a view,
/// continue from there.
void rebase_history(TensorImpl* self, Edge edge);

/// Told of every op that this thread runs while it exists: for tests, profilers and the like.
class OpObserver {
 public:
  OpObserver();
  virtual ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;
  virtual void ran(const OpDef& op) = 0;

 private:
  OpObserver* outer_;
};

/// Copies values, converting and broadcasting; defined in ops/copy.cpp.
extern const OpDef kCopy;

/// A 0-d tensor that stands for a number in a call.
Tensor wrapped_number(const Scalar& value);

}  // namespace tandem
