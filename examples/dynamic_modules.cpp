// Dynamic graphs, modular: questions about small pictures, each answered by a network that is put
// together for it from a library of modules, as a program says. The modules learn what "red" or
// "left of" mean from answers alone; then they answer with programs that were never trained.
#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

// A picture shows 4x4 squares of 3x3 pixels. Most are empty, the others show a sign in a colour.
constexpr int kSide = 4, kSquares = kSide * kSide, kPatch = 3, kPixels = kSide * kPatch;
const std::array<std::string, 3> kColours = {"red", "green", "blue"},
                                 kSigns = {"cross", "ring", "bar"};
const std::array<const char*, 3> kDrawings = {".#.###.#.", "####.####", "...###..."};
// Answers are no, yes, and the numbers from 0 to 9.
constexpr int64_t kNo = 0, kZero = 2, kAnswers = 12;

struct Square {
  int colour = -1, sign = -1;
};
using Scene = std::array<Square, kSquares>;
using Mask = std::array<bool, kSquares>;

Scene random_scene(std::mt19937& random) {
  Scene scene;
  for (Square& square : scene)
    if (random() % 5 < 2) square = {static_cast<int>(random() % 3), static_cast<int>(random() % 3)};
  return scene;
}

/// float [3, 12, 12], with some noise.
void draw(const Scene& scene, std::mt19937& random, std::vector<float>& pixels) {
  for (int channel = 0; channel < 3; ++channel)
    for (int y = 0; y < kPixels; ++y)
      for (int x = 0; x < kPixels; ++x) {
        const Square& s = scene[static_cast<size_t>(y / kPatch * kSide + x / kPatch)];
        const bool ink =
            s.colour == channel &&
            kDrawings[static_cast<size_t>(s.sign)][y % kPatch * kPatch + x % kPatch] == '#';
        pixels.push_back((ink ? 1.f : 0.f) + static_cast<float>(random() % 1000) / 5000 - 0.1f);
      }
}

/// The answer of somebody who knows what the words mean.
int64_t truth(const Scene& scene, const models::ModuleProgram& program) {
  std::vector<Mask> stack;
  int64_t answer = -1;
  const auto pop = [&] {
    const Mask top = stack.back();
    stack.pop_back();
    return top;
  };
  const auto count = [](const Mask& m) { return std::count(m.begin(), m.end(), true); };
  for (const auto& call : program.calls()) {
    Mask m{};
    const auto fill = [&](const auto& where) {
      for (int i = 0; i < kSquares; ++i) m[static_cast<size_t>(i)] = where(i);
    };
    const std::string& name = call.name;
    if (call.arguments == 0) {
      const auto colour = std::find(kColours.begin(), kColours.end(), name) - kColours.begin();
      const auto sign = std::find(kSigns.begin(), kSigns.end(), name) - kSigns.begin();
      fill([&](int i) {
        const Square& s = scene[static_cast<size_t>(i)];
        return s.colour == colour || s.sign == sign;
      });
    } else if (name == "exists") {
      answer = kNo + (count(pop()) > 0);
    } else if (name == "count") {
      answer = kZero + std::min<int64_t>(count(pop()), 9);
    } else if (name == "left_of" || name == "above") {
      const Mask a = pop();
      const auto place = [&](int i) { return name == "above" ? i / kSide : i % kSide; };
      fill([&](int i) {
        for (int j = 0; j < kSquares; ++j)
          if (a[static_cast<size_t>(j)] && place(i) < place(j)) return true;
        return false;
      });
    } else {
      const Mask b = pop(), a = pop();
      if (name == "more") answer = kNo + (count(a) > count(b));
      fill([&](int i) {
        const size_t k = static_cast<size_t>(i);
        return name == "and" ? a[k] && b[k] : a[k] || b[k];
      });
    }
    stack.push_back(m);
  }
  return answer;
}

struct Batch {
  Tensor scenes, answers;
};
/// Pictures, and the answers to these questions (one for each, or one for all).
Batch random_batch(const std::vector<models::ModuleProgram>& programs, int64_t count,
                   std::mt19937& random) {
  std::vector<float> pixels;
  std::vector<int64_t> answers;
  for (int64_t i = 0; i < count; ++i) {
    const Scene scene = random_scene(random);
    draw(scene, random, pixels);
    answers.push_back(truth(scene, programs[static_cast<size_t>(i) % programs.size()]));
  }
  return {tensor(pixels, kFloat).view({count, 3, kPixels, kPixels}), tensor(answers, kLong)};
}

