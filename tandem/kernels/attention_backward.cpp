#include "tandem/base/parallel.h"
#include "tandem/kernels/attention.h"
#include "tandem/kernels/attention_impl.h"

// With weights P = softmax(S), A = P after dropout and G the gradient by the output A V:
//   dV = A^T G,  dA = G V^T,  dS = P * (dropped(dA) - rowsum(G * out)),  dQ = scale dS K,
//   dK = scale dS^T Q.
// The row sums need no tile of their own: sum_j P dropped(dA) = sum_j A dA = G . out.
namespace tandem::kernels {
namespace {

using detail::AttentionCall;
using detail::Head;
using detail::kKeyTile;
using detail::kQueryTile;
using detail::Workspace;

struct Outputs {
  const Array &dq, &dk, &dv, &dscores;
};

template <class T, class C>
class Backward {
 public:
  Backward(const Attention& a, const Array& grad, const Array& out, const Array& lse,
           const Outputs& to)
      : call_(a),
        grad_(grad),
        out_(out),
        lse_(lse),
        to_(to),
        q_ld_(detail::padded<C>(call_.width)),
        v_ld_(detail::padded<C>(call_.value_width)),
        s_ld_(detail::padded<C>(kKeyTile)) {}

  void run() {
    const int64_t key_tiles = (call_.keys + kKeyTile - 1) / kKeyTile;
    const int64_t query_tiles = (call_.queries + kQueryTile - 1) / kQueryTile;
    if (to_.dscores.data != nullptr)
      std::memset(to_.dscores.data, 0, static_cast<size_t>(to_.dscores.numel) * sizeof(T));
    const int64_t work = std::max<int64_t>(1, call_.queries * call_.keys) *
                         std::max<int64_t>(1, call_.width + call_.value_width);
    if (call_.heads >= 2 * get_num_threads() || get_num_threads() == 1 || work <= 65536) {
      parallel_for(0, call_.heads, std::max<int64_t>(1, 65536 / work),
                   [&](int64_t begin, int64_t end) {
                     Tiles t(*this, call_.queries);
                     for (int64_t h = begin; h < end; ++h) {
                       std::fill_n(t.dq, call_.queries * q_ld_, C(0));
                       for (int64_t j = 0; j < key_tiles; ++j)
                         key_tile(h, j * kKeyTile, 0, query_tiles, true, true, t);
                       finish_queries(h, 0, call_.queries, t);
                     }
                   });
      return;
    }
    // Few heads: what belongs to keys and what belongs to queries are tasks of their own, which
    // make the same tiles twice. Each sum has the same terms in the same order as above.
    parallel_for(0, call_.heads * key_tiles, 1, [&](int64_t begin, int64_t end) {
      Tiles t(*this, 0);
      for (int64_t i = begin; i < end; ++i)
        key_tile(i / key_tiles, i % key_tiles * kKeyTile, 0, query_tiles, true, false, t);
    });
    parallel_for(0, call_.heads * query_tiles, 1, [&](int64_t begin, int64_t end) {
      Tiles t(*this, kQueryTile);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t h = i / query_tiles, tile = i % query_tiles, first = tile * kQueryTile;
        std::fill_n(t.dq, kQueryTile * q_ld_, C(0));
        for (int64_t j = 0; j < key_tiles; ++j)
          key_tile(h, j * kKeyTile, tile, tile + 1, false, true, t);
        finish_queries(h, first, std::min(kQueryTile, call_.queries - first), t);
      }
    });
  }

 private:
  struct Tiles {
    Tiles(const Backward& b, int64_t rows)
        : space(Workspace<C>::room(rows * b.q_ld_) + Workspace<C>::room(kQueryTile * b.q_ld_) +
                2 * Workspace<C>::room(kQueryTile * b.v_ld_) +
                2 * Workspace<C>::room(kKeyTile * b.q_ld_) +
                2 * Workspace<C>::room(kKeyTile * b.v_ld_) +
                Workspace<C>::room(b.call_.width * b.s_ld_) +
                Workspace<C>::room(b.call_.value_width * b.s_ld_) +
                3 * Workspace<C>::room(kQueryTile * b.s_ld_) + 2 * Workspace<C>::room(kKeyTile)),
          dq(space.take(rows * b.q_ld_)),
          q(space.take(kQueryTile * b.q_ld_)),
          g(space.take(kQueryTile * b.v_ld_)),
          o(space.take(kQueryTile * b.v_ld_)),
          k(space.take(kKeyTile * b.q_ld_)),
          dk(space.take(kKeyTile * b.q_ld_)),
          v(space.take(kKeyTile * b.v_ld_)),
          dv(space.take(kKeyTile * b.v_ld_)),
          kt(space.take(b.call_.width * b.s_ld_)),
          vt(space.take(b.call_.value_width * b.s_ld_)),
          p(space.take(kQueryTile * b.s_ld_)),
          dropped(space.take(kQueryTile * b.s_ld_)),
          ds(space.take(kQueryTile * b.s_ld_)),
          room(space.take(kKeyTile)),
          words(reinterpret_cast<uint32_t*>(space.take(kKeyTile))) {}
    Workspace<C> space;
    C *dq, *q, *g, *o, *k, *dk, *v, *dv, *kt, *vt, *p, *dropped, *ds, *room;
    uint32_t* words;
    C delta[kQueryTile], lse[kQueryTile];
  };

