// Functions that are made of others, where the op table does not look.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/numbers.h"

namespace tandem {
namespace {

void expect_near(const Numbers& got, const Numbers& wanted, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (std::isfinite(wanted[i]))
      EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << i;
    else
      EXPECT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) << i;
}

TEST(Composites, TensordotNeedsTheDimensionsItNames) {
  const char* wanted = "tensordot: Dimension specified as 0 but tensor has no dimensions";
  const Tensor number = tensor(1.5f), row = ones({3});
  EXPECT_NE(error_of([&] { tensordot(number, row, {0}, {0}); }).find(wanted), std::string::npos);
  EXPECT_NE(error_of([&] { tensordot(row, number, {0}, {0}); }).find(wanted), std::string::npos);
  EXPECT_EQ(numbers(tensordot(number, row, IntArrayRef{}, IntArrayRef{})),
            (Numbers{1.5, 1.5, 1.5}));
}

TEST(Composites, EinsumWithoutASumIsAProductOfAnyTypes) {
  const Tensor outer = einsum("i,j->ij", {make({1, 2}, {2}, kLong), make({0.5, 1.5}, {2}, kFloat)});
  EXPECT_EQ(outer.dtype(), kFloat);
  EXPECT_EQ(numbers(outer), (Numbers{0.5, 1.5, 1, 3}));
}

TEST(Composites, ComparisonsLookAtValues) {
  EXPECT_TRUE(equal(make({1, 2}, {2}, kLong), make({1, 2}, {2}, kFloat)));
  EXPECT_TRUE(equal(make({1, 2}, {2}, kLong), make({1, 2}, {2}, kInt)));
  EXPECT_FALSE(equal(make({1, 2}, {2}, kLong), make({1, 2.5}, {2}, kFloat)));
  EXPECT_FALSE(equal(make({1, 2}, {2}, kLong), make({1, 2, 3}, {3}, kFloat)));
  const Tensor x = tensor({16777217, 3}, kLong), y = tensor({16777216, 3}, kLong);
  EXPECT_EQ(numbers(isclose(x, y, 0, 0)), (Numbers{0, 1}));
  EXPECT_EQ(numbers(isclose(x, y, 0, 1)), (Numbers{1, 1}));
  EXPECT_TRUE(is_same_size(x, y));
  EXPECT_FALSE(is_same_size(x, ones({2, 1})));
  EXPECT_TRUE(is_nonzero(ones({1})));
  EXPECT_EQ(numel(ones({2, 3})), 6);
  EXPECT_TRUE(is_floating_point(ones({1})));
}

TEST(Composites, GradientsAtTheEdges) {
  EXPECT_EQ(grad_of(make({3, -3, 2, 4}, {4}), [](const Tensor& x) { return hardswish(x); })[0],
            1.5);
  const Numbers g = grad_of(make({-0.5, 0.5, 1.5}, {3}), [](const Tensor& x) { return logit(x); });
  EXPECT_TRUE(std::isnan(g[0]) && std::isnan(g[2]));
  EXPECT_NEAR(g[1], 8, 1e-12);
  EXPECT_EQ(grad_of(make({-0.5, 0.5, 1.5}, {3}), [](const Tensor& x) { return logit(x, 0.1); }),
            (Numbers{0, 8, 0}));
}

TEST(Composites, IndexSelectOfANumberIsANumber) {
  const Tensor y = tensor(1.5f).index_select(0, tensor({0}));
  EXPECT_EQ(y.dim(), 0);
  EXPECT_EQ(y.item<float>(), 1.5f);
}

TEST(Composites, FillsInOtherForms) {
  const Tensor x = ones({2});
  EXPECT_EQ(numbers(fill(x, 3)), (Numbers{3, 3}));
  EXPECT_EQ(numbers(fill(x, tensor(4))), (Numbers{4, 4}));
  EXPECT_EQ(numbers(x), (Numbers{1, 1}));
  fill_(x, 2);
  neg_(x);
  EXPECT_EQ(numbers(x), (Numbers{-2, -2}));
  EXPECT_EQ(numbers(gelu_(x.clone())), numbers(gelu(x)));
  EXPECT_EQ(numbers(gelu_(x.clone(), "tanh")), numbers(gelu(x, "tanh")));
  EXPECT_EQ(numbers(zero_(x)), (Numbers{0, 0}));
  const Tensor w = ones({1}, requires_grad()) * 2;
  EXPECT_FALSE(detach_(w).requires_grad());
}

TEST(Composites, Isin) {
  const Tensor x = make({1, 2, 3, 4}, {2, 2}, kLong);
  const Tensor found = isin(x, make({3, 2, 7}, {3}, kLong));
  EXPECT_EQ(found.sizes(), (IntArrayRef{2, 2}));
  EXPECT_EQ(numbers(found), (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(numbers(isin(x, make({2.5, 4}, {2}, kFloat), false, true)), (Numbers{1, 1, 1, 0}));
  EXPECT_EQ(numbers(isin(x, 2)), (Numbers{0, 1, 0, 0}));
  EXPECT_EQ(numbers(isin(4, x)), (Numbers{1}));
  EXPECT_EQ(isin(4, x).dim(), 0);
  EXPECT_EQ(numbers(isin(x, zeros({0}))), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(numbers(isin(make({kNan, 1}, {2}), make({kNan, 1}, {2}))), (Numbers{0, 1}));
}

TEST(Composites, Renorm) {
  const Tensor x = make({3, 4, 0.3, 0.4}, {2, 2});
  expect_near(numbers(renorm(x, 2, 0, 1)), {0.6, 0.8, 0.3, 0.4});
  expect_near(numbers(renorm(x, 1, 1, 2)), {1.8181818, 1.8181818, 0.1818182, 0.1818182});
  expect_near(grad_of(x, [](const Tensor& t) { return renorm(t, 2, 0, 1); }),
              {-0.0639999934, 0.048000006, 3, 4});
  EXPECT_EQ(grad_of(zeros({1, 2}, kDouble), [](const Tensor& t) { return renorm(t, 2, 0, 1); }),
            (Numbers{1, 2}));
  EXPECT_THROW(renorm(ones({2}), 2, 0, 1), ShapeError);
  EXPECT_THROW(renorm(x, 0, 0, 1), Error);
  EXPECT_THROW(renorm(x, 2, 0, -1), Error);
}

TEST(Composites, Windows) {
  expect_near(numbers(hann_window(4)), {0, 0.5, 1, 0.5});
  expect_near(numbers(hann_window(5, false)), {0, 0.5, 1, 0.5, 0});
  expect_near(numbers(hann_window(7, kDouble)),
              {0, 0.188255099070633, 0.611260466978157, 0.95048443395121, 0.95048443395121,
               0.611260466978157, 0.188255099070633},
              1e-14);
  expect_near(numbers(hamming_window(4)), {0.08, 0.54, 1, 0.54});
  expect_near(numbers(hamming_window(5, false, 0.5, 0.4)), {0.1, 0.5, 0.9, 0.5, 0.1});
  expect_near(numbers(hamming_window(5, true, 0.5)),
              {0.04, 0.3578522, 0.8721479, 0.8721478, 0.3578521});
  expect_near(numbers(blackman_window(5)), {0, 0.2007701, 0.8492299, 0.8492298, 0.2007701});
  expect_near(numbers(blackman_window(5, false)), {0, 0.34, 1, 0.34, 0});
  expect_near(numbers(bartlett_window(5)), {0, 0.4, 0.8, 0.8, 0.4});
  expect_near(numbers(bartlett_window(4, false)), {0, 0.6666667, 0.6666667, 0});
  expect_near(numbers(kaiser_window(5)),
              {5.2773437e-05, 0.1017197147, 0.7929394245, 0.7929394245, 0.1017197147});
  expect_near(numbers(kaiser_window(5, false, 3.0, kDouble)),
              {0.204884756401254, 0.726925530287637, 1, 0.726925530287637, 0.204884756401254},
              1e-14);
  expect_near(numbers(kaiser_window(4, true, 30.0, kDouble)),
              {1.27930848103969e-12, 0.0193193474674454, 1, 0.0193193474674454}, 1e-14);
  EXPECT_EQ(numbers(hann_window(1)), (Numbers{1}));
  EXPECT_EQ(hann_window(0).sizes(), (IntArrayRef{0}));
  EXPECT_EQ(hann_window(3).dtype(), kFloat);
  EXPECT_TRUE(hann_window(3).is_contiguous());
  EXPECT_TRUE(hann_window(3, requires_grad()).is_leaf());
  EXPECT_NE(error_of([] { hann_window(-1); }).find("requires non-negative window_length"),
            std::string::npos);
  EXPECT_NE(error_of([] { hann_window(3, kLong); }).find("expects floating point dtypes"),
            std::string::npos);
}

TEST(Composites, HistogramsHoldWhatFallsIntoBins) {
  const Tensor x = make({0, 1, 1.5, 2, 4, 9, kNan}, {7});
  const auto [held, edges] = histogram(x, 4, std::vector<double>{0, 4});
  EXPECT_EQ(numbers(held), (Numbers{1, 2, 1, 1}));  // the last bin has its end, others do not
  EXPECT_EQ(numbers(edges), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(held.dtype(), kDouble);
  const auto [own, own_edges] = make({1, 2, 5}, {3}).histogram(2);
  EXPECT_EQ(numbers(own), (Numbers{2, 1}));
  EXPECT_EQ(numbers(own_edges), (Numbers{1, 3, 5}));
  const auto [weighed, given] =
      histogram(x, make({0, 1, 4}, {3}), make({1, 2, 3, 4, 5, 6, 7}, {7}), /*density=*/true);
  expect_near(numbers(weighed), {1 / 15.0, 14 / 15.0 / 3}, 1e-15);
  EXPECT_EQ(numbers(given), (Numbers{0, 1, 4}));
  EXPECT_EQ(numbers(std::get<1>(histogram(full({3}, 2.0), 1))), (Numbers{1.5, 2.5}));
  EXPECT_NE(error_of([&] { histogram(x, 0); }).find("bins must be > 0"), std::string::npos);
  EXPECT_NE(error_of([&] { histogram(x, 2); }).find("is not finite"), std::string::npos);
  EXPECT_NE(error_of([&] { histogram(ones({3}, kLong), 2); }).find("float or double"),
            std::string::npos);
}

TEST(Composites, SlicesAreReducedByIndex) {
  const Tensor x = make({1, 2, 3, 4, 5, 6}, {3, 2}), index = tensor({0, 2, 0});
  const Tensor src = make({2, 3, 4, 5, 6, 7}, {3, 2});
  EXPECT_EQ(numbers(x.index_reduce(0, index, src, "prod")), (Numbers{12, 42, 3, 4, 20, 30}));
  EXPECT_EQ(numbers(index_reduce(x, 0, index, src, "amax")), (Numbers{6, 7, 3, 4, 5, 6}));
  EXPECT_EQ(numbers(x.index_reduce(0, index, src, "amin", false)), (Numbers{2, 3, 3, 4, 4, 5}));
  EXPECT_EQ(numbers(x.index_reduce(0, index, src, "mean")), (Numbers{3, 4, 3, 4, 4.5, 5.5}));
  EXPECT_EQ(numbers(x.index_reduce(-1, tensor({1}), make({7, 8, 9}, {3, 1}), "amax")),
            (Numbers{1, 7, 3, 8, 5, 9}));
  EXPECT_EQ(tensor(2.0).index_reduce(0, tensor({0}), tensor({5.0}), "prod").item<double>(), 10);
  Tensor y = x.clone();
  EXPECT_EQ(&y.index_reduce_(0, index, src, "prod"), &y);
  EXPECT_EQ(numbers(y), (Numbers{12, 42, 3, 4, 20, 30}));
  EXPECT_EQ(grad_of(make({1, 2}, {2}),
                    [&](const Tensor& t) {
                      return t.index_reduce(0, tensor({1, 1}), make({3, 4}, {2}), "prod");
                    })[1],
            24);
  EXPECT_NE(
      error_of([&] { x.index_reduce(0, index, src, "sum"); }).find("prod, mean, amax or amin"),
      std::string::npos);
  EXPECT_NE(error_of([&] { x.index_reduce(0, tensor({0}), src, "prod"); }).find("source of shape"),
            std::string::npos);
}

TEST(Composites, DiagonalsAreFilled) {
  EXPECT_EQ(numbers(zeros({2, 3}).fill_diagonal_(2)), (Numbers{2, 0, 0, 0, 2, 0}));
  EXPECT_EQ(numbers(zeros({5, 2}).fill_diagonal_(1)), (Numbers{1, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(zeros({5, 2}).fill_diagonal_(1, true)),
            (Numbers{1, 0, 0, 1, 0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(numbers(zeros({2, 2, 2}).fill_diagonal_(3, true)), (Numbers{3, 0, 0, 0, 0, 0, 0, 3}));
  EXPECT_NE(error_of([] { zeros({3}).fill_diagonal_(1); }).find("dimensions must larger than 1"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              zeros({2, 2, 3}).fill_diagonal_(1);
            }).find("of equal length"),
            std::string::npos);
}

TEST(Composites, MethodsOfLibTorch) {
  expect_near(numbers(make({-1, -0.0, 0, 2, kNan}, {5}).angle()), {3.14159265358979, 0, 0, 0, kNan},
              1e-14);
  EXPECT_EQ(angle(tensor({-1, 1})).dtype(), kFloat);
  const Tensor x = make({3, 4, 0.3, 0.4}, {2, 2});
  expect_near(numbers(x.renorm(2, 0, 1)), {0.6, 0.8, 0.3, 0.4});
  expect_near(numbers(x.clone().renorm_(2, 0, 1)), {0.6, 0.8, 0.3, 0.4});
  EXPECT_EQ(numbers(x.adjoint()), (Numbers{3, 0.3, 4, 0.4}));
  EXPECT_EQ(zeros({0}).resize_as_(x).sizes(), x.sizes());
  EXPECT_TRUE(x.is_same_size(zeros({2, 2})));
  EXPECT_EQ(x.new_empty_strided({2, 3}, {1, 2}).strides(), (IntArrayRef{1, 2}));
  EXPECT_EQ(x.new_empty_strided({2, 3}, {1, 2}, kLong).dtype(), kLong);
  EXPECT_EQ(x.unsafe_split(1, 1).size(), 2u);
  EXPECT_EQ(numbers(x.unsafe_chunk(2)[1]), (Numbers{0.3, 0.4}));
  EXPECT_EQ(numbers(x.unsafe_split_with_sizes({2}, 1)[0]), numbers(x));
  expect_near(numbers(make({2.5, 3}, {2}).mvlgamma_(3)), {1.8809954, 2.6949248});
  expect_near(numbers(make({0, 1}, {2}).i0_()), {1, 1.2660658777520084}, 1e-15);
}

TEST(Composites, IncompleteGammas) {
  const Tensor a = make({1, 2}, {2}), x = make({0.5, 2}, {2});
  expect_near(numbers(a.igamma(x) + a.igammac(x)), {1, 1}, 1e-15);
  EXPECT_EQ(numbers(special::gammainc(a, x)), numbers(igamma(a, x)));
  EXPECT_EQ(numbers(special::gammaincc(a, x)), numbers(igammac(a, x)));
  // Nobody has the derivative by the first argument.
  Tensor wanted = a.clone().requires_grad_();
  EXPECT_NE(error_of([&] { igamma(wanted, x).sum().backward(); }).find("is not implemented"),
            std::string::npos);
  EXPECT_NE(error_of([] { igamma(ones({1}, kLong), ones({1}, kLong)); }).find("igamma"),
            std::string::npos);
}

TEST(Composites, SpecialFunctions) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_near(numbers(special::entr(make({-1, 0, 0.5, 2, kNan}, {5}))),
              {-inf, 0, 0.34657359027997264, -1.3862943611198906, kNan}, 1e-15);
  expect_near(grad_of(make({0.5, 2}, {2}), [](const Tensor& x) { return special::entr(x); }),
              {-0.306852819440055, -3.38629436111989}, 1e-14);
  expect_near(numbers(special::ndtr(make({-1, 0, 1, 5}, {4}))),
              {0.15865525393145707, 0.5, 0.8413447460685429, 0.9999997133484281}, 1e-15);
  EXPECT_EQ(special::ndtr(ones({1}, kLong)).dtype(), kFloat);
  expect_near(numbers(special::log_ndtr(make({-100, -30, -12.5, -11.5, -1, 0, 1}, {7}))),
              {-5005.524208694205, -454.3212439563432, -81.57596787074388, -69.49370912909535,
               -1.8410216450092635, -0.6931471805599453, -0.1727537790234499},
              1e-14);
  expect_near(numbers(special::log_ndtr(make({-100, -30, -13, -11, 1}, {5}, kFloat))),
              {-5005.5244, -454.32126, -87.98972, -63.824934, -0.17275378}, 1e-6);
  expect_near(
      grad_of(make({-30, -1, 0.5, 2}, {4}), [](const Tensor& x) { return special::log_ndtr(x); }),
      {30.0332596674358, 3.05027055232196, 1.5274813015111, 0.22099145071596}, 1e-12);
  expect_near(numbers(special::xlog1py(make({0, 1, 2}, {3}), make({-1, 0.5, 1}, {3}))),
              {0, 0.4054651081081644, 1.3862943611198906}, 1e-15);
  expect_near(numbers(special::xlog1py(2, make({1, 2}, {2}, kLong))), {1.3862944, 2.1972246});
  expect_near(
      grad_of(make({0, 0.5, 2}, {3}), [](const Tensor& x) { return special::xlog1py(x, x); }),
      {0, 1.477596882883, 5.29583686600433}, 1e-12);
  expect_near(numbers(special::zeta(make({2, 3}, {2}), 1)),
              {1.6449340668482264, 1.2020569031595942}, 1e-15);
  expect_near(numbers(special::zeta(2, make({1, 2}, {2}))),
              {1.6449340668482264, 0.6449340668482264}, 1e-15);
  expect_near(numbers(special::spherical_bessel_j0(make({0, 2, inf}, {3}))),
              {1, 0.45464871341284085, 0}, 1e-15);
  expect_near(numbers(special::ndtri(special::ndtr(make({-3, 0.5}, {2})))), {-3, 0.5}, 1e-14);
  expect_near(numbers(special::modified_bessel_i1(make({-1, 1}, {2}))),
              {-0.5651591039924851, 0.5651591039924851}, 1e-15);
  // At 0 the derivative is a limit, and its own derivative is finite.
  EXPECT_EQ(grad_of(zeros({1}, kDouble), [](const Tensor& x) { return special::i1(x); })[0], 0.5);
  EXPECT_EQ(grad_of(zeros({1}, kDouble), [](const Tensor& x) { return special::bessel_j1(x); })[0],
            0.5);
  expect_near(numbers(special::multigammaln(make({2.5, 3}, {2}), 3)), {1.8809954, 2.6949248});
}

}  // namespace
}  // namespace tandem
