#pragma once

/// All functions of tandem::nn::functional.

#include "tandem/nn/functional/activation.h"
#include "tandem/nn/functional/attention.h"
#include "tandem/nn/functional/conv.h"
#include "tandem/nn/functional/dropout.h"
#include "tandem/nn/functional/embedding.h"
#include "tandem/nn/functional/fold.h"
#include "tandem/nn/functional/linear.h"
#include "tandem/nn/functional/normalization.h"
#include "tandem/nn/functional/padding.h"
#include "tandem/nn/functional/pixelshuffle.h"
#include "tandem/nn/functional/pooling.h"
#include "tandem/nn/functional/upsampling.h"
#include "tandem/nn/functional/vision.h"
#include "tandem/nn/functional/distance.h"
#include "tandem/nn/functional/loss.h"
