#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "tandem/data/datasets.h"
#include "tandem/data/loader.h"
#include "tandem/data/transforms.h"

namespace tandem::trainer {

/// Where a model's examples come from: two tensors whose rows belong together, or a data set.
class Source {
 public:
  using Batch = data::Example<>;
  /// The batches of an epoch, one after the other.
  using Reader = std::function<std::optional<Batch>()>;
  struct How {
    size_t batch_size = 32;
    bool shuffle = true;
    size_t workers = 0;
  };

  Source() = default;
  Source(Tensor x, Tensor y);
  /// A data set of examples, or one whose batches are stacked already.
  template <class Dataset>
  requires requires { typename Dataset::BatchRequestType; }
  Source(Dataset dataset) {
    const auto size = dataset.size();
    TANDEM_CHECK(size, "fit: the data set must know its size");
    size_ = static_cast<int64_t>(*size);
    if constexpr (std::is_same_v<typename Dataset::BatchType, Batch>)
      read_from(std::move(dataset));
    else
      read_from(dataset.map(data::transforms::Stack<>()));
  }

  explicit operator bool() const { return static_cast<bool>(open_); }
  int64_t size() const { return size_; }
  Reader open(const How& how) const { return open_(how); }

 private:
  template <class Dataset>
  void read_from(Dataset dataset) {
    open_ = [dataset](const How& how) -> Reader {
      const auto options = data::DataLoaderOptions(how.batch_size).workers(how.workers);
      return how.shuffle ? read<data::samplers::RandomSampler>(dataset, options)
                         : read<data::samplers::SequentialSampler>(dataset, options);
    };
  }
  template <class Sampler, class Dataset>
  static Reader read(const Dataset& dataset, const data::DataLoaderOptions& options) {
    auto loader = std::shared_ptr(data::make_data_loader<Sampler>(dataset, options));
    using It = decltype(loader->begin());
    auto at = std::make_shared<std::optional<It>>();
    return [loader, at]() -> std::optional<Batch> {
      if (!*at)
        *at = loader->begin();
      else
        ++**at;
      if (**at == loader->end()) return std::nullopt;
      return std::move(***at);
    };
  }

  std::function<Reader(const How&)> open_;
  int64_t size_ = 0;
};

}  // namespace tandem::trainer
