// Networks whose layers do not fit together: the message names the layer with its path, and both
// shapes.
#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tests/errors/error_cases.h"

namespace tandem::errors {

namespace {

/// A user's module that calls its layers by ->, in a forward() that says nothing of itself.
struct NetImpl : nn::Module {
  NetImpl()
      : body(register_module("body", nn::Sequential(nn::Linear(6, 4), nn::Tanh()))),
        head(register_module("head", nn::Linear(5, 2))) {}
  Tensor forward(const Tensor& x) { return head->forward(body->forward(x)); }
  nn::Sequential body;
  nn::Linear head;
};
TANDEM_MODULE(Net);

}  // namespace

// Not inlined: the compiler would warn of the null pointer that the holder refuses to give.
[[gnu::noinline]] static nn::Linear empty_holder() { return nullptr; }

void add_nn_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"input of a Sequential with other features",
       Kind::kShape,
       [](Things& t) { nn::Sequential(nn::Linear(4, 5), nn::ReLU())->forward(t.x); },
       {"linear", "2x3", "4x5", "(in Sequential -> 0: Linear(in_features=4, out_features=5"}},
      {"two layers of a Sequential that do not fit",
       Kind::kShape,
       [](Things& t) {
         nn::Sequential(nn::Linear(3, 8), nn::ReLU(), nn::Linear(10, 5))->forward(t.x);
       },
       {"2x8", "10x5", "(in Sequential -> 2: Linear(in_features=10, out_features=5"}},
      {"layers of a user's module that do not fit",
       Kind::kShape,
       [](Things&) {
         Net()->forward(ones({3, 6}));
       },
       {"3x4", "5x2", "(in Net -> head: Linear(in_features=5, out_features=2"}},
      {"input of a user's module with other features",
       Kind::kShape,
       [](Things&) {
         Net()->forward(ones({3, 7}));
       },
       {"3x7", "6x4", "(in Net -> body: Sequential -> 0: Linear(in_features=6, out_features=4"}},
      {"the same while compiling",
       Kind::kShape,
       [](Things&) {
         Net net;
         compile([&](const Tensor& x) { return net(x); })(ones({3, 7}));
       },
       {"3x7", "6x4", "(in Net -> body: Sequential -> 0: Linear(in_features=6, out_features=4"}},
      {"convolution of other channels",
       Kind::kError,
       [](Things&) {
         nn::Sequential(nn::Conv2d(3, 4, 3), nn::ReLU(), nn::Conv2d(8, 4, 3))
             ->forward(ones({1, 3, 9, 9}));
       },
       {"[4, 8, 3, 3]", "[1, 4, 7, 7]", "(in Sequential -> 2: Conv2d(8, 4"}},
      {"convolution of an image without channels",
       Kind::kError,
       [](Things&) {
         nn::Sequential(nn::Conv2d(3, 4, 3))->forward(ones({9, 9}));
       },
       {"[9, 9]", "(in Sequential -> 0: Conv2d(3, 4"}},
      {"image smaller than the kernel",
       Kind::kError,
       [](Things&) {
         nn::Sequential(nn::Conv2d(3, 4, 5))->forward(ones({1, 3, 4, 4}));
       },
       {"(in Sequential -> 0: Conv2d(3, 4"}},
      {"forgotten Flatten",
       Kind::kShape,
       [](Things&) {
         nn::Sequential(nn::Conv2d(1, 2, 3), nn::MaxPool2d(2), nn::Linear(18, 10))
             ->forward(ones({5, 1, 8, 8}));
       },
       {"(in Sequential -> 2: Linear(in_features=18, out_features=10"}},
      {"batch norm of other features",
       Kind::kError,
       [](Things& t) { nn::Sequential(nn::Linear(3, 4), nn::BatchNorm1d(5))->forward(t.x); },
       {"4", "5", "(in Sequential -> 1: BatchNorm1d(5"}},
      {"batch norm of images given rows",
       Kind::kError,
       [](Things& t) { nn::Sequential(nn::BatchNorm2d(3))->forward(t.x); },
       {"(in Sequential -> 0: BatchNorm2d(3"}},
      {"layer norm of other features",
       Kind::kError,
       [](Things& t) { nn::Sequential(nn::LayerNorm(nn::LayerNormOptions({4})))->forward(t.x); },
       {"[4]", "[2, 3]", "(in Sequential -> 0: LayerNorm([4]"}},
      {"LSTM of other features",
       Kind::kError,
       [](Things&) {
         nn::LSTM(4, 5)(ones({7, 2, 3}));
       },
       {"3", "4", "(in LSTM(input_size=4, hidden_size=5"}},
      {"embedding of numbers that are not whole",
       Kind::kError,
       [](Things& t) { nn::Sequential(nn::Embedding(10, 3))->forward(t.x); },
       {"(in Sequential -> 0: Embedding(num_embeddings=10, embedding_dim=3"}},
      {"pooling of a row",
       Kind::kError,
       [](Things& t) { nn::Sequential(nn::MaxPool2d(2))->forward(t.y); },
       {"[4]", "(in Sequential -> 0: MaxPool2d("}},
      {"value of another type",
       Kind::kType,
       [](Things&) { nn::Sequential(nn::Linear(3, 4))->forward(1.5); },
       {"Expected argument #0", "double", "(in Sequential -> 0: Linear("}},
      {"result of another type",
       Kind::kType,
       [](Things& t) { nn::Sequential(nn::Linear(3, 4))->forward<double>(t.x); },
       {"The type of the return value is", "double"}},
      {"an empty Sequential",
       Kind::kError,
       [](Things& t) { nn::Sequential()->forward(t.x); },
       {"Cannot call forward() on an empty Sequential"}},
      {"an empty holder",
       Kind::kError,
       [](Things& t) { empty_holder()->forward(t.x); },
       {"Accessing empty ModuleHolder"}},
      {"a name twice",
       Kind::kError,
       [](Things&) {
         nn::Sequential({{"a", nn::Linear(1, 1)}, {"a", nn::Linear(1, 1)}});
       },
       {"Submodule 'a' already defined"}},
      {"a parameter that is not there",
       Kind::kIndex,
       [](Things&) { nn::Linear(1, 1)->named_parameters()["weights"]; },
       {"Parameter 'weights' is not defined"}},
      {"a clone of a class without one",
       Kind::kError,
       [](Things&) { Net()->clone(); },
       {"clone() has not been implemented", "Net", "Cloneable"}},
      {"gradients that are not finite",
       Kind::kError,
       [](Things&) {
         Tensor p = zeros({2}, requires_grad());
         (p * std::numeric_limits<float>::infinity()).sum().backward();
         nn::utils::clip_grad_norm_(p, 1, 2, true);
       },
       {"The total norm of order 2", "non-finite"}},
      {"a vector of the wrong length for parameters",
       Kind::kShape,
       [](Things& t) { nn::utils::vector_to_parameters(t.y, nn::Linear(3, 4)->parameters()); },
       {"vector_to_parameters", "16", "[4]"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

}  // namespace tandem::errors
