#pragma once

#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/base/one_thread.h"
#include "tandem/data/current_sample.h"
#include "tandem/data/detail/queue.h"
#include "tandem/data/detail/sequencers.h"
#include "tandem/data/iterator.h"
#include "tandem/data/loader_options.h"
#include "tandem/data/samplers.h"
#include "tandem/data/worker_exception.h"

namespace tandem::data {

namespace detail {
/// A seed for an epoch's random transforms, from the default generator.
uint64_t epoch_seed();
/// The indices of a request, where it is a list of them.
inline ArrayRef<size_t> indices_of(const std::vector<size_t>& request) { return request; }
template <class Request>
ArrayRef<size_t> indices_of(const Request&) {
  return {};
}
}  // namespace detail

/// Gives the batches of a data set, made by worker threads ahead of time or by the caller's thread:
///
///     auto loader = make_data_loader(dataset, DataLoaderOptions(64).workers(2));
///     for (auto& batch : *loader) ...
///
/// The order, and what random transforms do, depends on the seed alone and not on the number of
/// workers.
template <class Dataset, class Batch, class BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  explicit DataLoaderBase(DataLoaderOptions options, std::unique_ptr<Dataset> dataset = nullptr)
      : options_(options), main_thread_dataset_(std::move(dataset)), sequencer_(new_sequencer()) {
    TANDEM_CHECK(options_.batch_size > 0, "DataLoader: the batch size is 0");
    TANDEM_CHECK(options_.workers == 0 || options_.max_jobs > 0,
                 "DataLoader: max_jobs is 0, so that ", options_.workers,
                 " workers could do nothing");
  }
  virtual ~DataLoaderBase() { join(); }
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;

  /// Begins an epoch; after load() it goes on with the one that was saved.
  Iterator<Batch> begin() {
    TANDEM_CHECK(shuttle_.in_flight_jobs() == 0,
                 "Attempted to get a new DataLoader iterator while another iterator is not yet "
                 "exhausted");
    reset();
    return Iterator<Batch>([this] { return next(); });
  }
  Iterator<Batch> end() { return {}; }

  /// Stops the workers; what they are making is thrown away.
  void join() {
    if (joined_) return;
    joined_ = true;
    shuttle_.drain();
    for (size_t w = 0; w < workers_.size(); ++w) push_job(std::nullopt);
    for (std::thread& w : workers_) w.join();
  }

  const FullDataLoaderOptions& options() const noexcept { return options_; }
  /// Batches of this epoch that were given out.
  size_t position() const noexcept { return delivered_; }

 protected:
  struct Job {
    std::optional<BatchRequest> request;  // none: the worker ends
    size_t sequence_number = 0;
  };
  struct Result {
    std::optional<Batch> batch;
    std::exception_ptr exception;
    std::optional<size_t> sample;
    size_t sequence_number = 0;
  };

  virtual std::optional<BatchRequest> get_batch_request() = 0;
  virtual void start_epoch() = 0;

  void reset() {
    shuttle_.drain();
    sequence_number_ = 0;
    sequencer_ = new_sequencer();
    if (resumed_) {
      resumed_ = false;
    } else {
      seed_ = detail::epoch_seed();
      delivered_ = 0;
      start_epoch();
    }
    first_ = delivered_;
    if (options_.workers > 0) prefetch(options_.max_jobs);
  }

  void prefetch(size_t jobs) {
    for (size_t i = 0; i < jobs; ++i) {
      std::optional<BatchRequest> request = get_batch_request();
      if (!request) return;
      push_job(std::move(request));
    }
  }

  std::optional<Batch> next() {
    std::optional<Batch> batch;
    if (options_.workers == 0) {
      if (std::optional<BatchRequest> request = get_batch_request())
        batch = make_batch(*main_thread_dataset_, *request, first_ + sequence_number_++);
    } else {
      // Without a batch or an exception a worker says that its data has come to an end.
      while (std::optional<Result> result = pop_result()) {
        if (result->exception) throw WorkerException(result->exception, result->sample);
        if (!result->batch) continue;
        prefetch(1);
        batch = std::move(result->batch);
        break;
      }
    }
    if (batch) ++delivered_;
    return batch;
  }

  std::optional<Batch> make_batch(Dataset& dataset, BatchRequest& request, size_t number) {
    const detail::BatchScope scope(seed_, detail::indices_of(request),
                                   number * options_.batch_size);
    return dataset.get_batch(request);
  }

  void worker_thread(Dataset& dataset) {
    const OneThread alone;
    for (;;) {
      Job job = shuttle_.pop_job();
      if (!job.request) return;
      Result result;
      result.sequence_number = job.sequence_number;
      const detail::BatchScope scope(seed_, detail::indices_of(*job.request),
                                     (first_ + job.sequence_number) * options_.batch_size);
      try {
        result.batch = dataset.get_batch(*job.request);
      } catch (...) {
        result.exception = std::current_exception();
        result.sample = current_sample();
      }
      shuttle_.push_result(std::move(result));
    }
  }

