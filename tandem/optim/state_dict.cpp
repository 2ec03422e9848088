// Optimiser state as named tensors and numbers, and back.
#include <map>

#include "tandem/ops/ops.h"
#include "tandem/optim/optimizer.h"

namespace tandem::optim {
namespace {

using OptionField = OptimizerOptions::Field;
using StateField = OptimizerParamState::Field;

std::string option_name(size_t group, const char* name) { return str("groups.", group, ".", name); }
std::string state_name(size_t param, const char* name) { return str("state.", param, ".", name); }

constexpr const char* kSize = "params";  // how many parameters a group has
constexpr const char* kInitialLr = "initial_lr";
constexpr const char* kWolfe = "strong_wolfe";  // the one value of an option that is a text

// -- saving -------------------------------------------------------------------------------------

struct Writer {
  OptimizerState& out;

  void number(std::string name, const Scalar& value) {
    out.numbers.emplace_back(std::move(name), value);
  }
  void option(size_t group, const OptionField& f) {
    const std::string name = option_name(group, f.name);
    std::visit(
        [&](auto* v) {
          using T = std::remove_pointer_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Number>) {
            number(name, static_cast<double>(*v));
          } else if constexpr (std::is_same_v<T, Flag>) {
            number(name, static_cast<bool>(*v));
          } else if constexpr (std::is_same_v<T, std::optional<int64_t>>) {
            if (*v) number(name, **v);
          } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
            if (*v) number(option_name(group, (*v)->c_str()), true);
          } else {
            number(name, *v);
          }
        },
        f.value);
  }
  void state(size_t param, const StateField& f) {
    const std::string name = state_name(param, f.name);
    std::visit(
        [&](auto* v) {
          using T = std::remove_pointer_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Counter>) {
            number(name, v->get());
          } else if constexpr (std::is_same_v<T, Tensor>) {
            if (v->defined()) out.tensors.emplace_back(name, *v);
          } else if constexpr (std::is_same_v<T, std::deque<Tensor>>) {
            for (size_t i = 0; i < v->size(); ++i)
              out.tensors.emplace_back(str(name, ".", i), (*v)[i]);
          } else {
            number(name, *v);
          }
        },
        f.value);
  }
};

// -- loading ------------------------------------------------------------------------------------

// Everything is looked up and checked first; what is to be done then is kept in `writes`.
class Reader {
 public:
  explicit Reader(const OptimizerState& saved) {
    for (const auto& [name, value] : saved.numbers)
      TANDEM_CHECK(numbers_.emplace(name, value).second, "load_state_dict: '", name,
                   "' is there twice");
    for (const auto& [name, value] : saved.tensors) {
      TANDEM_CHECK(value.defined(), "load_state_dict: the tensor '", name, "' is undefined");
      TANDEM_CHECK(tensors_.emplace(name, value).second, "load_state_dict: '", name,
                   "' is there twice");
    }
  }

  std::optional<Scalar> find_number(const std::string& name) {
    const auto at = numbers_.find(name);
    if (at == numbers_.end()) return std::nullopt;
    const Scalar value = at->second;
    numbers_.erase(at);
    return value;
  }
  Scalar number(const std::string& name) {
    const auto value = find_number(name);
    TANDEM_CHECK(value, "load_state_dict: '", name, "' is missing");
    return *value;
  }
  Tensor tensor(const std::string& name) {
    const auto at = tensors_.find(name);
    if (at == tensors_.end()) return {};
    const Tensor value = at->second;
    tensors_.erase(at);
    return value;
  }
  bool has_state(size_t param) const {
    const std::string prefix = state_name(param, "");
    const auto begins = [&](const auto& map) {
      const auto at = map.lower_bound(prefix);
      return at != map.end() && at->first.starts_with(prefix);
    };
    return begins(numbers_) || begins(tensors_);
  }

