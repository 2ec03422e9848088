#include "tests/ops/op_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

namespace tandem::table {
namespace {

// A small generator of our own: the table must not depend on the random ops it tests.
struct Random {
  uint64_t state;
  uint64_t next() {
    state += 0x9e3779b97f4a7c15ULL;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

uint64_t hash_text(const std::string& s) {
  uint64_t h = 1469598103934665603ULL;
  for (char c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

}  // namespace

// -- shapes and numbers -------------------------------------------------------------------------

int64_t count(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

double& Values::at(const Sizes& index) {
  int64_t at = 0;
  for (size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + index[d];
  return v[at];
}

Values zeros_of(Sizes sizes) {
  const int64_t n = count(sizes);
  return {std::move(sizes), std::vector<double>(n)};
}

void each_index(const Sizes& sizes, const std::function<void(const Sizes&)>& fn) {
  const int64_t n = count(sizes);
  Sizes index(sizes.size());
  for (int64_t i = 0; i < n; ++i) {
    fn(index);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Values expand_to(const Values& x, const Sizes& sizes) {
  if (x.sizes == sizes) return x;
  Values out{sizes, {}};
  out.v.reserve(count(sizes));
  Sizes from(x.sizes.size());
  const size_t extra = sizes.size() - x.sizes.size();
  each_index(sizes, [&](const Sizes& i) {
    for (size_t d = 0; d < from.size(); ++d) from[d] = x.sizes[d] == 1 ? 0 : i[extra + d];
    out.v.push_back(x.at(from));
  });
  return out;
}

// -- inputs -------------------------------------------------------------------------------------

Input Input::in(double lo, double hi) const {
  Input r = *this;
  r.low = lo, r.high = hi;
  return r;
}
Input Input::avoiding(std::vector<double> points, double distance) const {
  Input r = *this;
  r.excluded = std::move(points), r.margin = distance;
  return r;
}
Input Input::constant() const {
  Input r = *this;
  r.kind = kConstant;
  return r;
}
Input Input::of_shape(Sizes s) const {
  Input r = *this;
  r.sizes = std::move(s);
  r.given.clear();
  return r;
}

std::vector<double> Input::numbers(uint64_t seed) const {
  const int64_t n = count(sizes);
  if (!given.empty()) {
    TANDEM_ASSERT(static_cast<int64_t>(given.size()) == n, "a sample gives ", given.size(),
                  " numbers for ", n);
    return given;
  }
  Random random{seed};
  std::vector<double> v(n);
  if (all_different) {
    std::iota(v.begin(), v.end(), std::ceil(-static_cast<double>(n) / 2));
    for (int64_t i = n - 1; i > 0; --i) std::swap(v[i], v[random.next() % (i + 1)]);
    return v;
  }
  for (double& x : v) {
    bool good;
    do {
      x = low + (high - low) * random.unit();
      if (kind == kIndex) x = std::floor(x);
      good = true;
      for (double e : excluded) good &= std::abs(x - e) >= margin;
    } while (!good);
    if (kind == kMask) x = x > 0;
  }
  return v;
}

DType Input::dtype_for(DType t) const { return kind == kIndex ? kLong : kind == kMask ? kBool : t; }

Values Input::values(uint64_t seed, DType t) const {
  Values r{sizes, numbers(seed)};
  const bool no_zero = std::find(excluded.begin(), excluded.end(), 0.0) != excluded.end();
  const DType own = dtype_for(t);
  for (double& x : r.v) {
    switch (own) {
      case kDouble:
        break;
      case kFloat:
        x = static_cast<float>(x);
        break;
      case kHalf:
        x = static_cast<float>(Half(static_cast<float>(x)));
        break;
      case kBFloat16:
        x = static_cast<float>(BFloat16(static_cast<float>(x)));
        break;
      case kBool:
        x = x > 0;
        break;
      default:
        x = std::nearbyint(x);
        if (own == kByte) x = std::abs(x);
    }
    if (!is_floating(own)) {
      x += 0.0;  // no negative zero among the whole numbers
      if (no_zero && x == 0) x = 1;
    }
  }
  return r;
}

Input real(Sizes sizes, double low, double high) {
  return {.sizes = std::move(sizes), .low = low, .high = high};
}
Input distinct(Sizes sizes) { return {.sizes = std::move(sizes), .all_different = true}; }
Input given(Sizes sizes, std::vector<double> numbers) {
  return {.sizes = std::move(sizes), .given = std::move(numbers)};
}
Input index(Sizes sizes, int64_t low, int64_t high) {
  return {.sizes = std::move(sizes),
          .kind = Input::kIndex,
          .low = static_cast<double>(low),
          .high = static_cast<double>(high)};
}
Input given_index(Sizes sizes, std::vector<double> numbers) {
  return {.sizes = std::move(sizes), .kind = Input::kIndex, .given = std::move(numbers)};
}
Input mask(Sizes sizes) { return {.sizes = std::move(sizes), .kind = Input::kMask}; }
Input given_mask(Sizes sizes, std::vector<double> numbers) {
  return {.sizes = std::move(sizes), .kind = Input::kMask, .given = std::move(numbers)};
}

// -- references -----------------------------------------------------------------------------------

Reference pointwise(double (*f)(double)) {
  return [f](const ValuesList& a) -> ValuesList {
    Values out = a[0];
    for (double& x : out.v) x = f(x);
    return {out};
  };
}

Reference pointwise(double (*f)(double, double)) {
  return [f](const ValuesList& a) -> ValuesList {
    const Sizes sizes = broadcast(a[0].sizes, a[1].sizes);
    Values out = expand_to(a[0], sizes);
    const Values y = expand_to(a[1], sizes);
    for (size_t i = 0; i < out.v.size(); ++i) out.v[i] = f(out.v[i], y.v[i]);
    return {out};
  };
}

Reference pointwise(double (*f)(double, double, double)) {
  return [f](const ValuesList& a) -> ValuesList {
    const Sizes sizes = broadcast(broadcast(a[0].sizes, a[1].sizes), a[2].sizes);
    Values out = expand_to(a[0], sizes);
    const Values y = expand_to(a[1], sizes), z = expand_to(a[2], sizes);
    for (size_t i = 0; i < out.v.size(); ++i) out.v[i] = f(out.v[i], y.v[i], z.v[i]);
    return {out};
  };
}

Reference picking(std::function<Sizes(const ValuesList&)> out_sizes,
                  std::function<Sizes(const Sizes&, const Sizes&)> from) {
  return [=](const ValuesList& a) -> ValuesList {
    Values out = zeros_of(out_sizes(a));
    size_t i = 0;
    each_index(out.sizes, [&](const Sizes& at) { out.v[i++] = a[0].at(from(at, a[0].sizes)); });
    return {out};
  };
}

Values reduce(const Values& x, Sizes dims, bool keepdim,
              const std::function<double(const std::vector<double>&)>& f) {
  std::vector<bool> gone(x.sizes.size(), dims.empty());
  for (int64_t d : dims)
    if (x.dim() > 0) gone[d < 0 ? d + x.dim() : d] = true;
  Sizes kept, inner, flat;
  for (size_t d = 0; d < x.sizes.size(); ++d) {
    kept.push_back(gone[d] ? 1 : x.sizes[d]);
    inner.push_back(gone[d] ? x.sizes[d] : 1);
    if (!gone[d]) flat.push_back(x.sizes[d]);
  }
  Values out = zeros_of(kept);
  size_t i = 0;
  each_index(kept, [&](const Sizes& outer) {
    std::vector<double> run;
    Sizes at(outer.size());
    each_index(inner, [&](const Sizes& in) {
      for (size_t d = 0; d < at.size(); ++d) at[d] = outer[d] + in[d];
      run.push_back(x.at(at));
    });
    out.v[i++] = f(run);
  });
  if (!keepdim) out.sizes = flat;
  return out;
}

Values along(const Values& x, int64_t dim,
             const std::function<std::vector<double>(const std::vector<double>&)>& f) {
  if (x.dim() == 0) return {x.sizes, f(x.v)};
  if (dim < 0) dim += x.dim();
  Sizes outer = x.sizes;
  outer[dim] = 1;
  Values out;
  bool first = true;
  each_index(outer, [&](const Sizes& at) {
    std::vector<double> run;
    Sizes i = at;
    for (i[dim] = 0; i[dim] < x.sizes[dim]; ++i[dim]) run.push_back(x.at(i));
    run = f(run);
    if (std::exchange(first, false)) {
      out.sizes = x.sizes;
      out.sizes[dim] = static_cast<int64_t>(run.size());
      out.v.resize(count(out.sizes));
    }
    for (i[dim] = 0; i[dim] < out.sizes[dim]; ++i[dim]) out.at(i) = run[i[dim]];
  });
  if (first) out = x;
  return out;
}

// -- tensors --------------------------------------------------------------------------------------
namespace {

constexpr unsigned char kPattern = 0x5a;

struct Block {
  std::vector<unsigned char> bytes;
  std::vector<bool> used;  // by byte: belongs to an element
};

// Blocks by the address of the first element, so that gaps_intact finds them again.
std::map<const void*, std::unique_ptr<Block>>& blocks() {
  static std::map<const void*, std::unique_ptr<Block>> all;
  return all;
}

template <class F>
void each_offset(IntArrayRef sizes, IntArrayRef strides, const F& fn) {
  const size_t n = sizes.size();
  int64_t total = 1;
  for (int64_t s : sizes) total *= s;
  Sizes index(n);
  int64_t at = 0;
  for (int64_t i = 0; i < total; ++i) {
    fn(at);
    for (size_t d = n; d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d]) break;
      at -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

void store(void* to, DType t, double x) {
  dispatch(t, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>)
      *static_cast<T*>(to) = x != 0;
    else if constexpr (std::is_integral_v<T>)
      *static_cast<T*>(to) = static_cast<T>(static_cast<int64_t>(x));
    else if constexpr (std::is_same_v<T, double>)
      *static_cast<T*>(to) = x;
    else
      *static_cast<T*>(to) = T(static_cast<float>(x));
  });
}

double load(const void* from, DType t) {
  return dispatch(t, [&]<class T>(T) -> double {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return static_cast<float>(*static_cast<const T*>(from));
    else
      return static_cast<double>(*static_cast<const T*>(from));
  });
}

Sizes strides_for(const Sizes& sizes, Layout layout) {
  Sizes strides(sizes.size());
  int64_t step = layout == Layout::kStrided ? 2 : 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t d = layout == Layout::kTransposed ? i : sizes.size() - 1 - i;
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
    if (layout == Layout::kStrided) ++step;
  }
  return strides;
}

}  // namespace

const char* name_of(Layout l) {
  return l == Layout::kContiguous ? "contiguous" : l == Layout::kStrided ? "strided" : "transposed";
}

Tensor make_tensor(const Values& x, DType t, Layout layout) {
  const auto size = static_cast<int64_t>(size_of(t));
  Tensor out;
  if (layout == Layout::kContiguous) {
    out = empty(x.sizes, t);
  } else {
    const Sizes strides = strides_for(x.sizes, layout);
    int64_t extent = 2;  // an element before and one behind
    for (size_t d = 0; d < x.sizes.size(); ++d)
      extent += std::max<int64_t>(x.sizes[d] - 1, 0) * strides[d];
    auto block = std::make_unique<Block>();
    block->bytes.assign((extent + 1) * size, kPattern);
    block->used.assign((extent + 1) * size, false);
    each_offset(x.sizes, strides, [&](int64_t at) {
      for (int64_t b = 0; b < size; ++b) block->used[(at + 1) * size + b] = true;
    });
    void* first = block->bytes.data() + size;
    blocks()[first] = std::move(block);
    out = from_blob(
        first, x.sizes, strides, [](void* p) { blocks().erase(p); }, t);
  }
  char* data = static_cast<char*>(out.data_ptr());
  size_t i = 0;
  each_offset(out.sizes(), out.strides(),
              [&](int64_t at) { store(data + at * size, t, x.v[i++]); });
  return out;
}

bool gaps_intact(const Tensor& t) {
  const auto found = blocks().find(t.data_ptr());
  if (found == blocks().end()) return true;
  const Block& b = *found->second;
  for (size_t i = 0; i < b.bytes.size(); ++i)
    if (!b.used[i] && b.bytes[i] != kPattern) return false;
  return true;
}

Values read(const Tensor& t) {
  Values out{t.sizes().vec(), {}};
  out.v.reserve(t.numel());
  const auto size = static_cast<int64_t>(t.itemsize());
  const char* data = static_cast<const char*>(t.data_ptr());
  each_offset(t.sizes(), t.strides(),
              [&](int64_t at) { out.v.push_back(load(data + at * size, t.dtype())); });
  return out;
}

std::string bytes_of(const Tensor& t) {
  std::string out;
  out.reserve(t.nbytes());
  const auto size = static_cast<int64_t>(t.itemsize());
  const char* data = static_cast<const char*>(t.data_ptr());
  each_offset(t.sizes(), t.strides(), [&](int64_t at) { out.append(data + at * size, size); });
  return out;
}

// -- running
// ----------------------------------------------------------------------------------------

ValuesList make_values(const Row& row, const Sample& sample, DType t) {
  ValuesList all;
  for (size_t i = 0; i < sample.inputs.size(); ++i)
    all.push_back(sample.inputs[i].values(
        hash_text(row.name + "/" + sample.label + "/" + std::to_string(i)), t));
  return all;
}

List make_inputs(const Row& row, const Sample& sample, DType t, Layout layout) {
  List all;
  const ValuesList values = make_values(row, sample, t);
  for (size_t i = 0; i < values.size(); ++i)
    all.push_back(make_tensor(values[i], sample.inputs[i].dtype_for(t), layout));
  return all;
}

Fn fn_of(const Row& row, const Sample& sample) { return sample.fn ? sample.fn : row.fn; }
Reference reference_of(const Row& row, const Sample& sample) {
  return sample.reference ? sample.reference : row.reference;
}
InPlace inplace_of(const Row& row, const Sample& sample) {
  if (sample.no_inplace) return nullptr;
  return sample.inplace ? sample.inplace : row.inplace;
}

List run(const Row& row, const Sample& sample, const List& inputs) {
  if (row.random) manual_seed(7);
  return fn_of(row, sample)(inputs);
}

bool supports(const Row& row, const Sample& sample, DType t) {
  return (row.dtypes & sample.dtypes & bit(t)) != 0;
}

// -- comparing
// --------------------------------------------------------------------------------------

std::string compare(const Tensor& got, const Values& expected, double tolerance) {
  if (!got.defined()) return "the result is undefined";
  if (got.sizes().vec() != expected.sizes)
    return str("shape ", got.sizes(), " instead of ", IntArrayRef(expected.sizes));
  const DType t = got.dtype();
  const Values values = read(got);
  const int64_t limit = INT64_C(1) << 53;
  for (size_t i = 0; i < values.v.size(); ++i) {
    const double g = values.v[i];
    double e = expected.v[i];
    if (!is_floating(t) && t != kBool && !(std::abs(e) < static_cast<double>(limit)))
      continue;  // no whole number stands for it
    alignas(8) char as_stored[8];
    store(as_stored, t, e);
    e = load(as_stored, t);
    const bool same = g == e || (std::isnan(g) && std::isnan(e)) ||
                      (is_floating(t) && std::isfinite(e) &&
                       std::abs(g - e) <= tolerance * std::max(1.0, std::abs(e)));
    if (!same) {
      std::ostringstream out;
      out.precision(17);
      out << "element " << i << " of " << values.v.size() << " (" << tandem::name_of(t) << " "
          << got.sizes() << ") is " << g << " instead of " << e;
      return out.str();
    }
  }
  return "";
}

std::string describe(const List& tensors) {
  std::string text;
  for (const Tensor& t : tensors) {
    if (!t.defined()) {
      text += " undefined";
      continue;
    }
    text += str(" ", t.type_of());
    if (t.is_meta() || t.numel() > 40) continue;
    std::ostringstream out;
    out.precision(9);
    for (double x : read(t).v) out << " " << x;
    text += " {" + out.str() + " }";
  }
  return text;
}

}  // namespace tandem::table
