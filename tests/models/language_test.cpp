// Language models: an LSTM and GPT. The tables of numbers are LibTorch 1.13's, computed in float64
// by a program that writes GPT-2 out with matmul, softmax and layer_norm, and sets element j of
// parameter k to 0.4 cos(0.7 j + k), as here.
#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/models/models.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tests/helpers.h"
#include "tests/io/scratch.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

namespace F = nn::functional;

GPTOptions small_gpt() {
  return GPTOptions()
      .vocab_size(11)
      .context_size(8)
      .hidden_size(8)
      .num_heads(2)
      .num_layers(2)
      .dropout(0);
}

void set_parameters(nn::Module& module) {
  const NoGradGuard no_grad;
  module.to(kDouble);
  double k = 0;
  for (Tensor& p : module.parameters())
    p.copy_(((arange(p.numel(), kDouble) * 0.7 + k++).cos() * 0.4).view(p.sizes()));
}

Tensor ten_ids() {
  return tensor({1, 4, 7, 2, 10, 0, 3, 3, 9, 5}, TensorOptions(kLong)).view({2, 5});
}

TEST(GPT, HasLibTorchsValues) {
  GPT net(small_gpt());
  set_parameters(*net);
  const Tensor ids = ten_ids(), scores = net(ids);
  ASSERT_EQ(scores.sizes(), (IntArrayRef{2, 5, 11}));
  test::expect_values(scores[0][4], {-0.165475882, -0.570086745, -0.718803773, -0.544872614,
                                     -0.126365442, 0.348863164, 0.667498174, 0.686514452,
                                     0.397376194, -0.0701316183, -0.506159574});
  test::expect_values(scores[1][2], {-0.162158906, -0.568713313, -0.719990374, -0.548086622,
                                     -0.13016419, 0.346184813, 0.667142447, 0.688641023,
                                     0.401030513, -0.0665898585, -0.504320158});
  const Tensor loss =
      F::cross_entropy(scores.slice(1, 0, 4).reshape({-1, 11}), ids.slice(1, 1, 5).reshape({-1}));
  loss.backward();
  test::expect_values(loss, {2.65552893});
  const auto p = net->named_parameters();
  test::expect_values(p["transformer.wte.weight"].grad()[3],
                      {0.0597179306, 0.0430911897, 0.166822114, 0.153116698, 0.0699598417,
                       -0.0600880771, -0.0583703992, 0.0706795627});
  test::expect_values(
      p["transformer.h.0.attn.c_attn.weight"].grad()[2],
      {2.60399634e-06,  2.11534158e-06, 6.31808625e-07,  -1.1488738e-06,  -2.28484282e-06,
       -2.40000159e-06, -1.3864021e-06, 2.79243956e-07,  7.68850277e-06,  1.71277281e-05,
       1.85115153e-05,  1.11890476e-05, -1.29340598e-06, -1.27150456e-05, -1.81566006e-05,
       -1.50588227e-05, 0.000761383821, 0.0013084,       0.00126811696,   0.000658616496,
       -0.000246524579, -0.00104149429, -0.00136897029,  -0.001081959});
  test::expect_values(p["transformer.wpe.weight"].grad()[0],
                      {0.00484629714, -0.025230641, -0.00315314609, 0.0241133667, 0.00807896924,
                       -0.0237949386, -0.0173524689, 0.0324925615});
}

