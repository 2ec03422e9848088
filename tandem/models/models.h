#pragma once

// Networks by name.
#include "tandem/models/resnet.h"
#include "tandem/models/vgg.h"
