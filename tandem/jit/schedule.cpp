#include "tandem/jit/schedule.h"

#include <algorithm>

#include "tandem/base/error.h"

namespace tandem::jit {
namespace {

// Values that cost more than this many simple instructions are kept rather than worked out again.
constexpr int kCheap = 8;

int cost_of(const ScalarInstr& i, const LoopNest& nest) {
  switch (i.op) {
    case ScalarOp::constant:
    case ScalarOp::column:
    case ScalarOp::columns:
      return 0;
    case ScalarOp::load: {
      const Operand& o = nest.operands[static_cast<size_t>(i.index)];
      return o.along == Along::strided ? 6 : is_floating(o.dtype) && size_of(o.dtype) >= 4 ? 1 : 2;
    }
    case ScalarOp::div:
    case ScalarOp::sqrt:
      return 4;
    case ScalarOp::call:
      return 100;
    case ScalarOp::patch:
      return 4;
    case ScalarOp::narrow:
      return 3;
    default:
      return i.type == LaneType::f64 ? 2 : i.type == LaneType::i64 ? 3 : 1;
  }
}

template <class F>
void for_operands(const ScalarInstr& i, const F& fn) {
  for (const int16_t x : {i.a, i.b, i.c})
    if (x >= 0) fn(x);
}

}  // namespace

Schedule::Schedule(const LoopNest& nest) {
  const auto& program = nest.program;
  const size_t n = program.size();
  level.assign(n, Level::constant);
  stage.assign(n, 0);
  spread.assign(n, false);
  std::vector<int> cone(n, 0);  // cost of working the value out from what is in memory
  int last = 0;
  for (size_t k = 0; k < n; ++k) {
    const ScalarInstr& i = program[k];
    int16_t s = 0;
    Level l = Level::constant;
    cone[k] = cost_of(i, nest);
    for_operands(i, [&](int16_t x) {
      TANDEM_ASSERT(x < static_cast<int16_t>(k), "jit: instruction ", k, " reads a later one");
      s = std::max(s, stage[static_cast<size_t>(x)]);
      l = std::max(l, level[static_cast<size_t>(x)]);
      if (level[static_cast<size_t>(x)] == Level::element)
        cone[k] = std::min(cone[k] + cone[static_cast<size_t>(x)], 1000000);
    });
    if (i.op == ScalarOp::load) {
      const Along along = nest.operands.at(static_cast<size_t>(i.index)).along;
      l = along == Along::scalar  ? Level::constant
          : along == Along::still ? Level::row
                                  : Level::element;
    } else if (i.op == ScalarOp::column) {
      l = Level::element;
    } else if (i.op == ScalarOp::reduce) {
      last = std::max<int>(last, s);
      ++s;
      l = Level::row;
    }
    level[k] = l;
    stage[k] = s;
    if (l == Level::constant) once.push_back(static_cast<int16_t>(k));
  }
  for (size_t k = 0; k < nest.stores.size(); ++k) {
    const auto v = static_cast<size_t>(nest.stores[k]);
    const bool many = nest.operands[static_cast<size_t>(nest.n_inputs) + k].along >= Along::unit;
    if (level[v] == Level::element || many) last = std::max<int>(last, stage[v]);
    if (level[v] != Level::element && many) spread[v] = true;
  }

  passes.resize(static_cast<size_t>(last) + 1);
  passes.back().stores = true;
  for (size_t k = 0; k < n; ++k) {
    if (program[k].op == ScalarOp::reduce) {
      passes[static_cast<size_t>(stage[k] - 1)].reduces.push_back(static_cast<int16_t>(k));
    } else if (level[k] == Level::row) {
      auto& row = stage[k] <= last ? passes[static_cast<size_t>(stage[k])].row : after;
      row.push_back(static_cast<int16_t>(k));
    }
  }

  // From the last pass to the first: what it keeps becomes a root of an earlier one.
  std::vector<std::vector<int16_t>> roots(passes.size());
  for (const int16_t v : nest.stores) roots.back().push_back(v);
  for (size_t p = passes.size(); p-- > 0;) {
    Pass& pass = passes[p];
    for (const int16_t r : pass.reduces) roots[p].push_back(program[static_cast<size_t>(r)].a);
    std::vector<bool> needed(n, false), fetched(n, false);
    std::vector<int16_t> todo;
    auto visit = [&](int16_t x) {
      const auto v = static_cast<size_t>(x);
      if (level[v] != Level::element) {
        spread[v] = true;
        return;
      }
      if (needed[v] || fetched[v]) return;
      if (stage[v] < static_cast<int16_t>(p) && cone[v] > kCheap) {
        fetched[v] = true;
        auto& kept = passes[static_cast<size_t>(stage[v])].kept;
        if (std::find(kept.begin(), kept.end(), x) == kept.end()) {
          kept.push_back(x);
          roots[static_cast<size_t>(stage[v])].push_back(x);
          scratch.push_back(x);
        }
        return;
      }
      needed[v] = true;
      todo.push_back(x);
    };
    for (const int16_t x : roots[p])
      if (level[static_cast<size_t>(x)] == Level::element) visit(x);
    for (const int16_t r : pass.reduces) visit(program[static_cast<size_t>(r)].a);
    while (!todo.empty()) {
      const int16_t x = todo.back();
      todo.pop_back();
      for_operands(program[static_cast<size_t>(x)], visit);
    }
    for (size_t k = 0; k < n; ++k) {
      if (fetched[k]) pass.fetched.push_back(static_cast<int16_t>(k));
      if (!needed[k]) continue;
      pass.elements.push_back(static_cast<int16_t>(k));
      pass.cost += cost_of(program[k], nest);
    }
  }
  for (const int16_t v : scratch) {
    const auto bytes = static_cast<size_t>(bytes_of(program[static_cast<size_t>(v)].type));
    scratch_per_column += bytes;
    scratch_fixed += bytes * kScratchPadding;
  }
  if (!scratch.empty()) scratch_fixed += 64;
}

}  // namespace tandem::jit
