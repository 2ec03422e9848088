// Recurrent modules against LibTorch, and what surrounds them.
// The tables are what LibTorch 1.13.1 gives for the same modules in float64: parameter k of a
// module is filled with filled(sizes, k), and gradients are those of the results weighted with
// filled(sizes, 3).
#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tests/helpers.h"
#include "tests/nn/rnn_tables.h"

namespace tandem::nn {
namespace {

using test::error_of;
using utils::rnn::PackedSequence;

Tensor filled(IntArrayRef sizes, double k) {
  return arange(numel_of(sizes), kDouble).mul(0.37).add(k).sin().mul(0.5).view(sizes);
}

template <class M>
void fill(M& m) {
  NoGradGuard no_grad;
  m->to(kDouble);
  double k = 0;
  for (const Tensor& p : m->parameters()) p.copy_(filled(p.sizes(), k++));
}

Tensor weighted(const Tensor& t) { return (t * filled(t.sizes(), 3)).sum(); }

void expect_parts(const std::vector<Tensor>& parts, const std::vector<double>& expected) {
  std::vector<Tensor> flat;
  for (const Tensor& p : parts) flat.push_back(p.reshape({-1}));
  test::expect_values(cat(flat), expected);
}

template <class M>
Tensor grad_of(M& m, const std::string& name) {
  return m->named_parameters()[name].grad();
}

#define EXPECT_ERROR(statement, part)                                      \
  {                                                                        \
    const std::string error = error_of([&] { statement; });                \
    EXPECT_NE(error.find(part), std::string::npos) << "'" << error << "'"; \
  }

TEST(Rnn, LstmEqualsLibTorch) {
  LSTM m(LSTMOptions(3, 2).num_layers(2).bidirectional(true));
  fill(m);
  const Tensor x = filled({3, 2, 3}, 5).requires_grad_();
  auto [y, state] = m(x, std::make_tuple(filled({4, 2, 2}, 6), filled({4, 2, 2}, 7)));
  auto [h, c] = state;
  (weighted(y) + weighted(h) + weighted(c)).backward();
  expect_parts({y, h, c}, kLstm);
  expect_parts({x.grad(), grad_of(m, "weight_hh_l0"), grad_of(m, "bias_ih_l1_reverse")}, kLstmGrad);
}

TEST(Rnn, ProjectedLstmOnRaggedBatchEqualsLibTorch) {
  LSTM m(LSTMOptions(2, 3).proj_size(2));
  fill(m);
  const Tensor x = filled({4, 3, 2}, 5).requires_grad_();
  const auto packed = utils::rnn::pack_padded_sequence(x, tensor({2, 4, 1}), false, false);
  auto [y, state] = m->forward_with_packed_input(packed);
  auto [h, c] = state;
  auto [padded, lengths] = utils::rnn::pad_packed_sequence(y);
  EXPECT_TRUE(equal(lengths, tensor({2, 4, 1})));
  (weighted(padded) + weighted(h) + weighted(c)).backward();
  expect_parts({padded, h, c}, kProjected);
  expect_parts({x.grad(), grad_of(m, "weight_hr_l0"), grad_of(m, "weight_hh_l0")}, kProjectedGrad);
}

TEST(Rnn, GruOnRaggedBatchEqualsLibTorch) {
  GRU m(GRUOptions(2, 2).num_layers(2).bidirectional(true));
  fill(m);
  const Tensor x = filled({3, 3, 2}, 5).requires_grad_();
  const auto packed = utils::rnn::pack_padded_sequence(x, tensor({3, 1, 2}), true, false);
  auto [y, h] = m->forward_with_packed_input(packed, filled({4, 3, 2}, 6));
  auto [padded, lengths] = utils::rnn::pad_packed_sequence(y, true);
  EXPECT_TRUE(equal(lengths, tensor({3, 1, 2})));
  (weighted(padded) + weighted(h)).backward();
  expect_parts({padded, h}, kGru);
  expect_parts({x.grad(), grad_of(m, "weight_hh_l0_reverse"), grad_of(m, "bias_hh_l0")}, kGruGrad);
}

TEST(Rnn, RnnEqualsLibTorch) {
  {
    RNN m(RNNOptions(2, 3).nonlinearity(kReLU).batch_first(true));
    fill(m);
    const Tensor x = filled({2, 4, 2}, 5).requires_grad_();
    auto [y, h] = m(x);
    (weighted(y) + weighted(h)).backward();
    expect_parts({y, h}, kRelu);
    expect_parts({x.grad(), grad_of(m, "weight_hh_l0")}, kReluGrad);
  }
  {
    RNN m(RNNOptions(2, 3).bias(false));
    fill(m);
    const Tensor x = filled({4, 2, 2}, 5).requires_grad_();
    auto [y, h] = m(x);
    (weighted(y) + weighted(h)).backward();
    expect_parts({y, h}, kTanh);
    expect_parts({x.grad(), grad_of(m, "weight_hh_l0")}, kTanhGrad);
  }
}

TEST(Rnn, CellsEqualLibTorch) {
  LSTMCell a(2, 3);
  GRUCell b(2, 3);
  RNNCell c(RNNCellOptions(2, 3).nonlinearity(kReLU));
  fill(a);
  fill(b);
  fill(c);
  const Tensor x = filled({2, 2}, 5), h = filled({2, 3}, 6), k = filled({2, 3}, 7);
  auto [ha, ca] = a(x, std::make_tuple(h, k));
  expect_parts({ha, ca, b(x, h), c(x, h), b(x)}, kCells);
}

// A packed batch is its sequences one by one.
template <class M>
void check_one_by_one(M& m) {
  const std::vector<Tensor> sequences = {filled({2, 2}, 1), filled({5, 2}, 2), filled({3, 2}, 3)};
  auto [y, state] = m->forward_with_packed_input(utils::rnn::pack_sequence(sequences, false));
  auto [padded, lengths] = utils::rnn::pad_packed_sequence(y);
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto [one, last] = m->forward(sequences[i]);
    const auto b = static_cast<int64_t>(i);
    EXPECT_EQ(lengths[b].template item<int64_t>(), one.size(0));
    EXPECT_TRUE(allclose(padded.select(1, b).narrow(0, 0, one.size(0)), one, 1e-12, 1e-12));
    EXPECT_EQ(padded.select(1, b)
                  .narrow(0, one.size(0), 5 - one.size(0))
                  .abs()
                  .sum()
                  .template item<double>(),
              0);
    if constexpr (std::is_same_v<std::decay_t<decltype(state)>, Tensor>)
      EXPECT_TRUE(allclose(state.select(1, b), last, 1e-12, 1e-12));
    else
      EXPECT_TRUE(allclose(std::get<1>(state).select(1, b), std::get<1>(last), 1e-12, 1e-12));
  }
}

TEST(Rnn, PackedSequencesAreIndependent) {
  LSTM lstm(LSTMOptions(2, 3).num_layers(2).bidirectional(true).proj_size(2));
  GRU gru(GRUOptions(2, 3).bidirectional(true));
  RNN rnn(RNNOptions(2, 3).num_layers(2));
  fill(lstm);
  fill(gru);
  fill(rnn);
  check_one_by_one(lstm);
  check_one_by_one(gru);
  check_one_by_one(rnn);
}

TEST(Rnn, GradientsOnRaggedBatches) {
  const Tensor sizes = tensor({3, 3, 2, 1});
  for (const bool reverse : {false, true}) {
    const auto lstm_of = [&](const std::vector<Tensor>& a) {
      const Tensor states[] = {a[1], a[2]};
      std::vector<Tensor> params(a.begin() + 3, a.end());
      auto [y, h, c] = lstm(a[0], sizes, states, params, true, 1, 0, true, reverse);
      return std::vector<Tensor>{y, h, c};
    };
    std::vector<Tensor> in = {filled({9, 2}, 1), filled({reverse ? 2 : 1, 3, 2}, 2),
                              filled({reverse ? 2 : 1, 3, 3}, 3)};
    for (int d = 0; d < (reverse ? 2 : 1); ++d)
      for (const Tensor& w : {filled({12, 2}, 4 + d), filled({12, 2}, 5 + d), filled({12}, 6 + d),
                              filled({12}, 7 + d), filled({2, 3}, 8 + d)})
        in.push_back(w);
    for (Tensor& t : in) t.requires_grad_();
    EXPECT_TRUE(autograd::gradcheck(lstm_of, in));
  }
  const auto gru_of = [&](const std::vector<Tensor>& a) {
    auto [y, h] = gru(a[0], sizes, a[1], {a[2], a[3], a[4], a[5]}, true, 1, 0, true, false);
    return std::vector<Tensor>{y, h};
  };
  std::vector<Tensor> in = {filled({9, 2}, 1), filled({1, 3, 2}, 2), filled({6, 2}, 4),
                            filled({6, 2}, 5), filled({6}, 6),       filled({6}, 7)};
  for (Tensor& t : in) t.requires_grad_();
  EXPECT_TRUE(autograd::gradcheck(gru_of, in));
  EXPECT_TRUE(autograd::gradgradcheck(gru_of, in));
}

TEST(Rnn, SingleSequencesAndBatchFirst) {
  LSTM plain(LSTMOptions(2, 3));
  fill(plain);
  LSTM first(LSTMOptions(2, 3).batch_first(true));
  fill(first);
  const Tensor x = filled({4, 2}, 1);
  auto [y, state] = plain(x);
  EXPECT_EQ(y.sizes(), IntArrayRef({4, 3}));
  EXPECT_EQ(std::get<0>(state).sizes(), IntArrayRef({1, 3}));
  auto [y3, state3] = plain(x.unsqueeze(1));
  EXPECT_TRUE(equal(y, y3.squeeze(1)));
  auto [yf, statef] = first(x.unsqueeze(0));
  EXPECT_EQ(yf.sizes(), IntArrayRef({1, 4, 3}));
  EXPECT_TRUE(equal(y, yf.squeeze(0)));
  EXPECT_TRUE(equal(std::get<1>(state), std::get<1>(statef).squeeze(1)));
  EXPECT_TRUE(equal(std::get<0>(first(x)), y));
}

TEST(Rnn, SixteenBitsAreComputedInFloat32) {
  GRU m(3, 4);
  const Tensor x = (randn({2, 3, 3}) * 0.5).to(kBFloat16);
  m->to(kBFloat16);
  const Tensor y = std::get<0>(m(x));
  EXPECT_EQ(y.dtype(), kBFloat16);
  m->to(kFloat);
  EXPECT_TRUE(equal(y, std::get<0>(m(x.to(kFloat))).to(kBFloat16)));
}

TEST(Rnn, DropoutBetweenLayersInTrainingOnly) {
  LSTM m(LSTMOptions(3, 4).num_layers(2).dropout(0.5));
  const Tensor x = randn({5, 2, 3});
  manual_seed(1);
  const Tensor a = std::get<0>(m(x));
  manual_seed(1);
  EXPECT_TRUE(equal(a, std::get<0>(m(x))));
  EXPECT_FALSE(equal(a, std::get<0>(m(x))));
  m->eval();
  EXPECT_TRUE(equal(std::get<0>(m(x)), std::get<0>(m(x))));
}

TEST(Rnn, ClonesAndConversions) {
  LSTM m(LSTMOptions(2, 3).num_layers(2).bidirectional(true));
  EXPECT_EQ(m->all_weights().size(), 16u);
  EXPECT_TRUE(m->all_weights()[0].is_same(m->named_parameters()["weight_ih_l0"]));
  const auto copy = std::dynamic_pointer_cast<LSTMImpl>(m->clone());
  const Tensor x = randn({3, 1, 2});
  const Tensor y = std::get<0>(m(x));
  EXPECT_TRUE(equal(y, std::get<0>(copy->forward(x))));
  {
    NoGradGuard no_grad;
    for (const Tensor& p : m->parameters()) p.zero_();
  }
  EXPECT_TRUE(equal(y, std::get<0>(copy->forward(x))));
  EXPECT_EQ(std::get<0>(m(x)).abs().sum().item<float>(), 0);
  copy->to(kDouble);
  EXPECT_EQ(std::get<0>(copy->forward(x.to(kDouble))).dtype(), kDouble);
  copy->flatten_parameters();
  for (const Tensor& p : copy->all_weights()) EXPECT_EQ(p.dtype(), kDouble);
}

TEST(Rnn, Prints) {
  EXPECT_EQ(str(LSTM(LSTMOptions(128, 64).num_layers(3).dropout(0.2).proj_size(32))),
            "tandem::nn::LSTM(input_size=128, hidden_size=64, num_layers=3, bias=true, "
            "batch_first=false, dropout=0.2, bidirectional=false, proj_size=32)");
  EXPECT_EQ(str(GRU(2, 3)),
            "tandem::nn::GRU(input_size=2, hidden_size=3, num_layers=1, bias=true, "
            "batch_first=false, dropout=0, bidirectional=false)");
  EXPECT_EQ(str(RNN(2, 3)),
            "tandem::nn::RNN(input_size=2, hidden_size=3, num_layers=1, bias=true, "
            "batch_first=false, dropout=0, bidirectional=false)");
  EXPECT_EQ(str(RNNCell(RNNCellOptions(20, 10).bias(false).nonlinearity(kReLU))),
            "tandem::nn::RNNCell(20, 10, bias=false, nonlinearity=kReLU)");
  EXPECT_EQ(str(LSTMCell(20, 10)), "tandem::nn::LSTMCell(20, 10)");
  EXPECT_EQ(str(GRUCell(GRUCellOptions(20, 10).bias(false))),
            "tandem::nn::GRUCell(20, 10, bias=false)");
}

TEST(Rnn, Mistakes) {
  LSTM m(2, 3);
  GRU g(2, 3);
  EXPECT_ERROR(m(ones({4, 1, 5})), "input.size(-1) must be equal to input_size. Expected 2, got 5");
  EXPECT_ERROR(m(ones({4})), "input must have 3 dimensions, got 1");
  EXPECT_ERROR(m(ones({0, 1, 2})), "Expected sequence length to be larger than 0");
  EXPECT_ERROR(m(Tensor()), "undefined");
  EXPECT_ERROR(m(ones({4, 1, 2}, kLong)), "lstm");
  EXPECT_ERROR(m(ones({4, 1, 2}, kDouble)), "Float");
  EXPECT_ERROR(g(ones({4, 1, 2}), ones({1, 2, 3})),
               "Expected hidden size (1, 1, 3), got [1, 2, 3]");
  EXPECT_ERROR(g(ones({4, 2}), ones({1, 1, 3})), "should also be 2-D");
  EXPECT_ERROR(m(ones({4, 1, 2}), std::make_tuple(ones({1, 1, 3}), ones({1, 1, 4}))),
               "Expected hidden[1] size (1, 1, 3), got [1, 1, 4]");
  EXPECT_ERROR(LSTM(LSTMOptions(2, 3).proj_size(3)), "proj_size has to be smaller");
  EXPECT_ERROR(LSTM(LSTMOptions(2, 3).proj_size(-1)), "positive integer or zero");
  EXPECT_ERROR(GRU(GRUOptions(2, 3).dropout(1.5)), "range [0, 1]");
  EXPECT_ERROR(GRU(GRUOptions(2, 3).num_layers(0)), "num_layers");
  EXPECT_ERROR(RNN(2, -3), "hidden_size");
  EXPECT_ERROR(RNNCell(2, 3)(ones({1, 4})), "inconsistent input_size: got 4 expected 2");
  EXPECT_ERROR(LSTMCell(2, 3)(ones({1, 2}), std::make_tuple(ones({1, 3}), ones({2, 3}))),
               "Input batch size 1 doesn't match hidden[1] batch size 2");
  EXPECT_ERROR(GRUCell(2, 3)(ones({1, 2}), ones({1, 4})), "inconsistent hidden_size");
  // Sizes that do not fit the data reach the kernel.
  const auto packed = [](std::vector<int64_t> sizes) {
    return PackedSequence(ones({4, 2}), tensor(sizes, TensorOptions().dtype(kLong)));
  };
  EXPECT_ERROR(g->forward_with_packed_input(packed({1, 2, 1})), "batch_sizes");
  EXPECT_ERROR(g->forward_with_packed_input(packed({2, 1})), "batch_sizes");
  EXPECT_ERROR(g->forward_with_packed_input(packed({2, 2, 0})), "batch_sizes");
  EXPECT_ERROR(g->forward_with_packed_input(packed({4}), ones({1, 3, 3})), "batch_sizes");
  EXPECT_ERROR(g->forward_with_packed_input(packed({-4, 8})), "");
  EXPECT_ERROR(lstm(ones({2, 1, 2}), {ones({1, 1, 3})}, {}, true, 1, 0, false, false, false),
               "expects two hidden states");
  EXPECT_ERROR(
      gru(ones({2, 1, 2}), ones({1, 1, 3}), {ones({9, 2})}, true, 1, 0, false, false, false),
      "expected 4 weights");
}

TEST(Rnn, NoSequencesAndWideBatches) {
  GRU g(2, 3);
  auto [y, h] = g(ones({3, 0, 2}));
  EXPECT_EQ(y.sizes(), IntArrayRef({3, 0, 3}));
  EXPECT_EQ(h.sizes(), IntArrayRef({1, 0, 3}));
  y.sum().backward();
  EXPECT_EQ(grad_of(g, "weight_hh_l0").abs().sum().item<float>(), 0);
}

// The whole step as one program: what eager does, for several calls, ragged batches included.
TEST(Rnn, CompiledEqualsEager) {
  for (const bool packed : {false, true}) {
    LSTM m(LSTMOptions(4, 5).num_layers(2).dropout(0.3));
    const Tensor x = packed ? randn({10, 4}) : randn({5, 2, 4});
    const Tensor sizes = tensor({2, 2, 2, 2, 2});
    const Tensor state = zeros({2, 2, 5});
    const auto step = [&](LSTM& net) {
      for (const Tensor& p : net->parameters()) p.mutable_grad().reset();
      const Tensor y =
          packed ? std::get<0>(net->forward_with_packed_input(PackedSequence(x, sizes),
                                                              std::make_tuple(state, state)))
                       .data()
                 : std::get<0>(net(x));
      const Tensor loss = y.square().sum();
      loss.backward();
      NoGradGuard no_grad;
      for (const Tensor& p : net->parameters()) p.sub_(p.grad() * 0.1);
      return loss;
    };
    LSTM other(std::dynamic_pointer_cast<LSTMImpl>(m->clone()));
    const auto compiled = compile([&] { return step(other); });
    manual_seed(3);
    std::vector<double> expected, got;
    for (int i = 0; i < 10; ++i) expected.push_back(step(m).item<double>());
    manual_seed(3);
    for (int i = 0; i < 10; ++i) got.push_back(compiled().item<double>());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
    EXPECT_NE(expected[0], expected[9]);
  }
}

// A language model of words, trained with everything in play.
struct WordModel : Module {
  WordModel()
      : embedding(register_module("embedding", Embedding(12, 6))),
        lstm(register_module("lstm", LSTM(LSTMOptions(6, 7).num_layers(2).dropout(0.2)))),
        linear(register_module("linear", Linear(7, 12))) {}
  Tensor loss(const Tensor& words) {
    const Tensor x = functional::dropout(embedding(words.narrow(0, 0, words.size(0) - 1)),
                                         functional::DropoutFuncOptions().p(0.1));
    const Tensor y = linear(std::get<0>(lstm(x)));
    return cross_entropy_loss(y.flatten(0, 1), words.narrow(0, 1, words.size(0) - 1).flatten());
  }
  Embedding embedding;
  LSTM lstm;
  Linear linear;
};

std::vector<float> train_cell(bool compiled) {
  manual_seed(11);
  const auto model = std::make_shared<WordModel>();
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(
      model->lstm->parameters(),
      std::make_unique<optim::SGDOptions>(optim::SGDOptions(0.5).momentum(0.9).weight_decay(1e-4)));
  std::vector<Tensor> rest = model->embedding->parameters();
  for (const Tensor& p : model->linear->parameters()) rest.push_back(p);
  groups.emplace_back(rest, std::make_unique<optim::SGDOptions>(optim::SGDOptions(1.0)));
  optim::SGD optimizer(std::move(groups), optim::SGDOptions(0.1));
  optim::StepLR schedule(optimizer, 40, 0.5);
  const auto step = [&](const Tensor& words) {
    optimizer.zero_grad(true);
    const Tensor loss = model->loss(words);
    loss.backward();
    utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    return loss.detach();
  };
  const auto fast = compile(step);
  std::vector<float> losses;
  for (int i = 0; i < 100; ++i) {
    // The next word is three further on, for two lengths of sequences in turn.
    const Tensor words = (arange(i % 2 ? 7 : 5).unsqueeze(1) * 3 + arange(4) + i).remainder(12);
    losses.push_back((compiled ? fast(words) : step(words)).item<float>());
    schedule.step();
  }
  return losses;
}

TEST(Rnn, CompiledTrainingEqualsEager) {
  const std::vector<float> eager = train_cell(false), compiled = train_cell(true);
  for (size_t i = 0; i < eager.size(); ++i)
    EXPECT_NEAR(compiled[i], eager[i], 1e-3 * (1 + eager[i])) << "step " << i;
  EXPECT_LT(eager.back(), 0.5 * eager.front());
}

TEST(PackedSequences, PackAndPad) {
  const Tensor a = tensor({1, 2, 3}), b = tensor({4, 5}), c = tensor({6});
  const auto p = utils::rnn::pack_sequence({b, c, a}, false);
  EXPECT_TRUE(equal(p.data(), tensor({1, 4, 6, 2, 5, 3})));
  EXPECT_TRUE(equal(p.batch_sizes(), tensor({3, 2, 1})));
  EXPECT_TRUE(equal(p.sorted_indices(), tensor({2, 0, 1})));
  EXPECT_TRUE(equal(p.unsorted_indices(), tensor({1, 2, 0})));
  auto [padded, lengths] = utils::rnn::pad_packed_sequence(p, true, -1, 4);
  EXPECT_TRUE(equal(padded, tensor({4, 5, -1, -1, 6, -1, -1, -1, 1, 2, 3, -1}).view({3, 4})));
  EXPECT_TRUE(equal(lengths, tensor({2, 1, 3})));
  EXPECT_TRUE(utils::rnn::pad_sequence({a, c}).sizes() == IntArrayRef({3, 2}));
  EXPECT_FALSE(utils::rnn::invert_permutation({}).defined());
  EXPECT_TRUE(p.to(kLong).data().is_same(p.data()));
  EXPECT_EQ(p.to(kFloat).data().dtype(), kFloat);

  using utils::rnn::pack_padded_sequence;
  EXPECT_ERROR(utils::rnn::pack_sequence({c, a}), "must be sorted in decreasing order");
  EXPECT_ERROR(pack_padded_sequence(randn({0, 0}), zeros({0}, kLong)), "empty tensor");
  EXPECT_ERROR(pack_padded_sequence(randn({3, 2}), tensor({3})), "batch_size=2");
  EXPECT_ERROR(pack_padded_sequence(randn({3, 2}), tensor({3, 0})), "greater than 0");
  EXPECT_ERROR(pack_padded_sequence(randn({3, 2}), tensor({4, 1})), "at most the number of steps");
  EXPECT_ERROR(utils::rnn::pad_packed_sequence(p, false, 0, 2), "total_length");
  EXPECT_ERROR(utils::rnn::pad_sequence({}), "empty list");
  EXPECT_ERROR(utils::rnn::pad_sequence({randn({2, 3}), randn({2, 4})}), "first dimension only");
  EXPECT_ERROR(PackedSequence(Tensor(), Tensor()), "must be defined");
}

}  // namespace
}  // namespace tandem::nn
