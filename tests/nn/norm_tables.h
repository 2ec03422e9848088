#pragma once

#include <vector>

#include "tests/helpers.h"

/// Values of LibTorch 1.13 for layers whose inputs, parameters and gradients are norm_wave(sizes,
/// phase). Inputs have phase 0, weights 1, biases 2, gradients 3. They were printed by a program
/// that runs the same calls as the test with namespace torch.
namespace tandem::norm_tables {

inline Tensor norm_wave(const std::vector<int64_t>& sizes, double phase) {
  return (test::waves(sizes, 0.7, phase) * 1.5 + 0.2).to(kFloat);
}
inline Tensor wave_with_grad(const std::vector<int64_t>& sizes, double phase) {
  return norm_wave(sizes, phase).set_requires_grad(true);
}
inline void run_backward(const Tensor& y) { (y * norm_wave(y.sizes().vec(), 3)).sum().backward(); }

/// The tables have six digits.
inline void expect_table(const Tensor& t, const std::vector<float>& expected, const char* what) {
  const std::vector<double> got = test::values(t);
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 2e-5 * std::abs(expected[i]) + 4e-6) << what << " " << i;
}

inline const std::vector<float> kBatchY = {
    0.85774,   2.36146,   3.15796, 2.87263, 2.78361, 0.825969, -0.660712,  -0.977226,
    -2.20349,  -0.867231, 0.45272, 1.13557, 2.85253, 1.60257,  0.00231052, -1.19563,
    -0.967877, 0.062767,  1.92331, 3.73872, 1.1406,  0.841918, -0.276909,  -1.68968};
inline const std::vector<float> kBatchGradX = {
    0.410224,  0.287179, 0.0670814, -0.146552, -0.435944, -0.404663, -0.202923, 0.0743965,
    0.188183,  0.268405, 0.211616,  0.0445251, -0.1507,   -0.253934, -0.199726, -0.0135709,
    0.0809019, 0.300543, 0.358974,  0.228715,  0.0397407, -0.158647, -0.293197, -0.300627};
inline const std::vector<float> kBatchGradW = {-7.21408, -6.91776, -7.06914};
inline const std::vector<float> kBatchGradB = {-2.29972, 5.8206, -2.45377};
inline const std::vector<float> kBatchRunningMean = {0.0653825, -0.031824, 0.0722769};
inline const std::vector<float> kBatchRunningVar = {1.00091, 0.989856, 0.989024};
inline const std::vector<float> kBatchEval = {
    1.76069,  3.17302,    3.9211,  3.65311, 2.08654, 0.341817, -0.983167, -1.26526,
    -1.18263, 0.00326488, 1.17469, 1.7807,  3.63424, 2.46026,  0.95726,   -0.167867,
    -1.25692, -0.338376,  1.31981, 2.93777, 1.78516, 1.52009,  0.52716,   -0.726636};
inline const std::vector<float> kCumulativeMean = {0.316275, 0.476903};
inline const std::vector<float> kCumulativeVar = {1.0493, 0.951685};
inline const std::vector<float> kLayerY = {-0.740118, 1.21082,   1.23591,  -0.809846, -0.833117,
                                           2.42338,   -0.591401, -1.58423, -1.07621,  -2.444};
inline const std::vector<float> kLayerGradX = {-0.185318, -0.901832, -0.603347, 1.15325,
                                               0.537248,  0.437689,  1.00654,   -0.0177347,
                                               -1.60053,  0.174032};
inline const std::vector<float> kLayerGradW = {-0.341489, -1.31068, -3.39705, -1.22779, 0.938616};
inline const std::vector<float> kLayerGradB = {0.93436, 0.795748, 0.471009, 0.112874, -0.110222};
inline const std::vector<float> kGroupY = {
    0.288416,  2.27879,   3.33306,   2.44689,   0.563454, -1.88175,  -1.36357, -1.54177,
    -0.977341, -0.973876, -0.751365, -0.636253, 4.07243,  2.88671,   1.3687,   -0.695726,
    -0.949939, -0.027345, -1.13746,  0.474298,  1.28794,  -0.788634, -1.08605, -1.46161};
inline const std::vector<float> kGroupGradX = {
    0.499409, 0.444804,  0.210822,     -0.46974,  -0.480181, -0.205114, -0.041584, 0.166945,
    0.126244, -0.469258, -0.000752568, 0.218405,  0.174672,  -0.150694, -0.39045,  -0.112131,
    0.130587, 0.348016,  0.537731,     -0.196123, -0.736985, 0.717356,  0.165706,  -0.487685};
inline const std::vector<float> kGroupGradW = {-4.65983, -5.63501, -6.24245, -4.31939};
inline const std::vector<float> kGroupGradB = {-2.51668, 3.22409, 2.87297, -2.51327};
inline const std::vector<float> kInstanceY = {
    -0.834007, 1.64474,  2.9577,  2.48735, 3.43977, 1.21891, -0.467667,  -0.826739,
    -0.530002, 0.996584, 2.50454, 3.28466, 3.0746,  1.70411, -0.0504814, -1.36395};
