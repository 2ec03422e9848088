#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tandem/data/current_sample.h"
#include "tandem/data/example.h"

namespace tandem::data::transforms {

/// From a batch to another.
template <class InputBatch, class OutputBatch>
class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  virtual OutputBatch apply_batch(InputBatch input_batch) = 0;
};

/// The same for each example by itself.
template <class Input, class Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;
  virtual OutputType apply(InputType input) = 0;
  std::vector<Output> apply_batch(std::vector<Input> inputs) override {
    std::vector<Output> outputs;
    outputs.reserve(inputs.size());
    for (Input& input : inputs) {
      data::detail::at_sample(outputs.size());
      outputs.push_back(apply(std::move(input)));
    }
    return outputs;
  }
};

/// A function of batches.
template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using typename BatchTransform<Input, Output>::InputBatchType;
  using typename BatchTransform<Input, Output>::OutputBatchType;
  using FunctionType = std::function<OutputBatchType(InputBatchType)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  OutputBatchType apply_batch(InputBatchType batch) override { return function_(std::move(batch)); }

 private:
  FunctionType function_;
};

/// A function of examples.
template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using typename Transform<Input, Output>::InputType;
  using typename Transform<Input, Output>::OutputType;
  using FunctionType = std::function<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  OutputType apply(InputType input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

/// Makes one thing of a batch.
template <class T, class BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;
template <class T, class BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

/// Puts tensors of equal shapes into one tensor with the examples along dimension 0.
template <class T = Example<>>
struct Stack;
template <>
struct Stack<Example<>> : Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override;
};
template <>
struct Stack<TensorExample> : Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override;
};

/// Changes the data of an example and leaves the target.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;
  using typename Transform<E, E>::InputType;
  using typename Transform<E, E>::OutputType;
  virtual Tensor operator()(Tensor input) = 0;
  OutputType apply(InputType input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

namespace detail {
/// Numbers for the channels of an image, as [C, 1, 1].
Tensor per_channel(ArrayRef<double> values);
Tensor normalize(const Tensor& image, const Tensor& mean, const Tensor& stddev);
}  // namespace detail

/// (x - mean) / stddev, with a number for each channel or one for all.
template <class Target = Tensor>
struct Normalize : TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev)
      : mean(detail::per_channel(mean)), stddev(detail::per_channel(stddev)) {}
  Tensor operator()(Tensor input) override { return detail::normalize(input, mean, stddev); }
  Tensor mean, stddev;
};

}  // namespace tandem::data::transforms
