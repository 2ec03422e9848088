#include "tandem/train/parts.h"

#include <algorithm>
#include <map>

#include "tandem/base/words.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/ops.h"

namespace tandem::trainer {
namespace {

namespace F = nn::functional;

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

/// Keras spells names in other ways: "binary_crossentropy", "MeanSquaredError".
std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (c != '_' && c != '-' && c != ' ')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <class Map>
auto find(const Map& map, const std::string& name) {
  return std::find_if(map.begin(), map.end(),
                      [&](const auto& e) { return plain(e.first) == plain(name); });
}

const std::map<std::string, Loss::Function>& losses() {
  using T = const Tensor&;
  static const std::map<std::string, Loss::Function> all = {
      {"cross_entropy", [](T p, T t) { return F::cross_entropy(p, t); }},
      {"categorical_crossentropy", [](T p, T t) { return F::cross_entropy(p, t); }},
      {"sparse_categorical_crossentropy", [](T p, T t) { return F::cross_entropy(p, t); }},
      {"nll", [](T p, T t) { return F::nll_loss(p, t); }},
      {"mse", [](T p, T t) { return F::mse_loss(p, t); }},
      {"mean_squared_error", [](T p, T t) { return F::mse_loss(p, t); }},
      {"mae", [](T p, T t) { return F::l1_loss(p, t); }},
      {"mean_absolute_error", [](T p, T t) { return F::l1_loss(p, t); }},
      {"l1", [](T p, T t) { return F::l1_loss(p, t); }},
      {"smooth_l1", [](T p, T t) { return F::smooth_l1_loss(p, t); }},
      {"huber", [](T p, T t) { return F::huber_loss(p, t); }},
      {"binary_crossentropy", [](T p, T t) { return F::binary_cross_entropy(p, t); }},
      {"bce", [](T p, T t) { return F::binary_cross_entropy(p, t); }},
      {"bce_with_logits", [](T p, T t) { return F::binary_cross_entropy_with_logits(p, t); }},
      {"kl_div", [](T p, T t) { return F::kl_div(p, t); }},
      {"multi_margin", [](T p, T t) { return F::multi_margin_loss(p, t); }},
      {"hinge_embedding", [](T p, T t) { return F::hinge_embedding_loss(p, t); }},
      {"norm", [](T p, T t) { return (t - p).norm(); }},
  };
  return all;
}

Tensor count_of(const Tensor& t) {
  return full({}, static_cast<double>(t.size(0)), TensorOptions(kDouble));
}

/// The class that is predicted: the largest score, or for a single score whether it is above the
/// half.
Tensor classes(const Tensor& prediction) {
  if (prediction.dim() > 1 && prediction.size(-1) > 1) return prediction.argmax(-1);
  return (prediction > 0.5).to(kLong).reshape({-1});
}
/// Targets as classes: indices, or rows of probabilities.
Tensor target_classes(const Tensor& prediction, const Tensor& target) {
  if (target.dim() == prediction.dim() && target.dim() > 1 && target.size(-1) > 1)
    return target.argmax(-1);
  return target.to(kLong).reshape({-1});
}

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

Metric mean_of(const std::string& name, Loss::Function mean) {
  return {name,
          [mean](const Tensor& p, const Tensor& t) {
            const Tensor n = count_of(t);
            return stack({mean(p, t).to(kDouble) * n, n});
          },
          [](const std::vector<double>& s) { return ratio(s[0], s[1]); }};
}

Tensor correct(const Tensor& p, const Tensor& t) {
  const Tensor right = classes(p).reshape({-1}).eq(target_classes(p, t).reshape({-1}));
  return stack({right.to(kDouble).sum(), full({}, static_cast<double>(right.numel()), kDouble)});
}

Metric top_k(int64_t k) {
  return {str("top_", k, "_accuracy"),
          [k](const Tensor& p, const Tensor& t) {
            const Tensor best = std::get<1>(p.topk(std::min(k, p.size(-1)), -1));
            const Tensor right = best.eq(target_classes(p, t).unsqueeze(-1)).any(-1);
            return stack({right.to(kDouble).sum(), count_of(t)});
          },
          [](const std::vector<double>& s) { return ratio(s[0], s[1]); }};
}

/// True positives, all that were predicted, all that there are, of class 1.
Tensor positives(const Tensor& p, const Tensor& t) {
  const Tensor said = classes(p).eq(1).to(kDouble), is = target_classes(p, t).eq(1).to(kDouble);
  return stack({(said * is).sum(), said.sum(), is.sum()});
}

const std::map<std::string, std::function<Metric()>>& metrics() {
  static const auto share = [](const std::vector<double>& s) { return ratio(s[0], s[1]); };
  static const std::map<std::string, std::function<Metric()>> all = {
      {"accuracy",
       [] {
         return Metric{"accuracy", correct, share};
       }},
      {"top_k_accuracy", [] { return top_k(5); }},
      {"top_5_accuracy", [] { return top_k(5); }},
      {"precision",
       [] {
         return Metric{"precision", positives, share};
       }},
      {"recall",
       [] {
         return Metric{"recall", positives,
                       [](const std::vector<double>& s) { return ratio(s[0], s[2]); }};
       }},
      {"f1",
       [] {
         return Metric{"f1", positives,
                       [](const std::vector<double>& s) { return ratio(2 * s[0], s[1] + s[2]); }};
       }},
      {"mse", [] { return mean_of("mse", losses().at("mse")); }},
      {"mae", [] { return mean_of("mae", losses().at("mae")); }},
  };
  return all;
}

const std::map<std::string, OptimizerChoice>& optimizers() {
  static const std::map<std::string, OptimizerChoice> all = {
      {"sgd", optim::SGDOptions(0.01)},     {"adam", optim::AdamOptions()},
      {"adamw", optim::AdamWOptions()},     {"rmsprop", optim::RMSpropOptions()},
      {"adagrad", optim::AdagradOptions()}, {"lion", optim::LionOptions()},
  };
  return all;
}

}  // namespace

Loss::Loss(const std::string& name) {
  const auto found = find(losses(), name);
  TANDEM_CHECK(found != losses().end(), "there is no loss '", name, "'",
               did_you_mean(name, names()));
  name_ = found->first;
  function_ = found->second;
}
std::vector<std::string> Loss::names() { return keys_of(losses()); }

Metric::Metric(const std::string& name) {
  const auto found = find(metrics(), name == "acc" ? "accuracy" : name);
  TANDEM_CHECK(found != metrics().end(), "there is no metric '", name, "'",
               did_you_mean(name, names()));
  *this = found->second();
}
Metric::Metric(std::string n, Loss::Function mean) : Metric(mean_of(n, std::move(mean))) {}
std::vector<std::string> Metric::names() { return keys_of(metrics()); }

OptimizerChoice::OptimizerChoice(const std::string& name) {
  const auto found = find(optimizers(), name);
  TANDEM_CHECK(found != optimizers().end(), "there is no optimiser '", name, "'",
               did_you_mean(name, names()));
  *this = found->second;
}
std::vector<std::string> OptimizerChoice::names() { return keys_of(optimizers()); }

}  // namespace tandem::trainer
