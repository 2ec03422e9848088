#include <cmath>

#include "tandem/kernels/norm_detail.h"

namespace tandem::kernels {
namespace {

// A part of the work: for path "strands" some samples of some blocks of channels, or a piece of one
// row; for path "columns" some rows of one block. Everything is derived from the shape.
struct Cut {
  int64_t tile = 1;     // blocks of channels a unit
  int64_t samples = 1;  // samples a unit
  int64_t piece = 0;    // positions of the span a unit
  int64_t tiles = 1, chunks = 1, pieces = 1;
  int64_t units() const { return tiles * chunks * pieces; }
};

struct Unit {
  int64_t block0, block1, n0, n1, s0, s1, chunk;
};

constexpr int64_t kUnitElements = 32768;

template <class C>
bool by_strands(const Channels& c) {
  return c.lanes <= kNormStrands<C> && kNormStrands<C> % c.lanes == 0;
}

// Channels whose elements lie one by one are columns.
Channels normal(Channels c) {
  if (c.span == 1 && c.lanes == 1) return {1, 1, c.batch, c.blocks};
  return c;
}

Cut cut(const Channels& c) {
  Cut k;
  const int64_t row = c.span * c.lanes;
  k.tile = std::clamp<int64_t>(4096 / row, 1, c.blocks);
  k.samples = std::clamp<int64_t>(kUnitElements / (k.tile * row), 1, c.batch);
  // A multiple of 64 positions, so that every piece of a row begins with strand 0.
  k.piece =
      row > 2 * kUnitElements ? std::max<int64_t>(64, kUnitElements / c.lanes / 64 * 64) : c.span;
  k.tiles = ceil_div(c.blocks, k.tile);
  k.chunks = ceil_div(c.batch, k.samples);
  k.pieces = ceil_div(c.span, k.piece);
  return k;
}

Unit unit_at(const Channels& c, const Cut& k, int64_t u) {
  const int64_t piece = u % k.pieces, tile = u / k.pieces % k.tiles, chunk = u / k.pieces / k.tiles;
  return {tile * k.tile,           std::min(c.blocks, (tile + 1) * k.tile),
          chunk * k.samples,       std::min(c.batch, (chunk + 1) * k.samples),
          piece * k.piece,         std::min(c.span, (piece + 1) * k.piece),
          chunk * k.pieces + piece};
}

// Calls fn(first element, number of elements) for the runs of one block in one sample.
template <class F>
void for_row(const Channels& c, const Unit& u, int64_t n, int64_t block, int64_t run, const F& fn) {
  const int64_t row = (n * c.blocks + block) * c.span;
  const int64_t end = (row + u.s1) * c.lanes;
  for (int64_t i = (row + u.s0) * c.lanes; i < end; i += run) fn(i, std::min(run, end - i));
}

// Runs are at most so long; columns are taken a whole row at a time.
template <class C>
int64_t run_length(const Channels& c) {
  return by_strands<C>(c) ? kNormRun : c.lanes;
}

// Parameters of one block of channels: a value for each strand, or for each column.
template <class C, int K>
class BlockParams {
 public:
  BlockParams(const Channels& c, const C* const (&channels)[K])
      : lanes_(c.lanes), width_(by_strands<C>(c) ? kNormStrands<C> : c.lanes), memory_(K * width_) {
    for (int k = 0; k < K; ++k) {
      channels_[k] = channels[k];
      at[k] = &memory_[k * width_];
    }
  }
  void go_to(int64_t block) {
    if (block == block_) return;
    block_ = block;
    for (int k = 0; k < K; ++k) {
      const C* from = channels_[k] + block * lanes_;
      C* to = &memory_[k * width_];
      if (lanes_ == 1) {
        for (int64_t j = 0; j < kNormStrands<C>; ++j) to[j] = *from;
        continue;
      }
      for (int64_t first = 0; first < width_; first += lanes_)
        std::copy_n(from, lanes_, to + first);
    }
  }
  const C* at[K];

