// Sequences to sequences: shapes, gradients, padding, writing until the end, compiled steps.
#include "tandem/models/seq2seq.h"

#include <gtest/gtest.h>

#include "tandem/compile/compile.h"
#include "tandem/optim/optim.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

Seq2SeqOptions small_translator() {
  return Seq2SeqOptions(7, 6).embedding_size(4).hidden_size(5).attention_size(3).location_filters(
      2);
}

// All kinds of encoder and decoder.
std::vector<Seq2SeqOptions> kinds() {
  return {small_translator(), small_translator().kind(kGRU), small_translator().num_layers(2),
          small_translator().kind(kGRU).num_layers(2).bidirectional(false),
          small_translator().bidirectional(false).location_filters(0)};
}

const std::vector<std::vector<int64_t>> kSources = {{3, 4, 5, 6}, {5}, {6, 3, 3}};

TEST(Seq2Seq, GivesScoresForEachSymbolOfTheTarget) {
  manual_seed(0);
  const auto [source, lengths] = pad_sequences(kSources);
  EXPECT_EQ(source.sizes(), (IntArrayRef{3, 4}));
  EXPECT_TRUE(equal(lengths, tensor({4, 1, 3}, kLong)));
  EXPECT_TRUE(equal(source[1], tensor({5, 0, 0, 0}, kLong)));
  const Tensor target = pad_sequences({{4, 2}, {3, 4, 5, 3, 2}, {2}}).symbols;
  for (const auto& options : kinds()) {
    Seq2Seq net(options);
    EXPECT_EQ(net(source, target, lengths).sizes(), (IntArrayRef{3, 5, 6}));
    EXPECT_EQ(net(source, target).sizes(), (IntArrayRef{3, 5, 6}));
    EXPECT_EQ(net->loss(source, target, lengths).dim(), 0);
    const auto memory = net->encode(source, lengths);
    const auto [scores, state] =
        net->step(tensor({1, 1, 1}, kLong), net->initial_state(memory), memory);
    EXPECT_EQ(scores.sizes(), (IntArrayRef{3, 6}));
    // Attention is a distribution over the symbols that are there.
    EXPECT_TRUE(allclose(state.attention.sum(1), ones({3})));
    EXPECT_EQ(state.attention[1][0].item<float>(), 1);
    EXPECT_EQ(state.attention[2][3].item<float>(), 0);
  }
}

TEST(Seq2Seq, TrainsAllItsParametersWithTheRightGradients) {
  manual_seed(0);
  const SequenceBatch batch = pad_sequences({{3, 4, 6}, {5}});
  const Tensor target = pad_sequences({{4, 2}, {5, 3, 2}}).symbols;
  for (const auto& options : kinds()) {
    Seq2Seq net(options);
    expect_gradients_reach(net, net->loss(batch.symbols, target, batch.lengths));
  }
  for (const auto kind : {RecurrentKind(kLSTM), RecurrentKind(kGRU)}) {
    Seq2Seq net(Seq2SeqOptions(7, 6)
                    .kind(kind)
                    .embedding_size(2)
                    .hidden_size(2)
                    .attention_size(2)
                    .location_filters(1)
                    .location_width(3));
    net->to(kDouble);
    expect_right_gradients(net, [&] { return net->loss(batch.symbols, target, batch.lengths); });
  }
}

TEST(Seq2Seq, PaddingChangesNothing) {
  manual_seed(1);
  const NoGradGuard no_grad;
  const std::vector<std::vector<int64_t>> targets = {{4, 3, 2}, {5, 2}, {3, 3, 3, 2}};
  const auto [source, lengths] = pad_sequences(kSources);
  const Tensor target = pad_sequences(targets).symbols;
  for (const auto& options : kinds()) {
    Seq2Seq net(options);
    const Tensor together = net(source, target, lengths);
    const auto written = net->generate(source, lengths, 6);
    double sum = 0, count = 0;
    for (size_t i = 0; i < kSources.size(); ++i) {
      const Tensor alone = tensor(kSources[i], kLong).unsqueeze(0);
      const Tensor wanted = tensor(targets[i], kLong).unsqueeze(0);
      const Tensor scores = net(alone, wanted);
      EXPECT_TRUE(allclose(together[static_cast<int64_t>(i)].narrow(0, 0, wanted.size(1)),
                           scores[0], 1e-5, 1e-6));
      EXPECT_EQ(net->generate(alone, {}, 6)[0], written[i]);
      sum += net->loss(alone, wanted).item<double>() * static_cast<double>(targets[i].size());
      count += static_cast<double>(targets[i].size());
    }
    EXPECT_NEAR(net->loss(source, target, lengths).item<double>(), sum / count, 1e-5);
    // What stands in the place of padding is not read.
    Tensor other = source.clone();
    other.masked_fill_(source == 0, 4);
    EXPECT_TRUE(equal(net(other, target, lengths), together));
  }
}

