// Convolutions by oneDNN: primitives are made once for a shape and kept.
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "tandem/base/error.h"
#include "tandem/base/parallel.h"
#include "tandem/base/signals_wait.h"
#include "tandem/kernels/conv_impl.h"

// oneDNN's threads are those of an uninstrumented libgomp: the thread sanitizer would see races.
#ifndef TANDEM_THREAD_SANITIZER
#include <dnnl.hpp>

namespace tandem::kernels {
namespace {

using detail::Temporary;
using Desc = dnnl::memory::desc;
using DDims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

/// Everything that tells two primitives apart. Only whole numbers of one size, without gaps.
struct Key {
  int64_t part, blocked, bias, add, relu, threads;
  ConvForm form;
  friend bool operator==(const Key&, const Key&) = default;
};
static_assert(sizeof(Key) % sizeof(int64_t) == 0 && std::has_unique_object_representations_v<Key>);
struct KeyHash {
  size_t operator()(const Key& k) const {
    int64_t words[sizeof(Key) / sizeof(int64_t)];
    std::memcpy(words, &k, sizeof(Key));
    uint64_t h = 1469598103934665603ULL;
    for (int64_t w : words) h = (h ^ static_cast<uint64_t>(w)) * 0x9e3779b97f4a7c15ULL + (h >> 29);
    return h;
  }
};

const dnnl::engine& engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

/// A primitive with what it takes to run it on operands in given layouts.
struct Recipe {
  struct Slot {
    int arg = 0;
    Desc given, wanted;
    dnnl::reorder reorder{};  // between the two; empty where they are equal
    size_t reorder_scratch = 0;
  };
  dnnl::primitive primitive{};
  Slot a, b, out;
  std::optional<Desc> bias;
  size_t scratch = 0;
  bool usable = false;
};

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

class Builder {
 public:
  explicit Builder(const Key& k) : key_(k), f_(k.form) {}

  Recipe build() {
    try {
      switch (static_cast<ConvPart>(key_.part)) {
        case ConvPart::y:
          forward();
          break;
        case ConvPart::x:
          backward_x();
          break;
        case ConvPart::w:
          backward_w();
          break;
      }
    } catch (const dnnl::error& e) {
      if (e.status == dnnl_out_of_memory) throw std::bad_alloc();
      recipe_.usable = false;  // no implementation
    }
    return std::move(recipe_);
  }

 private:
  DDims dims(const int64_t* v) const { return DDims(v, v + f_.spatial); }
  DDims sizes(int64_t channels, const int64_t* spatial) const {
    DDims d{f_.batch, channels};
    d.insert(d.end(), spatial, spatial + f_.spatial);
    return d;
  }
  DDims weight_sizes() const {
    DDims d;
    if (f_.groups > 1) d.push_back(f_.groups);
    d.push_back(f_.out_channels / f_.groups);
    d.push_back(f_.in_channels / f_.groups);
    d.insert(d.end(), f_.kernel, f_.kernel + f_.spatial);
    return d;
  }
  DDims dilations() const {
    DDims d = dims(f_.dilation);
    for (auto& v : d) --v;
    return d;
  }
  /// Row-major.
  static Desc plain(const DDims& d) {
    DDims strides(d.size(), 1);
    for (size_t i = d.size() - 1; i-- > 0;)
      strides[i] = strides[i + 1] * std::max<int64_t>(d[i + 1], 1);
    return Desc(d, dnnl::memory::data_type::f32, strides);
  }
  static Desc tagged(const DDims& d, Tag tag) { return Desc(d, dnnl::memory::data_type::f32, tag); }
  // Kernels of one element are matrix products, which need no other layout than ours; but those for
  // y and x want many columns, and one after the other.
  bool one_element() const {
    constexpr int64_t kManyColumns = 400;
    if (f_.kernel_numel() != 1) return false;
    if (static_cast<ConvPart>(key_.part) == ConvPart::w) return true;
    for (int64_t d = 0; d < f_.spatial; ++d)
      if (f_.stride[d] != 1) return false;
    return f_.out_numel() >= kManyColumns;
  }
  Desc wished(const DDims& d) const { return one_element() ? plain(d) : tagged(d, Tag::any); }

