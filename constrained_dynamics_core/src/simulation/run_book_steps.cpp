// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The steps of a run: their work and their errors.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "simulation/run_book.hpp"

namespace constrained_dynamics
{

namespace
{

// Dormand and Prince: weights of order 5, and their difference to those of order 4.
constexpr double kDopriWeights[] = {
  35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0};
constexpr double kDopriError[] = {71.0 / 57600.0,      0.0,          -71.0 / 16695.0, 71.0 / 1920.0,
                                  -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0};

/// Weights for the part θ of a step: those of the dense output (Hairer, Nørsett, Wanner, Solving
/// ODEs I, II.6), so that work ends where the motion does.
std::array<double, 7> dopri_weights(double theta) noexcept
{
  // Each is θ² (3 − 2θ) weight + θ² (1 − θ)² (c + d θ), and the ends belong to the first and last.
  constexpr double kConstant[] = {-12793612615.0 / 11282082432.0,  0.0,
                                  88272555100.0 / 32700410799.0,   -11083301675.0 / 1880347072.0,
                                  759212249535.0 / 199316789632.0, -1648467425.0 / 822651844.0,
                                  74144470.0 / 29380423.0};
  constexpr double kSlope[] = {157015080.0 / 11282082432.0,      0.0,
                               -1570150800.0 / 32700410799.0,    785075400.0 / 1880347072.0,
                               -114463993320.0 / 199316789632.0, 389220480.0 / 822651844.0,
                               -8293050.0 / 29380423.0};
  const double left = 1.0 - theta;
  std::array<double, 7> weights{};
  for (std::size_t i = 0; i < weights.size(); ++i)
  {
    weights[i] = theta * theta * (3.0 - 2.0 * theta) * kDopriWeights[i] +
                 theta * theta * left * left * (kConstant[i] + kSlope[i] * theta);
  }
  weights[0] += theta * left * left;
  weights[6] -= theta * theta * left;
  return weights;
}

}  // namespace

void RunBook::Norms::add(const Norms & other, double factor) noexcept
{
  coordinates += factor * other.coordinates;
  speeds += factor * other.speeds;
}

// ---- error of the steps
// ------------------------------------------------------------------------------

RunBook::Norms RunBook::norms(const ConstVectorRef & dx, const Workspace & workspace) const noexcept
{
  const Eigen::Index nq = workspace.terms().coordinates.size();
  const Eigen::MatrixXd & C = workspace.terms().kinematic_matrix;
  Norms squares;
  for (Eigen::Index i = 0; i < weight_.size(); ++i)
  {
    // The columns of C are orthogonal where they are not units, as those of quaternions are.
    const double length = C.col(i).squaredNorm();
    const double along = length > 0.0 ? C.col(i).dot(dx.head(nq)) / length : 0.0;
    squares.coordinates += weight_(i) * along * along;
    squares.speeds += weight_(i) * dx(nq + i) * dx(nq + i);
  }
  return {std::sqrt(squares.coordinates), std::sqrt(squares.speeds)};
}

void RunBook::see(const ConstVectorRef & x, const Workspace & workspace) noexcept
{
  sizes_.place = std::max(sizes_.place, norms(x, workspace).coordinates);
  change_ = x;
  change_.head(workspace.terms().coordinates.size()) -=
    start_.head(workspace.terms().coordinates.size());
  const Norms size = norms(change_, workspace);
  sizes_.state.coordinates = std::max(sizes_.state.coordinates, size.coordinates);
  sizes_.state.speeds = std::max(sizes_.state.speeds, size.speeds);
}

void RunBook::reach(
  double time, const ConstVectorRef & x, const ConstVectorRef & x_dot,
  const Workspace & workspace) noexcept CD_NONBLOCKING
{
  if (smooth_ > 0 && time == old_time_[0])
  {
    return;  // a step that is made again
  }
  account(time, last_);
  see(x, workspace);
  if (inputs_jumped_)
  {
    interrupt();
    inputs_jumped_ = false;
  }
  const double h = time - old_time_[0];
  if (smooth_ >= 2 && std::abs(h - (old_time_[0] - old_time_[1])) <= 1e-6 * h)
  {
    change_ = x - old_x_[1] - h / 3.0 * (x_dot + 4.0 * old_slope_[0] + old_slope_[1]);
    // Half of it belongs to either step; the first has no pair before.
    error_.add(norms(change_, workspace), smooth_ == 2 ? 1.0 : 0.5);
    pending_ = Norms{};
  }
  else if (smooth_ >= 1)
  {
    change_ = x - old_x_[0] - h / 2.0 * (x_dot + old_slope_[0]);
    error_.add(pending_);
    pending_ = norms(change_, workspace);
  }
  else
  {
    pending_ = Norms{};
  }
  std::swap(old_x_[0], old_x_[1]);
  std::swap(old_slope_[0], old_slope_[1]);
  old_time_[1] = old_time_[0];
  old_x_[0] = x;
  old_slope_[0] = x_dot;
  old_time_[0] = time;
  ++smooth_;
}

void RunBook::record_stage(const ConstVectorRef & slope) noexcept
{
  stages_[position_] = last_;
  slopes_[position_] = slope;
  position_ = position_ + 1 == kMostStages ? 1 : position_ + 1;
}

void RunBook::add_dopri_step(
  double time, double step_end, double end, const ConstVectorRef & x,
  const Workspace & workspace) noexcept
{
  account(time, stages_[0]);
  see(x, workspace);
  const double h = step_end - time;
  const std::array<double, kMostStages> weights = dopri_weights((end - time) / h);
  add_step(h, weights.data(), static_cast<int>(kMostStages));
  error_.add(norms(dopri_error(h), workspace));
  stages_[0] = stages_[kMostStages - 1];
  slopes_[0].swap(slopes_[kMostStages - 1]);
}

const Eigen::VectorXd & RunBook::dopri_error(double h) noexcept
{
  change_.setZero();
  for (std::size_t i = 0; i < kMostStages; ++i)
  {
    change_ += h * kDopriError[i] * slopes_[i];
  }
  return change_;
}

const std::array<double, 7> & RunBook::sample_places() noexcept
{
  const auto place = [](double square) { return 0.5 * (1.0 - std::sqrt(square)); };
  static const double outer = place(5.0 / 11.0 + 2.0 / 11.0 * std::sqrt(5.0 / 3.0));
  static const double inner = place(5.0 / 11.0 - 2.0 / 11.0 * std::sqrt(5.0 / 3.0));
  static const std::array<double, 7> places = {0.0,         outer,       inner, 0.5,
                                               1.0 - inner, 1.0 - outer, 1.0};
  return places;
}

void RunBook::add_sampled_step(
  double time, double end, const ConstVectorRef & x, const ConstVectorRef & error,
  const Workspace & workspace) noexcept
{
  const double outer = (124.0 - 7.0 * std::sqrt(15.0)) / 700.0;
  const double inner = (124.0 + 7.0 * std::sqrt(15.0)) / 700.0;
  const double weights[] = {1.0 / 42.0, outer, inner, 128.0 / 525.0, inner, outer, 1.0 / 42.0};
  account(time, stages_[0]);
  see(x, workspace);
  add_step(end - time, weights, static_cast<int>(kMostStages));
  error_.add(norms(error, workspace));
}

double RunBook::step_error() const noexcept
{
  // Displacements below this fraction of the coordinates are rounding of them.
  constexpr double kRounding = 1e-9;
  const double place = kRounding * sizes_.place;
  const double duration = time_ - start_time_;
  const double speed =
    std::max(std::sqrt(2.0 * balance_.scale), duration > 0.0 ? place / duration : 0.0);
  const double rest_speed = std::sqrt(2.0 * kEnergyRounding * sizes_.potential);
  const auto ratio = [](double error, double size) { return size > 0.0 ? error / size : 0.0; };
  return std::max(
    ratio(error_.speeds, std::max(sizes_.state.speeds, speed)),
    ratio(error_.coordinates, std::max({sizes_.state.coordinates, place, rest_speed * duration})));
}

}  // namespace constrained_dynamics
