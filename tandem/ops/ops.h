#pragma once

// All public functions on tensors.
#include "tandem/ops/binary.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/view.h"
