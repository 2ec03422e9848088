#pragma once

#include <string>
#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/container/any.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/linear.h"

/// Networks that are put together anew for each question (Andreas and others, 2016).
namespace tandem::models {

/// Which modules answer a question, and how they are put together, as text:
///
///     count(and(red, left_of(square)))
///
/// A name of letters, digits and _, and behind it, if the module takes any, its arguments. What is
/// not such a text is an error that says where.
class ModuleProgram {
 public:
  ModuleProgram(const std::string& text);
  ModuleProgram(const char* text) : ModuleProgram(std::string(text)) {}

  /// One call: takes its arguments from the end of a list of results and puts its own there.
  struct Call {
    std::string name;
    int64_t arguments;
  };
  /// In the order in which they run; the last gives the answer.
  const std::vector<Call>& calls() const { return calls_; }
  /// The text without spaces: programs are equal iff these are.
  const std::string& str() const { return text_; }
  friend bool operator==(const ModuleProgram& a, const ModuleProgram& b) {
    return a.text_ == b.text_;
  }

 private:
  std::string text_;
  std::vector<Call> calls_;
};
std::ostream& operator<<(std::ostream& stream, const ModuleProgram& program);

struct ModuleNetworkOptions {
  ModuleNetworkOptions(int64_t in_channels, int64_t num_answers)
      : in_channels_(in_channels), num_answers_(num_answers) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, num_answers);
  TANDEM_ARG(int64_t, hidden_size) = 32;
  /// Scenes are looked at in squares of so many pixels, which do not overlap.
  TANDEM_ARG(int64_t, patch) = 1;
  /// How many squares `relocate` modules see, an odd number: twice as many as a scene is wide, less
  /// one, to see all of it.
  TANDEM_ARG(int64_t, relocate_width) = 7;
  // The names of the modules of each kind; and, or and not are always there.
  /// () -> where something is.
  TANDEM_ARG(std::vector<std::string>, find) = {};
  /// (where) -> where that leads, such as to the left of it.
  TANDEM_ARG(std::vector<std::string>, relocate) = {};
  /// (where) -> an answer about what is there.
  TANDEM_ARG(std::vector<std::string>, describe) = {};
  /// (where) -> an answer about how much is there.
  TANDEM_ARG(std::vector<std::string>, measure) = {};
  /// (where, where) -> an answer about how much more is in the first.
  TANDEM_ARG(std::vector<std::string>, compare) = {};
};

/// A library of modules with names, and programs that put them together. What modules pass on are
/// attentions [batch, 1, rows, columns] from 0 to 1; answers are scores [batch, num_answers].
///
///     ModuleNetwork net(ModuleNetworkOptions(3, 12).find({"red", "square"}).measure({"count"}));
///     Tensor scores = net->run(scenes, "count(and(red, square))");
///
/// run() depends on values in no way, so that it can be compiled: a program given as a string is
/// part of the signature, and each has a graph of its own.
class ModuleNetworkImpl : public nn::Cloneable<ModuleNetworkImpl> {
 public:
  explicit ModuleNetworkImpl(const ModuleNetworkOptions& options);
  std::shared_ptr<nn::Module> clone(
      const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// Another module: its forward takes what is seen [batch, channels, rows, columns] and then so
  /// many tensors that other modules gave.
  void add(const std::string& name, int64_t arguments, nn::AnyModule module);
  template <class M>
  void add(const std::string& name, int64_t arguments, const nn::ModuleHolder<M>& holder) {
    add(name, arguments, nn::AnyModule(holder));
  }
  /// The names of all modules, in the order in which they came.
  std::vector<std::string> module_names() const;

  /// Throws an error that names the place if the program uses a module that is not there, or one
  /// with another number of arguments.
  void check(const ModuleProgram& program) const;
  /// What one program gives for scenes [batch, in_channels, height, width].
  Tensor run(const Tensor& scenes, const ModuleProgram& program);
  /// A program for each scene; answers [batch, num_answers]. Scenes with the same program are
  /// computed together.
  Tensor forward(const Tensor& scenes, const std::vector<ModuleProgram>& programs);

  ModuleNetworkOptions options;
  nn::Conv2d see{nullptr};

 private:
  struct Entry {
    nn::AnyModule module;
    int64_t arguments;
  };
  Tensor run_checked(const Tensor& scenes, const ModuleProgram& program);
  void check_scenes(const Tensor& scenes) const;

  OrderedDict<std::string, Entry> library_{"Module"};
};
TANDEM_MODULE(ModuleNetwork);

}  // namespace tandem::models
