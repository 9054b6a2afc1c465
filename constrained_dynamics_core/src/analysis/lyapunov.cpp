// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <Eigen/QR>

#include "analysis/linear_matrices.hpp"
#include "analysis/virtual_motions.hpp"
#include "constrained_dynamics/analysis/linearisation.hpp"

namespace constrained_dynamics
{
namespace
{

/// The part of x with K x = 0.
Eigen::VectorXd on_manifold(const Eigen::MatrixXd & constraint_matrix, const Eigen::VectorXd & x)
{
  if (constraint_matrix.rows() == 0)
  {
    return x;
  }
  const Eigen::MatrixXd rows = unit_rows(constraint_matrix);
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> inverse;
  inverse.setThreshold(kRedundantDirection);
  inverse.compute(rows);
  return x - inverse.solve(rows * x);
}

/// Sums of logarithms of growth with their times.
class Growth
{
public:
  void add(double time, double logarithm)
  {
    time_.push_back(time);
    sum_.push_back((sum_.empty() ? 0.0 : sum_.back()) + logarithm);
  }
  /// Mean rate between two places; place −1 is the start.
  double rate(double start, long from, long to) const
  {
    const double before = from < 0 ? 0.0 : sum_[static_cast<std::size_t>(from)];
    const double begin = from < 0 ? start : time_[static_cast<std::size_t>(from)];
    return (sum_[static_cast<std::size_t>(to)] - before) /
           (time_[static_cast<std::size_t>(to)] - begin);
  }
  long size() const { return static_cast<long>(sum_.size()); }
  double time(long i) const { return time_[static_cast<std::size_t>(i)]; }

private:
  std::vector<double> time_;
  std::vector<double> sum_;
};

void summarise(
  const Growth & growth, double start, const LyapunovOptions & options, LyapunovResult & result)
{
  if (growth.size() < 2)
  {
    return;
  }
  const long last = growth.size() - 1;
  const long from = static_cast<long>(options.transient * static_cast<double>(growth.size())) - 1;
  const long middle = std::min(last - 1, (from + last) / 2);
  result.exponent = growth.rate(start, from, last);
  result.first_half = growth.rate(start, from, std::max(middle, from + 1));
  result.second_half = growth.rate(start, middle, last);
  for (int i = 1; i <= options.sample_count; ++i)
  {
    const long at = from + (last - from) * i / options.sample_count;
    if (at > from)
    {
      result.sample_time.push_back(growth.time(at));
      result.sample_exponent.push_back(growth.rate(start, from, at));
    }
  }
}

void check(const LyapunovOptions & options)
{
  if (!(options.transient >= 0.0 && options.transient < 1.0))
  {
    std::ostringstream message;
    message << "transient is " << options.transient << "; allowed: at least 0, below 1";
    throw std::invalid_argument(message.str());
  }
  if (options.sample_count < 1)
  {
    throw std::invalid_argument(
      "sample_count is " + std::to_string(options.sample_count) + "; allowed: at least 1");
  }
}

/// A deviation of length 1 with components in all directions, none of them a round number.
Eigen::VectorXd first_deviation(const LinearMatrices & at)
{
  Eigen::VectorXd x(at.state_matrix.rows());
  for (Eigen::Index i = 0; i < x.size(); ++i)
  {
    x(i) = std::cos(1.0 + 2.3 * static_cast<double>(i));
  }
  x = on_manifold(at.constraint_matrix, x);
  if (!(x.norm() > 0.0))
  {
    throw std::invalid_argument("the constraints leave no motion, so nothing can grow");
  }
  return x.normalized();
}

}  // namespace

LyapunovResult largest_lyapunov_exponent(
  Simulation & simulation, double until, InputLaw * law, const LyapunovOptions & options)
{
  check(options);
  const Eigen::VectorXd inputs = simulation.inputs();
  const auto matrices_here = [&](LinearMatrices & out)
  {
    return linear_matrices(
      simulation.dynamics(), simulation.state(), inputs, law, simulation.workspace(), out);
  };
  const double start = simulation.state().time;
  LyapunovResult result;
  result.time = start;
  LinearMatrices at;
  result.status = matrices_here(at);
  if (!has_output(result.status))
  {
    return result;
  }
  Eigen::VectorXd x = first_deviation(at);
  Growth growth;
  double step = 0.0;
  while (simulation.state().time + 1.5 * step < until)
  {
    // One step of the classical Runge-Kutta scheme over two steps of the simulation.
    LinearMatrices node[2];
    const double begin = simulation.state().time;
    for (LinearMatrices & matrices : node)
    {
      Status status = simulation.step();
      if (has_output(status))
      {
        status = matrices_here(matrices);
      }
      if (!has_output(status))
      {
        result.status = status;
        summarise(growth, start, options, result);
        return result;
      }
    }
    const double h = simulation.state().time - begin;
    step = 0.5 * h;
    const Eigen::VectorXd k1 = at.state_matrix * x;
    const Eigen::VectorXd k2 = node[0].state_matrix * (x + 0.5 * h * k1);
    const Eigen::VectorXd k3 = node[0].state_matrix * (x + 0.5 * h * k2);
    const Eigen::VectorXd k4 = node[1].state_matrix * (x + h * k3);
    x = on_manifold(node[1].constraint_matrix, x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4));
    const double length = x.norm();
    growth.add(simulation.state().time, std::log(length));
    x /= length;
    at = std::move(node[1]);
    result.time = simulation.state().time;
  }
  if (growth.size() < 2)
  {
    std::ostringstream message;
    message << "the run ends at " << until << " s; a Lyapunov exponent needs four steps at least";
    throw std::invalid_argument(message.str());
  }
  summarise(growth, start, options, result);
  result.completed = true;
  return result;
}

}  // namespace constrained_dynamics