  Desc x_given() const {
    const DDims d = sizes(f_.in_channels, f_.in);
    return key_.blocked && order_ != WeightOrder::plain_in ? tagged(d, Tag::nChw8c) : plain(d);
  }
  Desc y_given() const {
    const DDims d = sizes(f_.out_channels, f_.out);
    return key_.blocked ? tagged(d, Tag::nChw8c) : plain(d);
  }
  Desc w_given() const {
    const DDims d = weight_sizes();
    if (!key_.blocked) return plain(d);
    const bool grouped = f_.groups > 1;
    switch (order_) {
      case WeightOrder::in_out:
        return tagged(d, grouped ? Tag::gOIhw8i8o : Tag::OIhw8i8o);
      case WeightOrder::out_in:
        return tagged(d, grouped ? Tag::gOIhw8o8i : Tag::OIhw8o8i);
      case WeightOrder::plain_in:
        return tagged(d, Tag::Ohwi8o);
      case WeightOrder::depthwise:
        return tagged(d, Tag::Goihw8g);
      case WeightOrder::winograd:
      case WeightOrder::winograd_turned:
        break;  // not oneDNN's
    }
    return plain(d);
  }
  Desc x_wished() const { return key_.blocked ? x_given() : wished(sizes(f_.in_channels, f_.in)); }
  Desc y_wished() const {
    return key_.blocked ? y_given() : wished(sizes(f_.out_channels, f_.out));
  }
  Desc w_wished() const { return key_.blocked ? w_given() : wished(weight_sizes()); }

  dnnl::convolution_forward::primitive_desc forward_desc(bool bias) {
    using D = dnnl::convolution_forward::desc;
    const auto kind = dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    dnnl::primitive_attr attr = user_scratchpad();
    dnnl::post_ops post;
    if (key_.add) post.append_sum(1.0f);
    if (key_.relu) post.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0, 0);
    attr.set_post_ops(post);
    const Desc x = x_wished(), w = w_wished(), y = y_wished();
    const DDims s = dims(f_.stride), d = dilations(), l = dims(f_.begin), r = dims(f_.end);
    if (!bias) return {D(kind, algorithm, x, w, y, s, d, l, r), attr, engine()};
    const Desc b({f_.out_channels}, dnnl::memory::data_type::f32, Tag::a);
    return {D(kind, algorithm, x, w, b, y, s, d, l, r), attr, engine()};
  }

  bool good(const char* implementation) const {
    const std::string_view name = implementation;
    if (name.substr(0, 3) == "ref") return false;
    if (key_.blocked) return name.find("jit") != name.npos && name.find("gemm") == name.npos;
    // Many small products on as many threads, each with a sum of its own: slower than ours.
    const bool gemm = name.find("gemm") != name.npos;
    return !(gemm && f_.groups > 1 && static_cast<ConvPart>(key_.part) == ConvPart::w);
  }

  template <class PD>
  void take(const PD& pd, int a_arg, const Desc& a_given, const Desc& a, int b_arg,
            const Desc& b_given, const Desc& b, int out_arg, const Desc& out_given,
            const Desc& out) {
    if (!good(pd.impl_info_str())) return;
    recipe_.a = slot(a_arg, a_given, a, true);
    recipe_.b = slot(b_arg, b_given, b, true);
    recipe_.out = slot(out_arg, out_given, out, false);
    recipe_.scratch = pd.scratchpad_desc().get_size();
    recipe_.usable = true;
  }
  static Recipe::Slot slot(int arg, const Desc& given, const Desc& wanted, bool input) {
    Recipe::Slot s{arg, given, wanted, {}, 0};
    if (given == wanted) return s;
    const Desc &from = input ? given : wanted, &to = input ? wanted : given;
    const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, user_scratchpad());
    s.reorder = dnnl::reorder(pd);
    s.reorder_scratch = pd.scratchpad_desc().get_size();
    return s;
  }

