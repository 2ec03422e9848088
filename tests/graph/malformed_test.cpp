#include <gtest/gtest.h>

#include <random>

#include "tandem/autograd/autograd.h"
#include "tandem/core/graph.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

struct Case {
  const char* text;
  const char* message;  // what the error must contain
};

// Two lines that many cases begin with.
#define HEAD "graph(%0)\n%0 = input : float32 [3, 4]\n"

const Case kCases[] = {
    // -- the first line
    {"", "line 1, column 1: expected 'graph', found the end of the text"},
    {"grape()", "line 1, column 1: expected 'graph', found 'grape'"},
    {"graph", "line 1, column 6: expected '(', found the end of the text"},
    {"graph(", "line 1, column 7: expected a value such as %0, found the end of the text"},
    {"graph(%)", "line 1, column 8: expected the number of a value, found ')'"},
    {"graph(%x)", "expected the number of a value, found 'x'"},
    {"graph(%99999999999)", "line 1, column 7: the number of this value is too large"},
    {"graph(%0", "line 1, column 9: expected ')', found the end of the text"},
    {"graph(%0,)", "expected a value such as %0, found ')'"},
    {"graph() capture(%1)", "expected the end of the line, found 'capture'"},
    {"graph(%0)\nreturn\n", "line 1, column 7: %0 is not defined before it is used"},
    {"graph(%0, %0)\n%0 = input : float32 []\nreturn\n", "line 1, column 11: %0 is listed twice"},
    {"graph(%0) captured(%0)\n%0 = input : float32 []\nreturn\n", "%0 is listed twice"},
    {"graph(%0)\n%0 = full() {sizes=[], dtype=float32, device=cpu, value=1} : float32 []\nreturn\n",
     "line 1, column 7: %0 is listed as an input but is full"},
    // -- inputs
    {"graph()\n%0 = input : float32 []\nreturn\n",
     "line 2, column 1: the input %0 is not listed in the first line"},
    {"graph(%0)\n%0 = input float32 []\n", "line 2, column 12: expected ':', found 'float32'"},
    {"graph(%0)\n%0 = input \"x : float32 []\n", "column 12: the text in quotes has no end"},
    {"graph(%0)\n%0 = input \"\\q\" : float32 []\n", "expected \\\", \\\\ or \\x and two digits"},
    {"graph(%0)\n%0 = input : float31 []\n", "column 14: 'float31' is not a dtype"},
    {"graph(%0)\n%0 = input : float32\n", "column 21: expected '[', found the end of the line"},
    {"graph(%0)\n%0 = input : float32 [2, -3]\n", "negative extent in [2, -3]"},
    {"graph(%0)\n%0 = input : float32 [2.5]\n", "expected a whole number, found '2'"},
    {"graph(%0)\n%0 = input : float32 [99999999999999999999]\n", "does not fit 64 bits"},
    {"graph(%0)\n%0 = input : float32 [4611686018427387904, 4]\n", "are too large"},
    {"graph(%0)\n%0 = input : float32 [2] on moon\n", "Invalid device string: 'moon'"},
    {"graph(%0)\n%0 = input : float32 [2] extra\n", "expected the end of the line, found 'extra'"},
    // -- nodes
    {HEAD "%0 = neg(%0) : float32 [3, 4]\n", "line 3, column 1: %0 is defined twice"},
    {HEAD "%1 neg(%0)\n", "line 3, column 4: expected '=', found 'neg'"},
    {HEAD "%1 = (%0)\n", "column 6: expected the name of an op, found '('"},
    {HEAD "%1 = tanhh(%0) : float32 [3, 4]\n",
     "line 3, column 6: there is no op 'tanhh' (did you mean tanh?)"},
    {HEAD "%1 = softmx(%0)\n", "(did you mean softmax?)"},
    {HEAD "%1 = neg %0\n", "column 10: expected '(', found '%'"},
    {HEAD "%1 = neg(%2) : float32 [3, 4]\n", "column 10: %2 is not defined before it is used"},
    {HEAD "%1 = neg(%1) : float32 [3, 4]\n", "column 10: %1 is not defined before it is used"},
    {HEAD "%1 = neg(%0.1) : float32 [3, 4]\n", "%0 has 1 output, there is no output 1"},
    {HEAD "%1 = sort(%0) {dim=1, descending=true, k=-1} : float32 [3, 4], int64 [3, 4]\n"
          "%2 = neg(%1) : float32 [3, 4]\n",
     "line 4, column 10: %1 has 2 outputs: write which, as in %1.0"},
    {HEAD "%1 = neg(%0, %0) : float32 [3, 4]\n", "neg: takes 1 input, 2 given"},
    {HEAD "%1 = mul(%0) : float32 [3, 4]\n", "mul: takes 2 inputs, 1 given"},
    {HEAD "%1 = neg() : float32 [3, 4]\n", "neg: takes 1 input, 0 given"},
    {HEAD "%1 = neg(%0)\n", "column 13: expected ':', found the end of the line"},
    {HEAD "%1 = neg(%0) : float32 [4, 3]\n",
     "line 3, column 16: neg gives float32 [3, 4], not float32 [4, 3]"},
    {HEAD "%1 = neg(%0) : float64 [3, 4]\n", "neg gives float32 [3, 4], not float64 [3, 4]"},
    {HEAD "%1 = neg(%0) : weak float32 [3, 4]\n", "not weak float32 [3, 4]"},
    {HEAD "%1 = neg(%0) : float32 [3, 4], float32 [3, 4]\n", "neg has 1 output, 2 types are given"},
    {HEAD "%1 = nonzero(%0) : int64 [3, 2]\n", "depends on values"},
    // -- attributes
    {HEAD "%1 = mul(%0, %0) {a=1} : float32 [3, 4]\n", "column 18: mul has no attributes"},
    {HEAD "%1 = sum(%0) : float32 []\n", "expected '{' and the attributes of sum, found ':'"},
    {HEAD "%1 = sum(%0) {} : float32 []\n", "column 15: expected the field 'dims', found '}'"},
    {HEAD "%1 = sum(%0) {dims=[0]} : float32 [4]\n", "expected ',' and the field 'keepdim'"},
    {HEAD "%1 = sum(%0) {keepdim=true} : float32 []\n",
     "expected the field 'dims', found 'keepdim'"},
    {HEAD "%1 = sum(%0) {dims=0, keepdim=true, dtype=undefined} : float32 []\n",
     "column 20: expected '[', found '0'"},
    {HEAD "%1 = sum(%0) {dims=[0, keepdim=true, dtype=undefined} : float32 []\n",
     "expected a whole number, found 'keepdim'"},
    {HEAD "%1 = sum(%0) {dims=[0], keepdim=yes, dtype=undefined} : float32 [1, 4]\n",
     "expected true or false, found 'yes'"},
    {HEAD "%1 = sum(%0) {dims=[0], keepdim=true, dtype=float} : float32 [1, 4]\n",
     "'float' is not a dtype"},
    {HEAD "%1 = sum(%0) {dims=[7], keepdim=false, dtype=undefined} : float32 [3, 4]\n", "sum"},
    {HEAD "%1 = sum(%0) {dims=[-1], keepdim=false, dtype=undefined} : float32 [3]\n", "sum"},
    {HEAD "%1 = add(%0, %0) {a=one, b=0, c=0} : float32 [3, 4]\n",
     "expected a number, found 'one'"},
    {HEAD "%1 = add(%0, %0) {a=1e999, b=0, c=0} : float32 [3, 4]\n", "does not fit a float64"},
    // -- views
    {HEAD "%1 = permute(%0) {dims=[0, 5]} : float32 [3, 4]\n", "permute"},
    {HEAD "%1 = permute(%0) {dims=[0, 0]} : float32 [3, 3]\n", "permute"},
    {HEAD "%1 = permute(%0) {dims=[1]} : float32 [4]\n", "permute"},
    {HEAD "%1 = slice(%0) {dim=2, start=0, length=1, step=1} : float32 [3, 4]\n", "slice"},
    {HEAD "%1 = slice(%0) {dim=-1, start=0, length=1, step=1} : float32 [3, 4]\n", "slice"},
    {HEAD "%1 = slice(%0) {dim=0, start=2, length=2, step=1} : float32 [2, 4]\n", "slice"},
    {HEAD "%1 = slice(%0) {dim=0, start=-1, length=2, step=1} : float32 [2, 4]\n", "slice"},
    {HEAD "%1 = slice(%0) {dim=0, start=0, length=2, step=-1} : float32 [2, 4]\n", "slice"},
    {HEAD "%1 = slice(%0) {dim=0, start=0, length=2, step=9223372036854775807} : float32 [2, 4]\n",
     "slice"},
    {HEAD "%1 = select(%0) {dim=0, index=3} : float32 [4]\n", "select"},
    {HEAD "%1 = select(%0) {dim=0, index=-1} : float32 [4]\n", "select"},
    {HEAD "%1 = select(%0) {dim=4, index=0} : float32 [4]\n", "select"},
    {HEAD "%1 = expand(%0) {sizes=[3]} : float32 [3]\n", "expand"},
    {HEAD "%1 = expand(%0) {sizes=[5, 4]} : float32 [5, 4]\n", "expand"},
    {HEAD "%1 = expand(%0) {sizes=[-3, 3, 4]} : float32 [3, 4]\n", "expand"},
    {HEAD "%1 = view(%0) {sizes=[5]} : float32 [5]\n", "view"},
    {HEAD "%1 = permute(%0) {dims=[1, 0]} : float32 [4, 3]\n"
          "%2 = view(%1) {sizes=[12]} : float32 [12]\n",
     "line 4, column 6: view: view size is not compatible"},
    {HEAD "%1 = as_strided(%0) {sizes=[2, 2], strides=[1, 1], offset=11, in_strides=[4, 1]}"
          " : float32 [2, 2]\n",
     "reaches outside"},
    {HEAD "%1 = as_strided(%0) {sizes=[2, 2], strides=[9223372036854775807, 1], offset=0, "
          "in_strides=[4, 1]} : float32 [2, 2]\n",
     "reaches outside"},
    {HEAD
     "%1 = as_strided(%0) {sizes=[2], strides=[-1], offset=1, in_strides=[4, 1]} : float32 [2]\n",
     "as_strided"},
    {HEAD "%1 = as_strided(%0) {sizes=[2, 2], strides=[1], offset=0, in_strides=[4, 1]}"
          " : float32 [2, 2]\n",
     "as_strided"},
    {HEAD "%1 = unfold(%0) {dim=5, size=2, step=1} : float32 [3, 3, 2]\n", "unfold"},
    {HEAD "%1 = unfold(%0) {dim=1, size=9, step=1} : float32 [3, 1, 9]\n", "unfold"},
    {HEAD "%1 = unfold(%0) {dim=1, size=2, step=0} : float32 [3, 3, 2]\n", "unfold"},
    {HEAD "%1 = diagonal(%0) {offset=0, dim1=0, dim2=7} : float32 [3]\n", "diagonal"},
    {HEAD "%1 = diagonal(%0) {offset=0, dim1=0, dim2=0} : float32 [3]\n", "diagonal"},
    {HEAD "%1 = view_scatter(%0) {chain=[], strides=[]} : float32 [3, 4]\n", "takes 2 inputs"},
    {HEAD "%1 = view_scatter(%0, %0) {chain=[neg()], strides=[]} : float32 [3, 4]\n",
     "neg is not a view"},
    {HEAD "%1 = view_scatter(%0, %0) {chain=[select(dim=0, index=1)], strides=[]}"
          " : float32 [3, 4]\n",
     "the part is float32 [4]"},
    {HEAD "%1 = neg(%0) : float32 [3, 4]\n"
          "%2 = view_scatter(%0, %1) {chain=[], strides=[1000000, 1]} : float32 [3, 4]\n",
     "spread"},
    // -- other ops that look into their attributes
    {HEAD "%1 = cat(%0, %0) {dim=3, lengths=[3, 3]} : float32 [6, 4]\n", "cat"},
    {HEAD "%1 = cat(%0, %0) {dim=0, lengths=[3, 300]} : float32 [6, 4]\n", "cat"},
    {HEAD "%1 = cat() {dim=0, lengths=[]} : float32 [6, 4]\n", "cat"},
    {HEAD "%1 = softmax(%0) {dim=2, dtype=undefined} : float32 [3, 4]\n", "softmax"},
    {HEAD "%1 = cumsum(%0) {dim=-5, dtype=undefined, reverse=false} : float32 [3, 4]\n", "cumsum"},
    {HEAD "%1 = sort(%0) {dim=9, descending=false, k=-1} : float32 [3, 4], int64 [3, 4]\n", "sort"},
    {HEAD "%1 = topk(%0) {dim=1, descending=false, k=40} : float32 [3, 40], int64 [3, 40]\n",
     "topk"},
    {HEAD "%1 = flip(%0) {dims=[3]} : float32 [3, 4]\n", "flip"},
    {HEAD "%1 = roll(%0) {dim=3, shift=1} : float32 [3, 4]\n", "roll"},
    {"graph(%0)\n%0 = input : float32 []\n%1 = roll(%0) {dim=0, shift=1} : float32 []\nreturn %1\n",
     "roll: a 0-d tensor has no dimension"},
    {HEAD "%1 = full() {sizes=[-1], dtype=float32, device=cpu, value=1} : float32 [1]\n", "full"},
    {HEAD "%1 = full() {sizes=[2], dtype=undefined, device=cpu, value=1} : float32 [2]\n", "full"},
    {HEAD "%1 = full() {sizes=[4611686018427387904, 4], dtype=float32, device=cpu, value=1}"
          " : float32 [2]\n",
     "full"},
    {HEAD "%1 = eye() {rows=-2, columns=2, dtype=float32, device=cpu} : float32 [2, 2]\n", "eye"},
    // -- constants
    {"graph()\n%0 = constant() {value=float32 [2] [1]} : float32 [2]\n",
     "expected 2 values for [2], found 1"},
    {"graph()\n%0 = constant() {value=float32 [1] [1, 2]} : float32 [1]\n", "found 2"},
    {"graph()\n%0 = constant() {value=int8 [1] [300]} : int8 [1]\n", "not between -128 and 127"},
    {"graph()\n%0 = constant() {value=bool [1] [2]} : bool [1]\n", "expected true or false"},
    {"graph()\n%0 = constant() {value=bool [1] 0x02} : bool [1]\n", "neither 0 nor 1"},
    {"graph()\n%0 = constant() {value=float32 [1] 0x0000} : float32 [1]\n", "expected 4 bytes"},
    {"graph()\n%0 = constant() {value=float32 [1] 0x000} : float32 [1]\n", "found 3 digits"},
    {"graph()\n%0 = constant() {value=float32 [1099511627776] 0x00} : float32 [1099511627776]\n",
     "expected 4398046511104 bytes"},
    {"graph()\n%0 = constant() {value=undefined [] []} : undefined []\n", "needs a dtype"},
    {"graph()\n%0 = constant() {value=float32 [] on meta [1]} : float32 []\n", "on meta"},
    {"graph()\n%0 = constant() {value=weak float32 [2] [1, 2]} : weak float32 [2]\n",
     "only a 0-d constant can be weak"},
    // -- the end
    {HEAD, "line 3, column 1: expected 'return', found the end of the text"},
    {HEAD "return %5\n", "line 3, column 8: %5 is not defined before it is used"},
    {HEAD "return %0,\n", "expected a value such as %0, found the end of the line"},
    {HEAD "return %0\nreturn %0\n", "expected 'write' or the end of the text, found 'return'"},
    {HEAD "return %0\nwrite %0\n", "line 4, column 9: expected '<-', found the end of the line"},
    {HEAD "%1 = neg(%0) : float32 [3, 4]\nreturn\nwrite %1 <- %0\n",
     "line 5, column 7: %1 is not an input"},
    {HEAD "return\nwrite %0 <- %0\nwrite %0 <- %0\n", "line 5, column 7: %0 is written twice"},
    {HEAD "%1 = sum(%0) {dims=[0], keepdim=false, dtype=undefined} : float32 [4]\n"
          "return\nwrite %0 <- %1\n",
     "a value of float32 [4] cannot be written to float32 [3, 4]"},
};

