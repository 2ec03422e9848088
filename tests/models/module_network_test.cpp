// Networks put together by programs: reading programs, running them, modules of one's own,
// mistakes.
#include "tandem/models/module_network.h"

#include <gtest/gtest.h>

#include "tandem/compile/compile.h"
#include "tandem/models/scene_modules.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

ModuleNetworkOptions small_network() {
  return ModuleNetworkOptions(3, 4)
      .hidden_size(5)
      .patch(2)
      .relocate_width(3)
      .find({"red", "square"})
      .relocate({"left_of"})
      .describe({"shape"})
      .measure({"count"})
      .compare({"more"});
}

// Programs that between them use every module.
const std::vector<ModuleProgram> kPrograms = {"count(and(red, left_of(square)))",
                                              "shape(or(red, not(square)))", "more(red, square)",
                                              "count(and(red, left_of(square)))"};

std::string calls_of(const ModuleProgram& program) {
  std::string text;
  for (const auto& call : program.calls()) text += str(call.name, "/", call.arguments, " ");
  return text;
}

TEST(ModuleProgram, IsReadFromText) {
  EXPECT_EQ(calls_of("count(and(red, left_of(square)))"),
            "red/0 square/0 left_of/1 and/2 count/1 ");
  EXPECT_EQ(calls_of("  a "), "a/0 ");
  EXPECT_EQ(calls_of("f(a,g(b,c),h(d))"), "a/0 b/0 c/0 g/2 d/0 h/1 f/3 ");
  const ModuleProgram spaced(" count ( and( red ,\tsquare_2 ) )\n");
  EXPECT_EQ(spaced.str(), "count(and(red,square_2))");
  EXPECT_EQ(test::printed(spaced), "count(and(red,square_2))");
  EXPECT_TRUE(spaced == ModuleProgram("count(and(red,square_2))"));
  EXPECT_EQ(ModuleProgram(spaced.str()).str(), spaced.str());
  // Nesting has no limit but memory.
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "not(";
  deep += "red" + std::string(20000, ')');
  EXPECT_EQ(ModuleProgram(deep).calls().size(), 20001u);
}

TEST(ModuleProgram, SaysWhereATextIsWrong) {
  expect_error([] { ModuleProgram(""); }, "expected the name of a module at 0 of '', got the end");
  expect_error([] { ModuleProgram("count()"); },
               "expected the name of a module at 6 of 'count()', got ')'");
  expect_error([] { ModuleProgram("count(red"); },
               "expected ',' or ')' at 9 of 'count(red', got the end");
  expect_error([] { ModuleProgram("and(red square)"); }, "expected ',' or ')' at 8");
  expect_error([] { ModuleProgram("and(red,)"); }, "expected the name of a module at 8");
  expect_error([] { ModuleProgram("red)"); }, "expected nothing more at 3 of 'red)', got ')'");
  expect_error([] { ModuleProgram("red blue"); }, "expected nothing more at 4");
  expect_error([] { ModuleProgram("count(re-d)"); }, "at 8 of 'count(re-d)', got '-'");
}

TEST(ModuleNetwork, AnswersEachQuestionWithItsProgram) {
  manual_seed(0);
  const NoGradGuard no_grad;
  ModuleNetwork net(small_network());
  const Tensor scenes = randn({4, 3, 6, 8});
  EXPECT_EQ(net->run(scenes, "red").sizes(), (IntArrayRef{4, 1, 3, 4}));
  const Tensor answers = net(scenes, kPrograms);
  EXPECT_EQ(answers.sizes(), (IntArrayRef{4, 4}));
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_TRUE(allclose(net->run(scenes.narrow(0, i, 1), kPrograms[static_cast<size_t>(i)])[0],
                         answers[i], 1e-5, 1e-6));
  // And, or and not are those of probabilities.
  const Tensor a = net->run(scenes, "red"), b = net->run(scenes, "square");
  EXPECT_TRUE(equal(net->run(scenes, "and(red, square)"), a * b));
  EXPECT_TRUE(equal(net->run(scenes, "or(red, square)"), a + b - a * b));
  EXPECT_TRUE(equal(net->run(scenes, "not(red)"), 1 - a));
  EXPECT_EQ(net->module_names(), (std::vector<std::string>{"red", "square", "left_of", "and", "or",
                                                           "not", "shape", "count", "more"}));
}