TEST(Seq2Seq, LengthsOfFullSequencesChangeNothing) {
  manual_seed(2);
  const NoGradGuard no_grad;
  const Tensor source = randint(3, 7, {4, 5}, kLong), target = randint(3, 6, {4, 3}, kLong);
  for (const auto& options : kinds()) {
    Seq2Seq net(options);
    EXPECT_TRUE(
        allclose(net(source, target), net(source, target, full({4}, 5, kLong)), 1e-5, 1e-6));
  }
}

TEST(Seq2Seq, WritesUntilTheEndOrTheLimit) {
  manual_seed(3);
  Seq2Seq net(small_translator());
  const auto [source, lengths] = pad_sequences(kSources);
  {
    const NoGradGuard no_grad;
    net->output->bias.zero_();
    net->output->bias[4] = 100;  // never the end
  }
  for (const auto& word : net->generate(source, lengths))
    EXPECT_EQ(word, std::vector<int64_t>(8 * 4 + 32, 4));
  EXPECT_EQ(net->generate(source, lengths, 3)[2], (std::vector<int64_t>{4, 4, 4}));
  EXPECT_TRUE(net->generate(source, lengths, 0)[0].empty());
  {
    const NoGradGuard no_grad;
    net->output->bias[2] = 200;  // at once
  }
  for (const auto& word : net->generate(source, lengths)) EXPECT_TRUE(word.empty());
}

TEST(Seq2Seq, CompiledAndLineByLineAgree) {
  manual_seed(4);
  Seq2Seq net(small_translator().kind(kGRU)), twin(small_translator().kind(kGRU));
  std::stringstream file;
  save(net, file);
  load(twin, file);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1)),
      twin_sgd(twin->parameters(), optim::SGDOptions(0.1));
  const auto training = [](Seq2Seq& n, optim::SGD& o) {
    return [&](const Tensor& source, const Tensor& target, const Tensor& lengths) {
      const Tensor loss = n->loss(source, target, lengths);
      loss.backward();
      o.step();
      o.zero_grad(/*set_to_none=*/true);
      return loss.detach();
    };
  };
  const auto plain = training(twin, twin_sgd);
  const auto compiled = compile(training(net, sgd));
  const Tensor source = randint(3, 7, {3, 4}, kLong), target = randint(3, 6, {3, 3}, kLong);
  for (int i = 0; i < 3; ++i) {
    const Tensor lengths = tensor({4, 1 + i, 2}, kLong);
    EXPECT_NEAR(compiled(source, target, lengths).item<double>(),
                plain(source, target, lengths).item<double>(), 1e-6);
  }
  EXPECT_EQ(compiled.graph_count(), 1u);  // other lengths are other values, not another graph

  const NoGradGuard no_grad;
  const auto step =
      compile([&](const Tensor& symbols, const Seq2SeqImpl::State& state,
                  const Seq2SeqImpl::Memory& memory) { return net->step(symbols, state, memory); });
  const auto memory = net->encode(source);
  auto state = net->initial_state(memory);
  Tensor symbols = full({3}, 1, kLong);
  for (int i = 0; i < 4; ++i) {
    const auto [scores, next] = step(symbols, state, memory);
    EXPECT_TRUE(allclose(scores, net->step(symbols, state, memory).scores, 1e-6, 1e-6));
    symbols = scores.argmax(1);
    state = next;
  }
  EXPECT_EQ(step.graph_count(), 1u);
}

