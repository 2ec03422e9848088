#include "tandem/train/progress_state.h"

#include "tandem/base/error.h"

namespace tandem::trainer {
namespace {

template <class Get>
auto read(serialize::InputArchive& archive, const char* key, Get get) {
  IValue v;
  archive.read(key, v);
  return get(v);
}
int64_t read_int(serialize::InputArchive& archive, const char* key) {
  return read(archive, key, [](const IValue& v) { return v.toInt(); });
}

}  // namespace

void ProgressState::save(serialize::OutputArchive& archive) const {
  archive.write("epoch", IValue(epoch));
  archive.write("batch", IValue(batch));
  archive.write("seen", IValue(seen));
  archive.write("totals", IValue(totals));
  archive.write("random", IValue(random));
  archive.write("finished", IValue(finished));
  archive.write("epochs", IValue(epochs));
  serialize::OutputArchive figures, states;
  for (const auto& [name, values] : history) figures.write(name, IValue(values));
  archive.write("history", figures);
  for (size_t i = 0; i < callbacks.size(); ++i) {
    serialize::OutputArchive state;
    callbacks[i]->save(state);
    states.write(std::to_string(i), state);
  }
  archive.write("callbacks", states);
}

void ProgressState::load(serialize::InputArchive& archive) {
  ProgressState s;
  s.epoch = read_int(archive, "epoch");
  s.batch = read_int(archive, "batch");
  s.seen = read_int(archive, "seen");
  TANDEM_CHECK_AS(FileError, s.epoch >= 0 && s.batch >= 0 && s.seen >= 0,
                  "a run cannot be at epoch ", s.epoch, ", batch ", s.batch);
  s.totals = read(archive, "totals", [](const IValue& v) { return v.toTensorVector(); });
  s.random =
      read(archive, "random", [](const IValue& v) { return v.isNone() ? Tensor() : v.toTensor(); });
  s.finished = read(archive, "finished", [](const IValue& v) { return v.toBool(); });
  s.epochs = read(archive, "epochs", [](const IValue& v) { return v.toIntVector(); });
  serialize::InputArchive figures, states;
  archive.read("history", figures);
  for (const std::string& name : figures.keys())
    s.history[name] =
        read(figures, name.c_str(), [](const IValue& v) { return v.toDoubleVector(); });
  archive.read("callbacks", states);
  TANDEM_CHECK_AS(FileError, states.keys().size() == callbacks.size(), "the run was saved with ",
                  states.keys().size(), " callbacks, now there are ", callbacks.size());
  for (size_t i = 0; i < callbacks.size(); ++i) {
    serialize::InputArchive state;
    states.read(std::to_string(i), state);
    callbacks[i]->load(state);
  }
  s.callbacks = callbacks;
  *this = std::move(s);
}

void ProgressState::next_epoch() {
  ++epoch;
  batch = seen = 0;
  totals.clear();
  random = {};
}

}  // namespace tandem::trainer
