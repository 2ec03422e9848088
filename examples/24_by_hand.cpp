// Listing 24: what one computes on paper when learning this. A convolution with ReLU and max
// pooling, the SVM and softmax losses of three images, and a small circuit with its gradients.
#include <cmath>
#include <iostream>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

bool check(const char* what, const Tensor& got, std::vector<double> paper) {
  bool right = got.numel() == static_cast<int64_t>(paper.size());
  std::cout << what << ':';
  for (size_t i = 0; i < paper.size(); ++i) {
    const double value = got.reshape({-1})[static_cast<int64_t>(i)].item<double>();
    std::cout << ' ' << value << " (on paper " << paper[i] << ')';
    right &= std::abs(value - paper[i]) < 1e-4;
  }
  std::cout << (right ? "\n" : "  WRONG\n");
  return right;
}

/// A 5x5 image, a 3x3 filter, stride 2.
bool convolution() {
  namespace F = nn::functional;
  auto image = tensor({{1., 2., 3., 4., 5.},
                       {2., 2., 1., 1., 1.},
                       {3., 2., 1., 1., 1.},
                       {4., 1., 1., 1., 1.},
                       {5., 1., 1., 1., 1.}});
  auto filter = tensor({{0., -1., 0.}, {1., 1., 1.}, {0., -1., 0.}});
  auto y = F::conv2d(image.view({1, 1, 5, 5}), filter.view({1, 1, 3, 3}),
                     F::Conv2dFuncOptions().stride(2));
  auto pooled = F::max_pool2d(relu(y), F::MaxPool2dFuncOptions(2));
  bool right = check("convolution with stride 2", y, {1, -2, 3, 1});
  right &= check("after ReLU", relu(y), {1, 0, 3, 1});
  return right & check("after 2x2 max pooling", pooled, {3});
}

/// Scores of three images, one a row; the right classes are 0, 1 and 2.
bool losses() {
  namespace F = nn::functional;
  auto scores = tensor({{2.1, 1.6, 2.1}, {3.0, 3.2, 2.8}, {-2.0, 3.7, 3.8}}, kDouble);
  auto classes = tensor({0, 1, 2}, kLong);

  // The SVM loss of an image: over the wrong classes, the sum of max(0, score - right score + 1).
  // The library divides by the number of classes, the paper does not.
  auto svm =
      3 * F::multi_margin_loss(scores, classes, F::MultiMarginLossFuncOptions().reduction(kNone));
  bool right = check("SVM loss of each image", svm, {1.5, 1.4, 0.9});
  right &= check("SVM loss", svm.mean(), {3.8 / 3});

  // The softmax loss of an image: -log of the probability of the right class.
  const auto on_paper = [](double a, double b, double c) {  // a: the score of the right class
    return -std::log(std::exp(a) / (std::exp(a) + std::exp(b) + std::exp(c)));
  };
  const double l0 = on_paper(2.1, 1.6, 2.1), l1 = on_paper(3.2, 3.0, 2.8),
               l2 = on_paper(3.8, -2.0, 3.7);
  auto softmax = F::cross_entropy(scores, classes, F::CrossEntropyFuncOptions().reduction(kNone));
  right &= check("softmax loss of each image", softmax, {l0, l1, l2});
  return right & check("softmax loss", F::cross_entropy(scores, classes), {(l0 + l1 + l2) / 3});
}

/// f = 1 / (1 + exp(-(w0 x0 + w1 x1 + w2))).
bool circuit() {
  auto w = tensor({1.0, -2.0, 1.0}, dtype(kDouble).requires_grad(true));
  auto x = tensor({-1.0, 1.0}, dtype(kDouble).requires_grad(true));
  auto f = 1 / (1 + exp(-(w[0] * x[0] + w[1] * x[1] + w[2])));
  f.backward();
  bool right = check("f", f, {0.1192});
  right &= check("df/dw", w.grad(), {-0.1050, 0.1050, 0.1050});
  return right & check("df/dx", x.grad(), {0.1050, -0.2100});
}

}  // namespace

int main() {
  bool right = convolution();
  right &= losses();
  right &= circuit();
  return right ? 0 : 1;
}