TEST(GPT, HasHuggingFacesNames) {
  const nn::init::SkipGuard skip;
  const auto net = gpt2();
  const auto names = net->named_parameters();
  EXPECT_EQ(names.size(), 148u);
  EXPECT_EQ(parameters_of(net), 124'439'808);
  EXPECT_EQ(names["transformer.wte.weight"].sizes(), (IntArrayRef{50257, 768}));
  EXPECT_EQ(names["transformer.wpe.weight"].sizes(), (IntArrayRef{1024, 768}));
  EXPECT_EQ(names["transformer.h.11.attn.c_attn.weight"].sizes(), (IntArrayRef{768, 2304}));
  EXPECT_EQ(names["transformer.h.0.mlp.c_fc.weight"].sizes(), (IntArrayRef{768, 3072}));
  for (const char* name : {"transformer.h.0.ln_1.weight", "transformer.h.0.attn.c_attn.bias",
                           "transformer.h.5.attn.c_proj.weight", "transformer.h.5.ln_2.bias",
                           "transformer.h.11.mlp.c_proj.weight", "transformer.ln_f.bias"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_TRUE(net->named_buffers().is_empty());
}

TEST(GPT, CopiesAndFilesHoldTheSame) {
  expect_files_and_copies<GPT>(GPT(small_gpt()), GPT(small_gpt()),
                               [](auto& net) { return net(ten_ids()); });
  GPT net(small_gpt().tied(false));
  expect_gradients_reach(net, net(ten_ids()).pow(2).mean());
}

TEST(GPT, LooksAtNothingThatComesLater) {
  const NoGradGuard no_grad;
  GPT net(small_gpt());
  const Tensor ids = ten_ids(), other = ids.clone();
  other.select(1, 4).fill_(6);
  const Tensor a = net(ids), b = net(other);
  EXPECT_TRUE(equal(a.slice(1, 0, 4), b.slice(1, 0, 4)));
  EXPECT_FALSE(equal(a.select(1, 4), b.select(1, 4)));
}

TEST(GPT, WeightsComeWithAndWithoutPrefix) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "gpt.safetensors";
  GPT net(small_gpt());
  const Tensor ids = ten_ids(), wanted = net(ids);
  save_weights(net, path);
  TensorDict with = load_safetensors(path), without;
  GPT same(small_gpt());
  load_weights(same, path);
  EXPECT_TRUE(equal(same(ids), wanted));
  for (const auto& [name, tensor] : with)
    without[name.substr(std::string("transformer.").size())] = tensor.clone();
  // As in older files: masks, and the embedding a second time.
  without["h.0.attn.bias"] = ones({1, 1, 8, 8}).tril();
  without["h.0.attn.masked_bias"] = full({}, -1e4);
  without["lm_head.weight"] = without["wte.weight"].clone();
  save_safetensors(without, path);
  GPT third(small_gpt());
  const LoadReport report = load_weights(third, path);
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_TRUE(equal(third(ids), wanted));
  // Only under the name of the head.
  without.erase("wte.weight");
  save_safetensors(without, path);
  GPT fourth(small_gpt());
  load_weights(fourth, path);
  EXPECT_TRUE(equal(fourth(ids), wanted));
}

TEST(GPT, AHeadOfItsOwnIsNotMistakenForATiedOne) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "head.safetensors";
  GPT untied(small_gpt().tied(false));
  EXPECT_TRUE(untied->named_parameters().contains("lm_head.weight"));
  save_weights(untied, path);
  GPT tied(small_gpt()), again(small_gpt().tied(false));
  expect_error([&] { load_weights(tied, path); }, "tied(false)");
  load_weights(again, path);
  EXPECT_TRUE(equal(again(ten_ids()), untied(ten_ids())));
  TensorDict both = load_safetensors(path);
  both["wte.weight"] = zeros({11, 8});
  save_safetensors(TensorDict(both), path + "2");
  expect_error([&] { load_weights(again, path + "2"); }, "both ");
}

/// Adds the likeliest symbols one by one, reading all again each time.
Tensor by_hand(GPT& net, Tensor ids, int64_t more) {
  for (int64_t i = 0; i < more; ++i) {
    const int64_t n = ids.size(1), window = std::min(n, net->options.context_size());
    const Tensor scores = net(ids.narrow(1, n - window, window));
    ids = cat({ids, scores.select(1, window - 1).argmax(-1, true)}, 1);
  }
  return ids;
}

