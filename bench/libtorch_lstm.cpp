#include <torch/torch.h>

#include "bench/lstm_workloads.h"

LstmWorkload libtorch_lstm_workload(int threads) {
  torch::set_num_threads(threads);
  auto step = std::make_shared<LanguageModelStep>();
  return {[step] { (*step)(); }, {}, LanguageModel::flops()};
}
