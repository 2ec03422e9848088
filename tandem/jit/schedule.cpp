#include "tandem/jit/schedule.h"

#include <algorithm>

#include "tandem/base/error.h"

namespace tandem::jit {
namespace {

// Values that cost more than this many simple instructions are kept rather than worked out again.
constexpr int kCheap = 8;
// Passes of a program that is cut: simple instructions of each at least, values kept between them
// at most.
constexpr int kPassCost = 20;
constexpr int kMostKept = 4;

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

// Where to cut a long program without reductions: the instructions that begin a pass over a strip.
// A pass costs at least kPassCost; behind that, within twice as much again, it ends where the
// fewest values are still needed: at the end of a function rather than in its middle.
std::vector<size_t> cuts_of(const LoopNest& nest, const std::vector<Schedule::Level>& level) {
  const auto& program = nest.program;
  const size_t n = program.size();
  std::vector<size_t> last_use(n, 0);
  for (size_t k = 0; k < n; ++k)
    for_operands(program[k], [&](int16_t x) { last_use[static_cast<size_t>(x)] = k; });
  for (const int16_t v : nest.stores) last_use[static_cast<size_t>(v)] = n;
  std::vector<int> before(n + 1, 0);    // what the elements before an instruction cost
  std::vector<int> crossing(n + 2, 0);  // how many of their values are needed there or later
  for (size_t k = 0; k < n; ++k) {
    const ScalarOp op = program[k].op;
    const bool element = level[k] == Schedule::Level::element;
    before[k + 1] = before[k] + (element ? cost_of(program[k], nest) : 0);
    if (!element || op == ScalarOp::load || op == ScalarOp::column || last_use[k] <= k) continue;
    ++crossing[k + 1];
    --crossing[last_use[k] + 1];
  }
  for (size_t k = 1; k <= n; ++k) crossing[k] += crossing[k - 1];
  std::vector<size_t> cuts;
  size_t from = 0;
  while (before[n] - before[from] >= 2 * kPassCost) {
    size_t best = 0;
    for (size_t at = from + 1; at < n; ++at) {
      if (before[at] - before[from] < kPassCost || before[at] == before[at - 1]) continue;
      if (before[n] - before[at] < kPassCost / 2) break;
      if (best != 0 && before[at] - before[from] > 3 * kPassCost) break;
      if (best == 0 || crossing[at] < crossing[best]) best = at;
    }
    if (best == 0 || crossing[best] > kMostKept) break;
    cuts.push_back(best);
    from = best;
  }
  return cuts;
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

  if (!nest.by_rows()) {
    const std::vector<size_t> cuts = cuts_of(nest, level);
    strips = !cuts.empty();
    last = static_cast<int>(cuts.size());
    for (const size_t cut : cuts)
      for (size_t k = cut; k < n; ++k)
        if (level[k] == Level::element) ++stage[k];
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
  if (strips) {
    assign_slots(nest);
    return;
  }
  for (const int16_t v : scratch) {
    const auto bytes = static_cast<size_t>(bytes_of(program[static_cast<size_t>(v)].type));
    scratch_per_column += bytes;
    scratch_fixed += bytes * kScratchPadding;
  }
  if (!scratch.empty()) scratch_fixed += 64;
}

// A slot is free again in the pass that reads it for the last time: a step reads before it writes.
void Schedule::assign_slots(const LoopNest& nest) {
  std::vector<size_t> last_pass(nest.program.size(), 0);
  for (size_t p = 0; p < passes.size(); ++p)
    for (const int16_t v : passes[p].fetched) last_pass[static_cast<size_t>(v)] = p;
  std::vector<size_t> busy_until;  // by slot
  slot.assign(nest.program.size(), -1);
  for (size_t p = 0; p < passes.size(); ++p) {
    for (const int16_t v : passes[p].kept) {
      const auto k = static_cast<size_t>(v);
      const int bytes = bytes_of(nest.program[k].type);
      size_t s = 0;
      while (s < busy_until.size() && (busy_until[s] > p || slot_bytes[s] != bytes)) ++s;
      if (s == busy_until.size()) {
        busy_until.push_back(0);
        slot_bytes.push_back(bytes);
      }
      busy_until[s] = last_pass[k];
      slot[k] = static_cast<int>(s);
    }
  }
}

}  // namespace tandem::jit