TEST(GPT, GeneratesTheLikeliestAlsoBeyondItsContext) {
  const NoGradGuard no_grad;
  manual_seed(5);
  GPT net(small_gpt());
  set_parameters(*net);
  const Tensor prompt = ten_ids().narrow(1, 0, 3);
  const Tensor got = net->generate(prompt, {.max_new_tokens = 12, .temperature = 0});
  EXPECT_TRUE(equal(got, by_hand(net, prompt, 12)));
  // A prompt that is longer than what is looked at.
  const Tensor longer = cat({ten_ids(), ten_ids()}, 1);
  EXPECT_TRUE(equal(net->generate(longer, {.max_new_tokens = 2, .temperature = 0}),
                    by_hand(net, longer, 2)));
  EXPECT_EQ(net->generate(tensor({1, 2}, TensorOptions(kLong)), {.max_new_tokens = 0}).sizes(),
            (IntArrayRef{1, 2}));
}

TEST(GPT, ModesAreAsBeforeAfterGenerating) {
  GPT net(small_gpt().dropout(0.5));
  net->transformer->ln_f->eval();
  net->generate(ten_ids(), {.max_new_tokens = 1});
  EXPECT_TRUE(net->is_training());
  EXPECT_FALSE(net->transformer->ln_f->is_training());
  EXPECT_TRUE(net->transformer->h[1]->is_training());
}

TEST(GPT, MistakesAreExplained) {
  GPT net(small_gpt());
  expect_error([&] { net(zeros({1, 9}, kLong)); }, "9 steps are more than the 8");
  expect_error([&] { net(zeros({3}, kLong)); }, "[batch, steps]");
  expect_error([&] { net->generate(zeros({1, 2})); }, "whole numbers");
  expect_error([&] { net->generate(zeros({1, 0}, kLong)); }, "at least one");
  expect_error(
      [&] {
        net->generate(full({1, 2}, 11, TensorOptions(kLong)));
      },
      "symbol 11 is not one of the 11");
  expect_error([&] { net->generate(full({1, 2}, -1, TensorOptions(kLong))); }, "symbol -1");
  expect_error([&] { net->generate(ten_ids(), {.temperature = -1}); }, "temperature is -1");
  expect_error([&] { net->generate(ten_ids(), {.max_new_tokens = -1}); }, "max_new_tokens is -1");
  expect_error([] { GPT(small_gpt().num_heads(3)); }, "3 heads");
  expect_error([] { GPT(small_gpt().num_layers(0)); }, "num_layers is 0");
}

TEST(GPT, LearnsCompiledAndLineByLineAlike) {
  manual_seed(1);
  GPT eager(small_gpt().dropout(0.1));
  auto compiled = GPT(std::dynamic_pointer_cast<GPTImpl>(eager->clone()));
  const auto step_of = [](GPT& net, optim::Adam& adam) {
    return [&](const Tensor& x, const Tensor& y) {
      adam.zero_grad();
      const Tensor loss = F::cross_entropy(net(x).flatten(0, 1), y.flatten());
      loss.backward();
      adam.step();
      return loss.detach();
    };
  };
  optim::Adam a(eager->parameters(), optim::AdamOptions(3e-2)),
      b(compiled->parameters(), optim::AdamOptions(3e-2));
  const auto one = step_of(eager, a);
  const auto two = compile(step_of(compiled, b));
  const Tensor ids = arange(12).remainder(5).view({2, 6});
  std::vector<double> losses;
  manual_seed(2);
  for (int i = 0; i < 40; ++i)
    losses.push_back(one(ids.narrow(1, 0, 5), ids.narrow(1, 1, 5)).item<double>());
  manual_seed(2);
  for (int i = 0; i < 40; ++i)
    EXPECT_NEAR(two(ids.narrow(1, 0, 5), ids.narrow(1, 1, 5)).item<double>(), losses[i],
                1e-3 * losses[0])
        << i;
  EXPECT_LT(losses.back(), 0.3 * losses.front());
}

