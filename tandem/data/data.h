#pragma once

// Data sets, samplers, transforms and loaders.
#include "tandem/data/augment.h"
#include "tandem/data/chunk.h"
#include "tandem/data/cifar.h"
#include "tandem/data/csv.h"
#include "tandem/data/datasets.h"
#include "tandem/data/drawn_digits.h"
#include "tandem/data/generated.h"
#include "tandem/data/image_folder.h"
#include "tandem/data/loader.h"
#include "tandem/data/mnist.h"
#include "tandem/data/samplers.h"
#include "tandem/data/text.h"
#include "tandem/data/transforms.h"

namespace tandem::data {

using datasets::BatchDataset;
using datasets::Dataset;

}  // namespace tandem::data