  void option(size_t group, const OptionField& f) {
    const std::string name = option_name(group, f.name);
    std::visit(
        [&](auto* v) {
          using T = std::remove_pointer_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::optional<int64_t>>) {
            const auto value = find_number(name);
            writes.push_back([=] { *v = value ? std::optional(value->toLong()) : std::nullopt; });
          } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
            const bool wolfe = find_number(option_name(group, kWolfe)).has_value();
            writes.push_back(
                [=] { *v = wolfe ? std::optional<std::string>(kWolfe) : std::nullopt; });
          } else {
            const Scalar value = number(name);
            writes.push_back([=] {
              if constexpr (std::is_same_v<T, Flag>) *v = value.toBool();
              if constexpr (std::is_same_v<T, int64_t>) *v = value.toLong();
              if constexpr (std::is_same_v<T, Number> || std::is_same_v<T, double>)
                *v = value.toDouble();
            });
          }
        },
        f.value);
  }

  void state(size_t param, const StateField& f, const Tensor& p) {
    const std::string name = state_name(param, f.name);
    std::visit(
        [&](auto* v) {
          using T = std::remove_pointer_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Tensor>) {
            const Tensor saved = tensor(name);
            TANDEM_CHECK(saved.defined() || f.kind != StateField::required,
                         "load_state_dict: the tensor '", name, "' is missing");
            restore(v, saved, name, f.kind == StateField::free ? Tensor() : p);
          } else if constexpr (std::is_same_v<T, std::deque<Tensor>>) {
            std::deque<Tensor> values;
            for (Tensor t; (t = tensor(str(name, ".", values.size()))).defined();)
              values.push_back(t.detach().clone());
            writes.push_back([=] { *v = values; });
          } else {
            const Scalar value = number(name);
            writes.push_back([=] {
              if constexpr (std::is_same_v<T, Counter>) v->set(value.toLong());
              if constexpr (std::is_same_v<T, int64_t>) *v = value.toLong();
              if constexpr (std::is_same_v<T, double>) *v = value.toDouble();
            });
          }
        },
        f.value);
  }

  void check_all_used() const {
    const std::string* left = !numbers_.empty()   ? &numbers_.begin()->first
                              : !tensors_.empty() ? &tensors_.begin()->first
                                                  : nullptr;
    TANDEM_CHECK(!left, "load_state_dict: this optimizer has nothing that is called '", *left, "'");
  }

  std::vector<std::function<void()>> writes;

 private:
  // Where there is a tensor already it is written over, so that whoever reads it goes on with it.
  void restore(Tensor* to, const Tensor& saved, const std::string& name, const Tensor& p) {
    if (!saved.defined()) {
      if (to->defined()) writes.push_back([=] { to->zero_(); });
      return;
    }
    if (p.defined()) {
      TANDEM_CHECK_SHAPE(saved.sizes() == p.sizes(), "load_state_dict: '", name, "' has shape ",
                         saved.sizes(), ", its parameter has ", p.sizes());
      TANDEM_CHECK_TYPE(saved.dtype() == p.dtype(), "load_state_dict: '", name, "' is ",
                        saved.dtype(), ", its parameter is ", p.dtype());
    }
    const bool fits = to->defined() && to->sizes() == saved.sizes() && to->dtype() == saved.dtype();
    writes.push_back([=] {
      if (fits)
        to->copy_(saved.detach());
      else
        *to = saved.detach().clone();
    });
  }

  std::map<std::string, Scalar> numbers_;
  std::map<std::string, Tensor> tensors_;
};

// Forgets what is remembered, in place.
void reset(OptimizerParamState& state) {
  for (const StateField& f : state.fields())
    std::visit(
        [](auto* v) {
          using T = std::remove_pointer_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Counter>)
            v->set(0);
          else if constexpr (std::is_same_v<T, Tensor>) {
            if (v->defined()) v->zero_();
          } else
            *v = T();
        },
        f.value);
}

}  // namespace

OptimizerState Optimizer::state_dict() const {
  OptimizerState out;
  out.optimizer = name();
  Writer writer{out};
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    auto& group = const_cast<OptimizerParamGroup&>(param_groups_[g]);
    writer.number(option_name(g, kSize), static_cast<int64_t>(group.params().size()));
    if (group.initial_lr()) writer.number(option_name(g, kInitialLr), *group.initial_lr());
    for (const OptionField& f : group.options().fields()) writer.option(g, f);
  }
  size_t param = 0;
  for (const OptimizerParamGroup& group : param_groups_)
    for (const Tensor& p : group.params()) {
      const auto at = state_.find(p.impl());
      if (at != state_.end() && at->second)
        for (const StateField& f : at->second->fields()) writer.state(param, f);
      ++param;
    }
  return out;
}

void Optimizer::load_state_dict(const OptimizerState& saved) {
  TANDEM_CHECK(saved.optimizer == name(), "load_state_dict: the state is that of ", saved.optimizer,
               ", this optimizer is ", name());
  const NoGradGuard no_grad;
  Reader reader(saved);
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    OptimizerParamGroup& group = param_groups_[g];
    const int64_t n = reader.number(option_name(g, kSize)).toLong();
    TANDEM_CHECK(n == static_cast<int64_t>(group.params().size()), "load_state_dict: group ", g,
                 " has ", n, " parameters in the state and ", group.params().size(), " here");
    const auto initial = reader.find_number(option_name(g, kInitialLr));
    reader.writes.push_back([&group, initial] {
      group.initial_lr() = initial ? std::optional(initial->toDouble()) : std::nullopt;
    });
    for (const OptionField& f : group.options().fields()) reader.option(g, f);
  }
  StateMap fresh;  // of parameters that had no state here
  size_t param = 0;
  for (const OptimizerParamGroup& group : param_groups_)
    for (const Tensor& p : group.params()) {
      const auto at = state_.find(p.impl());
      OptimizerParamState* state = at != state_.end() ? at->second.get() : nullptr;
      if (reader.has_state(param)) {
        if (!state) {
          auto made = new_state();
          TANDEM_CHECK(made, "load_state_dict: ", name(), " cannot restore what it remembers");
          state = made.get();
          fresh[p.impl()] = std::move(made);
        }
        for (const StateField& f : state->fields()) reader.state(param, f, p);
      } else if (state) {
        reader.writes.push_back([state] { reset(*state); });
      }
      ++param;
    }
  reader.check_all_used();
  for (const auto& write : reader.writes) write();
  for (auto& [key, state] : fresh) state_[key] = std::move(state);
  groups_watched_.changed();
}

}  // namespace tandem::optim