TEST(ChooseNext, KeepsToTopKAndTemperature) {
  manual_seed(3);
  const Tensor scores = tensor({0.0, 3.0, 1.0, 2.9, -1.0}).to(kFloat).repeat({400, 1});
  EXPECT_TRUE(choose_next(scores, {.temperature = 0}).eq(1).all().item<bool>());
  const Tensor two = choose_next(scores, {.temperature = 5, .top_k = 2});
  EXPECT_TRUE((two.eq(1) | two.eq(3)).all().item<bool>());
  EXPECT_TRUE(two.eq(3).any().item<bool>());
  EXPECT_TRUE(choose_next(scores, {.temperature = 1e-3}).eq(1).all().item<bool>());
  // The shares are those of the softmax: about 0.48 for the first of them.
  const double share = choose_next(scores, {}).eq(1).to(kFloat).mean().item<double>();
  EXPECT_NEAR(share, 0.478, 0.1);
  expect_error([] { choose_next(zeros({3}), {}); }, "[batch, symbols]");
}

LSTMLanguageModel small_lstm() {
  return LSTMLanguageModel(
      LSTMLanguageModelOptions(7).embedding_size(4).hidden_size(6).num_layers(2));
}

TEST(LSTMLanguageModel, GoesOnWhereItStopped) {
  const NoGradGuard no_grad;
  auto net = small_lstm();
  const Tensor ids = arange(20).remainder(7).view({2, 10});
  const Tensor whole = net(ids);
  EXPECT_EQ(whole.sizes(), (IntArrayRef{2, 10, 7}));
  const auto [first, state] = net->forward_with_state(ids.narrow(1, 0, 4));
  const auto [second, after] = net->forward_with_state(ids.narrow(1, 4, 6), state);
  EXPECT_TRUE(allclose(cat({first, second}, 1), whole, 1e-5, 1e-6));
  EXPECT_EQ(std::get<1>(after).sizes(), (IntArrayRef{2, 2, 6}));
  EXPECT_TRUE(equal(std::get<0>(net->forward_with_state(ids, net->zero_state(2))), whole));
}

TEST(LSTMLanguageModel, GeneratesTheLikeliest) {
  const NoGradGuard no_grad;
  auto net = small_lstm();
  Tensor ids = tensor({1, 2, 3}, TensorOptions(kLong)).unsqueeze(0);
  const Tensor got = net->generate(ids, {.max_new_tokens = 5, .temperature = 0});
  for (int i = 0; i < 5; ++i)
    ids = cat({ids, net(ids).select(1, ids.size(1) - 1).argmax(-1, true)}, 1);
  EXPECT_TRUE(equal(got, ids));
  expect_error([&] { net(ids[0]); }, "[batch, steps]");
  expect_error([] { LSTMLanguageModel(LSTMLanguageModelOptions(0)); }, "vocab_size is 0");
}

TEST(LSTMLanguageModel, CopiesAndFilesHoldTheSame) {
  const Tensor ids = arange(6).view({2, 3});
  expect_files_and_copies<LSTMLanguageModel>(small_lstm(), small_lstm(),
                                             [&](auto& net) { return net(ids); });
  const Scratch scratch;
  auto net = small_lstm(), other = small_lstm();
  save_weights(net, scratch / "weights");
  EXPECT_EQ(load_weights(other, scratch / "weights").loaded, 11);
  EXPECT_TRUE(equal(net(ids), other(ids)));
}

TEST(LSTMLanguageModel, GradientsReachAllParameters) {
  auto net = small_lstm();
  expect_gradients_reach(net,
                         F::cross_entropy(net(arange(6).view({2, 3})).flatten(0, 1), arange(1, 7)));
}

}  // namespace
}  // namespace tandem::models
