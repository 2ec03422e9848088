#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/linear.h"

/// The modules that a ModuleNetwork is made of. Each takes what is seen [batch, channels, rows,
/// columns], and attentions [batch, 1, rows, columns] from 0 to 1.
namespace tandem::models {

/// Where something is, square by square: an attention.
class FindModuleImpl : public nn::Cloneable<FindModuleImpl> {
 public:
  explicit FindModuleImpl(int64_t channels) : channels_(channels) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& seen);

  nn::Conv2d hidden{nullptr}, output{nullptr};

 private:
  int64_t channels_;
};
TANDEM_MODULE(FindModule);

/// Where an attention leads: it sees `width` squares around each.
class RelocateModuleImpl : public nn::Cloneable<RelocateModuleImpl> {
 public:
  RelocateModuleImpl(int64_t channels, int64_t width) : channels_(channels), width_(width) {
    reset();
  }
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& seen, const Tensor& attention);

  nn::Conv2d hidden{nullptr}, output{nullptr};

 private:
  int64_t channels_, width_;
};
TANDEM_MODULE(RelocateModule);

/// "and" or "or" of two attentions, as of probabilities of independent events.
class CombineModuleImpl : public nn::Cloneable<CombineModuleImpl> {
 public:
  explicit CombineModuleImpl(const char* name);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& seen, const Tensor& a, const Tensor& b);

 private:
  const char* name_;
  bool both_;
};
TANDEM_MODULE(CombineModule);

/// One minus an attention.
class NotModuleImpl : public nn::Cloneable<NotModuleImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& seen, const Tensor& attention);
};
TANDEM_MODULE(NotModule);

/// What the modules that answer share: two linear layers from features to scores.
template <class Derived>
class AnswerModuleBase : public nn::Cloneable<Derived> {
 public:
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  nn::Linear hidden{nullptr}, output{nullptr};

 protected:
  AnswerModuleBase(const char* name, int64_t features, int64_t channels, int64_t answers);
  Tensor answer(const Tensor& features);

  const char* name_;

 private:
  int64_t features_, channels_, answers_;
};

/// An answer about what is seen where an attention is, on the average.
class DescribeModuleImpl : public AnswerModuleBase<DescribeModuleImpl> {
 public:
  DescribeModuleImpl(int64_t channels, int64_t answers)
      : AnswerModuleBase("DescribeModule", channels, channels, answers) {}
  Tensor forward(const Tensor& seen, const Tensor& attention);
};
TANDEM_MODULE(DescribeModule);

/// An answer about how much an attention covers: its sum and its greatest value.
class MeasureModuleImpl : public AnswerModuleBase<MeasureModuleImpl> {
 public:
  MeasureModuleImpl(int64_t channels, int64_t answers)
      : AnswerModuleBase("MeasureModule", 2, channels, answers) {}
  Tensor forward(const Tensor& seen, const Tensor& attention);
};
TANDEM_MODULE(MeasureModule);

/// An answer about how much more the first of two attentions covers.
class CompareModuleImpl : public AnswerModuleBase<CompareModuleImpl> {
 public:
  CompareModuleImpl(int64_t channels, int64_t answers)
      : AnswerModuleBase("CompareModule", 1, channels, answers) {}
  Tensor forward(const Tensor& seen, const Tensor& a, const Tensor& b);
};
TANDEM_MODULE(CompareModule);

}  // namespace tandem::models
