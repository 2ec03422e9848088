#include "tools/tandem/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <sstream>

#include "tandem/base/words.h"

namespace tandem::cli {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw UsageError(str(parts...));
}

const Option* find_option(const Command& command, const std::string& name) {
  for (const OptionGroup& group : command.groups)
    for (const Option& option : group.options)
      if (name == option.name) return &option;
  return nullptr;
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names = {"--help"};
  for (const OptionGroup& group : command.groups)
    for (const Option& option : group.options) names.emplace_back(option.name);
  return names;
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

/// A number such as -3 may follow an option; another option may not.
bool can_be_value(const std::string& word) {
  return !is_option(word) || std::isdigit(static_cast<unsigned char>(word[1])) || word[1] == '.';
}

/// The text in lines that begin at `column`, after `head`, which may be longer.
void put_columns(std::ostream& out, const std::string& head, const std::string& text,
                 size_t column) {
  constexpr size_t kWidth = 100;
  std::string line = "  " + head;
  if (line.size() + 2 > column) {
    out << line << '\n';
    line.clear();
  }
  line.resize(column, ' ');
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    if (line.size() + 1 + word.size() > kWidth) {
      out << line << '\n';
      line.assign(column, ' ');
    } else if (line.back() != ' ') {
      line += ' ';
    }
    line += word;
  }
  out << line << '\n';
}

}  // namespace

Arguments::Arguments(const Command& command, const std::vector<std::string>& words)
    : command_(command) {
  bool options_end = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options_end || !is_option(word)) {
      if (!*command.operands)
        refuse("'", word, "' is not expected: tandem ", command.name, " takes options only");
      operands_.push_back(word);
      continue;
    }
    if (word == "--") {
      options_end = true;
      continue;
    }
    if (word == "-h" || word == "--help") {
      help_ = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* option = find_option(command, name);
    if (!option) {
      const std::string nearest = nearest_word(name, option_names(command));
      refuse("there is no option ", name.substr(0, 100),
             nearest.empty() ? "" : "; did you mean " + nearest + "?");
    }
    std::string value;
    if (equals != std::string::npos) {
      if (!*option->value) refuse(name, " takes no value");
      value = word.substr(equals + 1);
    } else if (*option->value) {
      if (i + 1 == words.size() || !can_be_value(words[i + 1]))
        refuse(name, " needs a value: ", name, " ", option->value);
      value = words[++i];
    }
    if (*option->value && value.empty()) refuse(name, " needs a value that is not empty");
    if (!given_.emplace(name, value).second) refuse(name, " is given twice");
  }
}

const std::string* Arguments::find(const std::string& option) const {
  TANDEM_ASSERT(find_option(command_, option), "tandem ", command_.name, " has no ", option);
  const auto found = given_.find(option);
  return found == given_.end() ? nullptr : &found->second;
}

bool Arguments::has(const std::string& option) const { return find(option); }

std::optional<std::string> Arguments::text(const std::string& option) const {
  const std::string* given = find(option);
  return given ? std::optional(*given) : std::nullopt;
}

std::string Arguments::text(const std::string& option, const std::string& fallback) const {
  return text(option).value_or(fallback);
}

int64_t Arguments::integer(const std::string& option, int64_t fallback, int64_t least,
                           int64_t most) const {
  const std::string* given = find(option);
  if (!given) return fallback;
  int64_t value = 0;
  const char* end = given->data() + given->size();
  const auto [rest, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) {
    if (most == std::numeric_limits<int64_t>::max())
      refuse(option, ": '", *given, "' is not a whole number of at least ", least);
    refuse(option, ": '", *given, "' is not a whole number from ", least, " to ", most);
  }
  return value;
}

double Arguments::number(const std::string& option, double fallback,
                         std::optional<double> above) const {
  const std::string* given = find(option);
  if (!given) return fallback;
  double value = 0;
  const char* end = given->data() + given->size();
  const auto [rest, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc() || rest != end || !std::isfinite(value))
    refuse(option, ": '", *given, "' is not a number");
  if (above && value <= *above) refuse(option, ": ", *given, " is not above ", *above);
  return value;
}

std::string Arguments::choice(const std::string& option, const std::string& fallback,
                              const std::vector<std::string>& known) const {
  const std::string value = text(option, fallback);
  if (std::find(known.begin(), known.end(), value) == known.end())
    refuse(option, ": '", value.substr(0, 100), "' is not known", did_you_mean(value, known));
  return value;
}

std::string help(const Command& command) {
  std::ostringstream out;
  out << "tandem " << command.name << ": " << command.summary << "\n\n";
  for (const Example& e : command.examples)
    out << "  " << e.command << "\n      " << e.what << '\n';
  size_t column = 0;
  const auto head = [](const Option& o) {
    return *o.value ? std::string(o.name) + ' ' + o.value : std::string(o.name);
  };
  for (const OptionGroup& group : command.groups)
    for (const Option& o : group.options) column = std::max(column, head(o).size() + 4);
  column = std::min<size_t>(column, 30);
  out << "\nusage: tandem " << command.name << (*command.operands ? " " : "") << command.operands
      << " [OPTION...]\n";
  for (const OptionGroup& group : command.groups) {
    out << '\n' << group.title << '\n';
    for (const Option& o : group.options) put_columns(out, head(o), o.help, column);
  }
  if (*command.notes) out << '\n' << command.notes;
  return out.str();
}

}  // namespace tandem::cli
