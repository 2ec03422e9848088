#pragma once

#include <optional>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/serialize/archive.h"

/// Which examples make the next batch.
namespace tandem::data::samplers {

template <class BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  /// Begins again, perhaps with another number of examples.
  virtual void reset(std::optional<size_t> new_size) = 0;
  /// At most that many; nothing at the end.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

template <class BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                     const Sampler<BatchRequest>& sampler) {
  sampler.save(archive);
  return archive;
}
template <class BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive,
                                    Sampler<BatchRequest>& sampler) {
  sampler.load(archive);
  return archive;
}

/// A request other than a list of indices.
struct CustomBatchRequest {
  virtual ~CustomBatchRequest() = default;
  virtual size_t size() const = 0;
};

/// 0, 1, 2, ...
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t index() const noexcept { return index_; }

 private:
  size_t size_, index_ = 0;
};

/// All in random order, another one after each reset. The order comes from the default generator.
class RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, DType index_dtype = kLong);
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t index() const noexcept { return static_cast<size_t>(index_); }

 private:
  Tensor indices_;
  int64_t index_ = 0;
};

/// A number of examples, as streams want it.
struct BatchSize : CustomBatchRequest {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept override { return size_; }
  operator size_t() const noexcept { return size_; }
  size_t size_;
};

/// Only counts: an epoch is a number of examples.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  size_t examples_retrieved_so_far_ = 0, epoch_size_;
};

/// One of several samplers, in processes of their own, that share a data set among them.
template <class BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                     bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    TANDEM_CHECK(num_replicas > 0 && rank < num_replicas, "DistributedSampler: rank ", rank, " of ",
                 num_replicas, " replicas");
  }
  /// Random samplers of one epoch have one order in all processes, and another in the next epoch.
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const { return epoch_; }

 protected:
  /// With duplicates every replica gets equally many, and all examples are seen; without, some are
  /// left.
  size_t local_sample_count() const {
    return (size_ + (allow_duplicates_ ? num_replicas_ - 1 : 0)) / num_replicas_;
  }
  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_;
};

namespace detail {
/// What the two distributed samplers share: a run of the indices of all.
class RunSampler : public DistributedSampler<> {
 public:
  RunSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates);
  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const noexcept { return sample_index_; }

 protected:
  virtual void shuffle_indices() {}
  void begin();
  size_t begin_index_ = 0, end_index_ = 0, sample_index_ = 0;
  std::vector<size_t> all_indices_;
};
}  // namespace detail

class DistributedRandomSampler : public detail::RunSampler {
 public:
  DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                           bool allow_duplicates = true);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  void shuffle_indices() override;
};

class DistributedSequentialSampler : public detail::RunSampler {
 public:
  DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                               bool allow_duplicates = true);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
};

}  // namespace tandem::data::samplers
