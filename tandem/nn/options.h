#pragma once

/// The options of all modules and functions.

#include "tandem/nn/options/rnn.h"
