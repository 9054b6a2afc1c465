// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <random>

#include <Eigen/Core>

#include "constrained_dynamics/formulations/formulation.hpp"

/// @file
/// Random row problems, ways to their solutions that share nothing with the library, and what
/// agreement means.

namespace constrained_dynamics
{
namespace test
{

/// Whether large counts are asked for.
bool in_campaign();

/// Random numbers; prints its seed.
class Random
{
public:
  explicit Random(unsigned seed);

  double number() { return normal_(generator_); }
  double between(double low, double high);
  int integer(int low, int high);
  Eigen::MatrixXd matrix(Eigen::Index rows, Eigen::Index cols);
  Eigen::VectorXd vector(Eigen::Index size) { return matrix(size, 1); }
  Eigen::MatrixXd orthogonal(Eigen::Index size);
  Eigen::MatrixXd positive_definite(Eigen::Index size);
  /// Numbers from 1 down to 10^-decades, evenly in their logarithm.
  Eigen::VectorXd spread(Eigen::Index size, double decades);

private:
  std::mt19937 generator_;
  std::normal_distribution<double> normal_;
};

/// A row problem that owns its numbers.
struct Numbers
{
  Eigen::MatrixXd Q;
  Eigen::VectorXd h;
  Eigen::MatrixXd A;
  Eigen::VectorXd b;
  Eigen::VectorXd scale;
  Eigen::VectorXd weight;
  int nominal_rank = 0;

  RowProblem problem() const { return {Q, h, A, b, scale, weight, nominal_rank}; }
};

/// Scales and weights 1 for the rows there are.
void unit_sizes(Numbers & numbers);

/// Q and A with singular values over so many decades, A of `rank` in `rows` rows.
Numbers random_numbers(
  Random & random, int n, int rank, int rows, double inertia_decades, double row_decades);

/// How well formulations must agree.
struct Condition
{
  double rows = 1.0;     // κ(A R⁻¹) of the directions that count
  double inertia = 1.0;  // κ(Q)

  /// max(1e-11, 100 ε κ(A R⁻¹) κ(Q)^½).
  double bar() const;
  /// What rounding of the elements of Q alone may change, in a form that must factor Q or a part of
  /// it: above the bar where κ(Q)^½ > 100 κ(A R⁻¹), and then no two forms can agree better.
  double rounding() const;
};

/// By an eigenvalue decomposition of Q and an SVD of A R⁻¹, with the symmetric root R.
Condition condition_of(const Eigen::MatrixXd & Q, const Eigen::MatrixXd & A, int rank);

/// The norm in which results are compared: ‖a − b‖ / (1 + max(‖a‖, ‖b‖)), Euclidean, in the units
/// of the problem.
double difference(const Eigen::VectorXd & a, const Eigen::VectorXd & b);

/// Udwadia-Kalaba (E10) with the symmetric root and an SVD, on the rows as they are.
Eigen::VectorXd by_symmetric_root(const Numbers & numbers);

/// Accelerations and multipliers of the whole system [Q −Aᵀ; A 0] in long double, by a complete
/// orthogonal decomposition: least ‖diag(weight) λ‖ where rows are redundant. Q need not be
/// regular.
struct DenseSolution
{
  Eigen::VectorXd acceleration;
  Eigen::VectorXd multipliers;
  int rank = 0;  ///< of the rows
};
DenseSolution by_dense_kkt(const Numbers & numbers);

}  // namespace test
}  // namespace constrained_dynamics
