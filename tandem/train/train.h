#pragma once

// Training with a few lines: models, callbacks, checkpoints.
#include "tandem/train/callbacks.h"
#include "tandem/train/checkpoint.h"
#include "tandem/train/model.h"

namespace tandem {
using train::Callback;
using train::callbacks::CSVLogger;
using train::callbacks::EarlyStopping;
using train::callbacks::LearningRateScheduler;
using train::callbacks::ModelCheckpoint;
using train::callbacks::ReduceLROnPlateau;
using train::callbacks::TerminateOnNaN;
}  // namespace tandem