 private:
  const C* channels_[K];
  int64_t lanes_, width_, block_ = -1;
  Scratch<C> memory_;
};

// Two sums over each channel, [channel][2]. take(first, n, parameters, a, b, buffer) adds the
// elements of a run; the buffer has room for two runs.
template <class C, int K, class F>
void two_sums(const Channels& c, const C* const (&channels)[K], double* total, const F& take) {
  const Cut k = cut(c);
  const int64_t parts = k.chunks * k.pieces, count = c.count();
  Scratch<double> partial(parts * count * 2);
  const bool strands = by_strands<C>(c);
  const int64_t width = strands ? kNormStrands<C> : c.lanes, run = run_length<C>(c);
  // Elements that are added up in C: 128 a strand, or 64 rows.
  const int64_t most = strands ? kNormRun : 64 * c.lanes;
  parallel_for(0, k.units(), 1, [&](int64_t begin, int64_t end) {
    BlockParams<C, K> params(c, channels);
    Scratch<C> sums(2 * width), buffer(2 * run);
    C *a = sums.get(), *b = a + width;
    for (int64_t i = begin; i < end; ++i) {
      const Unit u = unit_at(c, k, i);
      for (int64_t block = u.block0; block < u.block1; ++block) {
        double* to = &partial[(u.chunk * count + block * c.lanes) * 2];
        std::fill_n(to, 2 * c.lanes, 0.0);
        params.go_to(block);
        std::fill_n(a, 2 * width, C(0));
        int64_t taken = 0;
        const auto flush = [&] {
          if (c.lanes == 1) {
            double sum = 0, other = 0;
            for (int64_t j = 0; j < kNormStrands<C>; ++j) {
              sum += static_cast<double>(a[j]);
              other += static_cast<double>(b[j]);
            }
            to[0] += sum;
            to[1] += other;
          }
          for (int64_t first = 0; c.lanes > 1 && first < width; first += c.lanes)
            for (int64_t l = 0; l < c.lanes; ++l) {
              to[2 * l] += static_cast<double>(a[first + l]);
              to[2 * l + 1] += static_cast<double>(b[first + l]);
            }
          std::fill_n(a, 2 * width, C(0));
          taken = 0;
        };
        for (int64_t n = u.n0; n < u.n1; ++n)
          for_row(c, u, n, block, run, [&](int64_t from, int64_t m) {
            if (taken + m > most) flush();
            take(from, m, params.at, a, b, buffer.get());
            taken += m;
          });
        flush();
      }
    }
  });
  parallel_for(0, 2 * count, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      double sum = partial[j];
      for (int64_t part = 1; part < parts; ++part) sum += partial[part * count * 2 + j];
      total[j] = sum;
    }
  });
}

// Calls fn(first, n, parameters, buffer) for all runs.
template <class C, int K, class F>
void for_all_runs(const Channels& c, const C* const (&channels)[K], const F& fn) {
  const Cut k = cut(c);
  const int64_t run = run_length<C>(c);
  parallel_for(0, k.units(), 1, [&](int64_t begin, int64_t end) {
    BlockParams<C, K> params(c, channels);
    Scratch<C> buffer(2 * run);
    for (int64_t i = begin; i < end; ++i) {
      const Unit u = unit_at(c, k, i);
      for (int64_t n = u.n0; n < u.n1; ++n)
        for (int64_t block = u.block0; block < u.block1; ++block) {
          params.go_to(block);
          for_row(c, u, n, block, run,
                  [&](int64_t from, int64_t m) { fn(from, m, params.at, buffer.get()); });
        }
    }
  });
}

// A number near each channel's mean: the mean of its first elements. Deviations from it keep their
// digits where the mean is large.
template <class C>
void find_shifts(const Array& x, const Channels& c, C* shift) {
  constexpr int64_t kMost = 8;
  const int64_t m = std::min(kMost, c.span), row = c.span * c.lanes;
  parallel_for(0, c.count(), 4096, [&](int64_t begin, int64_t end) {
    C v[kMost];
    for (int64_t j = begin; j < end; ++j) {
      const int64_t first = c.lanes == 1 ? j * row : j / c.lanes * row + j % c.lanes;
      if (x.dtype == dtype_v<C>) {
        for (int64_t i = 0; i < m; ++i) v[i] = x.ptr<const C>()[first + i * c.lanes];
      } else {
        load(x.dtype, at(x, first), c.lanes, m, v);
      }
      C sum = 0;
      for (int64_t i = 0; i < m; ++i) sum += v[i];
      shift[j] = sum / static_cast<C>(m);
    }
  });
}

}  // namespace

