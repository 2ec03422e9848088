#include "tandem/kernels/optim_step.h"

#include <algorithm>
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/kernels/map_convert.h"
#include "tandem/kernels/map_walk.h"
#include "tandem/kernels/nest.h"
#include "tandem/kernels/optim_step_simd.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth a thread
constexpr int64_t kBlock = 512;    // elements that are converted or collected at a time

// The elements of any array in the order of their indices.
Nest<1> elements_of(const Array& a) {
  Nest<1> nest;
  for (int d = 0; d < a.ndim; ++d) nest.add(a.sizes[d], {a.strides[d]});
  nest.close();
  return nest;
}

template <class T>
void read(const Array& a, int64_t begin, int64_t n, T* to) {
  const size_t size = size_of(a.dtype);
  const ConvertFn convert = convert_fn(a.dtype, dtype_v<T>);
  if (a.contiguous) return convert(at(a, begin), to, n);
  alignas(64) char raw[kBlock * sizeof(double)];
  char* next = raw;
  const Nest<1> nest = elements_of(a);
  nest.rows(begin, begin + n, [&](const int64_t* offset, int64_t length) {
    gather(size, at(a, offset[0]), nest.step(0), next, length);
    next += static_cast<size_t>(length) * size;
  });
  convert(raw, to, n);
}

template <class T>
void write(const T* from, const Array& a, int64_t begin, int64_t n) {
  const size_t size = size_of(a.dtype);
  const ConvertFn convert = convert_fn(dtype_v<T>, a.dtype);
  if (a.contiguous) return convert(from, at_mutable(a, begin), n);
  alignas(64) char raw[kBlock * sizeof(double)];
  convert(from, raw, n);
  const char* next = raw;
  const Nest<1> nest = elements_of(a);
  nest.rows(begin, begin + n, [&](const int64_t* offset, int64_t length) {
    scatter(size, next, at_mutable(a, offset[0]), nest.step(0), length);
    next += static_cast<size_t>(length) * size;
  });
}

// Elements [begin, end) of a tensor with any strides or with another dtype than the loop's, by way
// of blocks.
template <class T>
void step_blocks(StepLoop<T> loop, const StepTensor& t, int n_state, int64_t begin, int64_t end) {
  alignas(64) T grad[kBlock], param[kBlock], state[kMaxStepState][kBlock];
  const StepStreams<T> streams{
      grad, param, {state[0], state[1], state[2]}, param, {state[0], state[1], state[2]}};
  for (; begin < end; begin += kBlock) {
    const int64_t n = std::min(kBlock, end - begin);
    read(*t.grad, begin, n, grad);
    read(*t.param, begin, n, param);
    for (int k = 0; k < n_state; ++k) read(*t.state[k], begin, n, state[k]);
    loop(streams, n, *t.numbers);
    write(param, *t.param_out, begin, n);
    for (int k = 0; k < n_state; ++k) write(state[k], *t.state_out[k], begin, n);
  }
}

template <class T>
void step_part(StepLoop<T> loop, const StepTensor& t, int n_state, int64_t begin, int64_t end) {
  bool plain = t.param->dtype == dtype_v<T> && t.grad->contiguous && t.param->contiguous &&
               t.param_out->contiguous;
  for (int k = 0; k < n_state; ++k) plain &= t.state[k]->contiguous && t.state_out[k]->contiguous;
  if (!plain) return step_blocks(loop, t, n_state, begin, end);
  StepStreams<T> s{
      t.grad->ptr<T>() + begin, t.param->ptr<T>() + begin, {}, t.param_out->ptr<T>() + begin, {}};
  for (int k = 0; k < n_state; ++k) {
    s.state[k] = t.state[k]->ptr<T>() + begin;
    s.state_out[k] = t.state_out[k]->ptr<T>() + begin;
  }
  loop(s, end - begin, *t.numbers);
}

}  // namespace

void step_list(StepRule rule, int n_state, const StepTensor* tensors, int64_t count) {
  const StepLoop<float> loop32 = step_loop<float>(rule, n_state);
  const StepLoop<double> loop64 = step_loop<double>(rule, n_state);
  // All tensors' elements are numbered as if they lay behind each other, and that is what is
  // split, so that many small ones are as good as one large one.
  std::vector<int64_t> first(static_cast<size_t>(count) + 1, 0);
  for (int64_t i = 0; i < count; ++i) first[i + 1] = first[i] + tensors[i].param->numel;
  parallel_for(0, first[count], kGrain, [&](int64_t begin, int64_t end) {
    int64_t i = std::upper_bound(first.begin(), first.end(), begin) - first.begin() - 1;
    for (; begin < end; ++i) {
      const int64_t stop = std::min(end, first[i + 1]);
      if (stop == begin) continue;
      const StepTensor& t = tensors[i];
      if (t.param->dtype == DType::Double)
        step_part<double>(loop64, t, n_state, begin - first[i], stop - first[i]);
      else
        step_part<float>(loop32, t, n_state, begin - first[i], stop - first[i]);
      begin = stop;
    }
  });
}

}  // namespace tandem::kernels
