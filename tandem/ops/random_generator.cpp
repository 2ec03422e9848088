// Generators: where random numbers come from.
#include <mutex>
#include <random>

#include "tandem/core/apply.h"
#include "tandem/core/recorder.h"
#include "tandem/kernels/random.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/random.h"

namespace tandem {
namespace {

struct AdvanceAttrs {
  int64_t counters;
  TANDEM_FIELDS(counters)
};

}  // namespace

// Seed and counter, the counter moved on.
TANDEM_OP(kRandomAdvance) = {
    .name = "random_advance",
    .infer =
        [](const InferArgs& a) {
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const int64_t* now = a.in().ptr<int64_t>();
          const uint64_t next = static_cast<uint64_t>(now[a.in().strides[0]]) +
                                static_cast<uint64_t>(a.attrs<AdvanceAttrs>().counters);
          a.out().ptr<int64_t>()[0] = now[0];
          a.out().ptr<int64_t>()[1] = static_cast<int64_t>(next);
        },
    .inplace = true,
    .random = true,
    .attrs = attrs_of<AdvanceAttrs>,
    .batch =
        [](const BatchArgs& a) {
          a.outputs[0] =
              apply(a.op, {a.in()}, AdvanceAttrs{a.attrs<AdvanceAttrs>().counters * a.size});
        },
    .inputs = 1,
};

struct Generator::Impl {
  std::mutex mutex;
  Tensor state;  // int64: seed, counter
};

namespace {

constexpr uint64_t kDefaultSeed = 67280421310721;  // LibTorch's

Tensor state_tensor(uint64_t seed, uint64_t counter) {
  Tensor t = empty({2}, kLong);
  t.data_ptr<int64_t>()[0] = static_cast<int64_t>(seed);
  t.data_ptr<int64_t>()[1] = static_cast<int64_t>(counter);
  return t;
}

Generator& the_default() {
  static Generator g(kDefaultSeed);
  return g;
}

}  // namespace

Generator::Generator(uint64_t seed) : impl_(std::make_shared<Impl>()) {
  // The state outlives whatever mode its generator is made in.
  const InferenceMode off(false);
  const RecorderScope outside(nullptr);
  impl_->state = state_tensor(seed, 0);
}

void Generator::set_current_seed(uint64_t seed) const {
  TANDEM_CHECK(defined(), "Generator: set_current_seed of an undefined generator");
  std::lock_guard lock(impl_->mutex);
  impl_->state.copy_(state_tensor(seed, 0));
}
uint64_t Generator::current_seed() const {
  TANDEM_CHECK(defined(), "Generator: current_seed of an undefined generator");
  std::lock_guard lock(impl_->mutex);
  return static_cast<uint64_t>(impl_->state.data_ptr<int64_t>()[0]);
}
uint64_t Generator::seed() const {
  std::random_device device;
  const uint64_t seed = static_cast<uint64_t>(device()) << 32 | device();
  set_current_seed(seed);
  return seed;
}
Tensor Generator::get_state() const {
  TANDEM_CHECK(defined(), "Generator: get_state of an undefined generator");
  std::lock_guard lock(impl_->mutex);
  return impl_->state.clone();
}
void Generator::set_state(const Tensor& state) const {
  TANDEM_CHECK(defined(), "Generator: set_state of an undefined generator");
  TANDEM_CHECK(state.dtype() == kLong && state.dim() == 1 && state.size(0) == 2,
               "Generator: set_state expects what get_state gave, two int64 numbers, got ",
               state.type_of());
  std::lock_guard lock(impl_->mutex);
  impl_->state.copy_(state);
}
Generator Generator::clone() const {
  Generator g(0);
  g.set_state(get_state());
  return g;
}
Tensor Generator::draw(int64_t elements) const {
  std::lock_guard lock(impl_->mutex);
  Tensor now = impl_->state.clone();
  apply_inplace(kRandomAdvance, impl_->state, {impl_->state},
                AdvanceAttrs{static_cast<int64_t>(kernels::counters_used(elements))});
  return now;
}

Generator default_generator() { return the_default(); }
Generator make_generator(uint64_t seed) { return Generator(seed); }
Generator manual_seed(uint64_t seed) {
  the_default().set_current_seed(seed);
  return the_default();
}
uint64_t initial_seed() { return the_default().current_seed(); }
Tensor get_rng_state() { return the_default().get_state(); }
void set_rng_state(const Tensor& state) { the_default().set_state(state); }

}  // namespace tandem