inline const std::vector<float> kInstanceGradX = {
    -0.0416378, 0.234344,  0.125152,  -0.317858,  0.0764261, -0.141158,  -0.10448,   0.169211,
    -0.0642613, 0.0825664, 0.0721943, -0.0904994, 0.0788921, -0.0801609, -0.0794419, 0.0807105};
inline const std::vector<float> kInstanceGradW = {-6.49218, -7.33424};
inline const std::vector<float> kInstanceMean = {0.0860671, -0.0164181};
inline const std::vector<float> kInstanceVar = {0.979461, 1.00594};
inline const std::vector<float> kInstanceEval = {
    1.73228,  3.15998, 3.91621, 3.6453,  2.05062, 0.319905, -0.994445, -1.27427,
    0.333278, 1.76954, 3.18827, 3.92223, 3.36199, 2.01052,  0.280292,  -1.01494};
inline const std::vector<float> kLocalY = {0.100725, 0.569613,  0.827883, 0.726885,  0.329927,
                                           -0.14888, -0.509844, -0.6116,  -0.385655, 0.118891};
inline const std::vector<float> kLocalGradX = {0.225983,   -0.169548, -0.358769, -0.298933,
                                               -0.0967514, 0.188043,  0.517881,  0.707613,
                                               0.599084,   0.221894};
inline const std::vector<float> kEmbeddingY = {
    1.33184,  0.625894, -0.290613, 0.163181, 0.858927, 1.21886, 1.33184, 0.625894, -0.290613,
    0.146097, 0.851983, 1.22588,   0.163181, 0.858927, 1.21886, 1.33184, 0.625894, -0.290613};
inline const std::vector<float> kEmbeddingW = {0.146097, 0.851983,  1.22588,  1.33184,
                                               0.625894, -0.290613, -1.10736, -1.27368,
                                               -0.7469,  0.163181,  0.858927, 1.21886};
inline const std::vector<float> kEmbeddingGrad = {
    0.386682, -0.616032, -1.23495, 1.06929, 0.933566, 0.452838, 0, 0, 0, 0, 0, 0};
inline const std::vector<float> kBagMeanY = {
    1.49481, 0.702482, -0.326175, 0, 0, 0, 0.847407, 0.934404, 0.676, 1.49481, 0.702482, -0.326175};
inline const std::vector<float> kBagMeanGrad = {
    0.695251, 0.849206, 0.650798, 1.49361, -0.36158, -1.81156, 0, 0, 0, 0, 0, 0};
inline const std::vector<float> kBagMaxY = {
    1.49481, 1.18548, 1.68225, 0, 0, 0, 1.49481, 1.18548, 1.68225, 1.49481, 0.702482, -0.326175};
inline const std::vector<float> kBagMaxGrad = {0, 0, 0, 2.18886, -0.616032, -1.23495,
                                               0, 0, 0, 0,       1.10366,   0.0741925};
inline const std::vector<float> kBagSumY = {-1.99215, -1.61209, -0.649207, 0,
                                            0,        0,        1.20137,   3.78462,
                                            4.90454,  2.08935,  0.981881,  -0.455905};
inline const std::vector<float> kBagSumGrad = {
    1.79855, 2.19682, 1.68355, 0.551851, 0.512094, 0.281737, 0, 0, 0, 2.10309, 3.25592, 2.97826};
inline const std::vector<float> kBagScaleGrad = {0.597929, -2.67715, 2.8471,
                                                 4.44331,  4.51622,  0.548076};
inline const std::vector<float> kBilinearY = {-6.78838, 7.08149, 3.81777, 1.34875};
inline const std::vector<float> kPrelu = {0.2, 1.16633, 1.67817, 1.49481, 0.702482, 0.30504};
inline const std::vector<float> kGelu = {0.115852, 1.02434, 1.59988, 1.39394, 0.533051, -0.121385};
inline const std::vector<float> kGeluTanh = {0.115851, 1.02413,  1.59973,
                                             1.39372,  0.532995, -0.121388};
inline const std::vector<float> kMishY = {0.132599, 1.04176, 1.5971, 1.39773, 0.563554, -0.161614};
inline const std::vector<float> kCelu = {0.2, 1.16633, 1.67817, 1.49481, 0.702482, -0.260729};
inline const std::vector<float> kSelu = {0.21014, 1.22546, 1.76326, 1.5706, 0.738099, -0.489316};
inline const std::vector<float> kHardswish = {0.36, 3.49898, 5.03452, 4.48444, 1.79395, -0.329677};
inline const std::vector<float> kSoftshrink = {0, 0.666327, 1.17817, 0.994814, 0.202482, 0};
inline const std::vector<float> kGlu = {0.16336, 0.779967, 0.703443};
inline const std::vector<float> kLogSigmoid = {-0.598139, -0.271179, -0.171189,
                                               -0.202361, -0.402363, -0.869475};
inline const std::vector<float> kSoftmin = {0.239237,  0.0910245, 0.0545589,
                                            0.0655387, 0.144745,  0.404896};
inline const std::vector<float> kAdaptive = {-0.708369, -0.644304, -6.5637,
                                             -7.8032,   -8.37125,  -12.7286};
inline const double kAdaptiveLoss = 6.13657;

}  // namespace tandem::norm_tables
