#pragma once

/// tandem::nn::utils: clipping of gradients, parameters as one vector, packed sequences.

#include "tandem/nn/utils/clip_grad.h"
#include "tandem/nn/utils/convert_parameters.h"
#include "tandem/nn/utils/rnn.h"
