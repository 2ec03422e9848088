#pragma once

// Training with a few lines: models, callbacks, checkpoints.
#include "tandem/train/callbacks.h"
#include "tandem/train/checkpoint.h"
#include "tandem/train/model.h"

namespace tandem {
using trainer::Callback;
using trainer::callbacks::CSVLogger;
using trainer::callbacks::EarlyStopping;
using trainer::callbacks::LearningRateScheduler;
using trainer::callbacks::ModelCheckpoint;
using trainer::callbacks::ReduceLROnPlateau;
using trainer::callbacks::TerminateOnNaN;
}  // namespace tandem
