#include "tandem/runtime/explain.h"

#include <iomanip>
#include <ostream>
#include <sstream>

namespace tandem::runtime {
namespace {

std::vector<const char*> ops_of(const Graph& body) {
  std::vector<const char*> names;
  for (const NodePtr& n : body.nodes)
    if (n->op != &kInputOp && n->op != &kConstantOp && !n->op->is_view())
      names.push_back(n->op->name);
  return names;
}

/// "512", "1.5 KiB", "3.2 MiB"
std::string readable(int64_t bytes) {
  std::ostringstream out;
  if (bytes < 1024) {
    out << bytes << " B";
    return out.str();
  }
  const bool large = bytes >= 1024 * 1024;
  out << std::fixed << std::setprecision(1)
      << static_cast<double>(bytes) / (large ? 1024.0 * 1024.0 : 1024.0)
      << (large ? " MiB" : " KiB");
  return out.str();
}

std::string microseconds(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << value << " us";
  return out.str();
}

}  // namespace

PlanReport explain(const Executor& executor) {
  const Plan& plan = executor.plan();
  PlanReport report;
  report.arena_bytes = plan.arena_bytes;
  report.intermediate_bytes = plan.intermediate_bytes;
  for (const TensorType& t : plan.memory)
    report.result_bytes += numel_of(t.sizes) * static_cast<int64_t>(size_of(t.dtype));
  for (const PlannedBranches& b : plan.branches) report.branches += b.count;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& s = plan.steps[i];
    StepReport step;
    step.name = s.op->name;
    if (s.loop >= 0) {
      step.fused = ops_of(plan.loops[s.loop].group->body);
      step.ready = executor.is_ready(s.loop);
      ++report.kernels;
      report.ready += step.ready;
    }
    step.in_place = s.in_place;
    step.kept = s.kept;
    const StepCost cost = cost_of(plan, s);
    step.bytes_read = cost.bytes_read;
    step.bytes_written = cost.bytes_written;
    if (s.n_outputs > 0) {
      const Place& place = plan.arrays[s.first + s.n_inputs].place;
      if (place.kind == Place::Kind::arena) step.arena_offset = place.offset;
    }
    const Executor::StepTime t = executor.time_of(i);
    if (t.calls > 0 && t.as_machine_code == (s.loop >= 0 && step.ready)) {
      step.calls = t.calls;
      step.microseconds = 1e-3 * static_cast<double>(t.ns);
    }
    report.steps.push_back(std::move(step));
  }
  return report;
}

std::ostream& operator<<(std::ostream& out, const PlanReport& r) {
  out << "plan: " << r.steps.size() << " steps, " << r.kernels << " of them fused (" << r.ready
      << " as machine code), arena " << readable(r.arena_bytes) << " for "
      << readable(r.intermediate_bytes) << " of intermediate values, results "
      << readable(r.result_bytes);
  if (r.branches > 0) out << ", " << r.branches << " steps on idle cores where there are some";
  double all = 0;
  bool timed = !r.steps.empty();
  for (const StepReport& s : r.steps) {
    all += s.microseconds;
    timed &= s.calls > 0 || s.kept;
  }
  if (timed) out << "; its steps take " << microseconds(all);
  out << '\n';
  for (size_t i = 0; i < r.steps.size(); ++i) {
    const StepReport& s = r.steps[i];
    out << "  " << std::setw(3) << i << "  " << s.name;
    if (!s.fused.empty()) {
      out << '(';
      for (size_t k = 0; k < s.fused.size(); ++k) out << (k ? " " : "") << s.fused[k];
      out << ')';
    }
    out << "  reads " << readable(s.bytes_read) << ", writes " << readable(s.bytes_written);
    if (s.arena_offset >= 0) out << " at " << s.arena_offset;
    if (s.in_place) out << ", in place";
    if (s.kept) out << ", kept while what it reads stays as it is";
    if (!s.ready) out << ", op by op";
    if (s.calls > 0) out << ", " << microseconds(s.microseconds);
    out << '\n';
  }
  return out;
}

}  // namespace tandem::runtime
