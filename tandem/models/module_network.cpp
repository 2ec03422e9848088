#include "tandem/models/module_network.h"

#include <algorithm>
#include <ostream>

#include "tandem/base/words.h"
#include "tandem/models/scene_modules.h"
#include "tandem/ops/ops.h"

namespace tandem::models {

// -- Programs ----------------------------------------------------------------------------------

namespace {

bool is_name_letter(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_';
}

/// Reads a program from left to right; calls that are open are on a list, so that how deep they are
/// nested does not matter.
class ProgramReader {
 public:
  explicit ProgramReader(const std::string& text) : text_(text) {}

  std::vector<ModuleProgram::Call> read(std::string& canonical) {
    std::vector<ModuleProgram::Call> calls;
    do {
      // A name, which is a call of its own or opens one.
      ModuleProgram::Call call{name(), 0};
      canonical += call.name;
      if (take('(')) {
        canonical += '(';
        open_.push_back(std::move(call));
        continue;
      }
      calls.push_back(std::move(call));
      // What is complete now is an argument of the call around it.
      while (!open_.empty()) {
        ++open_.back().arguments;
        if (take(',')) {
          canonical += ',';
          break;
        }
        expect(take(')'), "expected ',' or ')'");
        canonical += ')';
        calls.push_back(std::move(open_.back()));
        open_.pop_back();
      }
    } while (!open_.empty());
    expect(at_ >= text_.size(), "expected nothing more");
    return calls;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }
  std::string name() {
    skip_spaces();
    std::string result;
    while (at_ < text_.size() && is_name_letter(text_[at_])) result += text_[at_++];
    expect(!result.empty(), "expected the name of a module");
    skip_spaces();
    return result;
  }
  void expect(bool condition, const char* what) const {
    TANDEM_CHECK_AS(ValueError, condition, "ModuleProgram: ", what, " at ", at_, " of '",
                    text_.substr(0, 200), "'",
                    at_ < text_.size() ? str(", got '", text_[at_], "'") : ", got the end");
  }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<ModuleProgram::Call> open_;
};

}  // namespace

ModuleProgram::ModuleProgram(const std::string& text) { calls_ = ProgramReader(text).read(text_); }

std::ostream& operator<<(std::ostream& stream, const ModuleProgram& program) {
  return stream << program.str();
}

// -- The network -------------------------------------------------------------------------------

ModuleNetworkImpl::ModuleNetworkImpl(const ModuleNetworkOptions& options_) : options(options_) {
  TANDEM_CHECK(options.in_channels() > 0 && options.num_answers() > 0 && options.hidden_size() > 0,
               "ModuleNetwork: in_channels, num_answers and hidden_size must be positive, got ",
               options.in_channels(), ", ", options.num_answers(), " and ", options.hidden_size());
  TANDEM_CHECK(
      options.patch() > 0 && options.relocate_width() > 0 && options.relocate_width() % 2 == 1,
      "ModuleNetwork: patch must be positive and relocate_width odd, got ", options.patch(),
      " and ", options.relocate_width());
  reset();
}

void ModuleNetworkImpl::reset() {
  library_.clear();
  const int64_t hidden = options.hidden_size(), answers = options.num_answers();
  see = register_module("see",
                        nn::Conv2d(nn::Conv2dOptions(options.in_channels(), hidden, options.patch())
                                       .stride(options.patch())));
  for (const auto& name : options.find()) add(name, 0, FindModule(hidden));
  for (const auto& name : options.relocate())
    add(name, 1, RelocateModule(hidden, options.relocate_width()));
  add("and", 2, CombineModule("and"));
  add("or", 2, CombineModule("or"));
  add("not", 1, NotModule());
  for (const auto& name : options.describe()) add(name, 1, DescribeModule(hidden, answers));
  for (const auto& name : options.measure()) add(name, 1, MeasureModule(hidden, answers));
  for (const auto& name : options.compare()) add(name, 2, CompareModule(hidden, answers));
}

// Modules that were added are not made by reset(), so each is copied by itself.
std::shared_ptr<nn::Module> ModuleNetworkImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleNetworkImpl>(options);
  copy->see =
      copy->replace_module("see", std::dynamic_pointer_cast<nn::Conv2dImpl>(see->clone(device)));
  for (const auto& item : library_) {
    const nn::AnyModule module = item.value().module.clone(device);
    if (copy->library_.contains(item.key())) {
      copy->replace_module(item.key(), module.ptr());
      copy->library_[item.key()].module = module;
    } else {
      copy->add(item.key(), item.value().arguments, module);
    }
  }
  copy->train(is_training());
  return copy;
}

void ModuleNetworkImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::ModuleNetwork";
}

