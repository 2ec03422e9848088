#pragma once

/// Networks: modules, their functions and options, first values of parameters, utilities.

#include "tandem/nn/cloneable.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module.h"
#include "tandem/nn/modules.h"
#include "tandem/nn/options.h"
#include "tandem/nn/pimpl.h"
#include "tandem/nn/utils.h"
