#pragma once

/// All of Tandem in one header. Programs written for LibTorch need one more line:
///
///     #include <tandem/tandem.h>
///     namespace torch = tandem;

#include "tandem/base/array_ref.h"
#include "tandem/base/error.h"
#include "tandem/base/parallel.h"
#include "tandem/core/dtype.h"
#include "tandem/core/half.h"
#include "tandem/core/shape.h"
