#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/error.h"

/// The command line: what a command takes, what was given, and help that is made from the former.
namespace tandem::cli {

enum ExitCode {
  kOk = 0,
  kMistake = 1,       // the user's, or a bad file
  kNotReached = 2,    // --expect was not met
  kInterrupted = 130  // by Ctrl-C, as shells have it
};

/// A command line that says something that cannot be done.
class UsageError : public Error {
 public:
  using Error::Error;
};

struct Option {
  const char* name;   // "--epochs"
  const char* value;  // what follows it, "N"; empty for a switch
  const char* help;
};
struct OptionGroup {
  const char* title;
  std::vector<Option> options;
};
struct Example {
  const char* command;
  const char* what;
};

class Arguments;

struct Command {
  const char* name;
  const char* summary;   // one line
  const char* operands;  // "FILE", or empty: takes nothing but options
  std::vector<Example> examples;
  std::vector<OptionGroup> groups;
  const char* notes;  // paragraphs at the end of the help
  int (*run)(const Arguments&);
};

/// What was given to a command.
class Arguments {
 public:
  /// Throws UsageError for what the command does not take.
  Arguments(const Command& command, const std::vector<std::string>& words);

  bool has(const std::string& option) const;
  std::optional<std::string> text(const std::string& option) const;
  std::string text(const std::string& option, const std::string& fallback) const;
  int64_t integer(const std::string& option, int64_t fallback, int64_t least = 0,
                  int64_t most = std::numeric_limits<int64_t>::max()) const;
  /// Above `above` if that is given.
  double number(const std::string& option, double fallback,
                std::optional<double> above = std::nullopt) const;
  /// One of the known words.
  std::string choice(const std::string& option, const std::string& fallback,
                     const std::vector<std::string>& known) const;

  const std::vector<std::string>& operands() const { return operands_; }
  bool wants_help() const { return help_; }

 private:
  const std::string* find(const std::string& option) const;

  const Command& command_;
  std::map<std::string, std::string> given_;
  std::vector<std::string> operands_;
  bool help_ = false;
};

/// What a command does and takes, examples first.
std::string help(const Command& command);

}  // namespace tandem::cli
