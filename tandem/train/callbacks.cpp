#include "tandem/train/callbacks.h"

#include <limits>
#include <sstream>

#include "tandem/io/file.h"
#include "tandem/ops/creation.h"
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

void Best::save(serialize::OutputArchive& archive) const { archive.write("best", IValue(best_)); }
void Best::load(serialize::InputArchive& archive) {
  IValue best;
  archive.read("best", best);
  best_ = best.toDouble();
}

namespace {

void save_best(serialize::OutputArchive& archive, const Best& best, int64_t waited) {
  best.save(archive);
  archive.write("waited", IValue(waited));
}
void load_best(serialize::InputArchive& archive, Best& best, int64_t& waited) {
  IValue v;
  archive.read("waited", v);
  best.load(archive);
  waited = v.toInt();
}
std::string read_text(serialize::InputArchive& archive, const char* key) {
  Tensor bytes;
  archive.read(key, bytes, /*is_buffer=*/true);
  TANDEM_CHECK_TYPE(bytes.scalar_type() == kByte, "callback: ", key, " should be bytes, but is ",
                    name_of(bytes.scalar_type()));
  const Tensor dense = bytes.contiguous();
  return {reinterpret_cast<const char*>(dense.data_ptr<uint8_t>()),
          static_cast<size_t>(dense.numel())};
}
void write_text(serialize::OutputArchive& archive, const char* key, const std::string& text) {
  // As a tensor: an archive's own text is for names and numbers.
  Tensor bytes = empty({static_cast<int64_t>(text.size())}, TensorOptions(kByte));
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(bytes.data_ptr<uint8_t>()));
  archive.write(key, bytes, /*is_buffer=*/true);
}

}  // namespace

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

void EarlyStopping::save(serialize::OutputArchive& archive) const {
  save_best(archive, best_, waited_);
  write_text(archive, "weights", weights_);
}
void EarlyStopping::load(serialize::InputArchive& archive) {
  load_best(archive, best_, waited_);
  weights_ = read_text(archive, "weights");
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

void ModelCheckpoint::save(serialize::OutputArchive& archive) const { best_.save(archive); }
void ModelCheckpoint::load(serialize::InputArchive& archive) { best_.load(archive); }

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

void ReduceLROnPlateau::save(serialize::OutputArchive& archive) const {
  save_best(archive, best_, waited_);
}
void ReduceLROnPlateau::load(serialize::InputArchive& archive) {
  load_best(archive, best_, waited_);
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

void CSVLogger::save(serialize::OutputArchive& archive) const {
  write_text(archive, "text", text_);
}
void CSVLogger::load(serialize::InputArchive& archive) { text_ = read_text(archive, "text"); }

void TerminateOnNaN::on_epoch_end(Model& model, int64_t, const Logs& logs) {
  const auto loss = logs.find("loss");
  if (loss != logs.end() && !std::isfinite(loss->second)) model.stop_training = true;
}

}  // namespace tandem::trainer::callbacks
