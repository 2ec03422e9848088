// W1, W4, W7, W9 and W10: whole models, compiled against eager Tandem and, where it is installed,
// LibTorch, rounds interleaved. "of limit" is the share that compiled reaches of the speed of a
// 1024^3 product. Memory is the highest that a process of its own had resident during a few steps,
// beyond what it had before the model was made.
//
//   models                     all, with one thread and with all
//   models W4 W7 ...           only these
//   models --threads N ...     only with N threads
//   models --rounds N ...      rounds of each (5)
//   models --no-memory ...     without the processes that measure memory
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "bench/timing.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/models_workloads.h"

namespace {

std::vector<ModelWorkload> tandem_workloads() {
  std::vector<ModelWorkload> all;
  for_model_workloads([&](const char* id, std::string name, double flops, auto make) {
    all.push_back({id, std::move(name), flops,
                   [make] {
                     auto program = make();
                     return std::function<void()>([program] { program(); });
                   },
                   [make] {
                     const auto compiled = tandem::compile(make());
                     return std::function<void()>([compiled] { compiled(); });
                   }});
  });
  return all;
}

std::vector<ModelWorkload> libtorch_workloads() {
#ifdef TANDEM_BENCH_LIBTORCH
  return libtorch_model_workloads();
#else
  return {};
#endif
}

void set_threads(int threads) {
  tandem::set_num_threads(threads);
#ifdef TANDEM_BENCH_LIBTORCH
  libtorch_set_threads(threads);
#endif
}

// Floating-point operations a second of a large product.
double product_speed() {
  const torch::Tensor a = torch::randn({1024, 1024}), b = torch::randn({1024, 1024});
  return 2.0 * 1024 * 1024 * 1024 / fastest([&] { torch::Tensor c = a.mm(b); });
}

// A line of /proc/self/status in MB.
double status(const char* key) {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line))
    if (line.starts_with(key)) return std::atof(line.c_str() + std::strlen(key)) / 1024;
  return 0;
}

// In a process of its own: makes the model, runs three steps, prints what that took.
int measure_memory(const std::string& id, const std::string& how, int threads) {
  set_threads(threads);
  for (const auto& w : how == "libtorch" ? libtorch_workloads() : tandem_workloads()) {
    if (w.id + w.name != id) continue;
    const double before = status("VmRSS:");
    const auto step = how == "compiled" ? w.compiled() : w.eager();
    for (int i = 0; i < 3; ++i) step();
    tandem::jit::wait_idle();
    step();
    std::printf("%.0f\n", status("VmHWM:") - before);
    return 0;
  }
  return 1;
}

double memory_of(const ModelWorkload& w, const char* how, int threads) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    const std::string id = w.id + w.name, n = std::to_string(threads);
    execl("/proc/self/exe", "models", "--memory", id.c_str(), how, n.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text(64, '\0');
  const ssize_t n = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int result = 0;
  waitpid(child, &result, 0);
  return result == 0 && n > 0 ? std::atof(text.c_str()) : 0;
}

struct Settings {
  int rounds = 5, threads = 0;
  bool memory = true;
  std::set<std::string> only;
};

void table(int threads, const Settings& settings) {
  set_threads(threads);
  const auto ours = tandem_workloads(), theirs = libtorch_workloads();
  std::printf(
      "\n%d thread%s: ms, medians of %d interleaved rounds; MB\n%-40s %9s %9s %7s %9s %7s %8s "
      "%9s %7s %9s\n",
      threads, threads > 1 ? "s" : "", settings.rounds, "", "compiled", "eager", "ratio",
      "LibTorch", "ratio", "of limit", "compiled", "eager", "LibTorch");
  const double products = product_speed();
  for (size_t i = 0; i < ours.size(); ++i) {
    const ModelWorkload& w = ours[i];
    if (!settings.only.empty() && !settings.only.contains(w.id)) continue;
    std::vector<double> a, b, c;
    {
      const auto compiled = w.compiled(), eager = w.eager();
      const auto other = theirs.empty() ? std::function<void()>([] {}) : theirs[i].eager();
      for (int k = 0; k < 2; ++k) compiled();
      tandem::jit::wait_idle();
      const double once = seconds(compiled);
      const int calls = std::max(1, static_cast<int>(0.1 / once));
      eager();
      other();
      for (int r = 0; r < settings.rounds; ++r) {
        a.push_back(seconds(compiled, calls));
        b.push_back(seconds(eager, calls));
        if (!theirs.empty()) c.push_back(seconds(other, calls));
      }
    }
    const double x = median(a), y = median(b);
    std::printf("%-40s %9.2f %9.2f %6.2fx", w.name.c_str(), x * 1e3, y * 1e3, y / x);
    if (theirs.empty())
      std::printf(" %9s %7s", "-", "-");
    else
      std::printf(" %9.2f %6.2fx", median(c) * 1e3, median(c) / x);
    if (w.flops > 0)
      std::printf(" %7.0f%%", 100 * w.flops / products / x);
    else
      std::printf(" %8s", "-");
    std::fflush(stdout);
    if (settings.memory) {
      std::printf(" %9.0f %7.0f", memory_of(w, "compiled", threads),
                  memory_of(w, "eager", threads));
      if (!theirs.empty()) std::printf(" %9.0f", memory_of(w, "libtorch", threads));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--memory") == 0)
    return measure_memory(argv[2], argv[3], std::atoi(argv[4]));
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if ((word == "--threads" || word == "--rounds") && i + 1 < argc) {
      (word == "--threads" ? settings.threads : settings.rounds) =
          std::max(1, std::atoi(argv[++i]));
    } else if (word == "--no-memory") {
      settings.memory = false;
    } else if (word.starts_with("W")) {
      settings.only.insert(word);
    } else {
      std::fprintf(
          stderr,
          "models: unknown word '%s'; the first lines of bench/models.cpp say what there is\n",
          argv[i]);
      return 1;
    }
  }
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (settings.threads > 0) {
    table(settings.threads, settings);
    return 0;
  }
  table(1, settings);
  if (cores > 1) table(cores, settings);
}
