// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/force_certificate.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

#include "servo/force_certificate_problem.hpp"

namespace constrained_dynamics
{

ForceCertificate::ForceCertificate(
  std::shared_ptr<const Dynamics> dynamics, const ForceCertificateOptions & options)
{
  if (!dynamics)
  {
    throw std::invalid_argument("force certificate: the dynamics is null");
  }
  impl_ = std::make_unique<Impl>(std::move(dynamics), options);
}

ForceCertificate::~ForceCertificate() = default;
ForceCertificate::ForceCertificate(ForceCertificate &&) noexcept = default;
ForceCertificate & ForceCertificate::operator=(ForceCertificate &&) noexcept = default;

void ForceCertificate::start(const State & state, bool with_observer, Workspace & workspace)
{
  // As many states as the rank analysis of the rows takes, and as far away.
  constexpr int kSamples = 8;
  constexpr double kSpread = 1e-2;
  constexpr unsigned kSeed = 20260101U;
  Impl & of = *impl_;
  const Eigen::VectorXd effort = Eigen::VectorXd::Zero(of.size.inputs);
  const Eigen::VectorXd readings = Eigen::VectorXd::Zero(6 * of.size.sensors);
  std::mt19937 generator(kSeed);
  std::normal_distribution<double> normal;
  int largest = RowFactorisation::kUnknownRank;
  Status worst = Status::kNoState;
  for (int i = 0; i < kSamples; ++i)
  {
    State sample = state;
    if (i > 0 && of.dynamics->set_state(state.time, state.q, state.u, workspace) == Status::kOk)
    {
      Eigen::VectorXd delta(of.size.speeds);
      std::generate(delta.begin(), delta.end(), [&] { return kSpread * normal(generator); });
      sample.q += workspace.terms().kinematic_matrix * delta;
      of.dynamics->system().normalise(sample.q);
    }
    const Status on_manifold = of.dynamics->project_position(sample.time, sample.q, workspace);
    if (on_manifold != Status::kOk && i > 0)
    {
      continue;
    }
    Status status = of.dynamics->set_state(sample.time, sample.q, sample.u, workspace);
    status =
      status == Status::kOk ? of.fill(effort, readings, nullptr, with_observer, workspace) : status;
    if (has_output(status))
    {
      status = of.solver.solve(RowFactorisation::kUnknownRank, of.dynamics->options().rank);
    }
    worst = has_output(status) ? Status::kOk : status;
    largest = has_output(status) ? std::max(largest, of.solver.rank()) : largest;
  }
  if (largest == RowFactorisation::kUnknownRank)
  {
    throw std::invalid_argument(
      std::string("force certificate: the rows cannot be evaluated at the state: status ") +
      to_string(worst));
  }
  of.nominal = largest;
  (void)of.dynamics->set_state(state.time, state.q, state.u, workspace);
}

Status ForceCertificate::update(
  const ConstVectorRef & effort, const ConstVectorRef & readings, const MomentumObserver * observer,
  Workspace & workspace) noexcept CD_NONBLOCKING
{
  Impl & of = *impl_;
  if (
    effort.size() != of.size.inputs || readings.size() != 6 * of.size.sensors ||
    (observer != nullptr && observer->noise().cols() != of.size.observer_sources()))
  {
    return Status::kSizeMismatch;
  }
  for (Eigen::Index i = 0; i < effort.size(); ++i)
  {
    if (of.is_measured[static_cast<std::size_t>(i)] && !std::isfinite(effort(i)))
    {
      return Status::kNonFiniteInput;
    }
  }
  if (!readings.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const Status filled = of.fill(effort, readings, observer, observer != nullptr, workspace);
  if (!has_output(filled))
  {
    return filled;
  }
  const Status status = of.solver.solve(of.nominal, of.dynamics->options().rank);
  if (!has_output(status))
  {
    return status;
  }
  of.store();
  return worse(filled, status);
}

const std::vector<std::string> & ForceCertificate::names() const { return impl_->names; }
const Eigen::VectorXi & ForceCertificate::observable() const { return impl_->observable; }
const Eigen::VectorXd & ForceCertificate::estimate() const { return impl_->estimate; }
const Eigen::MatrixXd & ForceCertificate::covariance() const { return impl_->covariance; }
int ForceCertificate::rank() const { return impl_->rank; }
int ForceCertificate::nominal_rank() const { return impl_->nominal; }

}  // namespace constrained_dynamics
