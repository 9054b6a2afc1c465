// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/inertia_check.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Cholesky>

#include "analysis/virtual_motions.hpp"
#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

namespace
{

// Eigenvalues below this are zero up to round-off, for matrices with ones on the diagonal (as in
// InertiaRoot).
constexpr double kRounding = 1e-13;

/// The smallest eigenvalue of a symmetric matrix scaled to ones on the diagonal, so that units do
/// not matter, and its direction before scaling.
struct Weakest
{
  double value = 1.0;
  Eigen::VectorXd direction;
};

Weakest find_weakest(const Eigen::MatrixXd & matrix)
{
  if (matrix.rows() == 0)
  {
    return {};
  }
  const Eigen::VectorXd scale =
    (matrix.diagonal().array().abs() > 0.0)
      .select(matrix.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse(), 1.0);
  const Eigen::MatrixXd scaled = scale.asDiagonal() * matrix * scale.asDiagonal();
  const Eigen::LLT<Eigen::MatrixXd> cholesky(scaled);
  if (cholesky.info() == Eigen::Success && cholesky.rcond() > kRounding)
  {
    return {};
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver = detail::solve_symmetric(scaled);
  return {solver.eigenvalues()(0), scale.asDiagonal() * solver.eigenvectors().col(0)};
}

/// Judges the mass matrix and the rows that the workspace holds.
InertiaReport judge(const Dynamics & dynamics, const Workspace & workspace)
{
  const System & system = dynamics.system();
  const Eigen::MatrixXd & Q = workspace.terms().mass_matrix;
  // Speeds with given accelerations have no equation of motion.
  std::vector<Eigen::Index> moving;
  const std::vector<int> & driven = system.driven_speeds();
  for (Eigen::Index i = 0; i < Q.rows(); ++i)
  {
    if (std::find(driven.begin(), driven.end(), static_cast<int>(i)) == driven.end())
    {
      moving.push_back(i);
    }
  }
  const Eigen::MatrixXd inertia = Q(moving, moving);
  InertiaReport report;
  if (
    inertia.rows() == 0 || (inertia - inertia.transpose()).cwiseAbs().maxCoeff() >
                             kNegligible * inertia.cwiseAbs().maxCoeff())
  {
    return report;
  }
  Weakest weakest = find_weakest(inertia);
  if (weakest.value < -kRounding)
  {
    report.finding = InertiaReport::Finding::kNegative;
  }
  else if (weakest.value <= kRounding)
  {
    const Eigen::MatrixXd basis = null_space(active_rows(dynamics, workspace)(Eigen::all, moving));
    weakest = find_weakest(basis.transpose() * inertia * basis);
    if (weakest.value > kRounding)
    {
      return report;  // the rows determine every direction without inertia
    }
    report.finding = InertiaReport::Finding::kMissing;
    weakest.direction = (basis * weakest.direction).eval();
  }
  else
  {
    return report;
  }
  Eigen::Index largest = 0;
  weakest.direction.cwiseAbs().maxCoeff(&largest);
  weakest.direction /= weakest.direction(largest);
  report.inertia = weakest.direction.dot(inertia * weakest.direction);
  report.motion.setZero(Q.rows());
  report.motion(moving) = weakest.direction;
  return report;
}

}  // namespace

InertiaReport analyse_inertia(const Dynamics & dynamics, const State & state, Workspace & workspace)
{
  constexpr int kSamples = 8;
  constexpr double kSpread = 1e-2;  // as Workspace::reset
  constexpr unsigned kSeed = 20260103U;
  const auto evaluate = [&](const State & at)
  {
    const Status status = dynamics.evaluate_rows(at.time, at.q, at.u, workspace);
    return status == Status::kOk ? dynamics.evaluate_terms(workspace) : status;
  };
  const Status status = evaluate(state);
  if (status != Status::kOk)
  {
    throw std::invalid_argument(
      std::string("the system cannot be evaluated at the given state: status ") +
      to_string(status));
  }
  InertiaReport report = judge(dynamics, workspace);
  const Eigen::MatrixXd C = workspace.terms().kinematic_matrix;
  std::mt19937 generator(kSeed);
  std::normal_distribution<double> normal;
  for (int i = 0; i < kSamples && report.finding == InertiaReport::Finding::kPositive; ++i)
  {
    State sample = state;
    Eigen::VectorXd delta(state.u.size());
    for (double & element : delta)
    {
      element = kSpread * normal(generator);
    }
    sample.q += C * delta;
    dynamics.system().normalise(sample.q);
    if (evaluate(sample) == Status::kOk)
    {
      report = judge(dynamics, workspace);
      report.nearby = report.finding != InertiaReport::Finding::kPositive;
    }
  }
  return report;
}

}  // namespace constrained_dynamics
