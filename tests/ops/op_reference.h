#pragma once

#include <vector>

#include "tests/ops/op_table.h"

/// Formulas that the standard library lacks, written down plainly.
namespace tandem::table {

double erfinv_reference(double x);
double digamma_reference(double x);
/// The derivative of digamma.
double trigamma_reference(double x);
double floor_divide_reference(double x, double y);
/// With the sign of the divisor.
double remainder_reference(double x, double y);
double logaddexp_reference(double x, double y);
double logaddexp2_reference(double x, double y);

/// Row-major matrices and batches of them.
Values matmul_reference(const Values& a, const Values& b);
Values transpose_reference(const Values& a);
/// By Gauss-Jordan elimination with pivoting.
Values inverse_reference(const Values& a);
double det_reference(const Values& a);

}  // namespace tandem::table
