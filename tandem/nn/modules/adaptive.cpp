#include "tandem/nn/modules/adaptive.h"

#include <cmath>

#include "tandem/nn/modules/container/sequential.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(
    AdaptiveLogSoftmaxWithLossOptions options_)
    : options(std::move(options_)) {
  AdaptiveLogSoftmaxWithLossImpl::reset();
}

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  const std::vector<int64_t>& given = options.cutoffs();
  bool rising = !given.empty() && given.front() > 0 && given.back() <= options.n_classes() - 1;
  for (size_t i = 1; i < given.size(); ++i) rising &= given[i - 1] < given[i];
  TANDEM_CHECK(rising,
               "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
               "order, where each value is between 1 and n_classes-1, got ",
               IntArrayRef(given), " for ", options.n_classes(), " classes");
  TANDEM_CHECK(options.div_value() > 0, "div_value must be positive, got ", options.div_value());
  cutoffs = given;
  cutoffs.push_back(options.n_classes());
  shortlist_size = cutoffs[0];
  n_clusters = static_cast<int64_t>(cutoffs.size()) - 1;
  head_size = shortlist_size + n_clusters;
  head = register_module(
      "head", Linear(LinearOptions(options.in_features(), head_size).bias(options.head_bias())));
  tail = register_module("tail", ModuleList());
  for (int64_t i = 0; i < n_clusters; ++i) {
    const auto features =
        static_cast<int64_t>(static_cast<double>(options.in_features()) /
                             std::pow(options.div_value(), static_cast<double>(i + 1)));
    const auto at = static_cast<size_t>(i);
    tail->push_back(
        Sequential(Linear(LinearOptions(options.in_features(), features).bias(false)),
                   Linear(LinearOptions(features, cutoffs[at + 1] - cutoffs[at]).bias(false))));
  }
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (int64_t i = 0; i < n_clusters; ++i) {
    auto cluster = tail[static_cast<size_t>(i)]->as<Sequential>();
    for (const auto& layer : cluster->children()) layer->as<Linear>()->reset_parameters();
  }
}

void AdaptiveLogSoftmaxWithLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"AdaptiveLogSoftmaxWithLoss"};
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Tensor& input_, const Tensor& target_) {
  const ForwardScope scope(*this);
  const bool batched = target_.dim() > 0;
  TANDEM_CHECK_SHAPE(target_.dim() <= 1, "0D or 1D target tensor expected, got shape ",
                     target_.sizes());
  TANDEM_CHECK_SHAPE(input_.dim() == (batched ? 2 : 1), batched ? "1D" : "0D",
                     " target tensor expects ", batched ? "2D" : "1D",
                     " input tensors, but found inputs with sizes ", input_.sizes(), ".");
  const Tensor input = batched ? input_ : input_.unsqueeze(0);
  const Tensor target = batched ? target_ : target_.unsqueeze(0);
  TANDEM_CHECK_SHAPE(input.size(0) == target.size(0),
                     "Input and target should have the same size in the batch dimension, got ",
                     input_.sizes(), " and ", target_.sizes());
  if (target.numel() > 0) {
    const auto low = target.min().item<int64_t>(), high = target.max().item<int64_t>();
    TANDEM_CHECK(low >= 0 && high < options.n_classes(), "Target values should be in [0, ",
                 options.n_classes() - 1, "], but values in range [", low, ", ", high,
                 "] were found.");
  }
  const Tensor head_log = log_softmax(head(input), 1);
  // The head's column of each target: its own, or that of its cluster.
  Tensor column = target;
  std::vector<std::pair<Tensor, Tensor>> parts;  // rows, log probabilities within the cluster
  for (int64_t i = 0; i < n_clusters; ++i) {
    const auto at = static_cast<size_t>(i);
    const Tensor inside = (target >= cutoffs[at]) & (target < cutoffs[at + 1]);
    column = column.masked_fill(inside, shortlist_size + i);
    const Tensor rows = inside.nonzero().reshape({-1});
    if (rows.numel() == 0) continue;
    const Tensor hidden = tail[at]->as<Sequential>()->forward(input.index_select(0, rows));
    const Tensor within = (target.index_select(0, rows) - cutoffs[at]).unsqueeze(1);
    parts.emplace_back(rows, log_softmax(hidden, 1).gather(1, within).squeeze(1));
  }
  Tensor output = head_log.gather(1, column.unsqueeze(1)).squeeze(1);
  for (const auto& [rows, log_probs] : parts) output = output.index_add(0, rows, log_probs);
  const double loss = (-output.detach()).mean().item<double>();
  return {batched ? output : output.squeeze(0), loss};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::_get_full_log_prob(const Tensor& input,
                                                          const Tensor& head_output) {
  const Tensor head_log = log_softmax(head_output, 1);
  std::vector<Tensor> parts{head_log.narrow(1, 0, shortlist_size)};
  for (int64_t i = 0; i < n_clusters; ++i) {
    const Tensor within =
        log_softmax(tail[static_cast<size_t>(i)]->as<Sequential>()->forward(input), 1);
    parts.push_back(within + head_log.narrow(1, shortlist_size + i, 1));
  }
  return cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Tensor& input) {
  const ForwardScope scope(*this);
  return _get_full_log_prob(input, head(input));
}

Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Tensor& input) {
  return log_prob(input).argmax(1);
}

}  // namespace tandem::nn
