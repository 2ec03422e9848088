// Encoders of text.
#include "tandem/models/bert.h"

#include <gtest/gtest.h>

#include <set>

#include "tandem/compile/compile.h"
#include "tandem/models/registry.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tests/io/scratch.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

BERTOptions small_bert() {
  return BERTOptions()
      .vocab_size(11)
      .context_size(7)
      .hidden_size(8)
      .mlp_size(12)
      .num_layers(2)
      .num_heads(2)
      .dropout(0);
}

/// With weights that are not small, as they are at first.
template <class Net>
Net randomised(Net net) {
  const NoGradGuard no_grad;
  for (Tensor& p : net->parameters()) p.normal_(0, 0.4);
  return net;
}

Tensor some_ids(int64_t batch = 3, int64_t steps = 6) {
  return randint(0, 11, {batch, steps}, kLong);
}

/// A layer is what nn::TransformerEncoderLayer computes: it is given the weights.
TEST(BERT, EqualsALayerOfTransformerEncoder) {
  const NoGradGuard no_grad;
  manual_seed(1);
  BERT net = randomised(BERT(small_bert()));
  const Tensor ids = some_ids(), kinds = randint(0, 2, {3, 6}, kLong);
  const Tensor mask =
      tensor({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0}, kLong).view({3, 6});

  const auto p = net->named_parameters();
  Tensor x = p["embeddings.word_embeddings.weight"].index_select(0, ids.flatten()) +
             p["embeddings.token_type_embeddings.weight"].index_select(0, kinds.flatten());
  x = x.view({3, 6, 8}) + p["embeddings.position_embeddings.weight"].narrow(0, 0, 6);
  x = layer_norm(x, {8}, p["embeddings.LayerNorm.weight"], p["embeddings.LayerNorm.bias"], 1e-12);
  x = x.transpose(0, 1);
  for (const std::string at : {"encoder.layer.0.", "encoder.layer.1."}) {
    nn::TransformerEncoderLayer layer(
        nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(12).dropout(0).activation(
            tandem::kGELU));
    layer->eval();
    layer->norm1->options.eps(1e-12);
    layer->norm2->options.eps(1e-12);
    auto q = layer->named_parameters();
    const auto joined = [&](const char* end) {
      std::vector<Tensor> parts;
      for (const char* name : {"query", "key", "value"})
        parts.push_back(p[at + "attention.self." + name + end]);
      return cat(parts);
    };
    q["self_attn.in_proj_weight"].copy_(joined(".weight"));
    q["self_attn.in_proj_bias"].copy_(joined(".bias"));
    for (const auto& [there, here] :
         {std::pair{"self_attn.out_proj", "attention.output.dense"},
          std::pair{"norm1", "attention.output.LayerNorm"},
          std::pair{"linear1", "intermediate.dense"}, std::pair{"linear2", "output.dense"},
          std::pair{"norm2", "output.LayerNorm"}})
      for (const char* end : {".weight", ".bias"})
        q[std::string(there) + end].copy_(p[at + here + end]);
    x = layer->forward(x, /*src_mask=*/{}, /*src_key_padding_mask=*/mask.eq(0));
  }
  x = x.transpose(0, 1);
  const Tensor got = net(ids, mask, kinds);
  // What fills the batch up means nothing, whatever it is.
  const Tensor counts = mask.unsqueeze(-1).to(kFloat);
  EXPECT_LT(((got - x) * counts).abs().max().item<float>(), 2e-5);
  const Tensor summary =
      (x.select(1, 0).matmul(p["pooler.dense.weight"].t()) + p["pooler.dense.bias"]).tanh();
  EXPECT_LT((net->pooled(got) - summary).abs().max().item<float>(), 2e-5);
}

TEST(BERT, DoesNotSeeWhatTheMaskHides) {
  const NoGradGuard no_grad;
  manual_seed(2);
  BERT net = randomised(BERT(small_bert()));
  const Tensor ids = some_ids(1), mask = tensor({1, 1, 1, 1, 0, 0}, kLong).view({1, 6});
  const Tensor alone = net(ids.narrow(1, 0, 4)), among = net(ids, mask).narrow(1, 0, 4);
  EXPECT_LT((alone - among).abs().max().item<float>(), 1e-5);
  EXPECT_GT((alone - net(ids).narrow(1, 0, 4)).abs().max().item<float>(), 1e-3);
  EXPECT_TRUE(equal(net(ids, mask.to(kBool)), net(ids, mask)));
  EXPECT_TRUE(equal(net(ids, ones_like(mask), zeros_like(mask)), net(ids)));
}

TEST(BERT, HasTheNamesOfHuggingFace) {
  std::set<std::string> want = {"embeddings.word_embeddings.weight",
                                "embeddings.position_embeddings.weight",
                                "embeddings.token_type_embeddings.weight",
                                "embeddings.LayerNorm.weight",
                                "embeddings.LayerNorm.bias",
                                "pooler.dense.weight",
                                "pooler.dense.bias"};
  for (const char* layer : {"encoder.layer.0.", "encoder.layer.1."})
    for (const char* name : {"attention.self.query", "attention.self.key", "attention.self.value",
                             "attention.output.dense", "attention.output.LayerNorm",
                             "intermediate.dense", "output.dense", "output.LayerNorm"})
      for (const char* end : {".weight", ".bias"}) want.insert(std::string(layer) + name + end);
  const auto keys = BERT(small_bert())->named_parameters().keys();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), want);
  EXPECT_TRUE(BERT(small_bert())->named_buffers().is_empty());
  EXPECT_TRUE(BERTClassifier(3, small_bert())
                  ->named_parameters()
                  .contains("bert.encoder.layer.1.attention.self.query.weight"));
}

