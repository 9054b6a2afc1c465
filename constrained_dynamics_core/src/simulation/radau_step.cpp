// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/radau_step.hpp"

#include <cmath>
#include <limits>

namespace constrained_dynamics
{

RadauStep::RadauStep(Eigen::Index size)
: place_{0.05710419611451768, 0.27684301363812383, 0.58359043236891682, 0.86024013565621945, 1.0},
  real_factor_(size),
  complex_factors_{
    Eigen::PartialPivLU<Eigen::MatrixXcd>(size), Eigen::PartialPivLU<Eigen::MatrixXcd>(size)},
  stages_(Eigen::MatrixXd::Zero(size, kStages)),
  slopes_(Eigen::MatrixXd::Zero(size, kStages)),
  error_(Eigen::VectorXd::Zero(size))
{
  // Integrals of the basis from 0 to each place; Gauss's rule of three points is exact for them.
  const double gauss[] = {0.5 - std::sqrt(0.15), 0.5, 0.5 + std::sqrt(0.15)};
  const double weight[] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  Eigen::MatrixXd coefficients = Eigen::MatrixXd::Zero(kStages, kStages);
  for (int i = 0; i < kStages; ++i)
  {
    const double c = place_[static_cast<std::size_t>(i)];
    for (int k = 0; k < 3; ++k)
    {
      coefficients.row(i) += c * weight[k] * basis(c * gauss[k], false).transpose();
    }
  }
  inverse_ = Eigen::PartialPivLU<Eigen::MatrixXd>(coefficients).inverse();
  const Eigen::EigenSolver<Eigen::MatrixXd> solver = detail::solve_eigenvalues(inverse_, true);
  const Eigen::MatrixXcd vectors = solver.eigenvectors();
  const Eigen::MatrixXcd rows = Eigen::PartialPivLU<Eigen::MatrixXcd>(vectors).inverse();
  int pairs = 0;
  for (int i = 0; i < kStages; ++i)
  {
    const Complex value = solver.eigenvalues()(i);
    if (value.imag() == 0.0)
    {
      real_ = value.real();
      real_vector_ = vectors.col(i).real();
      real_row_ = rows.row(i).real().transpose();
    }
    else if (value.imag() > 0.0)
    {
      complex_[static_cast<std::size_t>(pairs)] = value;
      complex_vectors_.col(pairs) = vectors.col(i);
      complex_rows_.col(pairs) = rows.row(i).transpose();
      ++pairs;
    }
  }
}

Eigen::Matrix<double, RadauStep::kStages, 1> RadauStep::basis(double s, bool from_zero) const
{
  Eigen::Matrix<double, kStages, 1> values;
  for (int j = 0; j < kStages; ++j)
  {
    const double own = place_[static_cast<std::size_t>(j)];
    values(j) = from_zero ? s / own : 1.0;
    for (int k = 0; k < kStages; ++k)
    {
      const double other = place_[static_cast<std::size_t>(k)];
      values(j) *= k == j ? 1.0 : (s - other) / (own - other);
    }
  }
  return values;
}

void RadauStep::factorise(const Eigen::MatrixXd & jacobian, double h)
{
  Eigen::MatrixXd real = -jacobian;
  real.diagonal().array() += real_ / h;
  real_factor_.compute(real);
  for (std::size_t k = 0; k < complex_.size(); ++k)
  {
    Eigen::MatrixXcd matrix = -jacobian.cast<Complex>();
    matrix.diagonal().array() += complex_[k] / h;
    complex_factors_[k].compute(matrix);
  }
}

void RadauStep::predict(double time, double h)
{
  if (!has_past_)
  {
    stages_.setZero();
    return;
  }
  const Eigen::MatrixXd past = stages_;
  const double begin = (time - past_time_) / length_;
  const Eigen::VectorXd there = past * basis(begin, true);
  for (int i = 0; i < kStages; ++i)
  {
    const double s = begin + place_[static_cast<std::size_t>(i)] * h / length_;
    stages_.col(i) = past * basis(s, true) - there;
  }
}

double RadauStep::iterate(double h, const Eigen::VectorXd & scale)
{
  const Eigen::MatrixXd defect = slopes_ - stages_ * inverse_.transpose() / h;
  Eigen::MatrixXd change = real_factor_.solve(defect * real_row_) * real_vector_.transpose();
  for (std::size_t k = 0; k < complex_.size(); ++k)
  {
    const auto column = static_cast<Eigen::Index>(k);
    const Eigen::VectorXcd part =
      complex_factors_[k].solve(defect.cast<Complex>() * complex_rows_.col(column));
    change += 2.0 * (part * complex_vectors_.col(column).transpose()).real();
  }
  if (!change.allFinite())
  {
    return std::numeric_limits<double>::infinity();
  }
  stages_ += change;
  return (change.array().colwise() / scale.array()).abs().maxCoeff();
}

void RadauStep::find_error(const Eigen::VectorXd & first_slope, double h)
{
  // The slope at the begin against that of the collocation polynomial there.
  const Eigen::VectorXd slope = stages_ * (inverse_.transpose() * basis(0.0, false)) / h;
  error_ = real_factor_.solve(first_slope - slope);
}

void RadauStep::at(double s, const StateVector & begin, StateVector & x) const
{
  const auto n = static_cast<Eigen::Index>(begin.size());
  Eigen::Map<Eigen::VectorXd>(x.data(), n) =
    Eigen::Map<const Eigen::VectorXd>(begin.data(), n) + stages_ * basis(s, true);
}

}  // namespace constrained_dynamics