TEST(ModuleNetwork, TrainsTheModulesThatAProgramUses) {
  manual_seed(1);
  ModuleNetwork net(small_network().hidden_size(16));
  const Tensor scenes = randn({16, 3, 6, 6}), classes = arange(16) % 4;
  std::vector<ModuleProgram> programs;
  for (int i = 0; i < 4; ++i) programs.insert(programs.end(), kPrograms.begin(), kPrograms.end());
  net->run(scenes, "count(red)").sum().backward();
  for (const auto& p : net->named_parameters()) {
    const bool used = p.key().rfind("see", 0) == 0 || p.key().rfind("red", 0) == 0 ||
                      p.key().rfind("count", 0) == 0;
    EXPECT_EQ(p.value().grad().defined(), used) << p.key();
  }
  net->zero_grad();
  expect_gradients_reach(net, cross_entropy_loss(net(scenes, programs), classes));
}

TEST(ModuleNetwork, HasTheRightGradients) {
  manual_seed(2);
  ModuleNetwork net(small_network().hidden_size(2).patch(1));
  net->to(kDouble);
  const Tensor scenes = randn({4, 3, 2, 2}, kDouble), classes = tensor({0, 1, 2, 3}, kLong);
  expect_right_gradients(net, [&] { return cross_entropy_loss(net(scenes, kPrograms), classes); });
}

TEST(ModuleNetwork, CompiledProgramsAgree) {
  manual_seed(3);
  ModuleNetwork net(small_network());
  const auto compiled = compile(
      [&](const Tensor& scenes, const std::string& program) { return net->run(scenes, program); });
  const Tensor scenes = randn({4, 3, 6, 6});
  for (int round = 0; round < 2; ++round)
    for (const ModuleProgram& program : kPrograms)
      EXPECT_TRUE(allclose(compiled(scenes, program.str()), net->run(scenes, program), 1e-5, 1e-6));
  EXPECT_EQ(compiled.graph_count(), 3u);  // one for each program
}

// A module of one's own: what is seen in the upper half.
struct UpperImpl : nn::Cloneable<UpperImpl> {
  UpperImpl() { reset(); }
  void reset() override { scale = register_parameter("scale", ones({1})); }
  Tensor forward(const Tensor& seen, const Tensor& attention) {
    const Tensor rows = arange(seen.size(2)).view({-1, 1}) < seen.size(2) / 2;
    return attention * rows * scale;
  }
  Tensor scale;
};
TANDEM_MODULE(Upper);
struct CountImpl : nn::Module {
  int64_t forward(const Tensor& seen) { return seen.size(0); }
};
TANDEM_MODULE(Count);