void channel_moments(const Array& x_any, const Channels& channels, double eps, const Array& mean,
                     const Array& rstd, const Array& var) {
  const Channels c = normal(channels);
  if (c.count() == 0) return;
  const Contiguous kept(x_any);
  const Array& x = kept.get();
  dispatch_real(x.dtype, [&]<class C>(C) {
    C *to_mean = mean.ptr<C>(), *to_rstd = rstd.ptr<C>(), *to_var = var.ptr<C>();
    // Of nothing, mean and variance are 0: nothing is normalised by them.
    if (c.each() == 0) {
      std::fill_n(to_mean, c.count(), C(0));
      std::fill_n(to_var, c.count(), C(0));
      std::fill_n(to_rstd, c.count(), C(1) / std::sqrt(static_cast<C>(eps)));
      return;
    }
    Scratch<C> shift(c.count());
    Scratch<double> total(2 * c.count());
    find_shifts(x, c, shift.get());
    const NormOps<C>& ops = norm_ops<C>();
    const auto run = by_strands<C>(c) ? ops.moments : ops.moments_row;
    const RunReader<C> in(x);
    two_sums<C, 1>(c, {shift.get()}, total.get(),
                   [&](int64_t from, int64_t n, const C* const* p, C* a, C* b, C* buffer) {
                     run(in.read(from, n, buffer), n, p[0], a, b);
                   });
    const double n = static_cast<double>(c.each());
    for (int64_t j = 0; j < c.count(); ++j) {
      const double s = total[2 * j], q = total[2 * j + 1];
      double v = (q - s * s / n) / n;
      if (v < 0) v = 0;
      to_mean[j] = static_cast<C>(static_cast<double>(shift[j]) + s / n);
      to_var[j] = static_cast<C>(v);
      to_rstd[j] = C(1) / std::sqrt(static_cast<C>(v) + static_cast<C>(eps));
    }
  });
}

namespace {

template <class C>
void normalize(const Array& x, const Channels& channels, const Numbers<C>& mean,
               const Numbers<C>& rstd, const Numbers<C>& weight, const Numbers<C>& bias,
               const Array& out) {
  const Channels c = normal(channels);
  const Contiguous kept(x);
  const NormOps<C>& ops = norm_ops<C>();
  const auto run = by_strands<C>(c) ? ops.normalize : ops.normalize_row;
  const RunReader<C> in(kept.get());
  const RunWriter<C> to(out);
  for_all_runs<C, 4>(c, {mean.get(), rstd.get(), weight.get(), bias.get()},
                     [&](int64_t from, int64_t n, const C* const* p, C* buffer) {
                       run(in.read(from, n, buffer), n, p[0], p[1], p[2], p[3],
                           to.place(from, buffer));
                       to.put(from, n, buffer);
                     });
}

}  // namespace

void channel_normalize(const Array& x, const Channels& c, const Array& mean, const Array& rstd,
                       const Array* weight, const Array* bias, const Array& out) {
  if (out.numel == 0) return;
  dispatch_real(x.dtype, [&]<class C>(C) {
    // Nothing changes when -0 is added.
    normalize<C>(x, c, Numbers<C>(mean), Numbers<C>(rstd), weights(weight, c.count(), C(1)),
                 weights(bias, c.count(), C(-0.0)), out);
  });
}