  void push_job(std::optional<BatchRequest> request) {
    shuttle_.push_job(Job{std::move(request), sequence_number_++});
  }
  std::optional<Result> pop_result() {
    return sequencer_->next([this] { return shuttle_.pop_result(options_.timeout); });
  }
  std::unique_ptr<detail::sequencers::Sequencer<Result>> new_sequencer() const {
    if (options_.enforce_ordering && options_.max_jobs > 0)
      return std::make_unique<detail::sequencers::OrderedSequencer<Result>>(options_.max_jobs);
    return std::make_unique<detail::sequencers::NoSequencer<Result>>();
  }

  void save_position(serialize::OutputArchive& archive) const {
    archive.write("delivered", IValue(static_cast<int64_t>(delivered_)));
    archive.write("seed", IValue(static_cast<int64_t>(seed_)));
  }
  void load_position(serialize::InputArchive& archive) {
    IValue delivered, seed;
    archive.read("delivered", delivered);
    archive.read("seed", seed);
    TANDEM_CHECK(delivered.toInt() >= 0, "load: the loader had given ", delivered.toInt(),
                 " batches");
    shuttle_.drain();
    delivered_ = static_cast<size_t>(delivered.toInt());
    seed_ = static_cast<uint64_t>(seed.toInt());
    resumed_ = true;
  }

  const FullDataLoaderOptions options_;
  std::unique_ptr<Dataset> main_thread_dataset_;
  std::vector<std::thread> workers_;
  detail::DataShuttle<Job, Result> shuttle_;
  std::unique_ptr<detail::sequencers::Sequencer<Result>> sequencer_;
  size_t sequence_number_ = 0;
  size_t delivered_ = 0;  // batches of this epoch that were given out
  size_t first_ = 0;      // of which these before the loader was resumed
  uint64_t seed_ = 0;     // of this epoch's random transforms
  bool resumed_ = false, joined_ = false;
};

/// Asks a sampler which examples come next; each worker has a copy of the data set.
template <class Dataset, class Sampler>
class StatelessDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType,
                                                  typename Sampler::BatchRequestType> {
 public:
  using super =
      DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename super::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : super(std::move(options)), sampler_(std::move(sampler)) {
    remember();
    for (size_t w = 0; w < this->options_.workers; ++w)
      this->workers_.emplace_back([this, dataset]() mutable { this->worker_thread(dataset); });
    if (this->options_.workers == 0)
      this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
  }
  ~StatelessDataLoader() override { this->join(); }

  /// Where the loader is: how this epoch began and how many batches were given out, not what
  /// workers have made ahead of time.
  void save(serialize::OutputArchive& archive) const {
    this->save_position(archive);
    archive.write("sampler", *start_);
  }
  /// The next begin() gives the batches that are left.
  void load(serialize::InputArchive& archive) {
    serialize::InputArchive sampler;
    archive.read("sampler", sampler);
    sampler_.reset(std::nullopt);
    sampler_.load(sampler);
    this->load_position(archive);
    remember();
    for (size_t i = 0; i < this->delivered_; ++i)
      TANDEM_CHECK(get_batch_request(), "load: the loader had given ", this->delivered_,
                   " batches, but there are only ", i);
  }

 private:
  void start_epoch() override {
    sampler_.reset(std::nullopt);
    remember();
  }
  void remember() {
    start_ = std::make_unique<serialize::OutputArchive>();
    sampler_.save(*start_);
  }
  std::optional<BatchRequestType> get_batch_request() override {
    auto request = sampler_.next(this->options_.batch_size);
    if (request && request->size() < this->options_.batch_size && this->options_.drop_last)
      return std::nullopt;
    return request;
  }

  Sampler sampler_;
  std::unique_ptr<serialize::OutputArchive> start_;  // the sampler when the epoch began
};

/// Asks a data set that knows itself what comes next; all workers share it.
template <class Dataset>
class StatefulDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type,
                                                 typename Dataset::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type,
                               typename Dataset::BatchRequestType>;
  using typename super::BatchRequestType;

  StatefulDataLoader(Dataset dataset, DataLoaderOptions options)
      : super(std::move(options), std::make_unique<Dataset>(std::move(dataset))) {
    for (size_t w = 0; w < this->options_.workers; ++w)
      this->workers_.emplace_back([this] { this->worker_thread(*this->main_thread_dataset_); });
  }
  ~StatefulDataLoader() override { this->join(); }

 private:
  void start_epoch() override { this->main_thread_dataset_->reset(); }
  std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

template <class Dataset, class Sampler>
requires(!Dataset::is_stateful)
    std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(
        Dataset dataset, Sampler sampler, DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(
      std::move(dataset), std::move(sampler), std::move(options));
}

/// With a sampler of the data set's size, a random one unless another is named.
template <class Sampler = samplers::RandomSampler, class Dataset>
requires(!Dataset::is_stateful && std::is_constructible_v<Sampler, size_t>)
    std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(
        Dataset dataset, DataLoaderOptions options = {}) {
  const std::optional<size_t> size = dataset.size();
  TANDEM_CHECK(size, "Expected the dataset to be sized in order to construct the Sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), std::move(options));
}

template <class Dataset>
requires(Dataset::is_stateful) std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), std::move(options));
}

}  // namespace tandem::data
