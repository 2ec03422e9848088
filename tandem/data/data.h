#pragma once

// Data sets, samplers, transforms and loaders.
#include "tandem/data/chunk.h"
#include "tandem/data/datasets.h"
#include "tandem/data/loader.h"
#include "tandem/data/mnist.h"
#include "tandem/data/samplers.h"
#include "tandem/data/transforms.h"