void ModuleNetworkImpl::add(const std::string& name, int64_t arguments, nn::AnyModule module) {
  TANDEM_CHECK(!name.empty() && std::all_of(name.begin(), name.end(), is_name_letter),
               "ModuleNetwork: a module's name is made of letters, digits and _, not '", name, "'");
  TANDEM_CHECK(arguments >= 0, "ModuleNetwork: module '", name, "' takes ", arguments,
               " arguments");
  TANDEM_CHECK(name != "see" && !library_.contains(name), "ModuleNetwork: there is a module '",
               name, "' already");
  register_module(name, module.ptr());
  library_.insert(name, Entry{std::move(module), arguments});
}

std::vector<std::string> ModuleNetworkImpl::module_names() const { return library_.keys(); }

void ModuleNetworkImpl::check(const ModuleProgram& program) const {
  for (const ModuleProgram::Call& call : program.calls()) {
    const Entry* entry = library_.find(call.name);
    TANDEM_CHECK_AS(ValueError, entry, "ModuleNetwork: there is no module '", call.name,
                    "', which the program ", program, " uses",
                    did_you_mean(call.name, module_names()));
    TANDEM_CHECK_AS(ValueError, entry->arguments == call.arguments, "ModuleNetwork: module '",
                    call.name, "' takes ", entry->arguments, " arguments, the program ", program,
                    " gives it ", call.arguments);
  }
}

void ModuleNetworkImpl::check_scenes(const Tensor& scenes) const {
  TANDEM_CHECK_SHAPE(scenes.defined() && scenes.dim() == 4 &&
                         scenes.size(1) == options.in_channels() &&
                         scenes.size(2) >= options.patch() && scenes.size(3) >= options.patch(),
                     "ModuleNetwork: scenes must be [batch, ", options.in_channels(),
                     ", height, width] of at least ", options.patch(), " pixels, not ",
                     scenes.defined() ? tandem::str(scenes.type_of()) : "an undefined tensor");
}

Tensor ModuleNetworkImpl::run_checked(const Tensor& scenes, const ModuleProgram& program) {
  const Tensor seen = relu(see(scenes));
  std::vector<Tensor> results;
  for (const ModuleProgram::Call& call : program.calls()) {
    std::vector<nn::AnyValue> values;
    values.emplace_back(seen);
    const size_t first = results.size() - static_cast<size_t>(call.arguments);
    for (size_t i = first; i < results.size(); ++i) values.emplace_back(std::move(results[i]));
    results.resize(first);
    results.push_back(library_[call.name].module.forward_values(values).get<Tensor>());
  }
  return results.back();
}

Tensor ModuleNetworkImpl::run(const Tensor& scenes, const ModuleProgram& program) {
  const nn::ForwardScope scope(*this);
  check_scenes(scenes);
  check(program);
  return run_checked(scenes, program);
}

Tensor ModuleNetworkImpl::forward(const Tensor& scenes,
                                  const std::vector<ModuleProgram>& programs) {
  const nn::ForwardScope scope(*this);
  check_scenes(scenes);
  const int64_t batch = scenes.size(0);
  TANDEM_CHECK(static_cast<int64_t>(programs.size()) == batch && batch > 0,
               "ModuleNetwork: there are ", batch, " scenes and ", programs.size(), " programs");
  // Which scenes each program is for, in the order in which programs come first.
  OrderedDict<std::string, std::vector<int64_t>> groups("Program");
  for (int64_t i = 0; i < batch; ++i) {
    const ModuleProgram& program = programs[static_cast<size_t>(i)];
    if (auto* rows = groups.find(program.str())) {
      rows->push_back(i);
    } else {
      check(program);
      groups.insert(program.str(), {i});
    }
  }
  std::vector<Tensor> answers;
  std::vector<int64_t> places(programs.size());
  int64_t done = 0;
  for (const auto& group : groups) {
    const std::vector<int64_t>& rows = group.value();
    const ModuleProgram& program = programs[static_cast<size_t>(rows.front())];
    const Tensor mine = groups.size() == 1 ? scenes : scenes.index_select(0, tensor(rows, kLong));
    answers.push_back(run_checked(mine, program));
    const Tensor& answer = answers.back();
    TANDEM_CHECK_SHAPE(answer.dim() == 2 && answer.size(1) == options.num_answers(),
                       "ModuleNetwork: the program ", program, " gives ", answer.sizes(),
                       ", not an answer [", mine.size(0), ", ", options.num_answers(), "]");
    for (const int64_t row : rows) places[static_cast<size_t>(row)] = done++;
  }
  if (answers.size() == 1) return answers.front();
  return cat(answers, 0).index_select(0, tensor(places, kLong));
}

}  // namespace tandem::models
