#pragma once

#include <functional>
#include <utility>

#include "tandem/autograd/callable.h"
#include "tandem/compile/structure.h"

/// Choices and loops that become part of a graph where one is being recorded, with gradients. Run
/// eagerly they are plain C++.
namespace tandem {

namespace control {

using ListFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// True iff a choice or loop over these tensors is to be kept rather than run.
bool is_kept(ArrayRef<Tensor> tensors);

std::vector<Tensor> cond_list(const Tensor& pred, const std::function<std::vector<Tensor>()>& yes,
                              const std::function<std::vector<Tensor>()>& no);
std::vector<Tensor> while_list(const ListFunction& condition, const ListFunction& body,
                               const std::vector<Tensor>& state);
/// body(carry..., x...) gives (carry..., y...). `reverse`: from the last x to the first.
std::pair<std::vector<Tensor>, std::vector<Tensor>> scan_list(const ListFunction& body,
                                                              const std::vector<Tensor>& carry,
                                                              const std::vector<Tensor>& xs,
                                                              bool reverse = false);

template <class T>
std::vector<Tensor> flatten(const T& value) {
  std::vector<Tensor> list;
  structure::visit(
      value, [&](const Tensor& t) { list.push_back(t); }, [](const auto&) {});
  return list;
}
template <class T>
T rebuild(T like, ArrayRef<Tensor> tensors) {
  size_t next = 0;
  structure::replace(like, tensors, next);
  return like;
}

}  // namespace control

/// yes() where pred holds, no() elsewhere: the result of only one of them. Both give the same
/// types.
///
///   Tensor r = cond(x.sum() > 0, [&] { return x * 2; }, [&] { return -x; });
template <class Yes, class No>
auto cond(const Tensor& pred, Yes yes, No no) {
  using R = std::remove_cvref_t<decltype(yes())>;
  static_assert(std::is_same_v<R, std::remove_cvref_t<decltype(no())>>,
                "cond: both branches must give the same type");
  TANDEM_CHECK_SHAPE(pred.numel() == 1, "cond: the condition must be a single value, not ",
                     pred.type_of());
  if (!control::is_kept({pred})) return pred.item().toBool() ? R(yes()) : R(no());
  std::optional<R> like;
  const std::vector<Tensor> list = control::cond_list(
      pred,
      [&] {
        like = yes();
        return control::flatten(*like);
      },
      [&] { return control::flatten(no()); });
  return control::rebuild(*like, list);
}

/// Repeats body on the state as long as the condition, a single value, holds.
///
///   auto state = while_loop([](auto& s) { return s[0] < 10; },
///                           [](auto& s) { return std::vector{s[0] + 1, s[1] * 2}; }, {i, acc});
template <class Condition, class Body>
std::vector<Tensor> while_loop(Condition condition, Body body, std::vector<Tensor> state) {
  const auto as_list = [](auto&& result) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(result)>, std::vector<Tensor>>)
      return result;
    else
      return control::flatten(result);
  };
  if (!control::is_kept({state.data(), state.size()})) {
    while (Tensor(condition(state)).item().toBool()) {
      std::vector<Tensor> next = as_list(body(state));
      TANDEM_CHECK(next.size() == state.size(), "while_loop: the body gives ", next.size(),
                   " tensors, the state has ", state.size());
      state = std::move(next);
    }
    return state;
  }
  return control::while_list(
      [&](const std::vector<Tensor>& s) {
        std::vector<Tensor> copy = s;
        return std::vector<Tensor>{condition(copy)};
      },
      [&](const std::vector<Tensor>& s) {
        std::vector<Tensor> copy = s;
        return as_list(body(copy));
      },
      state);
}

/// Goes through the slices of xs along dimension 0: body(carry, x) gives {next carry, y}. The
/// result is the last carry and all y, stacked. Carry, xs and y may be tensors or structures of
/// them.
///
///   auto [sum, sums] = scan([](Tensor c, Tensor x) { return std::pair{c + x, c + x}; }, zero, xs);
template <class Body, class Carry, class Xs>
auto scan(Body body, const Carry& init, const Xs& xs) {
  using R = std::remove_cvref_t<decltype(body(init, xs))>;
  using Y = std::remove_cvref_t<decltype(std::declval<R>().second)>;
  const std::vector<Tensor> carry = control::flatten(init), slices = control::flatten(xs);
  std::optional<Y> like;
  const auto [last, ys] = control::scan_list(
      [&](const std::vector<Tensor>& in) {
        const R result = body(control::rebuild(init, {in.data(), carry.size()}),
                              control::rebuild(xs, {in.data() + carry.size(), slices.size()}));
        like = result.second;
        std::vector<Tensor> out = control::flatten(result.first);
        TANDEM_CHECK(out.size() == carry.size(), "scan: the body gives a carry of ", out.size(),
                     " tensors, it began with ", carry.size());
        for (Tensor& y : control::flatten(result.second)) out.push_back(std::move(y));
        return out;
      },
      carry, slices);
  return std::pair<Carry, Y>(control::rebuild(init, last), control::rebuild(*like, ys));
}

}  // namespace tandem
