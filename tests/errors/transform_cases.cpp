// Mistakes about choices and loops in graphs, about vmap and derivatives of functions.
#include "tandem/compile/compile.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/transforms.h"
#include "tandem/compile/vmap.h"
#include "tests/errors/error_cases.h"

namespace tandem::errors {
namespace {

using List = std::vector<Tensor>;

void add_control_flow_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"cond on several values",
       Kind::kShape,
       [](Things& t) {
         cond(
             t.truth, [&] { return t.x; }, [&] { return t.w; });
       },
       {"cond", "single value", "bool [2, 3]"}},
      {"cond with branches of two types",
       Kind::kType,
       [](Things& t) {
         compile([](const Tensor& x) {
           return cond(
               x.sum() > 0, [&] { return x; }, [&] { return x.sum(0); });
         })(t.x);
       },
       {"cond", "result 0", "float32 [2, 3]", "float32 [3]"}},
      {"cond with a branch that gives more",
       Kind::kError,
       [](Things& t) {
         compile([](const Tensor& x) {
           return cond(
               x.sum() > 0, [&] { return List{x}; },
               [&] {
                 return List{x, x};
               });
         })(t.x);
       },
       {"cond", "1 tensors", "2"}},
      {"backward in a branch",
       Kind::kError,
       [](Things& t) {
         compile([&](const Tensor& x) {
           return cond(
               x.sum() > 0,
               [&] {
                 (t.w * x).sum().backward();
                 return x;
               },
               [&] { return x; });
         })(t.x);
       },
       {"cond", "must not leave gradients", "autograd::grad"}},
      {"item in a branch",
       Kind::kError,
       [](Things& t) {
         compile([&](const Tensor& x) {
           return cond(
               x.sum() > 0, [&] { return x * x.max().item<float>(); }, [&] { return x; });
         })(t.x);
       },
       {"item", "cannot be looked at"}},
      {"while_loop whose body loses a tensor",
       Kind::kError,
       [](Things& t) {
         while_loop([](auto& s) { return s[0].sum() < 100; },
                    [](auto& s) { return List{s[0] + 1}; }, {t.x, t.y});
       },
       {"while_loop", "gives 1 tensors", "state has 2"}},
      {"while_loop whose state changes its type",
       Kind::kType,
       [](Things& t) {
         compile([](const Tensor& x) {
           return while_loop([](auto& s) { return s[0].sum() < 100; },
                             [](auto& s) { return List{s[0].to(kDouble)}; }, {x})[0];
         })(t.x);
       },
       {"while_loop", "state 0 as float64 [2, 3]", "began as float32 [2, 3]"}},
      {"while_loop with many conditions",
       Kind::kShape,
       [](Things& t) {
         compile([](const Tensor& x) {
           return while_loop([](auto& s) { return s[0] < 100; },
                             [](auto& s) { return List{s[0] + 1}; }, {x})[0];
         })(t.x);
       },
       {"while_loop", "single value", "bool [2, 3]"}},
      {"while_loop that writes to its state",
       Kind::kError,
       [](Things& t) {
         compile([](const Tensor& x) {
           return while_loop([](auto& s) { return s[0].sum() < 100; },
                             [](auto& s) { return List{s[0].add_(1)}; }, {x})[0];
         })(t.x);
       },
       {"while_loop", "must not write in place to its arguments", "return the new values"}},
      {"while_loop whose condition reads what the body writes",
       Kind::kError,
       [](Things& t) {
         const Tensor count = zeros({});
         compile([&](const Tensor& x) {
           return while_loop([&](auto&) { return count < 3; },
                             [&](auto& s) {
                               count.add_(1);
                               return List{s[0] * 2};
                             },
                             {x})[0];
         })(t.x);
       },
       {"while_loop", "the condition reads", "part of the state"}},
      {"scan over different lengths",
       Kind::kShape,
       [](Things& t) {
         const auto body = [](Tensor c, std::pair<Tensor, Tensor> x) {
           return std::pair{c + x.first.sum() + x.second, c};
         };
         scan(body, zeros({}), std::pair{t.x, t.y});
       },
       {"scan", "xs 1 is float32 [4]", "extent 2", "dimension 0"}},
      {"scan over a single number",
       Kind::kShape,
       [](Things&) {
         scan([](Tensor c, Tensor x) { return std::pair{c + x, c}; }, zeros({}), ones({}));
       },
       {"scan", "float32 []", "dimension 0"}},
      {"scan whose carry grows",
       Kind::kType,
       [](Things& t) {
         scan([](Tensor c, Tensor x) { return std::pair{c + x, c}; }, zeros({}), t.x);
       },
       {"scan", "carry 0 as float32 [3]", "began as float32 []"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

void add_derivative_cases(std::vector<Case>& cases) {
  const auto square = [](const Tensor& x) { return x * x; };
  const auto product = [](const Tensor& a, const Tensor& b) { return a * b; };
  const std::vector<Case> own = {
      {"vmap with too few in_dims",
       Kind::kError,
       [=](Things& t) { vmap(product, {0})(t.x, t.x); },
       {"vmap", "1 in_dims", "2 arguments"}},
      {"vmap over a single number",
       Kind::kShape,
       [=](Things&) { vmap(square)(ones({})); },
       {"vmap", "argument 0", "none"}},
      {"vmap over different numbers of samples",
       Kind::kShape,
       [=](Things& t) { vmap(product)(t.x, t.y); },
       {"vmap", "argument 0 has 2 samples", "argument 1 has 4", "[2, 3]", "[4]"}},
      {"vmap over nothing",
       Kind::kError,
       [=](Things& t) {
         vmap(product, {none, none})(t.x, t.x);
       },
       {"vmap", "none of the 2 arguments"}},
      {"vmap along a dimension that is not there",
       Kind::kIndex,
       [=](Things& t) { vmap(square, {2})(t.x); },
       {"vmap", "2"}},
      {"vmap with results along a dimension that is not there",
       Kind::kIndex,
       [=](Things& t) { vmap(square, {0}, 5)(t.x); },
       {"vmap", "5"}},
      {"item in vmap",
       Kind::kError,
       [](Things& t) { vmap([](const Tensor& x) { return x * x.sum().item<float>(); })(t.x); },
       {"item", "vmap", "one for each sample", "where()"}},
      {"samples written to one tensor",
       Kind::kError,
       [](Things& t) {
         const Tensor last = zeros({3});
         vmap([&](const Tensor& x) {
           last.copy_(x);
           return x * 2;
         })(t.x);
       },
       {"vmap", "writes in place", "float32 [3]", "2 samples", "Return the new values"}},
      {"backward in vmap",
       Kind::kError,
       [](Things& t) {
         vmap([&](const Tensor& x) {
           (t.v * x).sum().backward();
           return x;
         })(t.x);
       },
       {"vmap", "backward()", "float32 [3]", "autograd::grad"}},
      {"jacobian by whole numbers",
       Kind::kType,
       [=](Things& t) { jacobian(square, t.ints); },
       {"jacobian", "input 0 is int64 [2, 3]", "floating point"}},
      {"jacobian by nothing",
       Kind::kError,
       [=](Things& t) { jacobian(square, t.none); },
       {"jacobian", "input 0 is undefined"}},
      {"jacobian of whole numbers",
       Kind::kType,
       [](Things& t) { jacobian([](const Tensor& x) { return x.to(kLong); }, t.x); },
       {"jacobian", "int64 [2, 3]", "floating point"}},
      {"hessian of many numbers",
       Kind::kShape,
       [=](Things& t) { hessian(square, t.x); },
       {"hessian", "must return one number", "[2, 3]"}},
      {"hvp with another shape",
       Kind::kShape,
       [](Things& t) { hvp([](const Tensor& x) { return (x * x).sum(); }, t.x, t.y); },
       {"hvp", "vector 0 has shape [4]", "[2, 3]"}},
      {"vjp with too many vectors",
       Kind::kError,
       [=](Things& t) {
         vjp(square, {t.x}, {t.x, t.x});
       },
       {"vjp", "2 vectors", "1 result"}},
      {"jvp with too few vectors",
       Kind::kError,
       [=](Things& t) {
         jvp(product, {t.x, t.x}, {t.x});
       },
       {"jvp", "1 vectors", "2 input"}},
      {"per-sample gradients of a constant",
       Kind::kError,
       [](Things& t) {
         per_sample_gradients([&](const Tensor& x) { return (x * t.y[0]).sum(); }, {t.y}, {t.x});
       },
       {"per_sample_gradients", "parameter 0", "does not require a gradient"}},
      {"per-sample gradients of many numbers",
       Kind::kShape,
       [](Things& t) {
         per_sample_gradients([&](const Tensor& x) { return x * t.v; }, {t.v}, {t.x});
       },
       {"per_sample_gradients", "one number for a sample", "[3]"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

}  // namespace

void add_transform_cases(std::vector<Case>& cases) {
  add_control_flow_cases(cases);
  add_derivative_cases(cases);
}

}  // namespace tandem::errors
