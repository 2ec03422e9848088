// Mistakes about compiled, traced, deferred and declared programs.
#include <exception>
#include <sstream>
#include <thread>

#include "tandem/compile/compile.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/lazy.h"
#include "tandem/compile/session.h"
#include "tandem/compile/trace.h"
#include "tandem/core/graph.h"
#include "tandem/optim/optim.h"
#include "tests/errors/error_cases.h"

namespace tandem::errors {
namespace {

// Runs something on another thread and passes on what it throws.
template <class F>
void on_another_thread(const F& f) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

void add_recording_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"compiled item",
       Kind::kError,
       [](Things& t) { compile([](const Tensor& x) { return x / x.sum().item<float>(); })(t.x); },
       {"item", "cannot be looked at while a function is being recorded", "float32 []", "where()",
        "cond()", "while_loop()"}},
      {"compiled printing",
       Kind::kError,
       [](Things& t) {
         compile([](const Tensor& x) {
           std::ostringstream out;
           out << x;
           return x + 1;
         })(t.x);
       },
       {"print", "cannot be looked at", "float32 [2, 3]"}},
      {"compiled data pointer",
       Kind::kError,
       [](Things& t) {
         compile([](const Tensor& x) {
           x.data_ptr<float>()[0] = 1;
           return x;
         })(t.x);
       },
       {"data_ptr", "cannot be looked at", "float32 [2, 3]"}},
      {"compiled equal",
       Kind::kError,
       [](Things& t) {
         compile([](const Tensor& x, const Tensor& y) { return equal(x, y) ? x : y; })(t.x, t.w);
       },
       {"equal", "cannot be looked at"}},
      {"compiled allclose",
       Kind::kError,
       [](Things& t) {
         compile([](const Tensor& x, const Tensor& y) { return allclose(x, y) ? x : y; })(t.x, t.w);
       },
       {"allclose", "cannot be looked at"}},
      {"compiled nonzero",
       Kind::kError,
       [](Things& t) { compile([](const Tensor& x) { return x.nonzero(); })(t.x); },
       {"nonzero", "the shape of the result depends on values", "masked_fill()"}},
      {"compiled mask",
       Kind::kError,
       [](Things& t) { compile([](const Tensor& x) { return x.masked_select(x > 2); })(t.x); },
       {"nonzero", "depends on values", "where()"}},
      {"compiled captured item",
       Kind::kError,
       [](Things& t) { compile([&](const Tensor& x) { return x * t.y[2].item<float>(); })(t.x); },
       {"item", "cannot be looked at", "float32 []"}},
      {"compiled wrong shapes",
       Kind::kShape,
       [](Things& t) { compile([&](const Tensor& x) { return x.mm(x); })(t.x); },
       {"mm", "2x3 and 2x3"}},
      {"compiled backward to what was computed outside",
       Kind::kError,
       [](Things& t) {
         compile([](const Tensor& x) {
           x.sum().backward();
           return x + 1;
         })(t.w * 2);
       },
       {"compile", "argument 0", "computed from something that needs a gradient", "detach()"}},
      {"compiled write to memory known twice",
       Kind::kError,
       [](Things& t) {
         const Tensor own = t.x.clone();
         compile([](const Tensor& a, const Tensor& b) {
           a.add_(1);
           return a + b;
         })(own, own);
       },
       {"compile", "writes in place", "in two ways", "clone()"}},
      {"compiled write of what needs a gradient",
       Kind::kError,
       [](Things& t) {
         const Tensor kept = t.x.clone();
         compile([&](const Tensor& w) {
           kept.copy_(w * 2);
           return w.sum();
         })(t.w);
       },
       {"compile", "tensor from outside", "float32 [2, 3]", "needs a gradient", "NoGradGuard"}},
      {"tensor that left a recording",
       Kind::kError,
       [](Things& t) {
         Tensor leaked;
         compile([&](const Tensor& x) { return leaked = x + 1, x * 2; })(t.x);
         leaked.sum().item<float>();
       },
       {"recorded", "Return it from the function"}},
      {"tensor of another recording",
       Kind::kError,
       [](Things& t) {
         Tensor leaked;
         compile([&](const Tensor& x) { return leaked = x + 1, x * 2; })(t.x);
         compile([&](const Tensor& x) { return x + leaked; })(t.x);
       },
       {"float32 [2, 3]", "recording has ended", "Return it from that function"}},
      {"compiled function with a memory",
       Kind::kError,
       [](Things& t) {
         int calls = 0;
         compile([&](const Tensor& x) { return x + ++calls; }, {.verify = true})(t.x);
       },
       {"compile (verify)", "result 0", "float32 [2, 3]", "differs", "by up to 1"}},
      {"graph of what was never called",
       Kind::kError,
       [](Things&) { compile([](const Tensor& x) { return x; }).graph(); },
       {"graph", "has not been called"}},
      {"compiled backward twice",
       Kind::kError,
       [](Things& t) {
         const Tensor y = compile([](const Tensor& w) { return (w * w).sum(); })(t.w);
         y.backward();
         y.backward();
       },
       {"backward of a compiled function", "a second time", "retain_graph=true"}},
      {"compiled input overwritten",
       Kind::kError,
       [](Things& t) {
         const Tensor a = t.x.clone();
         const Tensor y =
             compile([](const Tensor& w, const Tensor& a) { return (w * a).sum(); })(t.w, a);
         a.zero_();
         y.backward();
       },
       {"backward of a compiled function", "modified by an inplace", "float32 [2, 3]", "fill_",
        "clone()"}},
      {"compiled index out of range",
       Kind::kIndex,
       [](Things& t) {
         compile([](const Tensor& x, const Tensor& i) { return x.index_select(1, i); })(
             t.x, tensor({0, 3}));
       },
       {"index 3 is out of bounds", "dimension 1 with size 3"}},
      {"trace that looks",
       Kind::kError,
       [](Things& t) {
         trace([](const Tensor& x) { return x.sum().item<float>() > 0 ? x : -x; }, {t.x});
       },
       {"item", "cannot be looked at", "cond()"}},
      {"trace that gives nothing",
       Kind::kError,
       [](Things& t) { trace([](const Tensor&) { return Tensor(); }, {t.x}); },
       {"trace", "undefined"}},
      {"traced graph with too few arguments",
       Kind::kError,
       [](Things& t) {
         trace([](const Tensor& a, const Tensor& b) { return a + b; }, {t.x, t.w}).run({t.x});
       },
       {"run", "takes 2 arguments", "1 given"}},
      {"traced graph with another type",
       Kind::kType,
       [](Things& t) { trace([](const Tensor& a) { return a + 1; }, {t.x}).run({t.wide}); },
       {"run", "argument 0 is float64 [2, 3]", "wants float32 [2, 3]"}},
      {"read graph without what it captured",
       Kind::kError,
       [](Things& t) {
         const Graph g = trace([&](const Tensor& a) { return a + t.m; }, {t.v});
         Graph::parse(g.str()).run({t.v});
       },
       {"run", "captured tensor 1 is undefined", "read from text"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

void add_lazy_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"lazy wrong shapes",
       Kind::kShape,
       [](Things& t) {
         const LazyGuard lazy;
         t.x.mm(t.x);
       },
       {"mm", "2x3 and 2x3"}},
      {"lazy index out of range",
       Kind::kIndex,
       [](Things& t) {
         const LazyGuard lazy;
         const Tensor bad = t.x.gather(1, tensor({{0, 7}}));
         eval({bad});
       },
       {"gather", "7"}},
      {"pending on another thread",
       Kind::kError,
       [](Things& t) {
         const LazyGuard lazy;
         const Tensor y = t.x + 1;
         on_another_thread([&] { y.sum().item<float>(); });
       },
       {"pending", "another thread", "eval()"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

void add_session_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"declared value looked at",
       Kind::kError,
       [](Things&) {
         graph::Builder b;
         b.placeholder({2}).sum().item<float>();
       },
       {"item", "declared, not computed", "Session::run"}},
      {"declared nonzero",
       Kind::kError,
       [](Things&) {
         graph::Builder b;
         b.placeholder({2}).nonzero();
       },
       {"nonzero", "depends on values", "declared graph"}},
      {"placeholder that is not fed",
       Kind::kError,
       [](Things&) {
         graph::Builder b;
         const Tensor x = b.placeholder({2, 3}, {}, "images");
         graph::Session(b).run(x * 2);
       },
       {"run", "placeholder 0 'images'", "float32 [2, 3]", "was not fed"}},
      {"placeholder that is fed another shape",
       Kind::kType,
       [](Things& t) {
         graph::Builder b;
         const Tensor x = b.placeholder({3, 2});
         graph::Session(b).run(x * 2, {{x, t.x}});
       },
       {"run", "placeholder 0 is float32 [3, 2]", "fed float32 [2, 3]"}},
      {"placeholder that is fed nothing",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         const Tensor x = b.placeholder({3, 2});
         graph::Session(b).run(x * 2, {{x, t.none}});
       },
       {"run", "placeholder 0", "undefined"}},
      {"feeding what is no placeholder",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         const Tensor x = b.placeholder({2, 3}), y = x * 2;
         graph::Session(b).run(y, {{x, t.x}, {y, t.x}});
       },
       {"run", "not a placeholder of this graph"}},
      {"fetching what was not declared",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         graph::Session(b).run(t.x);
       },
       {"run", "fetch 0", "not a tensor of this graph"}},
      {"fetching from another graph",
       Kind::kError,
       [](Things&) {
         graph::Builder a, b;
         graph::Session(b).run(a.placeholder({2}));
       },
       {"run", "fetch 0", "not a tensor of this graph"}},
      {"session inside of a compiled function",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         const Tensor x = b.placeholder({2, 3});
         graph::Session session(b);
         compile([&](const Tensor& v) { return session.run(x * 2, {{x, v}}); })(t.x);
       },
       {"run", "while a function is being recorded", "Run it outside"}},
      {"declared tensor in a compiled function",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         const Tensor x = b.placeholder({2, 3});
         compile([&](const Tensor& v) { return v * x; })(t.x);
       },
       {"compile", "a declared tensor (float32 [2, 3]) from outside", "Pass it as an argument"}},
      {"variable of nothing",
       Kind::kError,
       [](Things& t) { graph::Builder().variable(t.none); },
       {"variable", "initial value", "undefined"}},
      {"placeholder of unknown extent",
       Kind::kError,
       [](Things&) {
         graph::Builder().placeholder({-1, 3});
       },
       {"-1"}},
      {"assigning another type",
       Kind::kType,
       [](Things& t) {
         graph::Builder b;
         const Tensor v = b.variable(t.x);
         b.assign(v, v.to(kDouble));
       },
       {"assign", "float32 [2, 3]", "float64 [2, 3]"}},
      {"assigning to what is no variable",
       Kind::kError,
       [](Things&) {
         graph::Builder b;
         const Tensor x = b.placeholder({2});
         b.assign(x, x * 2);
       },
       {"assign", "variable()"}},
      {"assigning twice in one run",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         const Tensor v = b.variable(t.x);
         graph::Session(b).run({b.assign(v, v + 1), b.assign(v, v + 2)});
       },
       {"run", "two of the fetches assign", "variable 0"}},
      {"minimizing several numbers",
       Kind::kShape,
       [](Things& t) {
         graph::Builder b;
         b.minimize(b.variable(t.x) * 2, optim::SGDOptions(0.1));
       },
       {"minimize", "single number", "float32 [2, 3]"}},
      {"minimizing what depends on nothing",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         b.variable(t.x);
         b.minimize(b.placeholder({2}).sum(), optim::AdamOptions(0.1));
       },
       {"minimize", "does not depend on any variable"}},
      {"gradients of what was not declared",
       Kind::kError,
       [](Things& t) {
         graph::Builder b;
         b.gradients(t.w.sum(), {t.w});
       },
       {"gradients", "the loss", "not a tensor of this graph"}},
      {"gradients by another number of tensors",
       Kind::kError,
       [](Things&) {
         graph::Builder b;
         const Tensor x = b.placeholder({2});
         b.gradients<2>(x.sum(), {x});
       },
       {"gradients<2>", "1 tensors"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

// A graph of two lines, with something wrong in it.
Case parsed(const char* name, std::string text, std::vector<std::string> says) {
  return {name, Kind::kError, [text](Things&) { Graph::parse(text); }, std::move(says)};
}

void add_parse_cases(std::vector<Case>& cases) {
  const std::string head = "graph(%0)\n%0 = input : float32 [2]\n", end = "return %1\n";
  const std::vector<Case> own = {
      parsed("text of no graph", "hello\n", {"line 1", "graph"}),
      parsed("graph with an unknown op", head + "%1 = tanhh(%0) : float32 [2]\n" + end,
             {"line 3", "no op 'tanhh'", "did you mean tanh?"}),
      parsed("graph with a value from nowhere", head + "%1 = tanh(%7) : float32 [2]\n" + end,
             {"line 3", "%7 is not defined before it is used"}),
      parsed("graph with a value twice",
             head + "%1 = tanh(%0) : float32 [2]\n%1 = exp(%0) : float32 [2]\n" + end,
             {"line 4", "%1 is defined twice"}),
      parsed("graph with a wrong type", head + "%1 = tanh(%0) : float64 [2]\n" + end,
             {"line 3", "tanh gives float32 [2], not float64 [2]"}),
      parsed("graph with too many inputs", head + "%1 = tanh(%0, %0) : float32 [2]\n" + end,
             {"line 3", "tanh", "takes 1 input, 2 given"}),
      parsed("graph with attributes where there are none",
             head + "%1 = tanh(%0) {a=1} : float32 [2]\n" + end, {"line 3", "no attributes"}),
      parsed("graph without an end", head + "%1 = tanh(%0) : float32 [2]\n", {"return"}),
      parsed("graph with an input that is not listed",
             "graph()\n%0 = input : float32 [2]\nreturn %0\n",
             {"line 2", "input %0 is not listed in the first line"}),
      parsed("graph that writes to a result",
             head + "%1 = tanh(%0) : float32 [2]\n" + end + "write %1 <- %0\n",
             {"line 5", "%1 is not an input"}),
      parsed("graph that writes another type",
             head + "%1 = isnan(%0) : bool [2]\n" + end + "write %0 <- %1\n",
             {"line 5", "bool [2]", "cannot be written to float32 [2]"}),
      parsed("graph that is cut off", head + "%1 = tanh(%0", {"line 3"}),
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

}  // namespace

void add_compile_cases(std::vector<Case>& cases) {
  add_recording_cases(cases);
  add_lazy_cases(cases);
  add_session_cases(cases);
  add_parse_cases(cases);
}

}  // namespace tandem::errors