TEST(ModuleNetwork, TakesModulesOfOnesOwn) {
  manual_seed(4);
  const NoGradGuard no_grad;
  ModuleNetwork net(small_network());
  net->add("upper", 1, Upper());
  const Tensor scenes = randn({2, 3, 4, 4});
  const Tensor upper = net->run(scenes, "upper(red)");
  EXPECT_TRUE(equal(upper.narrow(2, 0, 1), net->run(scenes, "red").narrow(2, 0, 1)));
  EXPECT_EQ(upper.narrow(2, 1, 1).abs().sum().item<float>(), 0);
  EXPECT_TRUE(net->named_parameters().contains("upper.scale"));
  // Copies have it too.
  ModuleNetwork copy(std::dynamic_pointer_cast<ModuleNetworkImpl>(net->clone()));
  EXPECT_TRUE(equal(copy->run(scenes, "count(upper(red))"), net->run(scenes, "count(upper(red))")));
  for (const Tensor& p : net->parameters()) p.zero_();
  EXPECT_TRUE(equal(copy->run(scenes, "upper(red)"), upper));
  EXPECT_EQ(copy->named_parameters().keys(), net->named_parameters().keys());

  expect_error([&] { net->add("upper", 1, Upper()); }, "there is a module 'upper' already");
  expect_error([&] { net->add("see", 1, Upper()); }, "there is a module 'see' already");
  expect_error([&] { net->add("up.per", 1, Upper()); }, "letters, digits and _, not 'up.per'");
  expect_error([&] { net->add("", 1, Upper()); }, "letters, digits and _, not ''");
  expect_error([&] { net->add("other", -1, Upper()); }, "takes -1 arguments");
  net->add("number", 0, Count());
  expect_error([&] { net->run(scenes, "number"); }, "AnyValue");
}

TEST(ModuleNetwork, FilesAndCopiesHoldTheSameNetwork) {
  manual_seed(5);
  const Tensor scenes = randn({4, 3, 6, 6});
  expect_files_and_copies<ModuleNetwork>(ModuleNetwork(small_network()),
                                         ModuleNetwork(small_network()),
                                         [&](ModuleNetwork& n) { return n(scenes, kPrograms); });
  const std::string text = test::printed(ModuleNetwork(small_network()));
  for (const char* line : {"tandem::models::ModuleNetwork(", "(red): tandem::models::FindModule(5)",
                           "(left_of): tandem::models::RelocateModule(5, width=3)",
                           "(and): tandem::models::CombineModule(and)",
                           "(count): tandem::models::MeasureModule(5, 4)"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
}

TEST(ModuleNetwork, SaysWhatIsWrong) {
  ModuleNetwork net(small_network());
  const Tensor scenes = randn({2, 3, 6, 6});
  expect_error([&] { net->run(scenes, "count(rad)"); },
               "there is no module 'rad', which the program count(rad) uses (did you mean 'red'?");
  expect_error([&] { net->run(scenes, "count(red, square)"); },
               "module 'count' takes 1 arguments, the program count(red,square) gives it 2");
  expect_error([&] { net->run(scenes, "and"); }, "module 'and' takes 2 arguments");
  expect_error([&] { net->run(scenes, "and(red, count(square))"); },
               "and: an attention [2, 1, 3, 3] is wanted, got float32 [2, 4]");
  expect_error([&] { net->run(scenes, "shape(count(red))"); }, "DescribeModule: an attention");
  expect_error(
      [&] {
        net->forward(scenes, {"count(red)", "red"});
      },
      "the program red gives [1, 1, 3, 3], not an answer [1, 4]");
  expect_error([&] { net->forward(scenes, {"count(red)"}); }, "there are 2 scenes and 1 programs");
  expect_error([&] { net->forward(scenes.narrow(0, 0, 0), {}); }, "there are 0 scenes");
  expect_error(
      [&] {
        net->run(randn({2, 4, 6, 6}), "red");
      },
      "scenes must be [batch, 3, height, width] of at least 2 pixels, not float32 [2, 4, 6, 6]");
  expect_error([&] { net->run(randn({2, 3, 1, 6}), "red"); }, "at least 2 pixels");
  expect_error([&] { net->run(Tensor(), "red"); }, "not an undefined tensor");
  expect_error([] { ModuleNetwork(ModuleNetworkOptions(0, 4)); },
               "must be positive, got 0, 4 and 32");
  expect_error([] { ModuleNetwork(small_network().relocate_width(4)); },
               "relocate_width odd, got 2 and 4");
  expect_error([] { ModuleNetwork(small_network().find({"and"})); },
               "there is a module 'and' already");
  expect_error([] { CombineModule("xor"); }, "'and' or 'or', not 'xor'");
}

}  // namespace
}  // namespace tandem::models
