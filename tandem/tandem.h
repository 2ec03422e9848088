#pragma once

/// Everything. Programs that want to compile faster include the headers that they need. Those
/// written for LibTorch need one more line:
///
///     #include <tandem/tandem.h>
///     namespace torch = tandem;

// As with LibTorch's, programs that include this header print tensors without asking for more.
#include <iostream>

#include "tandem/autograd/autograd.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/autograd/tape.h"
#include "tandem/base/enum.h"
#include "tandem/base/expanding_array.h"
#include "tandem/base/memory.h"
#include "tandem/base/ordered_dict.h"
#include "tandem/base/parallel.h"
#include "tandem/base/version.h"
#include "tandem/base/warning.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/lazy.h"
#include "tandem/compile/session.h"
#include "tandem/compile/trace.h"
#include "tandem/compile/transforms.h"
#include "tandem/compile/vmap.h"
#include "tandem/core/cuda.h"
#include "tandem/core/graph.h"
#include "tandem/core/tensor.h"
#include "tandem/data/data.h"
#include "tandem/inspect/draw.h"
#include "tandem/inspect/module_notes.h"
#include "tandem/io/npy.h"
#include "tandem/io/safetensors.h"
#include "tandem/models/models.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/runtime/config.h"
#include "tandem/serialize/archive.h"
#include "tandem/torch_macros.h"
#include "tandem/torch_names.h"
#include "tandem/torch_out.h"
#include "tandem/train/train.h"