TEST(Seq2Seq, FilesAndCopiesHoldTheSameNetwork) {
  manual_seed(5);
  const Tensor source = randint(3, 7, {2, 4}, kLong), target = randint(3, 6, {2, 3}, kLong);
  for (const auto& options : kinds())
    expect_files_and_copies<Seq2Seq>(Seq2Seq(options), Seq2Seq(options),
                                     [&](Seq2Seq& n) { return n(source, target); });
  const auto names = Seq2Seq(small_translator())->named_parameters();
  for (const char* name :
       {"source_embedding.weight", "encoder.weight_ih_l0_reverse", "decoder.0.weight_hh",
        "location_filter.weight", "energy.weight", "output.bias"})
    EXPECT_TRUE(names.contains(name)) << name;
  std::ostringstream text;
  text << Seq2Seq(small_translator());
  EXPECT_EQ(text.str().rfind("tandem::models::Seq2Seq(\n  (source_embedding): "
                             "tandem::nn::Embedding(num_embeddings=7, embedding_dim=4)\n",
                             0),
            0u)
      << text.str();
}

TEST(Seq2Seq, DropsInTrainingOnly) {
  manual_seed(6);
  Seq2Seq net(small_translator().num_layers(2).dropout(0.5));
  const auto [source, lengths] = pad_sequences(kSources);
  const Tensor target = full({3, 2}, 3, kLong);
  EXPECT_FALSE(equal(net(source, target, lengths), net(source, target, lengths)));
  net->eval();
  EXPECT_TRUE(equal(net(source, target, lengths), net(source, target, lengths)));
}

TEST(Seq2Seq, SaysWhatIsWrong) {
  expect_error([] { pad_sequences({}); }, "pad_sequences: there are no sequences");
  expect_error([] { pad_sequences({{1}, {}}); }, "pad_sequences: sequence 1 is empty");
  expect_error([] { Seq2Seq(Seq2SeqOptions(0, 5)); }, "symbols to read and to write, got 0 and 5");
  expect_error([] { Seq2Seq(Seq2SeqOptions(5, 2)); }, "among the 2 symbols to write, got 2");
  expect_error([] { Seq2Seq(small_translator().hidden_size(0)); },
               "must be positive, got 4, 0, 3 and 1");
  expect_error([] { Seq2Seq(small_translator().location_width(4)); }, "location_width must be odd");
  expect_error([] { Seq2Seq(small_translator().end(0)); }, "padding and end are the same symbol");
  Seq2Seq net(small_translator());
  const Tensor source = full({2, 3}, 4, kLong), target = full({2, 2}, 3, kLong);
  expect_error([&] { net->generate(Tensor()); }, "not an undefined tensor");
  expect_error([&] { net(zeros({2, 0}, kLong), target); }, "the source is empty: [2, 0]");
  expect_error([&] { net(source, zeros({2, 0}, kLong)); }, "the target is empty: [2, 0]");
  expect_error([&] { net(source[0], target); }, "must be symbols [batch, steps], not int64 [3]");
  expect_error([&] { net(source.to(kFloat), target); },
               "symbols are integers, the source is float32");
  expect_error([&] { net(source, target[0].unsqueeze(0)); }, "there are 2 sources and 1 targets");
  expect_error([&] { net(source, target, full({3}, 2, kLong)); },
               "a length for each of the 2 sequences, got int64 [3]");
  expect_error([&] { net(source, target, tensor({3.0, 1.0})); }, "lengths must be int64");
  expect_error([&] { net->generate(source, {}, -1); }, "max_length is negative, -1");
  // Values are looked at by the ops that use them.
  EXPECT_THROW(net(full({2, 3}, 7, kLong), target), Error);
  EXPECT_THROW(net(source, target, tensor({3, 0}, kLong)), Error);
  EXPECT_THROW(net(source, target, tensor({3, 4}, kLong)), Error);
  const auto memory = net->encode(source);
  expect_error([&] { net->step(source, net->initial_state(memory), memory); },
               "must be [batch], not int64 [2, 3]");
  CellStack stack(CellStackOptions(3, 2));
  expect_error([&] { stack->forward(zeros({1, 3}), {}); }, "the state has 2 tensors, got 0");
  expect_error([] { CellStack(CellStackOptions(0, 2)); }, "must be positive, got 0, 2 and 1");
}

}  // namespace
}  // namespace tandem::models