TEST(BERT, HasAsManyParametersAsPublished) {
  const nn::init::SkipGuard skip;
  EXPECT_EQ(parameters_of(bert_base()), 109'482'240);
  EXPECT_EQ(parameters_of(bert_large()), 335'141'888);
}

TEST(BERT, ReadsFilesOfSeveralKinds) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  manual_seed(3);
  BERT net = randomised(BERT(small_bert()));
  const Tensor ids = some_ids(), want = net(ids);
  TensorDict file;
  for (const auto& p : net->named_parameters()) {
    std::string name = "bert." + p.key();
    if (const size_t at = name.find("LayerNorm.weight"); at != std::string::npos)
      name.replace(at, std::string::npos, "LayerNorm.gamma");
    if (const size_t at = name.find("LayerNorm.bias"); at != std::string::npos)
      name.replace(at, std::string::npos, "LayerNorm.beta");
    file[name] = p.value().detach();
  }
  file["bert.embeddings.position_ids"] = arange(7, kLong).unsqueeze(0);
  file["cls.predictions.bias"] = zeros({11});
  const std::string old_file = scratch / "old.safetensors", new_file = scratch / "new.safetensors";
  save_safetensors(file, old_file);
  BERT other(small_bert());
  load_weights(other, old_file);
  EXPECT_TRUE(equal(other(ids), want));
  save_weights(net, new_file);
  BERT third(BERTOptions(small_bert()).pooler(false));
  load_weights(third, new_file);
  EXPECT_TRUE(equal(third(ids), want));
  expect_error([&] { third->pooled(want); }, "pooler(false)");
  // A classifier takes the encoder; its own layer is not in the file.
  BERTClassifier classifier(3, small_bert());
  const LoadReport report = load_weights(classifier, old_file, /*strict=*/false);
  EXPECT_EQ(report.missing, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_TRUE(equal(classifier->bert(ids), want));
}

TEST(BERT, FilesAndCopies) {
  const Tensor ids = some_ids();
  expect_files_and_copies<BERT>(BERT(small_bert()), BERT(small_bert()),
                                [&](BERT& net) { return net(ids); });
}

TEST(BERT, GradientsAreRight) {
  manual_seed(4);
  BERTClassifier net = randomised(BERTClassifier(2, BERTOptions()
                                                        .vocab_size(5)
                                                        .context_size(3)
                                                        .hidden_size(4)
                                                        .mlp_size(3)
                                                        .num_layers(1)
                                                        .num_heads(2)
                                                        .dropout(0)));
  net->to(kDouble);
  const Tensor ids = tensor({1, 4, 2, 0, 3, 1}, kLong).view({2, 3});
  const Tensor mask = tensor({1, 1, 1, 1, 1, 0}, kLong).view({2, 3});
  const Tensor kinds = tensor({0, 0, 1, 0, 1, 1}, kLong).view({2, 3});
  expect_right_gradients(net, [&] { return net(ids, mask, kinds).pow(2).sum(); });
}

/// Whether one of the symbols is a 0.
TEST(BERT, LearnsCompiled) {
  manual_seed(5);
  BERTClassifier net(2, BERTOptions(small_bert()).hidden_size(16).mlp_size(32));
  optim::Adam adam(net->parameters(), optim::AdamOptions(3e-3));
  const auto step = compile([&](const Tensor& ids, const Tensor& labels) {
    adam.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(net(ids), labels);
    loss.backward();
    adam.step();
    return loss;
  });
  double last = 0;
  for (int i = 0; i < 300; ++i) {
    const Tensor ids = some_ids(64);
    const Tensor labels = ids.eq(0).any(1).to(kLong);
    last = 0.95 * last + 0.05 * step(ids, labels).item<double>();
  }
  EXPECT_LT(last, 0.2);
}

TEST(BERT, SaysWhatDoesNotFit) {
  expect_error([] { BERT(small_bert().num_heads(3)); },
               "hidden_size 8 cannot be shared among 3 heads");
  expect_error([] { BERT(small_bert().num_types(0)); }, "num_types is 0");
  expect_error([] { BERTClassifier(0, small_bert()); }, "num_classes is 0");
  BERT net(small_bert());
  expect_error([&] { net(some_ids(2, 8)); }, "8 steps are more than the 7");
  expect_error([&] { net(some_ids().flatten()); }, "symbols are [batch, steps], not [18]");
  expect_error([&] { net(some_ids(), ones({3, 5})); }, "attention_mask is [3, 5]");
  expect_error(
      [&] {
        net->forward(some_ids(), {}, zeros({1, 6}, kLong));
      },
      "token_type_ids is [1, 6]");
}

TEST(BERT, IsThereByName) {
  const NoGradGuard no_grad;
  Network net = create(
      "bert-base",
      {.vocab_size = 20, .context_size = 9, .hidden_size = 12, .num_layers = 1, .num_heads = 3});
  EXPECT_EQ(net(randint(0, 20, {2, 9}, kLong)).sizes(), (IntArrayRef{2, 9, 12}));
  EXPECT_EQ(net.get<BERT>()->options.mlp_size(), 48);
}

}  // namespace
}  // namespace tandem::models
