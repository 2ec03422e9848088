#pragma once

/// The options of all modules and functions.

#include "tandem/nn/options/activation.h"
#include "tandem/nn/options/adaptive.h"
#include "tandem/nn/options/attention.h"
#include "tandem/nn/options/batchnorm.h"
#include "tandem/nn/options/conv.h"
#include "tandem/nn/options/dropout.h"
#include "tandem/nn/options/embedding.h"
#include "tandem/nn/options/fold.h"
#include "tandem/nn/options/instancenorm.h"
#include "tandem/nn/options/linear.h"
#include "tandem/nn/options/normalization.h"
#include "tandem/nn/options/padding.h"
#include "tandem/nn/options/pixelshuffle.h"
#include "tandem/nn/options/pooling.h"
#include "tandem/nn/options/distance.h"
#include "tandem/nn/options/loss.h"
#include "tandem/nn/options/rnn.h"
#include "tandem/nn/options/upsampling.h"
#include "tandem/nn/options/vision.h"