  void forward() {
    if (key_.blocked) order_ = y_order();
    const auto pd = forward_desc(key_.bias != 0);
    take(pd, DNNL_ARG_SRC, x_given(), pd.src_desc(), DNNL_ARG_WEIGHTS, w_given(), pd.weights_desc(),
         DNNL_ARG_DST, y_given(), pd.dst_desc());
    if (!recipe_.usable) return;
    if (key_.bias) recipe_.bias = pd.bias_desc();
    recipe_.primitive = dnnl::convolution_forward(pd);
  }
  void backward_x() {
    if (key_.blocked) order_ = y_order();
    const auto hint = forward_desc(false);
    if (key_.blocked && order_ == WeightOrder::in_out) order_ = WeightOrder::out_in;
    using Op = dnnl::convolution_backward_data;
    const Op::primitive_desc pd(
        Op::desc(dnnl::algorithm::convolution_direct, x_wished(), w_wished(), y_wished(),
                 dims(f_.stride), dilations(), dims(f_.begin), dims(f_.end)),
        user_scratchpad(), engine(), hint);
    take(pd, DNNL_ARG_DIFF_DST, y_given(), pd.diff_dst_desc(), DNNL_ARG_WEIGHTS, w_given(),
         pd.weights_desc(), DNNL_ARG_DIFF_SRC, x_given(), pd.diff_src_desc());
    if (recipe_.usable) recipe_.primitive = Op(pd);
  }
  void backward_w() {
    if (key_.blocked) order_ = y_order();
    const auto hint = forward_desc(false);
    using Op = dnnl::convolution_backward_weights;
    const Op::primitive_desc pd(
        Op::desc(dnnl::algorithm::convolution_direct, x_wished(), w_wished(), y_wished(),
                 dims(f_.stride), dilations(), dims(f_.begin), dims(f_.end)),
        user_scratchpad(), engine(), hint);
    take(pd, DNNL_ARG_SRC, x_given(), pd.src_desc(), DNNL_ARG_DIFF_DST, y_given(),
         pd.diff_dst_desc(), DNNL_ARG_DIFF_WEIGHTS, w_given(), pd.diff_weights_desc());
    if (recipe_.usable) recipe_.primitive = Op(pd);
  }

  WeightOrder y_order() const {
    if (f_.groups > 1 && f_.in_channels == f_.groups) return WeightOrder::depthwise;
    return f_.in_channels % kChannelBlock ? WeightOrder::plain_in : WeightOrder::in_out;
  }

  const Key& key_;
  const ConvForm& f_;
  WeightOrder order_ = WeightOrder::in_out;
  Recipe recipe_;
};

/// The recipes used last. A recipe that somebody runs stays alive when it is put out.
class Cache {
 public:
  std::shared_ptr<const Recipe> get(const Key& key) {
    {
      const std::lock_guard lock(mutex_);
      if (auto it = index_.find(key); it != index_.end()) {
        order_.splice(order_.begin(), order_, it->second);
        return it->second->second;
      }
    }
    // Made without the lock: it may take milliseconds. Two threads may both make it. oneDNN plans
    // for as many threads as it sees then.
    const LibraryThreads threads;
    auto recipe = std::make_shared<const Recipe>(Builder(key).build());
    const std::lock_guard lock(mutex_);
    if (auto it = index_.find(key); it != index_.end()) return it->second->second;
    order_.emplace_front(key, recipe);
    index_[key] = order_.begin();
    if (order_.size() > kLimit) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return recipe;
  }

 private:
  static constexpr size_t kLimit = 1024;
  using Entry = std::pair<Key, std::shared_ptr<const Recipe>>;
  std::mutex mutex_;
  std::list<Entry> order_;
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
};
// Never destroyed: threads may run convolutions until the very end of the process.
Cache& cache() {
  static Cache* c = new Cache;
  return *c;
}

Key key_of(ConvPart part, const ConvForm& f, bool blocked, ConvEnd end) {
  return {static_cast<int64_t>(part),
          blocked,
          end.bias,
          end.add,
          end.relu,
          in_parallel_region() ? 1 : get_num_threads(),
          f};
}