  // The keys from j on against query tiles [from, to): the gradients by those keys and their
  // values (for_keys), and what they add to those by the queries (for_queries).
  void key_tile(int64_t head, int64_t j, int64_t from, int64_t to, bool for_keys, bool for_queries,
                Tiles& t) const {
    const Attention& a = call_.a;
    const int64_t n = std::min(kKeyTile, call_.keys - j);
    detail::pack_rows<T>(a.k, detail::head_of(a.k, head), j, n, t.k, q_ld_);
    detail::pack_rows<T>(a.v, detail::head_of(a.v, head), j, n, t.v, v_ld_);
    detail::transpose(t.k, q_ld_, n, call_.width, t.kt, s_ld_);
    detail::transpose(t.v, v_ld_, n, call_.value_width, t.vt, s_ld_);
    if (for_keys) {
      std::fill_n(t.dk, n * q_ld_, C(0));
      std::fill_n(t.dv, n * v_ld_, C(0));
    }
    for (int64_t i = from; i < to; ++i)
      tile(head, i * kQueryTile, j, for_keys,
           for_queries ? t.dq + (i - from) * kQueryTile * q_ld_ : nullptr, t);
    if (for_keys) {
      detail::unpack_rows<T>(to_.dk, head, j, n, t.dk, q_ld_);
      detail::unpack_rows<T>(to_.dv, head, j, n, t.dv, v_ld_);
    }
  }

  void tile(int64_t head, int64_t i, int64_t j, bool for_keys, C* dq, Tiles& t) const {
    const Attention& a = call_.a;
    const int64_t m = std::min(kQueryTile, call_.queries - i), n = call_.keys_met(j, i + m);
    if (n <= 0) return;
    const auto& ops = call_.ops;
    const C scale = static_cast<C>(a.scale);
    load_queries(head, i, m, t);
    detail::multiply(m, n, call_.width, t.q, q_ld_, int64_t{1}, t.kt, s_ld_, t.p, s_ld_, scale,
                     C(0));
    detail::multiply(m, n, call_.value_width, t.g, v_ld_, int64_t{1}, t.vt, s_ld_, t.ds, s_ld_,
                     C(1), C(0));
    const Head mask = call_.mask_head(head);
    const bool drops = a.dropout > 0;
    for (int64_t r = 0; r < m; ++r) {
      C *p = t.p + r * s_ld_, *ds = t.ds + r * s_ld_;
      call_.apply_masks(mask, i + r, j, n, p, t.room);
      ops.exp_sum(p, t.lse[r], n);
      if (drops) {
        call_.drop(head, i + r, j, n, p, t.dropped + r * s_ld_, t.words);
        ops.drop(ds, t.words, call_.keep_limit, call_.keep_scale, ds, n);
      }
      ops.score_grad(p, t.delta[r], ds, n);
    }
    if (for_keys) {
      detail::multiply(n, call_.value_width, m, drops ? t.dropped : t.p, int64_t{1}, s_ld_, t.g,
                       v_ld_, t.dv, v_ld_, C(1), C(1));
      detail::multiply(n, call_.width, m, t.ds, int64_t{1}, s_ld_, t.q, q_ld_, t.dk, q_ld_, scale,
                       C(1));
      if (to_.dscores.data != nullptr) store_scores(head, i, j, m, n, t);
    }
    if (dq != nullptr)
      detail::multiply(m, call_.width, n, t.ds, s_ld_, int64_t{1}, t.k, q_ld_, dq, q_ld_, scale,
                       C(1));
  }

  void load_queries(int64_t head, int64_t i, int64_t m, Tiles& t) const {
    const Array& q = call_.a.q;
    detail::pack_rows<T>(q, detail::head_of(q, head), i, m, t.q, q_ld_);
    detail::pack_rows<T>(grad_, detail::head_of(grad_, head), i, m, t.g, v_ld_);
    detail::pack_rows<T>(out_, detail::head_of(out_, head), i, m, t.o, v_ld_);
    // One number a query: a matrix with one column for each head.
    Dims sizes(lse_.sizes, lse_.sizes + lse_.ndim), strides(lse_.strides, lse_.strides + lse_.ndim);
    sizes.push_back(1);
    strides.push_back(1);
    Array column = lse_;
    column.sizes = sizes.data();
    column.strides = strides.data();
    column.ndim = lse_.ndim + 1;
    detail::pack_rows<C>(column, detail::head_of(column, head), i, m, t.lse, 1);
    for (int64_t r = 0; r < m; ++r)
      t.delta[r] = call_.ops.dot(t.g + r * v_ld_, t.o + r * v_ld_, call_.value_width);
  }

  void store_scores(int64_t head, int64_t i, int64_t j, int64_t m, int64_t n, Tiles& t) const {
    for (int64_t r = 0; r < m; ++r) {
      T* to = to_.dscores.ptr<T>() + (head * call_.queries + i + r) * call_.keys + j;
      const C* from = t.ds + r * s_ld_;
      for (int64_t c = 0; c < n; ++c) to[c] = static_cast<T>(from[c]);
    }
  }

  void finish_queries(int64_t head, int64_t first, int64_t rows, Tiles& t) const {
    detail::unpack_rows<T>(to_.dq, head, first, rows, t.dq, q_ld_);
  }

  AttentionCall<T, C> call_;
  const Array &grad_, &out_, &lse_;
  Outputs to_;
  int64_t q_ld_, v_ld_, s_ld_;
};

}  // namespace

void attention_backward(const Attention& a, const Array& grad, const Array& out, const Array& lse,
                        const Array& dq, const Array& dk, const Array& dv, const Array& dscores) {
  if (dq.numel == 0 && dk.numel == 0 && dv.numel == 0 && dscores.numel == 0) return;
  const Outputs to{dq, dk, dv, dscores};
  detail::with_types(a.q.dtype,
                     [&]<class T, class C>() { Backward<T, C>(a, grad, out, lse, to).run(); });
}

}  // namespace tandem::kernels
