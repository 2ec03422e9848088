#pragma once

/// All schedules of learning rates.
#include "tandem/optim/schedulers/combined_lr.h"
#include "tandem/optim/schedulers/cosine_lr.h"
#include "tandem/optim/schedulers/linear_lr.h"
#include "tandem/optim/schedulers/lr_scheduler.h"
#include "tandem/optim/schedulers/one_cycle_lr.h"
#include "tandem/optim/schedulers/reduce_on_plateau_scheduler.h"
#include "tandem/optim/schedulers/step_lr.h"
