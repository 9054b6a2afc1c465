// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/momentum_observer.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <Eigen/Cholesky>

#include "checked_values.hpp"
#include "is_finite.hpp"
#include "servo/independent_forces.hpp"
#include "servo/linear_estimate.hpp"
#include "servo/noise_options.hpp"

namespace constrained_dynamics
{

struct MomentumObserver::Impl
{
  Impl(std::shared_ptr<const Dynamics> of, const MomentumObserverOptions & options);

  Status evaluate(Workspace & workspace) noexcept CD_NONBLOCKING;
  Status find_noise(double period, const Workspace & workspace) noexcept CD_NONBLOCKING;
  /// Noise of all speeds by that of the measured ones (n × n), where the others follow from rows.
  bool find_speed_response() noexcept CD_NONBLOCKING;
  /// What the motion from the last sample says, with the terms of one end of it.
  void find_force(const ConstVectorRef & acceleration, const ConstVectorRef & effort, VectorRef out)
    const noexcept CD_NONBLOCKING;
  void find_wrenches(const Workspace & workspace) noexcept CD_NONBLOCKING;

  std::shared_ptr<const Dynamics> dynamics;
  double gain;
  double threshold;
  Eigen::VectorXd speed_noise, effort_noise, model_noise;
  std::vector<int> measured, completed;  // speeds
  std::vector<int> frames;
  IndependentForces independent;

  // Of the last sample: A2 Q, A2 P, A2 G, u.
  Eigen::MatrixXd inertia, input;
  Eigen::VectorXd force, speeds;
  bool has_last = false;

  Eigen::VectorXd acceleration;
  Eigen::VectorXd found, found_before;
  Eigen::VectorXd estimate, before;
  Eigen::MatrixXd noise, next_noise;
  Eigen::VectorXd deviation;
  Eigen::VectorXi is_independent;
  bool contact = false;

  // Noise of completed speeds.
  Eigen::MatrixXd speed_response;  // n × n
  Eigen::MatrixXd completed_rows, measured_rows, normal;
  Eigen::LLT<Eigen::MatrixXd> normal_factor;
  Eigen::VectorXd column;

