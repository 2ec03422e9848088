// Trains a language model of characters, an LSTM, on a text: by a loop of its own, which carries
// the state of the network from batch to batch, or by fit(). Both run compiled.

#include <tandem/tandem.h>
#include <tandem/train/progress.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace tandem;
using namespace tandem::trainer;

namespace {

constexpr const char* kHelp =
    R"(Trains an LSTM to say which character of a text comes next, prints how well it does on the last tenth,
which it has not seen, and lets it write.

  --data FILE        the text; without it a short one is made up
  --fit              train by fit() instead of the program's own loop
  --eager            line by line instead of compiled
  --epochs N         times through the text (4)
  --batch N          streams of text side by side (32)
  --steps N          characters that gradients go back through (64)
  --hidden N         width of the LSTM (256)
  --layers N         (2)
  --dropout X        (0)
  --lr X             learning rate at the start, falling to 0 along a cosine (0.004)
  --clip X           gradients are scaled down to this norm (1)
  --sample N         characters to write at the end (300)
  --temperature X    below 1 writes likelier text (0.7)
  --threads N        threads to use (all cores)
  --seed N           (1)
  --save FILE        write the weights to a safetensors file
  --expect X         fail (exit code 2) with more than X nats a character
  --help
)";

struct Options {
  int64_t epochs = 4, batch = 32, steps = 64, hidden = 256, layers = 2, sample = 300, threads = 0,
          seed = 1;
  double dropout = 0, lr = 4e-3, clip = 1, temperature = 0.7, expect = 1e9;
  std::string data, save;
  bool fit = false, eager = false, help = false;
};

Options parse(int argc, char** argv) {
  Options o;
  const std::pair<const char*, std::string*> texts[] = {{"--data", &o.data}, {"--save", &o.save}};
  const std::pair<const char*, bool*> flags[] = {
      {"--fit", &o.fit}, {"--eager", &o.eager}, {"--help", &o.help}, {"-h", &o.help}};
  const std::tuple<const char*, int64_t*, int64_t> whole[] = {
      {"--epochs", &o.epochs, 1},   {"--batch", &o.batch, 1},   {"--steps", &o.steps, 1},
      {"--hidden", &o.hidden, 1},   {"--layers", &o.layers, 1}, {"--sample", &o.sample, 0},
      {"--threads", &o.threads, 1}, {"--seed", &o.seed, 0}};
  const std::pair<const char*, double*> numbers[] = {{"--dropout", &o.dropout},
                                                     {"--lr", &o.lr},
                                                     {"--clip", &o.clip},
                                                     {"--temperature", &o.temperature},
                                                     {"--expect", &o.expect}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    bool known = false;
    const auto value = [&]() -> std::string {
      TANDEM_CHECK(i + 1 < argc, "option ", name, " needs a value (see --help)");
      return argv[++i];
    };
    const auto number = [&](double least) {
      const std::string text = value();
      char* end = nullptr;
      const double n = std::strtod(text.c_str(), &end);
      TANDEM_CHECK(!text.empty() && *end == '\0' && n >= least && n <= 1e9, "option ", name, ": '",
                   text, "' is not a number of at least ", least);
      return n;
    };
    for (const auto& [option, place] : texts)
      if (name == option) known = true, *place = value();
    for (const auto& [option, place] : flags)
      if (name == option) known = *place = true;
    for (const auto& [option, place, least] : whole)
      if (name == option)
        known = true, *place = static_cast<int64_t>(number(static_cast<double>(least)));
    for (const auto& [option, place] : numbers)
      if (name == option) known = true, *place = number(0);
    TANDEM_CHECK(known, "unknown option ", name, " (see --help)");
  }
  return o;
}

/// Sentences that follow a few rules. Which words are chosen cannot be known; how they are spelt,
/// and that a verb has the ending that belongs to its subject, can.
std::string made_up_text() {
  constexpr const char* kSubjects[] = {"the king", "the fool", "the queens", "the players"};
  constexpr const char* kVerbs[] = {"see", "hear", "remember", "forgive"};
  constexpr const char* kObjects[] = {"the crown", "a letter", "the storm", "a promise"};
  std::string text;
  uint32_t state = 1;
  const auto pick = [&] { return (state = state * 1664525u + 1013904223u) >> 30; };
  while (text.size() < 30'000) {
    const uint32_t subject = pick();
    text += kSubjects[subject];
    text += std::string(" ") + kVerbs[pick()] + (subject < 2 ? "s " : " ") + kObjects[pick()];
    text += ".\n";
  }
  return text;
}

data::datasets::BPTT windows(const data::TextCorpus& text, const Options& o) {
  return data::datasets::BPTT(
      text.ids(), data::datasets::BPTTOptions(o.batch, o.steps).batch_first(true).drop_last(true));
}

Tensor loss_of(const Tensor& scores, const Tensor& targets) {
  return nn::functional::cross_entropy(scores.flatten(0, 1), targets.flatten());
}

/// Nats a character over a text, read once from front to back in a few streams.
double nats(models::LSTMLanguageModel& net, const data::TextCorpus& text) {
  const NoGradGuard no_grad;
  net->eval();
  constexpr int64_t kStreams = 16, kSteps = 128;
  auto state = net->zero_state(kStreams);
  double sum = 0, count = 0;
  for (const auto& [x, y] : data::datasets::BPTT(
           text.ids(), data::datasets::BPTTOptions(kStreams, kSteps).batch_first(true))) {
    const auto [scores, after] = net->forward_with_state(x, state);
    sum += loss_of(scores, y).item<double>() * static_cast<double>(y.numel());
    count += static_cast<double>(y.numel());
    state = after;
  }
  net->train();
  return sum / count;
}

