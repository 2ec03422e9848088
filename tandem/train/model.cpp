#include "tandem/train/model.h"

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "tandem/autograd/autograd.h"
#include "tandem/base/words.h"
#include "tandem/compile/compile.h"
#include "tandem/core/recorder.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/nn/utils.h"
#include "tandem/ops/ops.h"
#include "tandem/train/progress.h"
#include "tandem/train/progress_state.h"

namespace tandem {
namespace {

using trainer::Metric;
using trainer::Source;

const std::map<std::string, std::function<Tensor(const Tensor&)>>& activations() {
  using T = const Tensor&;
  static const std::map<std::string, std::function<Tensor(const Tensor&)>> all = {
      {"linear", [](T x) { return x; }},
      {"relu", [](T x) { return relu(x); }},
      {"tanh", [](T x) { return tanh(x); }},
      {"sigmoid", [](T x) { return sigmoid(x); }},
      {"softmax", [](T x) { return softmax(x, -1); }},
      {"log_softmax", [](T x) { return log_softmax(x, -1); }},
      {"gelu", [](T x) { return gelu(x); }},
      {"elu", [](T x) { return elu(x); }},
      {"selu", [](T x) { return selu(x); }},
      {"silu", [](T x) { return silu(x); }},
      {"softplus", [](T x) { return softplus(x); }},
      {"leaky_relu", [](T x) { return leaky_relu(x); }},
  };
  return all;
}

volatile std::sig_atomic_t g_interrupted = 0;
void on_interrupt(int) { g_interrupted = 1; }

/// While it lives, Ctrl-C only sets a flag.
class InterruptScope {
 public:
  InterruptScope() {
    g_interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    // The second one ends the process: nobody should have to wait for the step at hand.
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptScope() {
    sigaction(SIGINT, &before_, nullptr);
    g_interrupted = 0;
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_;
};

/// The batches of an epoch that are still to come. The order is drawn anew from where the random
/// numbers were when the epoch began, those that are done are read once more and left out, and the
/// random numbers go on from where they are now.
Source::Reader open_at(const Source& source, const FitOptions& options, bool train,
                       trainer::ProgressState& state) {
  const Source::How how{static_cast<size_t>(options.batch_size), train && options.shuffle,
                        static_cast<size_t>(options.workers)};
  const Generator random = default_generator();
  if (state.batch == 0) {
    state.random = random.get_state();
    return source.open(how);
  }
  const Tensor now = random.get_state();
  random.set_state(state.random);
  auto reader = source.open(how);
  for (int64_t i = 0; i < state.batch; ++i)
    TANDEM_CHECK(reader(), "Model::fit: the run was saved after ", state.batch,
                 " batches of an epoch, but now there are only ", i,
                 ": other data or another batch size");
  random.set_state(now);
  return reader;
}

std::string figures(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs) {
    char part[100];
    std::snprintf(part, sizeof part, "  %s %.4f", name.c_str(), value);
    text += part;
  }
  return text;
}

}  // namespace

const std::vector<double>& History::operator[](const std::string& name) const {
  const auto found = history.find(name);
  if (found == history.end()) {
    std::string known;
    for (const auto& [n, values] : history) known += " " + n;
    detail::raise<IndexError>(str("History: there is no figure '", name, "'; there are:", known));
  }
  return found->second;
}

DenseImpl::DenseImpl(int64_t units, std::string activation)
    : Module("tandem::Dense"), units_(units), activation_(std::move(activation)) {
  TANDEM_CHECK(units > 0, "Dense: ", units, " units");
  const auto found = activations().find(activation_);
  if (found == activations().end()) {
    std::vector<std::string> names;
    for (const auto& [name, f] : activations()) names.push_back(name);
    TANDEM_CHECK(false, "Dense: there is no activation '", activation_, "'",
                 did_you_mean(activation_, names));
  }
  function_ = found->second;
}

Tensor DenseImpl::forward(const Tensor& x) {
  if (!weight_.defined()) {
    TANDEM_CHECK_SHAPE(x.dim() > 0, "Dense: the input has no dimensions");
    const RecorderScope outside(nullptr);
    // As Keras begins: uniform weights of Glorot and Bengio, no bias.
    weight_ = register_parameter("weight", empty({units_, x.size(-1)}, x.options()));
    bias_ = register_parameter("bias", zeros({units_}, x.options()));
    nn::init::xavier_uniform_(weight_);
  }
  TANDEM_CHECK_SHAPE(x.dim() > 0 && x.size(-1) == weight_.size(1), "Dense: ", weight_.size(1),
                     " inputs are wanted, but x has the shape ", x.sizes());
  return function_(nn::functional::linear(x, weight_, bias_));
}

void DenseImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::Dense(units=" << units_ << ", activation=" << activation_ << ")";
}

/// What compile() was told, and what fit() made of it.
struct Model::Training {
  ModelOptions options;
  std::shared_ptr<optim::Optimizer> optimizer;
  /// A step, or a look, at one batch: the loss times the number of examples, and each metric's
  /// sums.
  using Step = std::function<std::vector<Tensor>(const Tensor& x, const Tensor& y)>;
  Step step, look;
  std::function<Tensor(const Tensor&)> forward;
  History history;
};

Model::Model() : sequential_(std::make_unique<nn::Sequential>()) {
  module_ = sequential_->ptr();
  forward_ = [net = *sequential_](const Tensor& x) mutable { return net->forward(x); };
}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

nn::Sequential& Model::sequential() {
  TANDEM_CHECK(sequential_, "Model::add: this model was given its network");
  TANDEM_CHECK(!training_ || !training_->optimizer, "Model::add: the model is in training already");
  return *sequential_;
}

Model::Training& Model::training(const char* who) const {
  TANDEM_CHECK(training_, "Model::", who, ": call compile() first");
  return *training_;
}

void Model::compile(ModelOptions options) {
  TANDEM_CHECK(options.loss, "Model::compile: no loss was given");
  training_ = std::make_shared<Training>();
  training_->options = std::move(options);
}

// Layers that find their sizes from the data do so now; only then there are parameters to train.
void Model::build(const Tensor& x) {
  Training& t = *training_;
  if (t.step) return;
  {
    const NoGradGuard no_grad;
    const bool was_training = module_->is_training();
    module_->eval();
    forward_(x.narrow(0, 0, std::min<int64_t>(1, x.size(0))));
    module_->train(was_training);
  }
  t.optimizer = t.options.optimizer.make(module_->parameters());
  t.optimizer->zero_grad(/*set_to_none=*/true);
  // Not `this`: a model may be moved.
  const auto net = forward_;
  const auto module = module_;
  const auto measure = [&t](const Tensor& prediction, const Tensor& y, const Tensor& loss) {
    const NoGradGuard no_grad;
    const Tensor p = prediction.detach();
    std::vector<Tensor> sums = {loss.detach().to(kDouble) * static_cast<double>(y.size(0))};
    for (const Metric& m : t.options.metrics) sums.push_back(m.sums(p, y));
    return sums;
  };
  const auto step = [=, &t](const Tensor& x, const Tensor& y) {
    const Tensor prediction = net(x);
    const Tensor loss = t.options.loss(prediction, y);
    loss.backward();
    if (t.options.clip_norm > 0)
      nn::utils::clip_grad_norm_(module->parameters(), t.options.clip_norm);
    t.optimizer->step();
    // Forgotten here, gradients need no memory outside of the compiled step.
    t.optimizer->zero_grad(/*set_to_none=*/true);
    return measure(prediction, y, loss);
  };
  const auto look = [=, &t](const Tensor& x, const Tensor& y) {
    const NoGradGuard no_grad;
    const Tensor prediction = net(x);
    return measure(prediction, y, t.options.loss(prediction, y));
  };
  const auto forward = [net](const Tensor& x) {
    const NoGradGuard no_grad;
    return net(x);
  };
  if (t.options.compiled) {
    t.step = tandem::compile(step);
    t.look = tandem::compile(look);
    t.forward = tandem::compile(forward);
  } else {
    t.step = step;
    t.look = look;
    t.forward = forward;
  }
}

Logs Model::run_epoch(const Source& source, const FitOptions& options, bool train,
                      trainer::ProgressState& state) {
  Training& t = *training_;
  const auto& metrics = t.options.metrics;
  const auto logs = [&] {
    Logs result;
    if (state.seen == 0) return result;
    result["loss"] = state.totals[0].item<double>() / static_cast<double>(state.seen);
    for (size_t i = 0; i < metrics.size(); ++i) {
      const Tensor sums = state.totals[i + 1].to(kDouble).contiguous();
      const double* data = sums.data_ptr<double>();
      result[metrics[i].name] = metrics[i].finish({data, data + sums.numel()});
    }
    return result;
  };

  const auto start = trainer::Clock::now();
  const bool bar_wanted = train && options.verbose == 1;
  trainer::ProgressBar bar(bar_wanted ? std::max<int64_t>(source.size(), 1) : 1);
  const auto reader = open_at(source, options, train, state);
  const int64_t seen_before = state.seen;
  while (auto batch = reader()) {
    if (!t.step) build(batch->data);
    module_->train(train);
    if (train)
      for (const auto& c : options.callbacks) c->on_batch_begin(*this, state.batch);
    const std::vector<Tensor> sums = (train ? t.step : t.look)(batch->data, batch->target);
    if (state.totals.empty()) {
      for (const Tensor& s : sums) state.totals.push_back(s.clone());
    } else {
      for (size_t i = 0; i < sums.size(); ++i) state.totals[i].add_(sums[i]);
    }
    state.seen += batch->data.size(0);
    if (train)
      for (const auto& c : options.callbacks) c->on_batch_end(*this, state.batch);
    ++state.batch;
    if (bar_wanted)
      bar.update(state.seen, [&] {
        return str("epoch ", state.epoch + 1, "/", options.epochs, figures(logs()), "  ",
                   trainer::with_commas(static_cast<double>(state.seen - seen_before) /
                                        trainer::seconds_since(start)),
                   " examples/s");
      });
    if (g_interrupted || (train && stop_training)) break;
    if (train && options.checkpoint_every > 0 && state.batch % options.checkpoint_every == 0)
      save_run(options, state);
  }
  TANDEM_CHECK(state.seen > 0, train ? "Model::fit" : "Model::evaluate", ": there are no examples");
  return logs();
}

void Model::save_run(const FitOptions& options, trainer::ProgressState& state) {
  if (options.checkpoint.empty()) return;
  save_checkpoint(options.checkpoint, {.module = *module_,
                                       .optimizer = *training_->optimizer,
                                       .progress = state,
                                       .values = options.values});
}

History Model::fit(const Tensor& x, const Tensor& y, const FitOptions& options) {
  return fit(Source(x, y), options);
}

History Model::fit(const Source& source, const FitOptions& options) {
  Training& t = training("fit");
  TANDEM_CHECK(source, "Model::fit: no data was given");
  TANDEM_CHECK(options.batch_size > 0, "Model::fit: the batch size is ", options.batch_size);
  TANDEM_CHECK(options.workers >= 0 && options.epochs >= 0 && options.checkpoint_every >= 0,
               "Model::fit: negative epochs, workers or checkpoint_every");
  TANDEM_CHECK(!options.checkpoint.empty() || (!options.resume && options.checkpoint_every == 0),
               "Model::fit: resume and checkpoint_every need a checkpoint file");
  if (!t.step) {
    const auto first = source.open({1, false, 0})();
    TANDEM_CHECK(first, "Model::fit: there are no examples");
    build(first->data);
  }
  stop_training = false;
  const InterruptScope interrupts;
  const bool was_training = module_->is_training();
  for (const auto& c : options.callbacks) c->on_train_begin(*this);
  trainer::ProgressState state;
  state.epoch = options.initial_epoch;
  state.callbacks = options.callbacks;
  if (options.resume && std::filesystem::exists(options.checkpoint))
    load_checkpoint(options.checkpoint,
                    {.module = *module_, .optimizer = *t.optimizer, .progress = state});
  bool interrupted = false;
  while (state.epoch < options.epochs && !state.finished && !interrupted) {
    const auto start = trainer::Clock::now();
    const int64_t seen_before = state.seen;
    if (state.batch == 0)
      for (const auto& c : options.callbacks) c->on_epoch_begin(*this, state.epoch);
    Logs logs = run_epoch(source, options, /*train=*/true, state);
    interrupted = g_interrupted != 0;
    if (options.validation && !interrupted) {
      const Tensor random = default_generator().get_state();
      trainer::ProgressState validation;
      for (const auto& [name, value] :
           run_epoch(options.validation, options, /*train=*/false, validation))
        logs["val_" + name] = value;
      interrupted = g_interrupted != 0;
      // What was tried of the validation set is tried again when the run is resumed.
      if (interrupted) default_generator().set_state(random);
    }
    // Before callbacks see the figures of a part of an epoch: a run that goes on does not know
    // them.
    if (interrupted) save_run(options, state);
    state.epochs.push_back(state.epoch);
    for (const auto& [name, value] : logs) state.history[name].push_back(value);
    if (options.verbose > 0) {
      const double seconds = trainer::seconds_since(start);
      std::printf(
          "epoch %lld/%lld  %.1f s%s  %s examples/s%s\n", static_cast<long long>(state.epoch + 1),
          static_cast<long long>(options.epochs), seconds, figures(logs).c_str(),
          trainer::with_commas(static_cast<double>(state.seen - seen_before) / seconds).c_str(),
          interrupted ? "  interrupted" : "");
      std::fflush(stdout);
    }
    for (const auto& c : options.callbacks) c->on_epoch_end(*this, state.epoch, logs);
    state.finished = stop_training;
    state.next_epoch();
    if (!interrupted) save_run(options, state);
  }
  for (const auto& c : options.callbacks) c->on_train_end(*this);
  module_->train(was_training);
  History h{.epoch = state.epochs, .history = state.history, .interrupted = interrupted};
  t.history = h;
  return h;
}

Logs Model::evaluate(const Tensor& x, const Tensor& y, int64_t batch_size) {
  return evaluate(Source(x, y), batch_size);
}

Logs Model::evaluate(const Source& source, int64_t batch_size) {
  training("evaluate");
  TANDEM_CHECK(source, "Model::evaluate: no data was given");
  TANDEM_CHECK(batch_size > 0, "Model::evaluate: the batch size is ", batch_size);
  const bool was_training = module_->is_training();
  trainer::ProgressState state;
  const Logs logs =
      run_epoch(source, {.batch_size = batch_size, .verbose = 0}, /*train=*/false, state);
  module_->train(was_training);
  return logs;
}

Tensor Model::predict(const Tensor& x, int64_t batch_size) {
  TANDEM_CHECK(x.defined() && x.dim() > 0,
               "Model::predict: x must have examples along dimension 0");
  TANDEM_CHECK(batch_size > 0, "Model::predict: the batch size is ", batch_size);
  if (training_ && !training_->step && x.size(0) > 0) build(x);
  const NoGradGuard no_grad;
  const bool was_training = module_->is_training();
  module_->eval();
  const auto& forward = training_ && training_->forward ? training_->forward : forward_;
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < x.size(0) || at == 0; at += batch_size)
    parts.push_back(forward(x.narrow(0, at, std::min(batch_size, x.size(0) - at))));
  module_->train(was_training);
  return parts.size() == 1 ? parts[0] : cat(parts);
}

void Model::save(const std::string& path) {
  Checkpoint parts{.module = *module_};
  if (optim::Optimizer* o = optimizer()) parts.optimizer = *o;
  save_checkpoint(path, parts);
}

void Model::load(const std::string& path) {
  Checkpoint parts{.module = *module_};
  if (optim::Optimizer* o = optimizer()) parts.optimizer = *o;
  load_checkpoint(path, parts);
}

optim::Optimizer* Model::optimizer() { return training_ ? training_->optimizer.get() : nullptr; }
const History& Model::history() const { return training("history").history; }

double Model::learning_rate() const {
  const Training& t = training("learning_rate");
  TANDEM_CHECK(t.optimizer, "Model::learning_rate: there is no optimiser before fit()");
  return t.optimizer->param_groups()[0].options().get_lr();
}

void Model::set_learning_rate(double rate) {
  Training& t = training("set_learning_rate");
  TANDEM_CHECK(t.optimizer, "Model::set_learning_rate: there is no optimiser before fit()");
  for (auto& group : t.optimizer->param_groups()) group.options().set_lr(rate);
}

}  // namespace tandem
