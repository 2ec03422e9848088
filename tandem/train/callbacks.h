#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/serialize/archive.h"

namespace tandem {

class Model;

/// Figures by name: "loss", "accuracy", "val_loss", ...
using Logs = std::map<std::string, double>;

namespace trainer {

/// Something that is done at certain moments of fit(). Derive from it and override what is wanted.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Model&) {}
  virtual void on_epoch_begin(Model&, int64_t /*epoch*/) {}
  virtual void on_batch_begin(Model&, int64_t /*batch*/) {}
  virtual void on_batch_end(Model&, int64_t /*batch*/) {}
  virtual void on_epoch_end(Model&, int64_t /*epoch*/, const Logs&) {}
  virtual void on_train_end(Model&) {}
  /// What it remembers from epoch to epoch, so that a run that is resumed goes on as it would have.
  virtual void save(serialize::OutputArchive&) const {}
  virtual void load(serialize::InputArchive&) {}
};

/// A callback by reference; any callback object becomes one.
class CallbackPtr {
 public:
  CallbackPtr(std::shared_ptr<Callback> callback) : callback_(std::move(callback)) {}
  template <class C>
  requires std::is_base_of_v<Callback, C> CallbackPtr(C callback)
      : callback_(std::make_shared<C>(std::move(callback))) {}
  Callback* operator->() const { return callback_.get(); }

 private:
  std::shared_ptr<Callback> callback_;
};

namespace callbacks {

/// Whether a figure has become better: smaller for losses, larger for accuracies.
class Best {
 public:
  Best(std::string monitor, std::string mode, double min_delta);
  bool better(const Logs& logs, const char* who);
  double value() const { return best_; }
  const std::string& monitor() const { return monitor_; }
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  std::string monitor_;
  double sign_, min_delta_, best_;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  int64_t patience = 0;
  double min_delta = 0;
  /// "min", "max", or "auto": from the name of the figure.
  std::string mode = "auto";
  bool restore_best_weights = false;
};
/// Ends training when a figure has not become better for a number of epochs.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, int64_t epoch, const Logs& logs) override;
  void on_train_end(Model& model) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  EarlyStoppingOptions options_;
  Best best_;
  int64_t waited_ = 0;
  std::string weights_;  // the best ones, as a saved archive
};

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  bool save_best_only = false;
  std::string mode = "auto";
};
/// Saves the model and its optimiser after each epoch. "{epoch}" in the path stands for the number
/// of the epoch.
class ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(std::string path, ModelCheckpointOptions options = {});
  void on_epoch_end(Model& model, int64_t epoch, const Logs& logs) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  std::string path_;
  ModelCheckpointOptions options_;
  Best best_;
};

/// Sets the learning rate before each epoch: schedule(epoch, rate) gives the new one.
class LearningRateScheduler : public Callback {
 public:
  using Schedule = std::function<double(int64_t epoch, double rate)>;
  explicit LearningRateScheduler(Schedule schedule) : schedule_(std::move(schedule)) {}
  void on_epoch_begin(Model& model, int64_t epoch) override;

 private:
  Schedule schedule_;
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  double min_delta = 1e-4, min_lr = 0;
  std::string mode = "auto";
};
/// Lowers the learning rate when a figure has not become better for a number of epochs.
class ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
  void on_epoch_end(Model& model, int64_t epoch, const Logs& logs) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  ReduceLROnPlateauOptions options_;
  Best best_;
  int64_t waited_ = 0;
};

/// Adds a line for each epoch to a CSV file.
class CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::string path) : path_(std::move(path)) {}
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, int64_t epoch, const Logs& logs) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  std::string path_;
  std::string text_;
};

/// Ends training when the loss is not a number any more.
class TerminateOnNaN : public Callback {
 public:
  void on_epoch_end(Model& model, int64_t epoch, const Logs& logs) override;
};

}  // namespace callbacks
}  // namespace trainer
}  // namespace tandem
