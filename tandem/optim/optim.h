#pragma once

/// All optimisers and schedules.
#include "tandem/optim/adagrad.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/adamw.h"
#include "tandem/optim/lbfgs.h"
#include "tandem/optim/lion.h"
#include "tandem/optim/optimizer.h"
#include "tandem/optim/rmsprop.h"
#include "tandem/optim/schedulers/schedulers.h"
#include "tandem/optim/sgd.h"
