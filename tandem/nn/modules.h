#pragma once

/// All modules.

#include "tandem/nn/modules/activation.h"
#include "tandem/nn/modules/attention.h"
#include "tandem/nn/modules/common.h"
#include "tandem/nn/modules/container/any.h"
#include "tandem/nn/modules/container/functional.h"
#include "tandem/nn/modules/container/moduledict.h"
#include "tandem/nn/modules/container/modulelist.h"
#include "tandem/nn/modules/container/named_any.h"
#include "tandem/nn/modules/container/parameterdict.h"
#include "tandem/nn/modules/container/parameterlist.h"
#include "tandem/nn/modules/container/sequential.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/padding.h"
#include "tandem/nn/modules/pixelshuffle.h"
#include "tandem/nn/modules/pooling.h"
#include "tandem/nn/modules/rnn.h"
#include "tandem/nn/modules/upsampling.h"
