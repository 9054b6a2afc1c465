// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "support/row_problems.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>

#include <Eigen/Dense>

namespace constrained_dynamics
{
namespace test
{

namespace
{

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

}  // namespace

bool in_campaign() { return std::getenv("CD_CAMPAIGN") != nullptr; }

Random::Random(unsigned seed) : generator_(seed) { std::cout << "seed " << seed << "\n"; }

double Random::between(double low, double high)
{
  return std::uniform_real_distribution<double>(low, high)(generator_);
}

int Random::integer(int low, int high)
{
  return std::uniform_int_distribution<int>(low, high)(generator_);
}

Eigen::MatrixXd Random::matrix(Eigen::Index rows, Eigen::Index cols)
{
  return Eigen::MatrixXd::NullaryExpr(rows, cols, [this]() { return number(); });
}

Eigen::MatrixXd Random::orthogonal(Eigen::Index size)
{
  const Eigen::MatrixXd source = matrix(size, size);
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(source);
  return qr.householderQ();
}

Eigen::MatrixXd Random::positive_definite(Eigen::Index size)
{
  const Eigen::MatrixXd root = matrix(size, size);
  return root * root.transpose() + 0.1 * Eigen::MatrixXd::Identity(size, size);
}

Eigen::VectorXd Random::spread(Eigen::Index size, double decades)
{
  return Eigen::VectorXd::NullaryExpr(
    size, [&](Eigen::Index) { return std::pow(10.0, -between(0.0, decades)); });
}

void unit_sizes(Numbers & numbers)
{
  numbers.scale.setOnes(numbers.A.rows());
  numbers.weight.setOnes(numbers.A.rows());
}

Numbers random_numbers(
  Random & random, int n, int rank, int rows, double inertia_decades, double row_decades)
{
  Numbers numbers;
  const Eigen::MatrixXd axes = random.orthogonal(n);
  numbers.Q = axes * random.spread(n, inertia_decades).asDiagonal() * axes.transpose();
  numbers.Q = 0.5 * (numbers.Q + numbers.Q.transpose()).eval();
  numbers.h = random.vector(n);
  const Eigen::MatrixXd base = random.orthogonal(n).topRows(rank);
  numbers.A = random.orthogonal(rank) * random.spread(rank, row_decades).asDiagonal() * base;
  if (rows != rank)
  {
    numbers.A = (random.orthogonal(rows).leftCols(rank) * numbers.A).eval();
  }
  numbers.b = numbers.A * random.vector(n);
  numbers.nominal_rank = rank;
  unit_sizes(numbers);
  return numbers;
}

double Condition::bar() const
{
  return std::max(1e-11, 100.0 * kEpsilon * rows * std::sqrt(inertia));
}

double Condition::rounding() const { return kEpsilon * inertia; }

Condition condition_of(const Eigen::MatrixXd & Q, const Eigen::MatrixXd & A, int rank)
{
  Condition result;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Q);
  result.inertia = eigen.eigenvalues().maxCoeff() / eigen.eigenvalues().minCoeff();
  if (rank > 0)
  {
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(A * eigen.operatorInverseSqrt());
    result.rows = svd.singularValues()(0) / svd.singularValues()(rank - 1);
  }
  return result;
}

double difference(const Eigen::VectorXd & a, const Eigen::VectorXd & b)
{
  return (a - b).norm() / (1.0 + std::max(a.norm(), b.norm()));
}

Eigen::VectorXd by_symmetric_root(const Numbers & numbers)
{
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(numbers.Q);
  const Eigen::MatrixXd inverse_root = eigen.operatorInverseSqrt();
  const Eigen::VectorXd free = numbers.Q.ldlt().solve(numbers.h);
  Eigen::JacobiSVD<Eigen::MatrixXd> svd(
    numbers.A * inverse_root, Eigen::ComputeThinU | Eigen::ComputeThinV);
  svd.setThreshold(1e-11);
  return free + inverse_root * svd.solve(numbers.b - numbers.A * free);
}

DenseSolution by_dense_kkt(const Numbers & numbers)
{
  using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  const Eigen::Index n = numbers.Q.rows();
  const Eigen::Index m = numbers.A.rows();
  // Unknowns x = D⁻¹ u̇ and μ = W λ, equations divided by their sizes: the accelerations are unique
  // in any units, and the least μ is what is asked for.
  const Matrix Q = numbers.Q.cast<long double>();
  const Matrix A = numbers.A.cast<long double>();
  // Sizes of the speeds are those of Q + s AᵀA, because Q alone may have nothing to say about some.
  const long double s = m > 0 ? Q.norm() / std::max(1e-300L, A.squaredNorm()) : 0.0L;
  const Vector D = Vector::NullaryExpr(
    n,
    [&](Eigen::Index i)
    {
      const long double size = Q(i, i) + s * A.col(i).squaredNorm();
      return size > 0.0L ? 1.0L / std::sqrt(size) : 1.0L;
    });
  const Vector inverse_weight = numbers.weight.cast<long double>().cwiseInverse();
  Matrix kkt = Matrix::Zero(n + m, n + m);
  kkt.topLeftCorner(n, n) = D.asDiagonal() * Q * D.asDiagonal();
  kkt.topRightCorner(n, m) = D.asDiagonal() * -A.transpose() * inverse_weight.asDiagonal();
  kkt.bottomLeftCorner(m, n) = A * D.asDiagonal();
  Vector right(n + m);
  right << D.cwiseProduct(numbers.h.cast<long double>()), numbers.b.cast<long double>();
  for (Eigen::Index i = 0; i < m; ++i)
  {
    const long double size = kkt.row(n + i).norm();
    if (size > 0.0L)
    {
      kkt.row(n + i) /= size;
      right(n + i) /= size;
    }
  }
  Eigen::CompleteOrthogonalDecomposition<Matrix> decomposition;
  decomposition.setThreshold(1e-11L);
  decomposition.compute(kkt);
  const Vector both = decomposition.solve(right);
  DenseSolution result;
  result.acceleration = D.cwiseProduct(both.head(n)).cast<double>();
  result.multipliers = inverse_weight.cwiseProduct(both.tail(m)).cast<double>();
  result.rank = static_cast<int>(decomposition.rank() - n);
  return result;
}

}  // namespace test
}  // namespace constrained_dynamics
