#pragma once

/// All functions of tandem::nn::functional.

#include "tandem/nn/functional/activation.h"
#include "tandem/nn/functional/linear.h"
