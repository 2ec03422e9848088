#pragma once

// Networks by name.
#include "tandem/models/bert.h"
#include "tandem/models/cell_stack.h"
#include "tandem/models/cifar_resnet.h"
#include "tandem/models/generate.h"
#include "tandem/models/gpt.h"
#include "tandem/models/lstm_lm.h"
#include "tandem/models/module_network.h"
#include "tandem/models/program.h"
#include "tandem/models/registry.h"
#include "tandem/models/resnet.h"
#include "tandem/models/scene_modules.h"
#include "tandem/models/seq2seq.h"
#include "tandem/models/tree.h"
#include "tandem/models/vgg.h"
#include "tandem/models/vit.h"
#include "tandem/models/weights.h"
