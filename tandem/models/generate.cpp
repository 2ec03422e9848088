#include "tandem/models/generate.h"

#include <cmath>
#include <limits>

#include "tandem/ops/ops.h"

namespace tandem::models {

Tensor choose_next(const Tensor& scores, const GenerateOptions& options) {
  TANDEM_CHECK_SHAPE(scores.dim() == 2 && scores.size(1) > 0,
                     "choose_next: scores are to be [batch, symbols], not ", scores.sizes());
  if (options.temperature == 0) return scores.argmax(-1);
  Tensor x = scores.to(kFloat) / options.temperature;
  if (options.top_k > 0 && options.top_k < x.size(1)) {
    // The others get no share, whatever they score.
    const Tensor least = std::get<0>(x.topk(options.top_k, -1)).narrow(1, options.top_k - 1, 1);
    x = x.masked_fill(x.lt(least), -std::numeric_limits<double>::infinity());
  }
  return softmax(x, -1).multinomial(1).squeeze(1);
}

Tensor detail::checked_prompt(const char* who, const Tensor& ids, int64_t n_symbols,
                              const GenerateOptions& options) {
  TANDEM_CHECK_AS(ValueError, options.max_new_tokens >= 0, who, ": max_new_tokens is ",
                  options.max_new_tokens);
  TANDEM_CHECK_AS(ValueError, options.temperature >= 0 && std::isfinite(options.temperature), who,
                  ": the temperature is ", options.temperature, ", expected 0 or more");
  TANDEM_CHECK_AS(ValueError, options.top_k >= 0, who, ": top_k is ", options.top_k);
  TANDEM_CHECK_TYPE(!is_floating(ids.dtype()) && ids.dtype() != kBool, who,
                    ": symbols are whole numbers, not ", ids.dtype());
  const Tensor rows = ids.dim() == 1 ? ids.unsqueeze(0) : ids;
  TANDEM_CHECK_SHAPE(rows.dim() == 2 && rows.size(0) > 0 && rows.size(1) > 0, who,
                     ": what is to be continued is [batch, steps] with at least one step, not ",
                     ids.sizes());
  const Tensor whole = rows.to(kLong);
  const auto least = whole.min().item<int64_t>(), most = whole.max().item<int64_t>();
  TANDEM_CHECK_INDEX(least >= 0 && most < n_symbols, who, ": symbol ", least < 0 ? least : most,
                     " is not one of the ", n_symbols);
  return whole;
}

detail::EvalScope::EvalScope(nn::Module& module) {
  module.apply([&](nn::Module& m) { before_.emplace_back(&m, m.is_training()); });
  module.eval();
}
detail::EvalScope::~EvalScope() {
  // train() also changes the modules below; they come later and are put right then.
  for (const auto& [module, training] : before_) module->train(training);
}

}  // namespace tandem::models
