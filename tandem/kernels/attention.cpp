#include "tandem/kernels/attention.h"

#include "tandem/base/parallel.h"
#include "tandem/kernels/attention_impl.h"

namespace tandem::kernels {
namespace {

using detail::AttentionCall;
using detail::Head;
using detail::kKeyTile;
using detail::kQueryTile;
using detail::Workspace;

// Queries that a task takes at most: those of a head where there are enough heads to share out, so
// that keys are packed once. Results do not depend on it.
constexpr int64_t kMostQueries = 1024;
constexpr int64_t kFewQueries = 128;

template <class T, class C>
class Forward {
 public:
  Forward(const Attention& a, const Array& out, const Array& lse)
      : call_(a),
        out_(out),
        lse_(lse.ptr<C>()),
        q_ld_(detail::padded<C>(call_.width)),
        v_ld_(detail::padded<C>(call_.value_width)),
        s_ld_(detail::padded<C>(kKeyTile)) {}

  void run() {
    const bool many = call_.heads >= 2 * get_num_threads();
    const int64_t most = many ? kMostQueries : kFewQueries;
    const int64_t each = std::min(most, (call_.queries + kQueryTile - 1) / kQueryTile * kQueryTile);
    const int64_t per_head = (call_.queries + each - 1) / each;
    // Small problems stay on one thread.
    const int64_t work = each * std::max<int64_t>(1, call_.keys) *
                         std::max<int64_t>(1, call_.width + call_.value_width);
    const int64_t grain = std::max<int64_t>(1, 65536 / work);
    parallel_for(0, call_.heads * per_head, grain, [&](int64_t begin, int64_t end) {
      Tiles t(*this, each);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % per_head * each;
        task(i / per_head, first, std::min(each, call_.queries - first), t);
      }
    });
  }

 private:
  struct Tiles {
    Tiles(const Forward& f, int64_t rows)
        : space(Workspace<C>::room(rows * f.q_ld_) + Workspace<C>::room(rows * f.v_ld_) +
                3 * Workspace<C>::room(rows) + Workspace<C>::room(kKeyTile * f.q_ld_) +
                Workspace<C>::room(f.call_.width * f.s_ld_) +
                Workspace<C>::room(kKeyTile * f.v_ld_) + Workspace<C>::room(kQueryTile * f.s_ld_) +
                2 * Workspace<C>::room(kKeyTile)),
          q(space.take(rows * f.q_ld_)),
          out(space.take(rows * f.v_ld_)),
          top(space.take(rows)),
          sum(space.take(rows)),
          k(space.take(kKeyTile * f.q_ld_)),
          kt(space.take(f.call_.width * f.s_ld_)),
          v(space.take(kKeyTile * f.v_ld_)),
          scores(space.take(kQueryTile * f.s_ld_)),
          room(space.take(kKeyTile)),
          words(reinterpret_cast<uint32_t*>(space.take(kKeyTile))) {}
    Workspace<C> space;
    C *q, *out, *top, *sum, *k, *kt, *v, *scores, *room;
    uint32_t* words;
  };

  // Queries [first, first + rows) of a head against all keys.
  void task(int64_t head, int64_t first, int64_t rows, Tiles& t) const {
    const Attention& a = call_.a;
    const Head mask = call_.mask_head(head), k = detail::head_of(a.k, head),
               v = detail::head_of(a.v, head);
    detail::pack_rows<T>(a.q, detail::head_of(a.q, head), first, rows, t.q, q_ld_);
    std::fill_n(t.top, rows, -std::numeric_limits<C>::infinity());
    std::fill_n(t.sum, rows, C(0));
    std::fill_n(t.out, rows * v_ld_, C(0));
    for (int64_t j = 0; j < call_.keys; j += kKeyTile) {
      const int64_t n = call_.keys_met(j, first + rows);
      if (n <= 0) break;
      detail::pack_rows<T>(a.k, k, j, n, t.k, q_ld_);
      detail::transpose(t.k, q_ld_, n, call_.width, t.kt, s_ld_);
      detail::pack_rows<T>(a.v, v, j, n, t.v, v_ld_);
      for (int64_t i = 0; i < rows; i += kQueryTile)
        tile(head, mask, first, i, std::min(kQueryTile, rows - i), j, t);
    }
    finish(head, first, rows, t);
  }

  // Queries [i, i + m) of the task against the keys from j on.
  void tile(int64_t head, const Head& mask, int64_t first, int64_t i, int64_t m, int64_t j,
            Tiles& t) const {
    const auto& ops = call_.ops;
    const int64_t n = call_.keys_met(j, first + i + m);
    if (n <= 0) return;
    detail::multiply(m, n, call_.width, t.q + i * q_ld_, q_ld_, int64_t{1}, t.kt, s_ld_, t.scores,
                     s_ld_, static_cast<C>(call_.a.scale), C(0));
    for (int64_t r = 0; r < m; ++r) {
      C* x = t.scores + r * s_ld_;
      call_.apply_masks(mask, first + i + r, j, n, x, t.room);
      C &top = t.top[i + r], &sum = t.sum[i + r];
      const C before = top;
      top = std::max(top, ops.greatest(x, n));
      // Where everything so far is masked, exp(-inf - 0) makes the zeros that are wanted.
      const C shift = top == -std::numeric_limits<C>::infinity() ? C(0) : top;
      const C added = ops.exp_sum(x, shift, n);
      if (j == 0) {
        sum = added;
      } else if (before == top) {
        sum += added;
      } else {
        const C less = std::exp(before - shift);
        sum = sum * less + added;
        ops.scale(t.out + (i + r) * v_ld_, less, call_.value_width);
      }
      if (call_.a.dropout > 0) call_.drop(head, first + i + r, j, n, x, x, t.words);
    }
    detail::multiply(m, call_.value_width, n, t.scores, s_ld_, int64_t{1}, t.v, v_ld_,
                     t.out + i * v_ld_, v_ld_, C(1), j == 0 ? C(0) : C(1));
  }

  void finish(int64_t head, int64_t first, int64_t rows, Tiles& t) const {
    for (int64_t r = 0; r < rows; ++r) {
      // 0 / 0 where all keys are masked, as softmax has it; without keys there is nothing to add.
      if (call_.keys > 0) {
        C* x = t.out + r * v_ld_;
        for (int64_t c = 0; c < call_.value_width; ++c) x[c] /= t.sum[r];
      }
      lse_[head * call_.queries + first + r] = t.top[r] + std::log(t.sum[r]);
    }
    detail::unpack_rows<T>(out_, head, first, rows, t.out, v_ld_);
  }

  AttentionCall<T, C> call_;
  const Array& out_;
  C* lse_;
  int64_t q_ld_, v_ld_, s_ld_;
};

}  // namespace

void attention(const Attention& a, const Array& out, const Array& lse) {
  if (lse.numel == 0) return;
  detail::with_types(a.q.dtype, [&]<class T, class C>() { Forward<T, C>(a, out, lse).run(); });
}

}  // namespace tandem::kernels
