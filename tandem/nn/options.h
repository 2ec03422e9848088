#pragma once

/// The options of all modules and functions.

#include "tandem/nn/options/activation.h"
#include "tandem/nn/options/linear.h"
#include "tandem/nn/options/rnn.h"
