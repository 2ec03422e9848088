#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/data/datasets.h"
#include "tandem/data/samplers.h"
#include "tandem/data/worker_exception.h"

/// Data that comes in pieces (files, say) which are too large to be all in memory.
namespace tandem::data::datasets {

template <class Example_, class Chunk_ = std::vector<Example_>>
class ChunkDataReader {
 public:
  using ChunkType = Chunk_;
  using ExampleType = Example_;
  virtual ~ChunkDataReader() = default;
  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  virtual size_t chunk_count() = 0;
  virtual void reset() = 0;
};

namespace detail {

/// Examples on their way from the threads that read chunks to those that want batches: cut into
/// batches, shuffled within a chunk, and never many more than its capacity.
template <class UnwrappedBatch, class ExampleSampler = samplers::RandomSampler>
class BatchDataBuffer {
 public:
  using UnwrappedBatchType = UnwrappedBatch;
  using BatchType = std::optional<UnwrappedBatch>;

  BatchDataBuffer(size_t batch_size, ExampleSampler& sampler, size_t capacity)
      : batch_size_(batch_size), sampler_(sampler), capacity_(capacity) {}

  /// Waits for a whole batch; at the end gives what is left, and then nothing.
  BatchType get_batch() {
    std::unique_lock lock(mutex_);
    readable_.wait(lock, [this] {
      return examples_ >= batch_size_ || stopped_ ||
             (!batches_.empty() && batches_.front().exception);
    });
    if (batches_.empty()) return std::nullopt;
    Entry entry = std::move(batches_.front());
    batches_.pop();
    if (entry.exception) throw WorkerException(entry.exception);
    examples_ -= entry.batch.size();
    lock.unlock();
    writable_.notify_all();
    return std::move(entry.batch);
  }

  void add_chunk_data(UnwrappedBatch data) {
    std::unique_lock lock(mutex_);
    if (!wait_for_room(lock)) return;
    const size_t n = data.size();
    sampler_.reset(n);
    size_t left = n;
    while (left > 0) {
      if (batches_.empty() || batches_.back().exception ||
          batches_.back().batch.size() >= batch_size_) {
        batches_.emplace();
        batches_.back().batch.reserve(batch_size_);
      }
      UnwrappedBatch& batch = batches_.back().batch;
      const auto picked = sampler_.next(std::min(left, batch_size_ - batch.size()));
      TANDEM_CHECK(picked && !picked->empty(), "ChunkDataset: the example sampler ended too early");
      for (const size_t i : *picked) {
        TANDEM_CHECK_INDEX(i < n, "ChunkDataset: Index out of range: ", i, " of ", n, " examples");
        batch.emplace_back(std::move(data[i]));
      }
      left -= picked->size();
    }
    examples_ += n;
    lock.unlock();
    readable_.notify_all();
  }
  void add_chunk_data(std::exception_ptr exception) {
    std::unique_lock lock(mutex_);
    if (!wait_for_room(lock)) return;
    batches_.emplace();
    batches_.back().exception = std::move(exception);
    lock.unlock();
    readable_.notify_all();
  }
  /// Nothing more comes, or nothing more is wanted: nobody waits from now on.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    writable_.notify_all();
    readable_.notify_all();
  }

 private:
  struct Entry {
    UnwrappedBatch batch;
    std::exception_ptr exception;
  };
  bool wait_for_room(std::unique_lock<std::mutex>& lock) {
    writable_.wait(lock, [this] { return examples_ < capacity_ || stopped_; });
    return !stopped_;
  }

  const size_t batch_size_;
  ExampleSampler& sampler_;
  const size_t capacity_;
  std::queue<Entry> batches_;
  size_t examples_ = 0;
  bool stopped_ = false;
  std::mutex mutex_;
  std::condition_variable readable_, writable_;
};

}  // namespace detail

struct ChunkDatasetOptions {
  ChunkDatasetOptions() = delete;
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                      size_t cross_chunk_shuffle_count = 1)
      : preloader_count_(preloader_count),
        batch_size_(batch_size),
        cache_size_(cache_size),
        cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
    TANDEM_CHECK(preloader_count > 0,
                 "Preloader count is 0. At least one preloader needs to be specified.");
    TANDEM_CHECK(batch_size > 0, "Batch size is 0. A positive batch size needs to be specified.");
    TANDEM_CHECK(cache_size > 0, "Cache size is 0. A positive cache size needs to be specified.");
    TANDEM_CHECK(cache_size >= batch_size,
                 "Cache size is less than batch size. Cache needs to be large enough to hold at "
                 "least one batch.");
    TANDEM_CHECK(cross_chunk_shuffle_count > 0,
                 "cross_chunk_shuffle_count needs to be greater than 0.");
  }
  /// Threads that read chunks.
  TANDEM_ARG(size_t, preloader_count);
  TANDEM_ARG(size_t, batch_size);
  /// Examples that may wait in memory.
  TANDEM_ARG(size_t, cache_size) = 2048;
  /// How many chunks are shuffled together.
  TANDEM_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

