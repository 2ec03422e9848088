// Rows of Bessel functions and of those that statistics need.
#include <cmath>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

// The standard library's are for x >= 0.
double sign_of(double x) { return x < 0 ? -1 : 1; }
double i(double order, double x) { return std::cyl_bessel_i(order, std::abs(x)); }
double j(double order, double x) { return std::cyl_bessel_j(order, std::abs(x)); }

// The integral of t^(a - 1) exp(-t) from 0 to x, over gamma(a), by the powers of exp(-t) one by
// one.
double igamma_reference(double a, double x) {
  double power = std::pow(x, a), sum = 0;
  for (int k = 0; k < 80; ++k, power *= -x / k) sum += power / (a + k);
  return sum / std::tgamma(a);
}
// Many terms, and for the others the integral with its first corrections.
double zeta_reference(double s, double q) {
  double sum = 0;
  for (int k = 0; k < 100; ++k, ++q) sum += std::pow(q, -s);
  return sum + std::pow(q, 1 - s) / (s - 1) + std::pow(q, -s) / 2 + s * std::pow(q, -s - 1) / 12;
}
double erfcx_reference(double x) { return std::exp(x * x) * std::erfc(x); }
// Where the distribution function is p, by halving.
double ndtri_reference(double p) {
  double low = -40, high = 40;
  for (int k = 0; k < 200; ++k) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return low;
}

void add(std::vector<Row>& rows, const char* name, const char* op, Fn fn, double (*f)(double),
         Input x) {
  rows.push_back({.name = name,
                  .ops = {op},
                  .fn = std::move(fn),
                  .reference = pointwise(f),
                  .samples = {{.label = "plain", .inputs = {std::move(x)}}},
                  .out = Out::kFloat,
                  .pointwise = true,
                  .special = false,  // tests/kernels/map_test.cpp has these
                  .tolerance64 = 1e-12,
                  .tolerance32 = 4e-6});
}

void add_binary(std::vector<Row>& rows, const char* name, Fn fn, InPlace inplace,
                double (*f)(double, double), Input x, Input y) {
  rows.push_back({.name = name,
                  .ops = {name},
                  .fn = std::move(fn),
                  .reference = pointwise(f),
                  .inplace = std::move(inplace),
                  .samples = {{.label = "plain", .inputs = {x.constant(), std::move(y)}}},
                  .pointwise = true,
                  .special = false,
                  .tolerance64 = 1e-11,
                  .tolerance32 = 4e-6});
}

void add_special_statistics(std::vector<Row>& rows) {
  const Input a = real({2, 3}, 1, 5), x = real({2, 3}, 0.5, 6);
  add_binary(rows, "igamma", FN2(igamma), INPLACE(a[0].igamma_(a[1])), igamma_reference, a, x);
  rows.back().dtypes = kFloats;
  add_binary(
      rows, "igammac", FN2(igammac), INPLACE(a[0].igammac_(a[1])),
      [](double a, double x) { return 1 - igamma_reference(a, x); }, a, x);
  rows.back().dtypes = kFloats;
  add_binary(rows, "zeta", FN2(special::zeta), nullptr, zeta_reference, real({2, 3}, 2.2, 6),
             real({2, 3}, 0.5, 4));
  rows.back().out = Out::kFloat;
  add(rows, "erfcx", "erfcx", FN1(special::erfcx), erfcx_reference, real({2, 3}, -2, 4));
  add(rows, "ndtri", "ndtri", FN1(special::ndtri), ndtri_reference, real({2, 3}, 0.05, 0.95));
  rows.back().dtypes = kFloats;
  rows.back().refuses_others = false;
}

}  // namespace

void add_special_rows(std::vector<Row>& rows) {
  add_special_statistics(rows);
  using namespace special;
  const Input any = real({2, 3}, -4, 4).avoiding({0}), right = real({2, 3}, 0.3, 4);
  add(
      rows, "i0", "i0", FN1(tandem::i0), [](double x) { return i(0, x); }, any);
  add(
      rows, "i0e", "i0e", FN1(i0e), [](double x) { return i(0, x) * std::exp(-std::abs(x)); }, any);
  add(
      rows, "i1", "i1", FN1(i1), [](double x) { return sign_of(x) * i(1, x); }, any);
  add(
      rows, "i1e", "i1e", FN1(i1e),
      [](double x) { return sign_of(x) * i(1, x) * std::exp(-std::abs(x)); }, any);
  add(
      rows, "bessel_j0", "bessel_j0", FN1(bessel_j0), [](double x) { return j(0, x); }, any);
  add(
      rows, "bessel_j1", "bessel_j1", FN1(bessel_j1), [](double x) { return sign_of(x) * j(1, x); },
      any);
  add(
      rows, "bessel_y0", "bessel_y0", FN1(bessel_y0),
      [](double x) { return std::cyl_neumann(0.0, x); }, right);
  add(
      rows, "bessel_y1", "bessel_y1", FN1(bessel_y1),
      [](double x) { return std::cyl_neumann(1.0, x); }, right);
  add(
      rows, "modified_bessel_k0", "bessel_k0", FN1(modified_bessel_k0),
      [](double x) { return std::cyl_bessel_k(0.0, x); }, right);
  add(
      rows, "modified_bessel_k1", "bessel_k1", FN1(modified_bessel_k1),
      [](double x) { return std::cyl_bessel_k(1.0, x); }, right);
  add(
      rows, "scaled_modified_bessel_k0", "bessel_k0e", FN1(scaled_modified_bessel_k0),
      [](double x) { return std::exp(x) * std::cyl_bessel_k(0.0, x); }, right);
  add(
      rows, "scaled_modified_bessel_k1", "bessel_k1e", FN1(scaled_modified_bessel_k1),
      [](double x) { return std::exp(x) * std::cyl_bessel_k(1.0, x); }, right);
}

}  // namespace tandem::table
