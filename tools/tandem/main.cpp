// tandem COMMAND ...: trains, tries and looks into networks from the command line.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "tandem/base/version.h"
#include "tandem/base/words.h"
#include "tools/tandem/commands.h"

namespace tandem::cli {
namespace {

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all = {
      &train_command(), &evaluate_command(), &predict_command(), &info_command(), &bench_command()};
  return all;
}

bool is_command(const std::string& name) {
  return std::any_of(commands().begin(), commands().end(),
                     [&](const Command* c) { return name == c->name; });
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> known = {"help"};
  for (const Command* c : commands()) {
    if (name == c->name) return *c;
    known.emplace_back(c->name);
  }
  throw UsageError(
      str("there is no command '", name.substr(0, 100), "'", did_you_mean(name, known)));
}

void print_overview() {
  std::cout
      << "tandem: deep learning from the command line\n\n"
         "  tandem train --model lenet --data fashion-mnist --epochs 3 --checkpoint run.ckpt\n"
         "      trains a network on images and saves it after each epoch\n"
         "  tandem evaluate run.ckpt --data fashion-mnist\n"
         "      how good it is on the test images\n"
         "  tandem predict run.ckpt --input x.npy --output y.npy\n"
         "      what it makes of other images\n"
         "  tandem info run.ckpt\n"
         "      what is in a file\n\n"
         "commands\n";
  for (const Command* c : commands()) std::printf("  %-10s%s\n", c->name, c->summary);
  std::cout
      << "\n'tandem help COMMAND' tells about one of them, 'tandem --version' which Tandem this "
         "is.\n\n"
         "The exit code is 0 if all went well, 1 after a mistake (on the command line, or in a "
         "file),\n2 if a result that --expect asked for was not reached, 130 after Ctrl-C.\n";
}

int run(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" ||
      (words[0] == "help" && words.size() == 1)) {
    print_overview();
    return kOk;
  }
  if (words[0] == "--version" || words[0] == "version") {
    std::cout << "tandem " TANDEM_VERSION "\n";
    return kOk;
  }
  if (words[0] == "help") {
    if (words.size() > 2) throw UsageError("help: about one command at a time");
    std::cout << help(find_command(words[1]));
    return kOk;
  }
  if (words[0].starts_with("-"))
    throw UsageError(str("a command comes first, then its options; '", words[0].substr(0, 100),
                         "' is not a command"));
  const Command& command = find_command(words[0]);
  const Arguments arguments(command, {words.begin() + 1, words.end()});
  if (arguments.wants_help()) {
    std::cout << help(command);
    return kOk;
  }
  return command.run(arguments);
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  using namespace tandem::cli;
  // By default libgomp's waiting threads spin, which on a machine that does other work too makes
  // every parallel loop wait for the scheduler. It reads the setting before main(), hence the new
  // start.
  if (!std::getenv("OMP_WAIT_POLICY") && ::setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
    ::execv("/proc/self/exe", argv);  // returns only if that failed, which is no reason to stop
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string who = words.empty() ? "tandem" : "tandem " + words[0].substr(0, 20);
  int code = kOk;
  try {
    code = run(words);
  } catch (const UsageError& e) {
    std::cout << std::flush;
    std::fprintf(stderr, "%s: %s\n", who.c_str(), e.what());
    const bool known = !words.empty() && is_command(words[0]);
    std::fprintf(stderr, "See: tandem help%s\n", known ? (" " + words[0]).c_str() : "");
    return kMistake;
  } catch (const std::exception& e) {
    std::cout << std::flush;
    std::fprintf(stderr, "%s: %s\n", who.c_str(), e.what());
    return kMistake;
  }
  // A result that nobody received is no result: a full disk, a closed pipe.
  std::cout << std::flush;
  if (!std::cout || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "%s: writing the output failed\n", who.c_str());
    return kMistake;
  }
  return code;
}