template <class ChunkReader, class ChunkSampler = samplers::RandomSampler,
          class ExampleSampler = samplers::RandomSampler>
class ChunkDataset final
    : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                             typename ChunkReader::BatchType, size_t> {
 public:
  using UnwrappedBatchType = typename ChunkReader::BatchType;
  using BatchType = std::optional<UnwrappedBatchType>;
  using BatchRequestType = size_t;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;

  ChunkDataset(ChunkReader reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
               ChunkDatasetOptions options,
               std::function<void(UnwrappedBatchType&)> preprocessing_policy = {})
      : reader_(std::move(reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(std::move(options)),
        preprocessing_policy_(std::move(preprocessing_policy)) {}
  ~ChunkDataset() override { stop_preloaders(); }

  BatchType get_batch(size_t batch_size) override {
    TANDEM_CHECK(buffer_, "Dataset needs to call reset() before calling get_batch().");
    TANDEM_CHECK(batch_size == options_.batch_size(),
                 "The requested batch size does not match with the initialized batch size.\n The "
                 "requested batch size is ",
                 batch_size, ", while the dataset is created with batch size equal to ",
                 options_.batch_size());
    return buffer_->get_batch();
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  void reset() override {
    stop_preloaders();
    if (!std::exchange(loaded_, false)) {
      reader_.reset();
      chunk_sampler_.reset(reader_.chunk_count());
    }
    buffer_ =
        std::make_unique<Buffer>(options_.batch_size(), example_sampler_, options_.cache_size());
    stop_ = false;
    running_ = options_.preloader_count();
    for (size_t i = 0; i < options_.preloader_count(); ++i)
      preloaders_.emplace_back([this] { preload(); });
  }

  std::optional<size_t> size() const override { return std::nullopt; }
  ChunkSamplerType& chunk_sampler() { return chunk_sampler_; }

  /// Which chunks were begun; their examples are not read again.
  void save(serialize::OutputArchive& archive) const override {
    const std::lock_guard lock(sampler_mutex_);
    chunk_sampler_.save(archive);
  }
  void load(serialize::InputArchive& archive) override {
    const std::lock_guard lock(sampler_mutex_);
    chunk_sampler_.reset(reader_.chunk_count());
    chunk_sampler_.load(archive);
    loaded_ = true;
  }

 private:
  using Buffer = detail::BatchDataBuffer<UnwrappedBatchType, ExampleSamplerType>;

  std::optional<std::vector<size_t>> next_chunks() {
    const std::lock_guard lock(sampler_mutex_);
    return chunk_sampler_.next(options_.cross_chunk_shuffle_count());
  }
  void preload() {
    while (!stop_) {
      try {
        const auto chunks = next_chunks();
        if (!chunks) break;
        UnwrappedBatchType data;
        for (const size_t c : *chunks) {
          auto chunk = reader_.read_chunk(c);
          std::move(chunk.begin(), chunk.end(), std::back_inserter(data));
        }
        if (preprocessing_policy_) preprocessing_policy_(data);
        if (!data.empty()) buffer_->add_chunk_data(std::move(data));
      } catch (...) {
        buffer_->add_chunk_data(std::current_exception());
      }
    }
    if (--running_ == 0) buffer_->stop();
  }
  void stop_preloaders() {
    stop_ = true;
    if (buffer_) buffer_->stop();
    for (std::thread& t : preloaders_) t.join();
    preloaders_.clear();
  }

  ChunkReader reader_;
  ChunkSamplerType chunk_sampler_;
  ExampleSamplerType example_sampler_;
  const ChunkDatasetOptions options_;
  std::function<void(UnwrappedBatchType&)> preprocessing_policy_;
  std::unique_ptr<Buffer> buffer_;
  std::vector<std::thread> preloaders_;
  std::atomic<bool> stop_{false};
  std::atomic<size_t> running_{0};
  mutable std::mutex sampler_mutex_;
  bool loaded_ = false;
};

}  // namespace tandem::data::datasets
