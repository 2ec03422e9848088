#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/base/array_ref.h"
#include "tandem/data/current_sample.h"
#include "tandem/data/example.h"
#include "tandem/ops/join.h"
#include "tandem/ops/tensor_index.h"
#include "tandem/serialize/archive.h"

namespace tandem::data::datasets {

template <class Source, class AppliedTransform>
class MapDataset;
template <class D, class T>
MapDataset<D, T> map(D dataset, T transform);

namespace detail {
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <bool condition, class T>
using optional_if_t = std::conditional_t<condition, std::optional<T>, T>;
}  // namespace detail

/// A source of batches. One that gives optional batches decides itself when it ends: it is
/// stateful.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  static constexpr bool is_stateful = detail::is_optional<BatchType>::value;

  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  /// The number of examples, if that is known.
  virtual std::optional<size_t> size() const = 0;

  /// The same data with a transform after it.
  template <class TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

/// A source of single examples by index.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;
  virtual ExampleType get(size_t index) = 0;
  std::vector<ExampleType> get_batch(ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (const size_t i : indices) {
      data::detail::at_sample(batch.size());
      batch.push_back(get(i));
    }
    return batch;
  }
};

/// A source without indices: a request is a number of examples.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

/// A source that knows where it is, and can be asked to remember that.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  virtual void reset() = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};
template <class... Args>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                     const StatefulDataset<Args...>& dataset) {
  dataset.save(archive);
  return archive;
}
template <class... Args>
serialize::InputArchive& operator>>(serialize::InputArchive& archive,
                                    StatefulDataset<Args...>& dataset) {
  dataset.load(archive);
  return archive;
}

/// A data set followed by a transform.
template <class Source, class AppliedTransform>
class MapDataset
    : public BatchDataset<
          MapDataset<Source, AppliedTransform>,
          detail::optional_if_t<Source::is_stateful, typename AppliedTransform::OutputBatchType>,
          typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = AppliedTransform;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType =
      detail::optional_if_t<Source::is_stateful, typename AppliedTransform::OutputBatchType>;

  MapDataset(DatasetType dataset, TransformType transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (Source::is_stateful) {
      auto batch = dataset_.get_batch(std::move(request));
      if (!batch) return std::nullopt;
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  std::optional<size_t> size() const noexcept override { return dataset_.size(); }
  void reset() { dataset_.reset(); }
  void save(serialize::OutputArchive& archive) const { dataset_.save(archive); }
  void load(serialize::InputArchive& archive) { dataset_.load(archive); }
  const Source& dataset() noexcept { return dataset_; }
  const AppliedTransform& transform() noexcept { return transform_; }

 private:
  Source dataset_;
  AppliedTransform transform_;
};

template <class D, class T>
MapDataset<D, T> map(D dataset, T transform) {
  using Batch = typename D::BatchType;
  if constexpr (D::is_stateful)
    static_assert(std::is_same_v<typename Batch::value_type, typename T::InputBatchType>,
                  "BatchType type of dataset does not match input type of transform");
  else
    static_assert(std::is_same_v<Batch, typename T::InputBatchType>,
                  "BatchType type of dataset does not match input type of transform");
  return {std::move(dataset), std::move(transform)};
}

/// A data set that all workers share, instead of a copy for each. It must be safe to call from
/// several threads.
template <class Underlying>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<Underlying>, typename Underlying::BatchType,
                          typename Underlying::BatchRequestType> {
 public:
  using BatchType = typename Underlying::BatchType;
  using BatchRequestType = typename Underlying::BatchRequestType;

  SharedBatchDataset(std::shared_ptr<Underlying> dataset) : dataset_(std::move(dataset)) {}

  BatchType get_batch(BatchRequestType request) override {
    return dataset_->get_batch(std::move(request));
  }
  std::optional<size_t> size() const override { return dataset_->size(); }
  Underlying& operator*() { return *dataset_; }
  const Underlying& operator*() const { return *dataset_; }
  Underlying* operator->() { return dataset_.get(); }
  const Underlying* operator->() const { return dataset_.get(); }
  void reset() { dataset_->reset(); }
  void save(serialize::OutputArchive& archive) const { dataset_->save(archive); }
  void load(serialize::InputArchive& archive) { dataset_->load(archive); }

 private:
  std::shared_ptr<Underlying> dataset_;
};

template <class Underlying, class... Args>
SharedBatchDataset<Underlying> make_shared_dataset(Args&&... args) {
  return std::make_shared<Underlying>(std::forward<Args>(args)...);
}

/// The rows of a tensor.
struct TensorDataset : Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const std::vector<Tensor>& tensors) : TensorDataset(stack(tensors)) {}
  explicit TensorDataset(Tensor tensor) : tensor(std::move(tensor)) {}
  TensorExample get(size_t index) override { return tensor[static_cast<int64_t>(index)]; }
  std::optional<size_t> size() const override { return static_cast<size_t>(tensor.size(0)); }

  Tensor tensor;
};

}  // namespace tandem::data::datasets
