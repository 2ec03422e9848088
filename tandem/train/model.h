#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/nn/modules/container/sequential.h"
#include "tandem/train/callbacks.h"
#include "tandem/train/checkpoint.h"
#include "tandem/train/parts.h"
#include "tandem/train/source.h"

namespace tandem {

namespace trainer {
struct ProgressState;
}

/// What happened in fit(), epoch by epoch.
struct History {
  std::vector<int64_t> epoch;
  /// By name: "loss", the metrics, and with validation "val_loss" and so on.
  std::map<std::string, std::vector<double>> history;
  /// Whether Ctrl-C ended it.
  bool interrupted = false;

  /// The figures of that name, one for each epoch.
  const std::vector<double>& operator[](const std::string& name) const;
};

struct ModelOptions {
  trainer::Loss loss = {};
  trainer::OptimizerChoice optimizer = "adam";
  std::vector<trainer::Metric> metrics = {};
  /// Gradients are scaled down to this norm; 0: they are not.
  double clip_norm = 0;
  /// Run the steps as compiled programs.
  bool compiled = true;
};

struct FitOptions {
  int64_t epochs = 1;
  int64_t batch_size = 32;
  /// Other examples, on which the model is tried after each epoch.
  trainer::Source validation = {};
  std::vector<trainer::CallbackPtr> callbacks = {};
  bool shuffle = true;
  /// Threads that make batches of a data set.
  int64_t workers = 0;
  /// 0: nothing is printed; 1: a progress bar, or a line for each epoch where there is no terminal;
  /// 2: lines.
  int verbose = 1;
  /// The number of the first epoch, for training that goes on.
  int64_t initial_epoch = 0;
  /// A file that the run is saved to: after each epoch, after that many batches, and when Ctrl-C
  /// ends it. Empty: nothing is saved.
  std::string checkpoint = {};
  int64_t checkpoint_every = 0;
  /// Goes on from that file if it is there, in the middle of an epoch too, and ends with the same
  /// losses and weights as a run that was not stopped.
  bool resume = false;
  /// The program's own, saved with the run.
  std::map<std::string, IValue> values = {};
};

/// Fully connected layer with an activation by name, whose number of inputs is found from the first
/// data: model.add(Dense(64, "relu")).
class DenseImpl : public nn::Module {
 public:
  explicit DenseImpl(int64_t units, std::string activation = "linear");
  Tensor forward(const Tensor& x);
  void pretty_print(std::ostream& stream) const override;

 private:
  int64_t units_;
  std::string activation_;
  std::function<Tensor(const Tensor&)> function_;
  Tensor weight_, bias_;
};
TANDEM_MODULE(Dense);

/// A network with everything that training it takes.
///
///     Model model(net);
///     model.compile({.loss = "cross_entropy", .optimizer = optim::AdamOptions(1e-3),
///                    .metrics = {"accuracy"}});
///     History h = model.fit(x, y, {.epochs = 5, .batch_size = 128, .validation = {x_test,
///     y_test}});
class Model {
 public:
  /// A network to be made of layers by add().
  Model();
  /// Any module, or its holder, whose forward() takes a tensor and gives one; also an AnyModule.
  template <class Net>
  explicit Model(Net net)
      : module_(module_of(net)), forward_([net](const Tensor& x) mutable -> Tensor {
          if constexpr (requires { net->forward(x); })
            return net->forward(x);
          else
            return net.forward(x);
        }) {}
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  /// Adds a layer.
  template <class Layer>
  Model& add(Layer layer) {
    sequential()->push_back(std::move(layer));
    return *this;
  }

  void compile(ModelOptions options);

  History fit(const Tensor& x, const Tensor& y, const FitOptions& options = {});
  History fit(const trainer::Source& source, const FitOptions& options = {});
  /// The loss and the metrics over all examples.
  Logs evaluate(const Tensor& x, const Tensor& y, int64_t batch_size = 32);
  Logs evaluate(const trainer::Source& source, int64_t batch_size = 32);
  /// What the network makes of the examples.
  Tensor predict(const Tensor& x, int64_t batch_size = 32);

  /// The network, its optimiser and the state of the random numbers.
  void save(const std::string& path);
  void load(const std::string& path);

  nn::Module& module() { return *module_; }
  /// Null before the model has seen data: by fit(), evaluate() or predict().
  optim::Optimizer* optimizer();
  const History& history() const;
  double learning_rate() const;
  void set_learning_rate(double rate);
  /// Ends fit() after the batch at hand; callbacks may set it.
  bool stop_training = false;

 private:
  struct Training;
  template <class Net>
  static std::shared_ptr<nn::Module> module_of(const Net& net) {
    if constexpr (requires { net.ptr(); })
      return net.ptr();
    else
      return net;
  }
  nn::Sequential& sequential();
  Training& training(const char* who) const;
  void build(const Tensor& x);
  Logs run_epoch(const trainer::Source& source, const FitOptions& options, bool train,
                 trainer::ProgressState& state);
  void save_run(const FitOptions& options, trainer::ProgressState& state);

  std::shared_ptr<nn::Module> module_;
  std::function<Tensor(const Tensor&)> forward_;
  std::unique_ptr<nn::Sequential> sequential_;
  std::shared_ptr<Training> training_;
};

}  // namespace tandem
