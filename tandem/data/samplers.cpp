#include "tandem/data/samplers.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "tandem/ops/ops.h"

namespace tandem::data::samplers {
namespace {

void write_count(serialize::OutputArchive& archive, const char* key, size_t value) {
  archive.write(key, tensor(static_cast<int64_t>(value), kLong), /*is_buffer=*/true);
}

/// A count that an archive holds, which must not be above the limit.
size_t read_count(serialize::InputArchive& archive, const char* key, size_t limit) {
  Tensor t;
  archive.read(key, t, /*is_buffer=*/true);
  TANDEM_CHECK(t.defined() && t.numel() == 1 && isIntegralType(t.scalar_type()), "load: '", key,
               "' of a sampler is not a number");
  const int64_t value = t.item<int64_t>();
  TANDEM_CHECK(value >= 0 && static_cast<size_t>(value) <= limit, "load: the sampler was at ",
               value, ", but there are only ", limit, " examples");
  return static_cast<size_t>(value);
}

}  // namespace

void SequentialSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  if (index_ >= size_) return std::nullopt;
  std::vector<size_t> indices(std::min(batch_size, size_ - index_));
  std::iota(indices.begin(), indices.end(), index_);
  index_ += indices.size();
  return indices;
}

void SequentialSampler::save(serialize::OutputArchive& archive) const {
  write_count(archive, "index", index_);
}
void SequentialSampler::load(serialize::InputArchive& archive) {
  // How many examples there are may be said later, by reset().
  index_ = read_count(archive, "index", SIZE_MAX);
}

RandomSampler::RandomSampler(int64_t size, DType index_dtype)
    : indices_(randperm(size, TensorOptions(index_dtype))) {}

void RandomSampler::reset(std::optional<size_t> new_size) {
  const int64_t size = new_size ? static_cast<int64_t>(*new_size) : indices_.numel();
  indices_ = randperm(size, indices_.options());
  index_ = 0;
}

std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  const int64_t left = indices_.numel() - index_;
  if (left == 0) return std::nullopt;
  const int64_t n = std::min<int64_t>(static_cast<int64_t>(batch_size), left);
  const Tensor slice = indices_.narrow(0, index_, n).to(kLong).contiguous();
  index_ += n;
  const int64_t* data = slice.data_ptr<int64_t>();
  return std::vector<size_t>(data, data + n);
}

void RandomSampler::save(serialize::OutputArchive& archive) const {
  write_count(archive, "index", static_cast<size_t>(index_));
  archive.write("indices", indices_, /*is_buffer=*/true);
}

void RandomSampler::load(serialize::InputArchive& archive) {
  Tensor indices;
  archive.read("indices", indices, /*is_buffer=*/true);
  TANDEM_CHECK(indices.defined() && indices.dim() == 1 && isIntegralType(indices.scalar_type()),
               "load: 'indices' of a random sampler is not a list of indices");
  const auto n = indices.numel();
  TANDEM_CHECK(n == 0 || (indices.min().item<int64_t>() >= 0 && indices.max().item<int64_t>() < n),
               "load: an index of a random sampler lies outside of its ", n, " examples");
  index_ = static_cast<int64_t>(read_count(archive, "index", static_cast<size_t>(n)));
  indices_ = indices;
}

void StreamSampler::reset(std::optional<size_t> new_size) {
  if (new_size) epoch_size_ = *new_size;
  examples_retrieved_so_far_ = 0;
}

std::optional<BatchSize> StreamSampler::next(size_t batch_size) {
  const size_t left = epoch_size_ - examples_retrieved_so_far_;
  if (left == 0) return std::nullopt;
  const size_t n = std::min(batch_size, left);
  examples_retrieved_so_far_ += n;
  return BatchSize(n);
}

void StreamSampler::save(serialize::OutputArchive& archive) const {
  write_count(archive, "examples_retrieved_so_far", examples_retrieved_so_far_);
}
void StreamSampler::load(serialize::InputArchive& archive) {
  examples_retrieved_so_far_ = read_count(archive, "examples_retrieved_so_far", epoch_size_);
}

namespace detail {

RunSampler::RunSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {}

// As many indices as all replicas want together: the first ones twice, or the last ones not at all.
void RunSampler::begin() {
  const size_t wanted = num_replicas_ == 1 ? size_ : local_sample_count() * num_replicas_;
  all_indices_.resize(wanted);
  for (size_t i = 0; i < wanted; ++i) all_indices_[i] = i % size_;
  shuffle_indices();
  begin_index_ = rank_ * local_sample_count();
  end_index_ = begin_index_ + local_sample_count();
  sample_index_ = begin_index_;
}

void RunSampler::reset(std::optional<size_t> new_size) {
  if (new_size) size_ = *new_size;
  begin();
}

std::optional<std::vector<size_t>> RunSampler::next(size_t batch_size) {
  if (sample_index_ == end_index_) return std::nullopt;
  const size_t end = sample_index_ + std::min(batch_size, end_index_ - sample_index_);
  const auto all = all_indices_.begin();
  std::vector<size_t> indices(all + static_cast<ptrdiff_t>(sample_index_),
                              all + static_cast<ptrdiff_t>(end));
  sample_index_ = end;
  return indices;
}

}  // namespace detail

DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank,
                                                   bool allow_duplicates)
    : RunSampler(size, num_replicas, rank, allow_duplicates) {
  begin();
}

void DistributedRandomSampler::shuffle_indices() {
  // Not the default generator: all processes must find the same order.
  std::mt19937 generator(static_cast<unsigned>(epoch_));
  std::shuffle(all_indices_.begin(), all_indices_.end(), generator);
}

void DistributedRandomSampler::save(serialize::OutputArchive& archive) const {
  write_count(archive, "sample_index_", sample_index_);
  write_count(archive, "epoch_", epoch_);
}

void DistributedRandomSampler::load(serialize::InputArchive& archive) {
  const size_t epoch = read_count(archive, "epoch_", SIZE_MAX);
  const size_t at = read_count(archive, "sample_index_", end_index_);
  TANDEM_CHECK(at >= begin_index_, "load: the sampler was at ", at, ", but begins at ",
               begin_index_);
  epoch_ = epoch;
  begin();
  sample_index_ = at;
}

DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas,
                                                           size_t rank, bool allow_duplicates)
    : RunSampler(size, num_replicas, rank, allow_duplicates) {
  begin();
}

void DistributedSequentialSampler::save(serialize::OutputArchive& archive) const {
  write_count(archive, "sample_index_", sample_index_);
}

void DistributedSequentialSampler::load(serialize::InputArchive& archive) {
  const size_t at = read_count(archive, "sample_index_", end_index_);
  TANDEM_CHECK(at >= begin_index_, "load: the sampler was at ", at, ", but begins at ",
               begin_index_);
  sample_index_ = at;
}

}  // namespace tandem::data::samplers
