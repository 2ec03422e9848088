#include "tandem/data/current_sample.h"

#include "tandem/data/detail/random.h"
#include "tandem/ops/random.h"

namespace tandem::data {
namespace {

struct Current {
  bool active = false;
  uint64_t seed = 0;
  ArrayRef<size_t> indices;
  size_t first = 0;
  std::optional<size_t> position;
  uint64_t pass = 0;  // how often the batch was gone through: once for each transform
  Generator generator;
};
thread_local Current t_current;

}  // namespace

std::optional<size_t> current_sample() {
  const Current& c = t_current;
  if (!c.active || !c.position) return std::nullopt;
  return *c.position < c.indices.size() ? c.indices[*c.position] : c.first + *c.position;
}

Generator sample_generator() {
  const std::optional<size_t> sample = current_sample();
  if (!sample) return default_generator();
  Current& c = t_current;
  if (!c.generator.defined())
    c.generator = make_generator(detail::mix(c.seed ^ detail::mix(*sample ^ detail::mix(c.pass))));
  return c.generator;
}

namespace detail {

BatchScope::BatchScope(uint64_t seed, ArrayRef<size_t> indices, size_t first) {
  t_current = {};
  t_current.active = true;
  t_current.seed = seed;
  t_current.indices = indices;
  t_current.first = first;
}
BatchScope::~BatchScope() { t_current = {}; }

void at_sample(size_t position) {
  Current& c = t_current;
  if (!c.active) return;
  if (position == 0) ++c.pass;
  c.position = position;
  c.generator = {};
}

}  // namespace detail
}  // namespace tandem::data
