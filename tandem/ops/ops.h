#pragma once

// All public functions on tensors.
#include "tandem/ops/activation.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/binary_more.h"
#include "tandem/ops/compare.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/literal.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/print.h"
#include "tandem/ops/random.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/scan.h"
#include "tandem/ops/ternary.h"
#include "tandem/ops/unary.h"
#include "tandem/ops/view.h"
