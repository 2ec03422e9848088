#pragma once

#include <cstdint>

#include "tandem/nn/module.h"

namespace tandem::models {

/// How language models choose what comes next.
struct GenerateOptions {
  int64_t max_new_tokens = 100;
  /// Scores are divided by it: below 1 likely symbols become more likely. 0: always the likeliest.
  double temperature = 1;
  /// Only so many of the likeliest are chosen from; 0: all.
  int64_t top_k = 0;
};

/// Chooses a symbol for each row of scores, [batch, symbols]; the numbers of those chosen are
/// [batch]. Random numbers are those of manual_seed().
Tensor choose_next(const Tensor& scores, const GenerateOptions& options);

namespace detail {
/// Checks the options and what is to be continued: whole numbers below n_symbols, [batch, steps] or
/// [steps], at least one step; gives them as int64 [batch, steps].
Tensor checked_prompt(const char* who, const Tensor& ids, int64_t n_symbols,
                      const GenerateOptions& options);

/// In its scope a module and those below it are in evaluation mode; afterwards as before.
class EvalScope {
 public:
  explicit EvalScope(nn::Module& module);
  ~EvalScope();
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  std::vector<std::pair<nn::Module*, bool>> before_;  // each before those below it
};
}  // namespace detail

}  // namespace tandem::models
