#pragma once

#include "tools/tandem/arguments.h"

namespace tandem::cli {

const Command& train_command();
const Command& evaluate_command();
const Command& predict_command();
const Command& info_command();
const Command& bench_command();

}  // namespace tandem::cli
