#include "tandem/train/callbacks.h"

#include <limits>
#include <sstream>

#include "tandem/io/file.h"
#include "tandem/train/model.h"

namespace tandem::trainer::callbacks {

Best::Best(std::string monitor, std::string mode, double min_delta)
    : monitor_(std::move(monitor)),
      min_delta_(std::abs(min_delta)),
      best_(std::numeric_limits<double>::quiet_NaN()) {
  TANDEM_CHECK(mode == "auto" || mode == "min" || mode == "max", "callback: mode '", mode,
               "' is neither min nor max nor auto");
  const auto contains = [&](const char* word) { return monitor_.find(word) != std::string::npos; };
  const bool larger =
      mode == "max" || (mode == "auto" && (contains("acc") || contains("precision") ||
                                           contains("recall") || contains("f1")));
  sign_ = larger ? -1 : 1;
}

bool Best::better(const Logs& logs, const char* who) {
  const auto found = logs.find(monitor_);
  if (found == logs.end()) {
    std::string known;
    for (const auto& [name, value] : logs) known += " " + name;
    TANDEM_CHECK(false, who, ": there is no figure '", monitor_, "'; there are:", known);
  }
  const double now = found->second;
  if (std::isnan(now) || (!std::isnan(best_) && sign_ * (best_ - now) <= min_delta_)) return false;
  best_ = now;
  return true;
}

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)), best_(options_.monitor, options_.mode, options_.min_delta) {}

void EarlyStopping::on_train_begin(Model&) {
  best_ = Best(options_.monitor, options_.mode, options_.min_delta);
  waited_ = 0;
  weights_.clear();
}

void EarlyStopping::on_epoch_end(Model& model, int64_t, const Logs& logs) {
  if (best_.better(logs, "EarlyStopping")) {
    waited_ = 0;
    if (!options_.restore_best_weights) return;
    serialize::OutputArchive archive;
    model.module().save(archive);
    std::ostringstream out;
    archive.save_to(out);
    weights_ = std::move(out).str();
  } else if (++waited_ > options_.patience) {
    model.stop_training = true;
  }
}

void EarlyStopping::on_train_end(Model& model) {
  if (weights_.empty()) return;
  serialize::InputArchive archive;
  archive.load_from(weights_.data(), weights_.size());
  model.module().load(archive);
}

ModelCheckpoint::ModelCheckpoint(std::string path, ModelCheckpointOptions options)
    : path_(std::move(path)),
      options_(std::move(options)),
      best_(options_.monitor, options_.mode, 0) {}

void ModelCheckpoint::on_epoch_end(Model& model, int64_t epoch, const Logs& logs) {
  if (options_.save_best_only && !best_.better(logs, "ModelCheckpoint")) return;
  std::string path = path_;
  if (const size_t at = path.find("{epoch}"); at != std::string::npos)
    path.replace(at, 7, std::to_string(epoch + 1));
  model.save(path);
}

void LearningRateScheduler::on_epoch_begin(Model& model, int64_t epoch) {
  model.set_learning_rate(schedule_(epoch, model.learning_rate()));
}

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : options_(std::move(options)), best_(options_.monitor, options_.mode, options_.min_delta) {
  TANDEM_CHECK(options_.factor > 0 && options_.factor < 1, "ReduceLROnPlateau: the factor ",
               options_.factor, " is not between 0 and 1");
}

void ReduceLROnPlateau::on_epoch_end(Model& model, int64_t, const Logs& logs) {
  if (best_.better(logs, "ReduceLROnPlateau")) {
    waited_ = 0;
  } else if (++waited_ > options_.patience) {
    waited_ = 0;
    model.set_learning_rate(std::max(options_.min_lr, model.learning_rate() * options_.factor));
  }
}

void CSVLogger::on_train_begin(Model&) { text_.clear(); }

void CSVLogger::on_epoch_end(Model&, int64_t epoch, const Logs& logs) {
  std::ostringstream line;
  if (text_.empty()) {
    line << "epoch";
    for (const auto& [name, value] : logs) line << ',' << name;
    line << '\n';
  }
  line.precision(9);
  line << epoch + 1;
  for (const auto& [name, value] : logs) line << ',' << value;
  text_ += line.str() + '\n';
  io::AtomicFile file(path_);
  file.write(text_);
  file.commit();
}

void TerminateOnNaN::on_epoch_end(Model& model, int64_t, const Logs& logs) {
  const auto loss = logs.find("loss");
  if (loss != logs.end() && !std::isfinite(loss->second)) model.stop_training = true;
}

}  // namespace tandem::trainer::callbacks
