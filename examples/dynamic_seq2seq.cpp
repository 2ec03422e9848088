// Dynamic graphs, recurrent: a network that reverses strings of any length. It is trained on
// strings of up to 16 letters and asked for up to 40: how many steps it takes is its own decision.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr int64_t kStart = 1, kEnd = 2, kFirstLetter = 3, kSymbols = kFirstLetter + 26;
using Words = std::vector<std::vector<int64_t>>;

Words random_words(int count, int64_t length, std::mt19937& random) {
  Words words(static_cast<size_t>(count));
  for (auto& word : words)
    for (int64_t i = 0; i < length; ++i)
      word.push_back(kFirstLetter + static_cast<int64_t>(random() % 26));
  return words;
}

/// What the network reads: the letters between a start and an end.
models::SequenceBatch sources(Words words) {
  for (auto& word : words) {
    word.insert(word.begin(), kStart);
    word.push_back(kEnd);
  }
  return models::pad_sequences(words);
}

Words reversed(Words words) {
  for (auto& word : words) std::reverse(word.begin(), word.end());
  return words;
}

Tensor targets(const Words& words) {
  Words back = reversed(words);
  for (auto& word : back) word.push_back(kEnd);
  return models::pad_sequences(back).symbols;
}

std::string text(const std::vector<int64_t>& word) {
  std::string letters;
  for (const int64_t symbol : word)
    letters += symbol < kFirstLetter ? '?' : static_cast<char>('a' + symbol - kFirstLetter);
  return letters;
}

/// The share of words that are written without a mistake, the end included.
double accuracy(models::Seq2Seq& net, const Words& words) {
  const auto [source, lengths] = sources(words);
  const Words written = net->generate(source, lengths), wanted = reversed(words);
  int right = 0;
  for (size_t i = 0; i < words.size(); ++i) right += written[i] == wanted[i];
  return static_cast<double>(right) / static_cast<double>(words.size());
}

/// generate() with a compiled step in the place of the model's own.
template <class Step>
std::vector<int64_t> write(models::Seq2Seq& net, const Step& step, const Tensor& source,
                           double* difference) {
  const NoGradGuard no_grad;
  const auto memory = net->encode(source);
  auto state = net->initial_state(memory);
  Tensor symbol = full({1}, kStart, kLong);
  std::vector<int64_t> written;
  for (int64_t i = 0; i < 2 * source.size(1); ++i) {
    const auto eager = net->step(symbol, state, memory);
    auto compiled = step(symbol, state, memory);
    *difference =
        std::max(*difference, (compiled.scores - eager.scores).abs().max().template item<double>());
    symbol = compiled.scores.argmax(1);
    if (symbol.template item<int64_t>() == kEnd) break;
    written.push_back(symbol.template item<int64_t>());
    state = std::move(compiled.state);
  }
  return written;
}

}  // namespace

int main() {
  set_num_threads(1);  // the tensors are small: threads would wait for each other
  manual_seed(0);
  std::mt19937 random(0);
  models::Seq2Seq net(models::Seq2SeqOptions(kSymbols, kSymbols)
                          .embedding_size(32)
                          .hidden_size(64)
                          .attention_size(32));
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(5e-3));

  // The whole training step is compiled: one graph for each length, unrolled as the C++ loop goes.
  const auto train = compile([&](const Tensor& source, const Tensor& target) {
    optimizer.zero_grad();
    Tensor loss = net->loss(source, target);
    loss.backward();
    nn::utils::clip_grad_norm_(net->parameters(), 1.0);
    optimizer.step();
    return loss.detach();
  });
  constexpr int kSteps = 360, kLetters = 16;
  double loss = 0;
  for (int i = 0; i < kSteps; ++i) {
    if (i == kSteps * 2 / 3) optimizer.param_groups()[0].options().set_lr(1e-3);
    const Words words = random_words(32, 1 + static_cast<int64_t>(random() % kLetters), random);
    loss = train(sources(words).symbols, targets(words)).item<double>();
  }
  std::printf("trained on strings of 1 to %d letters: loss %.4f, %zu graphs\n", kLetters, loss,
              train.graph_count());

  net->eval();
  const double seen = accuracy(net, random_words(100, kLetters, random));
  const double longer = accuracy(net, random_words(100, 20, random));
  const double longest = accuracy(net, random_words(50, 40, random));
  std::printf(
      "reversed without a mistake: %d letters %3.0f %%, 20 letters %3.0f %%, 40 letters %3.0f %%\n",
      kLetters, 100 * seen, 100 * longer, 100 * longest);
  // Words of different lengths in one batch, each until its own end.
  const Words mixed = {random_words(1, 3, random)[0], random_words(1, 14, random)[0],
                       random_words(1, 1, random)[0]};
  const auto [source, lengths] = sources(mixed);
  const Words written = net->generate(source, lengths);
  for (size_t i = 0; i < mixed.size(); ++i)
    std::printf("  %s -> %s\n", text(mixed[i]).c_str(), text(written[i]).c_str());

  // How long a string gets is decided by values, so the loop stays C++; its step is compiled.
  const auto step = compile(
      [&](const Tensor& symbol, const models::Seq2SeqImpl::State& state,
          const models::Seq2SeqImpl::Memory& memory) { return net->step(symbol, state, memory); });
  double difference = 0;
  bool same = true;
  const Words asked = random_words(3, 12, random);
  for (const auto& word : asked) {
    const Tensor one = sources({word}).symbols;
    same = write(net, step, one, &difference) == net->generate(one)[0] && same;
  }
  std::printf("decoding with a compiled step: %s, scores differ by %.1g, %zu graph\n",
              same ? "the same strings" : "OTHER strings", difference, step.graph_count());

  const bool right = seen >= 0.98 && longer >= 0.95 && longest >= 0.9 &&
                     written == reversed(mixed) && same && difference < 1e-5 &&
                     step.graph_count() == 1;
  std::printf("%s\n", right ? "as expected" : "wrong");
  return right ? 0 : 1;
}
