// How a fused step runs: op by op, as one loop, behind parts of a product, or with sums of its
// rows.
#include <algorithm>

#include "tandem/base/growing_buffer.h"
#include "tandem/base/parallel.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/kernels/matmul.h"
#include "tandem/runtime/executor_detail.h"
#include "tandem/runtime/memory_plan.h"

namespace tandem::runtime {
namespace {

/// Memory for the rows that a kernel keeps; each thread has its own for all its loops.
constinit thread_local GrowingBuffer t_scratch(kAlignment);
/// The same for what the threads of one loop hand over to the one that began it.
constinit thread_local GrowingBuffer t_partials(kAlignment);

kernels::ReduceFn reduce_fn(ReductionInfo::Fn fn) {
  using Fn = ReductionInfo::Fn;
  switch (fn) {
    case Fn::sum:
      return kernels::ReduceFn::Sum;
    case Fn::mean:
      return kernels::ReduceFn::Mean;
    case Fn::prod:
      return kernels::ReduceFn::Prod;
    case Fn::max:
      return kernels::ReduceFn::Max;
    case Fn::min:
      return kernels::ReduceFn::Min;
    case Fn::norm2:
      return kernels::ReduceFn::Norm;
    case Fn::none:
      break;
  }
  TANDEM_ASSERT(false, "executor: not a reduction of rows");
  return kernels::ReduceFn::Sum;
}

}  // namespace

void Executor::add_sums(Loop& loop) {
  const FusedGroup::RowSums& sums = loop.planned->group->sums;
  for (const FusedGroup::RowSum& s : sums.each)
    loop.sums.emplace_back(reduce_fn(s.fn), sums.dtype, sums.rows, sums.columns);
}

/// The ops that a fused step stands for, one by one: what runs until its kernel is ready.
void Executor::run_body(const Call& call) {
  Loop& loop = *call.loop;
  const auto written = [&](uint32_t k) {
    return std::any_of(loop.over.begin(), loop.over.end(),
                       [&](const Graph::Write& w) { return w.output == k; });
  };
  std::call_once(loop.body_made, [&] {
    // To the body, results that lie over inputs are writes to them.
    Graph body = loop.planned->group->body;
    std::vector<Edge> outputs;
    for (uint32_t k = 0; k < body.outputs.size(); ++k)
      if (!written(k)) outputs.push_back(body.outputs[k]);
    body.n_results = outputs.size();
    for (const Graph::Write& w : loop.over) {
      body.writes.push_back({static_cast<uint32_t>(outputs.size()), w.input});
      outputs.push_back(body.outputs[w.output]);
    }
    body.outputs = std::move(outputs);
    PlanOptions options;
    options.dense_results = true;
    loop.body = std::make_unique<Executor>(make_plan(body, options));
  });
  SmallVector<void*, 8> inputs, outputs;
  for (int i = 0; i < call.args.n_inputs; ++i) inputs.push_back(call.args.in(i).data);
  for (uint32_t k = 0; k < static_cast<uint32_t>(call.args.n_outputs); ++k)
    if (!written(k)) outputs.push_back(call.args.out(static_cast<int>(k)).data);
  loop.body->run(inputs.data(), outputs.data());
}

void Executor::run_loop(const Call& call) {
  const Loop& loop = *call.loop;
  const LoopFunction function = loop.kernel->function.load(std::memory_order_acquire);
  if (!function) [[unlikely]]
    return run_body(call);
  const PlannedLoop& planned = *loop.planned;
  if (!planned.group->checks.empty()) check_indices(*planned.group, call.args.inputs);
  if (call.product && planned.panel == 0) call.product->op.kernel(*call.product);
  if (planned.panel > 0 || !loop.sums.empty()) return run_rows(call, function);
  const size_t scratch = loop.kernel->scratch_bytes(planned.group->columns());
  parallel_for(0, planned.count, planned.grain, [&](int64_t begin, int64_t end) {
    if (scratch == 0) return function(&call.loop_call, begin, end);
    LoopCall mine = call.loop_call;
    mine.scratch = t_scratch.get(scratch);
    function(&mine, begin, end);
  });
}

/// Rows [from, to) of a loop's product, at `where`.
void Executor::make_rows(const Call& call, int64_t from, int64_t to, char* where) {
  const int dim = call.loop->planned->group->product.row_dim;
  const Array &first = call.product->in(0), &whole = call.product->out();
  const int64_t row = whole.sizes[1];
  SmallVector<Array, 3> factors(call.product->inputs,
                                call.product->inputs + call.product->n_inputs);
  int64_t sizes[2] = {first.sizes[0], first.sizes[1]};
  sizes[dim] = to - from;
  factors[0].data =
      first.ptr<char>() + from * first.strides[dim] * static_cast<int64_t>(size_of(first.dtype));
  factors[0].sizes = sizes;
  factors[0].numel = sizes[0] * sizes[1];
  factors[0].contiguous = is_contiguous({sizes, 2}, first.stride());
  const int64_t part_sizes[2] = {to - from, row};
  const Array part{where, part_sizes, whole.strides, (to - from) * row, 2, whole.dtype, true};
  call.product->op.kernel(
      {call.product->op, factors.data(), call.product->n_inputs, &part, 1, call.product->attr_ref});
}

/// Some rows at a time, by each thread for itself: those of the product, if it is made in parts,
/// then the loop over them, which are then added to their sums.
void Executor::run_rows(const Call& call, LoopFunction function) {
  const Loop& loop = *call.loop;
  const PlannedLoop& planned = *loop.planned;
  const FusedGroup& group = *planned.group;
  const std::vector<FusedGroup::RowSum>& sums = group.sums.each;
  const kernels::RowReduction* summed = sums.empty() ? nullptr : &loop.sums[0];  // all are alike
  const int64_t rows = summed ? summed->rows() : call.product->out().sizes[0];
  const bool alone = in_parallel_region() || get_num_threads() == 1;
  const int64_t panel = planned.panel_of_thread && alone ? rows : planned.panel;
  const int64_t items = planned.count / rows;  // of the loop, for one row
  // What one thread does from first to last.
  const int64_t unit = summed ? summed->block_rows() : panel;
  const int64_t grain = panel ? 1 : std::max<int64_t>(1, planned.grain / (unit * items));

  const auto aligned = [](int64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; };
  const int64_t product_row = panel ? call.product->out().sizes[1] *
                                          static_cast<int64_t>(size_of(call.product->out().dtype))
                                    : 0;
  const int64_t panel_bytes = planned.aside ? aligned(panel * product_row) : 0;
  const size_t first_aside = group.source.size() + static_cast<size_t>(group.n_stored);
  const int64_t chunk_bytes = summed ? aligned(summed->chunk_rows() * summed->bytes()) : 0;
  const int64_t aside_bytes =
      static_cast<int64_t>(group.nest.operands.size() - first_aside) * chunk_bytes;
  const size_t scratch = loop.kernel->scratch_bytes(group.columns());
  const int64_t partial_bytes = summed ? aligned(summed->partial_bytes()) : 0;
  char* partials =
      static_cast<char*>(t_partials.get(static_cast<size_t>(partial_bytes) * loop.sums.size()));

  parallel_for(0, (rows + unit - 1) / unit, grain, [&](int64_t begin, int64_t end) {
    char* own =
        static_cast<char*>(t_scratch.get(static_cast<size_t>(panel_bytes + aside_bytes) + scratch));
    SmallVector<void*, 8> data(call.loop_call.data,
                               call.loop_call.data + group.nest.operands.size());
    LoopCall mine = call.loop_call;
    mine.data = data.data();
    mine.scratch = own + panel_bytes + aside_bytes;
    const int64_t last = std::min(rows, end * unit);
    kernels::ProductParts parts(rows);
    // Loops count rows from the first of all, wherever those are that they are given.
    for (int64_t from = begin * unit, to; from < last; from = to) {
      to = panel ? std::min(last, from + panel) : last;
      if (panel) {
        char* where = planned.aside ? own : call.product->out().ptr<char>() + from * product_row;
        parts.next(where);
        if (in_parallel_region())  // otherwise all lines are this core's
          for (const uint32_t operand : planned.overwritten)
            parts.claim(static_cast<char*>(data[operand]) + from * product_row);
        make_rows(call, from, to, where);
        for (size_t operand = 0; operand < group.source.size(); ++operand)
          if (group.source[operand] < 0) data[operand] = where - from * product_row;
      }
      for (int64_t at = from, next; at < to; at = next) {
        next = summed ? std::min(to, at + summed->chunk_rows()) : to;
        for (size_t k = first_aside; k < data.size(); ++k)
          data[k] = own + panel_bytes + static_cast<int64_t>(k - first_aside) * chunk_bytes -
                    at * summed->bytes();
        function(&mine, at * items, next * items);
        for (size_t s = 0; s < sums.size(); ++s)
          loop.sums[s].add(partials + static_cast<int64_t>(s) * partial_bytes, at, next - at,
                           static_cast<char*>(data[static_cast<size_t>(sums[s].operand)]) +
                               at * summed->bytes());
      }
    }
  });
  for (size_t s = 0; s < sums.size(); ++s)
    loop.sums[s].finish(partials + static_cast<int64_t>(s) * partial_bytes,
                        call.args.out(sums[s].output).data);
}

}  // namespace tandem::runtime