std::string error_of_text(std::string_view text) {
  try {
    Graph::parse(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(MalformedGraphs, EachIsRefusedWithItsMessage) {
  EXPECT_GE(std::size(kCases), 40u);
  for (const Case& c : kCases) {
    const std::string message = error_of_text(c.text);
    EXPECT_EQ(message.rfind("graph text, line ", 0), 0u) << message << "\n" << c.text;
    EXPECT_NE(message.find(c.message), std::string::npos)
        << "got:    " << message << "\nwanted: " << c.message << "\nfor:\n"
        << c.text;
  }
}

// Texts that are nearly right, cut and changed at random: any answer will do but a crash. Those
// that are accepted are run where they are small.
TEST(MalformedGraphs, RandomDamage) {
  const std::string texts[] = {
      "graph(%0, %1) captured(%2)\n"
      "%0 = input \"x\" : float32 [3, 4]\n"
      "%1 = input : int64 [2]\n"
      "%2 = input \"w\" : float32 [4]\n"
      "%3 = add(%0, %2) {a=1, b=0, c=0} : float32 [3, 4]\n"
      "%4 = slice(%3) {dim=1, start=1, length=2, step=1} : float32 [3, 2]\n"
      "%5 = permute(%4) {dims=[1, 0]} : float32 [2, 3]\n"
      "%6 = constant() {value=float32 [2, 1] [1, -2.5]} : float32 [2, 1]\n"
      "%7 = mul(%5, %6) : float32 [2, 3]\n"
      "%8 = sort(%7) {dim=1, descending=true, k=-1} : float32 [2, 3], int64 [2, 3]\n"
      "%9 = sum(%8.0) {dims=[0], keepdim=false, dtype=undefined} : float32 [3]\n"
      "%10 = select(%3) {dim=0, index=2} : float32 [4]\n"
      "%11 = view_scatter(%3, %10) {chain=[select(dim=0, index=1)], strides=[]} : float32 [3, 4]\n"
      "%12 = cat(%0, %11) {dim=0, lengths=[3, 3]} : float32 [6, 4]\n"
      "return %9, %12\n"
      "write %2 <- %10\n",
      "graph(%0)\n"
      "%0 = input : float32 [4, 6]\n"
      "%1 = view(%0) {sizes=[2, 2, 6]} : float32 [2, 2, 6]\n"
      "%2 = expand(%1) {sizes=[3, 2, 2, 6]} : float32 [3, 2, 2, 6]\n"
      "%3 = unfold(%0) {dim=1, size=2, step=2} : float32 [4, 3, 2]\n"
      "%4 = diagonal(%0) {offset=1, dim1=0, dim2=1} : float32 [4]\n"
      "%5 = as_strided(%0) {sizes=[2, 2], strides=[3, 1], offset=2, in_strides=[6, 1]}"
      " : float32 [2, 2]\n"
      "%6 = softmax(%0) {dim=1, dtype=undefined} : float32 [4, 6]\n"
      "%7 = flip(%6) {dims=[0]} : float32 [4, 6]\n"
      "%8 = cumsum(%7) {dim=1, dtype=undefined, reverse=false} : float32 [4, 6]\n"
      "return %2, %3, %4, %5, %8\n",
  };
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  const std::string letters = "0123456789-%.,:=()[]{}\"\\ \nabcdefnrtu";
  size_t accepted = 0;
  for (int i = 0; i < 30000; ++i) {
    std::string text = texts[below(std::size(texts))];
    for (size_t k = 1 + below(3); k > 0; --k) {
      const size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = letters[below(letters.size())];
          break;
        case 1:
          text.insert(at, 1, letters[below(letters.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(4));
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(30)));
          break;
        default:  // another digit
          for (size_t j = at; j < text.size(); ++j)
            if (text[j] >= '0' && text[j] <= '9') {
              text[j] = static_cast<char>('0' + below(10));
              break;
            }
      }
      if (text.empty()) text = "x";
    }
    try {
      const Graph g = Graph::parse(text);
      ++accepted;
      std::vector<Tensor> args;
      int64_t total = 0;
      for (const NodePtr& n : g.nodes)
        for (uint32_t k = 0; k < n->n_outputs; ++k) total += numel_of(n->outputs()[k].sizes);
      if (total > 100000) continue;
      for (const NodePtr& n : g.inputs) {
        const TensorType& t = n->outputs()[0];
        args.push_back(t.dtype == DType::Undefined
                           ? Tensor()
                           : zeros(t.sizes, TensorOptions(t.dtype).device(t.device)));
      }
      g.run(args);
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 100u);
}

TEST(MalformedGraphs, NestingHasAnEnd) {
  std::string text = "graph()\n%0 = constant() {value=";
  for (int i = 0; i < 100000; ++i) text += '[';
  EXPECT_NE(error_of_text(text).find("line 2"), std::string::npos);
}

}  // namespace
}  // namespace tandem