double rate_at(double lr, double progress) {
  return lr * .5 * (1 + std::cos(3.14159265358979 * progress));
}

/// Every batch goes on where the one before it ended, with the state that the network had there.
void train_by_loop(models::LSTMLanguageModel& net, const Options& o, const data::TextCorpus& text,
                   const data::TextCorpus& held_out) {
  optim::Adam adam(net->parameters(), optim::AdamOptions(o.lr));
  const auto step = [&](const Tensor& x, const Tensor& y, const Tensor& h, const Tensor& c) {
    const auto [scores, after] = net->forward_with_state(x, std::tuple(h, c));
    const Tensor loss = loss_of(scores, y);
    loss.backward();
    nn::utils::clip_grad_norm_(net->parameters(), o.clip);
    adam.step();
    adam.zero_grad(/*set_to_none=*/true);
    const auto& [next_h, next_c] = after;
    return std::tuple(loss.detach(), next_h.detach(), next_c.detach());
  };
  const auto compiled = compile(step);
  const auto set = windows(text, o);
  const auto batches = static_cast<int64_t>(*set.size());
  for (int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    const Clock::time_point start = Clock::now();
    ProgressBar bar(batches);
    auto [h, c] = net->zero_state(o.batch);
    double sum = 0;
    for (int64_t b = 0; b < batches; ++b) {
      const auto [x, y] = set.get(static_cast<size_t>(b));
      adam.param_groups()[0].options().set_lr(rate_at(
          o.lr,
          static_cast<double>(epoch * batches + b) / static_cast<double>(o.epochs * batches)));
      Tensor loss;
      std::tie(loss, h, c) = o.eager ? step(x, y, h, c) : compiled(x, y, h, c);
      sum += loss.item<double>();
      bar.update(b + 1, [&] {
        char line[80];
        std::snprintf(line, sizeof line, "epoch %lld/%lld  loss %.4f",
                      static_cast<long long>(epoch + 1), static_cast<long long>(o.epochs),
                      sum / static_cast<double>(b + 1));
        return std::string(line);
      });
    }
    bar.clear();
    const double seconds = seconds_since(start);
    std::printf("epoch %lld/%lld  loss %.4f  held out %.4f  %s, %s characters/s\n",
                static_cast<long long>(epoch + 1), static_cast<long long>(o.epochs),
                sum / static_cast<double>(batches), nats(net, held_out), duration(seconds).c_str(),
                with_commas(static_cast<double>(batches * o.batch * o.steps) / seconds).c_str());
    std::fflush(stdout);
  }
}

/// Every window begins with a state of zeros, so they may come in any order.
void train_by_fit(models::LSTMLanguageModel& net, const Options& o, const data::TextCorpus& text,
                  const data::TextCorpus& held_out) {
  Model model(net);
  model.compile({.loss = loss_of,
                 .optimizer = optim::AdamOptions(o.lr),
                 .clip_norm = o.clip,
                 .compiled = !o.eager});
  // An element of the set is a batch already.
  model.fit(windows(text, o),
            {.epochs = o.epochs,
             .batch_size = 1,
             .validation = windows(held_out, o),
             .callbacks = {LearningRateScheduler([&](int64_t epoch, double) {
               return rate_at(o.lr, static_cast<double>(epoch) / static_cast<double>(o.epochs));
             })}});
}

int run(const Options& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  manual_seed(static_cast<uint64_t>(o.seed));
  const data::TextCorpus all =
      o.data.empty() ? data::TextCorpus::from_text(made_up_text()) : data::TextCorpus(o.data);
  const auto [text, held_out] = all.split(0.9);
  const auto n_symbols = static_cast<int64_t>(all.vocabulary().size());
  std::printf("%s characters, %lld different ones; the last %s are held out\n",
              with_commas(static_cast<double>(all.size())).c_str(),
              static_cast<long long>(n_symbols),
              with_commas(static_cast<double>(held_out.size())).c_str());

  models::LSTMLanguageModel net(models::LSTMLanguageModelOptions(n_symbols)
                                    .embedding_size(std::min<int64_t>(o.hidden, 64))
                                    .hidden_size(o.hidden)
                                    .num_layers(o.layers)
                                    .dropout(o.dropout));
  int64_t parameters = 0;
  for (const Tensor& p : net->parameters()) parameters += p.numel();
  std::printf("LSTM of %lld x %lld, %s parameters; %s, %s, %d threads\n\n",
              static_cast<long long>(o.layers), static_cast<long long>(o.hidden),
              with_commas(static_cast<double>(parameters)).c_str(),
              o.fit ? "fit()" : "a loop of its own", o.eager ? "line by line" : "compiled",
              get_num_threads());
  const Clock::time_point start = Clock::now();
  (o.fit ? train_by_fit : train_by_loop)(net, o, text, held_out);
  const double seconds = seconds_since(start), result = nats(net, held_out);
  std::printf("\n%.4f nats a character on text it has not seen, after %s of training\n", result,
              duration(seconds).c_str());

  if (o.sample > 0) {
    const Tensor first = held_out.ids().narrow(0, 0, std::min<int64_t>(held_out.size(), 40));
    const Tensor written =
        net->generate(first, {.max_new_tokens = o.sample, .temperature = o.temperature});
    std::printf("\n%s\n", all.decode(written[0]).c_str());
  }
  if (!o.save.empty()) models::save_weights(net, o.save);
  if (result > o.expect) {
    std::printf("that is more than the %.4f asked for\n", o.expect);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (options.help) {
      std::fputs(kHelp, stdout);
      return 0;
    }
    return run(options);
  } catch (const Error& e) {
    std::fprintf(stderr, "train_text: %s\n", e.what());
    return 1;
  }
}
