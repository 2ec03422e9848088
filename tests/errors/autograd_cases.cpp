// Mistakes about gradients.
#include <cmath>

#include "tests/errors/error_cases.h"

namespace tandem::errors {

void add_autograd_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"backward of several elements",
       Kind::kError,
       [](Things& t) { (t.w * 2).backward(); },
       {"backward", "scalar outputs", "[2, 3]"}},
      {"backward of what needs no gradient",
       Kind::kError,
       [](Things& t) {
         (t.x * 2).backward(ones({2, 3}));
       },
       {"backward", "does not require grad"}},
      {"backward of an undefined tensor",
       Kind::kError,
       [](Things& t) { t.none.backward(); },
       {"undefined"}},
      {"gradient of another shape",
       Kind::kShape,
       [](Things& t) { (t.w * 2).backward(ones({3})); },
       {"backward", "[3]", "[2, 3]"}},
      {"backward twice",
       Kind::kError,
       [](Things& t) {
         const Tensor y = t.w * t.w;
         y.backward(ones({2, 3}));
         y.backward(ones({2, 3}));
       },
       {"backward of mul", "a second time", "retain_graph=true"}},
      {"backward into a part that was freed",
       Kind::kError,
       [](Things& t) {
         const Tensor y = t.w * t.w, z = y * 2;
         (y * y).backward(ones({2, 3}));
         z.backward(ones({2, 3}));
       },
       {"backward of mul", "a second time"}},
      {"saved input overwritten",
       Kind::kError,
       [](Things& t) {
         const Tensor a = t.w * 1, y = a * a;
         a.add_(1);
         y.backward(ones({2, 3}));
       },
       {"backward of mul", "modified by an inplace", "mul saved its input", "version 0", "add_",
        "version 1", "clone()"}},
      {"saved input overwritten through a view",
       Kind::kError,
       [](Things& t) {
         const Tensor a = t.w * 1, y = a * a;
         a[0].zero_();
         y.backward(ones({2, 3}));
       },
       {"backward of mul", "modified by an inplace", "fill_"}},
      {"saved constant overwritten",
       Kind::kError,
       [](Things& t) {
         const Tensor c = t.x.clone(), y = t.w * c;
         c.zero_();
         y.backward(ones({2, 3}));
       },
       {"backward of mul", "mul saved its input 1", "fill_"}},
      {"in place on a leaf",
       Kind::kError,
       [](Things& t) { t.w.add_(1); },
       {"add_", "leaf", "in-place", "NoGradGuard"}},
      {"in place on a view of a leaf",
       Kind::kError,
       [](Things& t) { t.w[0].mul_(2); },
       {"mul_", "view of a leaf", "NoGradGuard"}},
      {"filling a leaf", Kind::kError, [](Things& t) { t.w.zero_(); }, {"fill_", "leaf"}},
      {"assigning into a leaf", Kind::kError, [](Things& t) { t.w[0] = 1; }, {"leaf"}},
      {"turning the gradient of a result off",
       Kind::kError,
       [](Things& t) { (t.w * 2).set_requires_grad(false); },
       {"requires_grad", "leaf", "detach()"}},
      {"hook that changes the shape",
       Kind::kShape,
       [](Things& t) {
         const Tensor y = t.w * 2;
         y.register_hook([](const Tensor&) { return ones({5}); });
         (y * 3).backward(ones({2, 3}));
       },
       {"hook", "[2, 3]", "[5]"}},
      {"hook on what needs no gradient",
       Kind::kError,
       [](Things& t) { t.x.register_hook([](const Tensor&) {}); },
       {"register_hook", "doesn't require gradient"}},
      {"removing a hook that is not there",
       Kind::kError,
       [](Things& t) { t.w.remove_hook(3); },
       {"remove_hook", "3"}},
      {"retain_grad of what needs no gradient",
       Kind::kError,
       [](Things& t) { t.x.retain_grad(); },
       {"retain_grad", "requires_grad"}},
      {"grad by what needs no gradient",
       Kind::kError,
       [](Things& t) {
         autograd::grad({t.w * 2}, {t.x}, {ones({2, 3})});
       },
       {"grad", "does not require grad"}},
      {"grad by what was not used",
       Kind::kError,
       [](Things& t) {
         autograd::grad({t.w * 2}, {t.v}, {ones({2, 3})});
       },
       {"grad", "not have been used", "allow_unused"}},
      {"a wrong number of gradients",
       Kind::kError,
       [](Things& t) {
         autograd::backward({t.w * 2}, {ones({2, 3}), ones({2, 3})});
       },
       {"backward", "1 tensors", "2 gradients"}},
      {"nan in a gradient",
       Kind::kError,
       [](Things& t) {
         DetectAnomalyGuard guard;
         const Tensor y = t.w / (t.w * 0);
         y.backward(zeros({2, 3}));
       },
       {"DivBackward", "nan", "div(float32 [2, 3], float32 [2, 3])"}},
      {"detach_ of a view",
       Kind::kError,
       [](Things& t) { (t.w * 2)[0].detach_(); },
       {"detach_", "detach()"}},
      {"resize of what requires a gradient",
       Kind::kError,
       [](Things& t) { t.w.resize_({9}); },
       {"resize_", "require grad"}},
      {"version of an inference tensor",
       Kind::kError,
       [](Things&) {
         Tensor i;
         {
           InferenceMode mode;
           i = ones({2});
         }
         i._version();
       },
       {"_version", "Inference"}},
      {"inference tensor saved for backward",
       Kind::kError,
       [](Things& t) {
         Tensor i;
         {
           InferenceMode mode;
           i = ones({2, 3});
         }
         t.w* i;
       },
       {"mul", "Inference tensors cannot be saved for backward", "clone"}},
      {"base of what is no view",
       Kind::kError,
       [](Things& t) { t.x._base(); },
       {"_base", "non-view"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

}  // namespace tandem::errors