  LinearEstimate split;
  Matrix6X jacobian, reach;
  Eigen::VectorXd wrenches;
  Eigen::MatrixXd wrench_covariance;
  bool has_wrenches = false;
};

MomentumObserver::Impl::Impl(
  std::shared_ptr<const Dynamics> of, const MomentumObserverOptions & options)
: dynamics(std::move(of)),
  gain(checked_positive("momentum observer", "gain", options.gain)),
  threshold(checked_positive("momentum observer", "threshold", options.threshold)),
  independent(*dynamics),
  split(
    dynamics->system().speed_count(), 6 * static_cast<int>(options.frames.size()),
    2 * dynamics->system().speed_count() + dynamics->system().input_count())
{
  const System & system = dynamics->system();
  const Eigen::Index n = system.speed_count();
  const Eigen::Index l = system.input_count();
  const Eigen::Index m = dynamics->constraints().row_count();
  if (!system.driven_speeds().empty())
  {
    throw std::invalid_argument(
      "momentum observer: the system has speeds that a drive imposes; allowed: none");
  }
  speed_noise = checked_deviations("momentum observer", "speed_noise", options.speed_noise, n);
  effort_noise = checked_deviations("momentum observer", "effort_noise", options.effort_noise, l);
  model_noise = checked_deviations("momentum observer", "model_noise", options.model_noise, n);
  const std::vector<bool> & flags = options.measured_speeds;
  if (!flags.empty() && static_cast<Eigen::Index>(flags.size()) != n)
  {
    throw std::invalid_argument(
      "momentum observer: measured_speeds has " + std::to_string(flags.size()) +
      " flags; allowed: one for each of the " + std::to_string(n) + " speeds, or none");
  }
  for (int i = 0; i < static_cast<int>(n); ++i)
  {
    const bool is_measured = flags.empty() || flags[static_cast<std::size_t>(i)];
    (is_measured ? measured : completed).push_back(i);
  }
  for (const std::string & frame : options.frames)
  {
    frames.push_back(system.frame_index(frame));
  }
  const Eigen::Index c = static_cast<Eigen::Index>(completed.size());
  inertia.setZero(n, n);
  input.setZero(n, l);
  force.setZero(n);
  speeds.setZero(n);
  acceleration.setZero(n);
  found.setZero(n);
  found_before = estimate = before = found;
  noise.setZero(n, 2 * n + l);
  next_noise = noise;
  deviation.setZero(n);
  is_independent.setZero(n);
  speed_response.setIdentity(n, n);
  completed_rows.setZero(m, c);
  measured_rows.setZero(m, n);
  normal.setIdentity(c, c);
  normal_factor.compute(normal);
  column.setZero(c);
  jacobian.setZero(6, n);
  reach = jacobian;
  wrenches.setZero(6 * static_cast<Eigen::Index>(frames.size()));
  wrench_covariance.setZero(wrenches.size(), wrenches.size());
}

Status MomentumObserver::Impl::evaluate(Workspace & workspace) noexcept CD_NONBLOCKING
{
  Status status = dynamics->evaluate_rows(workspace);
  if (status == Status::kOk)
  {
    status = dynamics->evaluate_terms(workspace);
  }
  return status == Status::kOk ? independent.factor(workspace) : status;
}

void MomentumObserver::Impl::find_force(
  const ConstVectorRef & at, const ConstVectorRef & effort,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  out = -force;
  out.noalias() += inertia * at;
  out.noalias() -= input * effort;
}

bool MomentumObserver::Impl::find_speed_response() noexcept CD_NONBLOCKING
{
  if (completed.empty())
  {
    return true;
  }
  // δu_c minimises ‖S (A_c δu_c + A_m δu_m)‖, as StateCompletion does.
  const Eigen::Index m = independent.row_count();
  const auto A = independent.jacobian();
  measured_rows.setZero();
  completed_rows.setZero();
  for (Eigen::Index row = 0; row < m; ++row)
  {
    for (std::size_t k = 0; k < completed.size(); ++k)
    {
      completed_rows(row, static_cast<Eigen::Index>(k)) =
        independent.scale()(row) * A(row, completed[k]);
    }
    for (const int speed : measured)
    {
      measured_rows(row, speed) = independent.scale()(row) * A(row, speed);
    }
  }
  normal.noalias() = completed_rows.transpose() * completed_rows;
  normal_factor.compute(normal);
  if (normal_factor.info() != Eigen::Success)
  {
    return false;
  }
  speed_response.setZero();
  for (const int speed : measured)
  {
    speed_response(speed, speed) = 1.0;
    column.noalias() = completed_rows.transpose() * measured_rows.col(speed);
    normal_factor.solveInPlace(column);
    for (std::size_t k = 0; k < completed.size(); ++k)
    {
      speed_response(completed[k], speed) = -column(static_cast<Eigen::Index>(k));
    }
  }
  return true;
}

Status MomentumObserver::Impl::find_noise(double period, const Workspace & workspace) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index n = speeds.size();
  const Eigen::Index l = input.cols();
  const double a = std::exp(-gain * period);
  const double of_speeds = (1.0 - a) / period * std::sqrt(2.0 / (1.0 + a));
  const double of_efforts = std::sqrt((1.0 - a) / (1.0 + a));
  contact = false;
  has_wrenches = false;
  if (!find_speed_response())
  {
    return Status::kSingular;
  }
  auto from_speeds = next_noise.leftCols(n);
  from_speeds.noalias() = inertia * speed_response;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    from_speeds.col(j) *= of_speeds * speed_noise(j);
  }
  for (Eigen::Index j = 0; j < l; ++j)
  {
    next_noise.col(n + j) = of_efforts * effort_noise(j) * input.col(j);
  }
  auto from_model = next_noise.rightCols(n);
  from_model = model_noise.asDiagonal();
  independent.project(from_model);
  if (!is_finite(next_noise))
  {
    return Status::kNonFiniteResult;
  }
  noise = next_noise;
  is_independent.setOnes();
  for (int k = 0; k < independent.factorisation().rank(); ++k)
  {
    is_independent(independent.factorisation().order()(k)) = 0;
  }
  for (Eigen::Index i = 0; i < n; ++i)
  {
    deviation(i) = noise.row(i).norm();
    contact = contact || (deviation(i) > 0.0 && std::abs(estimate(i)) > threshold * deviation(i));
  }
  find_wrenches(workspace);
  return Status::kOk;
}