/// The share of right answers; each program is asked about several pictures, all in one batch.
double accuracy(models::ModuleNetwork& net, const std::vector<std::string>& texts,
                std::mt19937& random) {
  const NoGradGuard no_grad;
  std::vector<models::ModuleProgram> programs;
  for (int i = 0; i < 20; ++i) programs.insert(programs.end(), texts.begin(), texts.end());
  const Batch batch = random_batch(programs, static_cast<int64_t>(programs.size()), random);
  return (net(batch.scenes, programs).argmax(1) == batch.answers).to(kFloat).mean().item<double>();
}

}  // namespace

int main() {
  set_num_threads(1);  // the tensors are small: threads would wait for each other
  manual_seed(1);
  std::mt19937 random(0);
  models::ModuleNetwork net(models::ModuleNetworkOptions(/*in_channels=*/3, kAnswers)
                                .hidden_size(24)
                                .patch(kPatch)
                                .relocate_width(2 * kSide - 1)
                                .find({"red", "green", "blue", "cross", "ring", "bar"})
                                .relocate({"left_of", "above"})
                                .measure({"exists", "count"})
                                .compare({"more"}));

  // What is asked about red crosses, green rings and blue bars is kept for the end.
  std::vector<std::string> trained, kept;
  for (size_t c = 0; c < 3; ++c)
    for (size_t s = 0; s < 3; ++s) {
      const std::string colour = kColours[c], sign = kSigns[s], other = kColours[(c + 1) % 3];
      auto& programs = c == s ? kept : trained;
      programs.push_back("exists(and(" + colour + "," + sign + "))");
      programs.push_back("count(and(" + colour + "," + sign + "))");
      programs.push_back("count(or(" + colour + "," + sign + "))");
      programs.push_back("more(" + colour + "," + sign + ")");
      programs.push_back("exists(and(" + colour + ",left_of(" + sign + ")))");
      programs.push_back("count(and(" + sign + ",above(" + colour + ")))");
      programs.push_back("exists(and(and(" + colour + "," + sign + "),above(" + other + ")))");
    }
  for (size_t i = 0; i < 3; ++i) {
    trained.push_back("count(" + kColours[i] + ")");
    trained.push_back("count(" + kSigns[i] + ")");
  }

  // A program is a string, hence part of the signature: every one is compiled to a graph of its
  // own.
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-2));
  const auto learn =
      compile([&](const Tensor& scenes, const Tensor& answers, const std::string& program) {
        Tensor loss = nn::functional::cross_entropy(net->run(scenes, program), answers);
        loss.backward();
        return loss.detach();
      });
  constexpr int kSteps = 2500;
  for (int i = 0; i < kSteps; ++i) {
    if (i == kSteps * 8 / 10) optimizer.param_groups()[0].options().set_lr(2e-3);
    optimizer.zero_grad();
    for (int k = 0; k < 4; ++k) {
      const std::string& program = trained[random() % trained.size()];
      const Batch batch = random_batch({program}, 32, random);
      learn(batch.scenes, batch.answers, program);
    }
    optimizer.step();
  }
  std::printf("trained with %zu programs, %zu graphs\n", trained.size(), learn.graph_count());

  const double known = accuracy(net, trained, random), unknown = accuracy(net, kept, random);
  std::printf("right answers: %.1f %% with programs that were trained, %.1f %% with %zu others\n",
              100 * known, 100 * unknown, kept.size());
  for (const char* question : {"count(and(red,cross))", "exists(and(not(red),left_of(bar)))"}) {
    const Batch batch = random_batch({"count(red)"}, 1, random);
    std::printf("  %s: answer %lld\n", question,
                static_cast<long long>(net->run(batch.scenes, question).argmax(1).item<int64_t>()));
  }

  const NoGradGuard no_grad;
  const auto answer = compile(
      [&](const Tensor& scenes, const std::string& program) { return net->run(scenes, program); });
  double difference = 0;
  for (const std::string& program : kept) {
    const Tensor scenes = random_batch({program}, 16, random).scenes;
    difference =
        std::max(difference,
                 (answer(scenes, program) - net->run(scenes, program)).abs().max().item<double>());
  }
  std::printf("compiled and line by line the scores differ by %.1g\n", difference);

  std::string message;
  try {
    net->run(zeros({1, 3, kPixels, kPixels}), "count(and(red, crss))");
  } catch (const Error& e) {
    message = e.what();
  }
  std::printf("a program with a mistake: %s\n", message.c_str());

  const bool right = known >= 0.95 && unknown >= 0.9 && difference < 1e-4 &&
                     message.find("did you mean 'cross'?") != std::string::npos;
  std::printf("%s\n", right ? "as expected" : "wrong");
  return right ? 0 : 1;
}
