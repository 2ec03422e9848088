#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/serialize/archive.h"
#include "tandem/train/callbacks.h"

namespace tandem::trainer {

/// How far a run of fit() is, beside its network and optimiser: enough to go on within an epoch as
/// if nothing had happened.
struct ProgressState {
  int64_t epoch = 0;            // the one at hand, counted from 0
  int64_t batch = 0;            // how many of its batches are done
  int64_t seen = 0;             // examples in them
  std::vector<Tensor> totals;   // the sums over them that the loss and the metrics are made of
  Tensor random;                // state of the default generator before the epoch's order was drawn
  bool finished = false;        // a callback has ended the run
  std::vector<int64_t> epochs;  // those that are done, and their figures
  std::map<std::string, std::vector<double>> history;
  std::vector<CallbackPtr> callbacks;  // have a state too

  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

  /// The epoch is done: the next one begins with nothing.
  void next_epoch();
};

}  // namespace tandem::trainer