void group_normalize(const Array& x, const Channels& c, int64_t groups, const Array& mean,
                     const Array& rstd, const Array* weight, const Array* bias, const Array& out) {
  if (out.numel == 0) return;
  dispatch_real(x.dtype, [&]<class C>(C) {
    // The channels of all samples side by side.
    const int64_t all = c.batch * c.blocks, each = c.blocks / groups;
    const Numbers<C> means(mean), rstds(rstd);
    const Numbers<C> w0 = weights(weight, c.blocks, C(1)), b0 = weights(bias, c.blocks, C(-0.0));
    const Numbers<C> m(all, 0), s(all, 0), w(all, 0), b(all, 0);
    for (int64_t i = 0; i < all; ++i) {
      m[i] = means[i / each];
      s[i] = rstds[i / each];
      w[i] = w0[i % c.blocks];
      b[i] = b0[i % c.blocks];
    }
    normalize<C>(x, {1, all, c.span, 1}, m, s, w, b, out);
  });
}

void channel_sums(const Array& g_any, const Array& x_any, const Channels& channels,
                  const Array& mean, const Array& rstd, const Array* weight, const Array* bias,
                  const Array& sum, const Array& product) {
  const Channels c = normal(channels);
  if (c.count() == 0) return;
  const Contiguous kept_g(g_any), kept_x(x_any);
  dispatch_real(x_any.dtype, [&]<class C>(C) {
    const Numbers<C> m(mean), scale(rstd);
    Scratch<double> total(2 * c.count());
    const NormOps<C>& ops = norm_ops<C>();
    const bool strands = by_strands<C>(c);
    const RunReader<C> g(kept_g.get()), x(kept_x.get());
    const int64_t second = run_length<C>(c);
    if (c.each() == 0) {
      std::fill_n(total.get(), 2 * c.count(), 0.0);
    } else if (weight) {
      const Numbers<C> w(*weight), b(*bias);
      const auto run = strands ? ops.gated_sums : ops.gated_sums_row;
      two_sums<C, 4>(c, {m.get(), scale.get(), w.get(), b.get()}, total.get(),
                     [&](int64_t from, int64_t n, const C* const* p, C* s, C* q, C* buffer) {
                       run(g.read(from, n, buffer), x.read(from, n, buffer + second), n, p[0], p[1],
                           p[2], p[3], s, q);
                     });
    } else {
      const auto run = strands ? ops.sums : ops.sums_row;
      two_sums<C, 1>(c, {m.get()}, total.get(),
                     [&](int64_t from, int64_t n, const C* const* p, C* s, C* q, C* buffer) {
                       run(g.read(from, n, buffer), x.read(from, n, buffer + second), n, p[0], s,
                           q);
                     });
    }
    for (int64_t j = 0; j < c.count(); ++j) {
      sum.ptr<C>()[j] = static_cast<C>(total[2 * j]);
      product.ptr<C>()[j] = static_cast<C>(total[2 * j + 1] * static_cast<double>(scale[j]));
    }
  });
}

void channel_grad(const Array& g_any, const Array& x_any, const Channels& channels,
                  const Array& mean, const Array* weight, const Array& a, const Array& b,
                  const Array& scale, const Array& out) {
  const Channels c = normal(channels);
  if (out.numel == 0) return;
  const Contiguous kept_g(g_any), kept_x(x_any);
  dispatch_real(x_any.dtype, [&]<class C>(C) {
    const Numbers<C> m(mean), first(a), second(b), s(scale);
    const Numbers<C> w = weights(weight, c.count(), C(1));
    const NormOps<C>& ops = norm_ops<C>();
    const auto run = by_strands<C>(c) ? ops.grad : ops.grad_row;
    const RunReader<C> g(kept_g.get()), x(kept_x.get());
    const RunWriter<C> to(out);
    const int64_t behind = run_length<C>(c);
    for_all_runs<C, 5>(c, {m.get(), w.get(), first.get(), second.get(), s.get()},
                       [&](int64_t from, int64_t n, const C* const* p, C* buffer) {
                         run(g.read(from, n, buffer), x.read(from, n, buffer + behind), n, p[0],
                             p[1], p[2], p[3], p[4], to.place(from, buffer));
                         to.put(from, n, buffer);
                       });
  });
}

}  // namespace tandem::kernels