void run(const Recipe& r, const float* a, const float* b, const float* bias, float* out) {
  const auto memory = [](const Desc& d, const void* p) {
    return dnnl::memory(d, engine(), const_cast<void*>(p));
  };
  const auto scratch = [&](size_t bytes, const Temporary& t) {
    return dnnl::memory(Desc({static_cast<int64_t>(bytes)}, dnnl::memory::data_type::u8, Tag::a),
                        engine(), t.data());
  };
  const auto reorder = [&](const Recipe::Slot& s, const dnnl::memory& from,
                           const dnnl::memory& to) {
    const Temporary space(s.reorder_scratch);
    std::unordered_map<int, dnnl::memory> args{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    if (s.reorder_scratch) args[DNNL_ARG_SCRATCHPAD] = scratch(s.reorder_scratch, space);
    s.reorder.execute(stream(), args);
  };
  const auto needs = [](const Recipe::Slot& s) { return s.reorder.get(true) != nullptr; };
  const auto room = [&](const Recipe::Slot& s) {
    return Temporary(needs(s) ? s.wanted.get_size() : 0);
  };
  const LibraryThreads threads;
  const SignalsWait no_handlers;  // some convolutions are products
  const Temporary space(r.scratch), ta = room(r.a), tb = room(r.b), tout = room(r.out);
  std::unordered_map<int, dnnl::memory> args;
  const auto enter = [&](const Recipe::Slot& s, const float* p, const Temporary& t) {
    args[s.arg] = memory(s.wanted, needs(s) ? t.data() : p);
    if (needs(s)) reorder(s, memory(s.given, p), args[s.arg]);
  };
  enter(r.a, a, ta);
  enter(r.b, b, tb);
  if (r.bias) args[DNNL_ARG_BIAS] = memory(*r.bias, bias);
  if (r.scratch) args[DNNL_ARG_SCRATCHPAD] = scratch(r.scratch, space);
  args[r.out.arg] = memory(r.out.wanted, needs(r.out) ? tout.data() : out);
  r.primitive.execute(stream(), args);
  if (needs(r.out)) reorder(r.out, args[r.out.arg], memory(r.out.given, out));
  stream().wait();
}

void run_checked(const Recipe& r, const float* a, const float* b, const float* bias, float* out) {
  try {
    run(r, a, b, bias, out);
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) throw std::bad_alloc();
    TANDEM_ASSERT(false, "oneDNN convolution: ", e.what());
  }
}

}  // namespace

bool detail::dnnl_conv(ConvPart part, const ConvForm& f, const float* a, const float* b,
                       const float* bias, float* out) {
  const auto recipe = cache().get(key_of(part, f, false, {.bias = bias != nullptr}));
  if (!recipe->usable) return false;
  run_checked(*recipe, a, b, bias, out);
  return true;
}

bool blocked_conv_order(ConvPart part, const ConvForm& f, WeightOrder* order) {
  if (f.spatial != 2 || f.out_channels % kChannelBlock || f.batch == 0 || f.in_numel() == 0 ||
      f.out_numel() == 0 || f.kernel_numel() == 0)
    return false;
  const bool depthwise = f.groups > 1 && f.in_channels == f.groups;
  if (depthwise) {
    if (f.out_channels != f.groups) return false;
    *order = WeightOrder::depthwise;
  } else if (f.in_channels % kChannelBlock) {
    if (f.groups != 1 || f.in_channels >= kChannelBlock || part == ConvPart::x) return false;
    *order = WeightOrder::plain_in;
  } else {
    if (f.in_channels / f.groups % kChannelBlock || f.out_channels / f.groups % kChannelBlock)
      return false;
    *order = part == ConvPart::x ? WeightOrder::out_in : WeightOrder::in_out;
    if (part != ConvPart::w && detail::suits_winograd(part, f)) {
      *order = part == ConvPart::x ? WeightOrder::winograd_turned : WeightOrder::winograd;
      return true;
    }
  }
  return cache().get(key_of(part, f, true, {}))->usable;
}

void blocked_conv(ConvPart part, const ConvForm& f, const float* a, const float* b,
                  const float* bias, float* out, ConvEnd end) {
  if (part != ConvPart::w && detail::suits_winograd(part, f))
    return detail::winograd_conv(part, f, a, b, bias, out, end);
  end.bias = bias != nullptr;
  const auto recipe = cache().get(key_of(part, f, true, end));
  TANDEM_ASSERT(recipe->usable, "blocked convolution: no such loop");
  run_checked(*recipe, a, b, bias, out);
}

}  // namespace tandem::kernels

#else

namespace tandem::kernels {

bool detail::dnnl_conv(ConvPart, const ConvForm&, const float*, const float*, const float*,
                       float*) {
  return false;
}
bool blocked_conv_order(ConvPart, const ConvForm&, WeightOrder*) { return false; }
void blocked_conv(ConvPart, const ConvForm&, const float*, const float*, const float*, float*,
                  ConvEnd) {
  TANDEM_ASSERT(false, "blocked convolution: built without oneDNN");
}

}  // namespace tandem::kernels

#endif