void MomentumObserver::Impl::find_wrenches(const Workspace & workspace) noexcept CD_NONBLOCKING
{
  if (frames.empty())
  {
    return;
  }
  const System & system = dynamics->system();
  for (std::size_t i = 0; i < frames.size(); ++i)
  {
    const Eigen::Index first = 6 * static_cast<Eigen::Index>(i);
    system.frame_jacobian(workspace.system_data(), frames[i], jacobian);
    system.frame_reach(workspace.system_data(), frames[i], reach);
    split.matrix.middleCols<6>(first) = jacobian.transpose();
    split.sizes.segment<3>(first).setConstant(reach.row(0).norm());
    split.sizes.segment<3>(first + 3).setConstant(reach.row(1).norm());
  }
  independent.project(split.matrix);
  split.noise = noise;
  split.measurements = estimate;
  const Status status = split.solve(static_cast<int>(wrenches.size()), dynamics->options().rank);
  if (status != Status::kOk)
  {
    return;
  }
  wrenches = split.estimate();
  wrench_covariance.noalias() = split.response() * split.response().transpose();
  has_wrenches = true;
}

MomentumObserver::MomentumObserver(
  std::shared_ptr<const Dynamics> dynamics, const MomentumObserverOptions & options)
{
  if (!dynamics)
  {
    throw std::invalid_argument("momentum observer: the dynamics is null");
  }
  impl_ = std::make_unique<Impl>(std::move(dynamics), options);
}

MomentumObserver::~MomentumObserver() = default;
MomentumObserver::MomentumObserver(MomentumObserver &&) noexcept = default;
MomentumObserver & MomentumObserver::operator=(MomentumObserver &&) noexcept = default;

void MomentumObserver::reset() noexcept CD_NONBLOCKING
{
  impl_->has_last = false;
  impl_->estimate.setZero();
  impl_->contact = false;
  impl_->has_wrenches = false;
}

Status MomentumObserver::update(
  double period, const ConstVectorRef & effort, Workspace & workspace) noexcept CD_NONBLOCKING
{
  Impl & of = *impl_;
  const bool had_last = of.has_last;
  of.has_last = false;
  if (effort.size() != of.input.cols())
  {
    return Status::kSizeMismatch;
  }
  if (!effort.allFinite() || !(period > 0.0 && std::isfinite(period)))
  {
    return Status::kNonFiniteInput;
  }
  const Status status = of.evaluate(workspace);
  if (!has_output(status))
  {
    return status;
  }
  const Terms terms = workspace.terms();
  if (had_last)
  {
    of.acceleration = (terms.speeds - of.speeds) / period;
    of.find_force(of.acceleration, effort, of.found_before);
    of.independent.project(of.found_before);
    of.independent.project(of.estimate);
  }
  of.before = of.estimate;
  of.inertia = terms.mass_matrix;
  of.input = terms.input_matrix;
  of.force = terms.force;
  of.independent.project(of.inertia);
  of.independent.project(of.input);
  of.independent.project(of.force);
  of.speeds = terms.speeds;
  if (had_last)
  {
    of.find_force(of.acceleration, effort, of.found);
    of.found = 0.5 * (of.found + of.found_before);
    if (!of.found.allFinite())
    {
      return Status::kNonFiniteResult;
    }
    of.estimate += -std::expm1(-of.gain * period) * (of.found - of.estimate);  // (E51)
  }
  const Status noise =
    of.estimate.allFinite() ? of.find_noise(period, workspace) : Status::kNonFiniteResult;
  of.has_last = has_output(noise);
  if (!of.has_last)
  {
    of.estimate = of.before;
  }
  return worse(status, noise);
}

const Eigen::VectorXd & MomentumObserver::force() const { return impl_->estimate; }
const Eigen::VectorXd & MomentumObserver::deviation() const { return impl_->deviation; }
const Eigen::MatrixXd & MomentumObserver::noise() const { return impl_->noise; }
const Eigen::VectorXi & MomentumObserver::independent() const { return impl_->is_independent; }
bool MomentumObserver::has_contact() const { return impl_->contact; }
bool MomentumObserver::has_wrenches() const { return impl_->has_wrenches; }
const Eigen::VectorXd & MomentumObserver::wrenches() const { return impl_->wrenches; }
const Eigen::MatrixXd & MomentumObserver::wrench_covariance() const
{
  return impl_->wrench_covariance;
}

}  // namespace constrained_dynamics
