// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/servo/servo_law.hpp"
#include "servo/servo_cycle.hpp"

// What a servo workspace finds out at a state, before its first cycle.

namespace constrained_dynamics
{

namespace
{

class Preparation
{
public:
  Preparation(const ServoLaw & law, ServoWorkspace::Memory & memory)
  : law_(law), m_(memory), cycle_(law, memory)
  {
  }

  /// Forgets what was found before, and evaluates the rows.
  void begin(const State & state)
  {
    m_.passive.reset(state);
    m_.has_last = false;
    m_.row_size.setZero();
    std::fill(m_.nominal_rank.begin(), m_.nominal_rank.end(), -1);
    m_.prepared_enabled = m_.enabled;
    for (std::size_t i = 0; i < m_.prepared_active.size(); ++i)
    {
      m_.prepared_active[i] = m_.passive.is_active(static_cast<int>(i));
    }
    const Status status = form(state);
    if (!has_output(status))
    {
      throw std::invalid_argument(
        std::string("the servo-constraints cannot be evaluated at the given state: status ") +
        to_string(status));
    }
  }

  Status form(const State & state) { return cycle_.form(state.time, state.q, state.u); }

  /// The usual size of each row of S, and states near the given one.
  std::vector<State> find_sizes(const State & state);
  /// Ranks, level by level, as they are as a rule: the largest seen.
  void find_ranks(const std::vector<State> & samples);

private:
  /// Sizes of the rows of S, in the metric that controls count in.
  Eigen::VectorXd sizes()
  {
    cycle_.begin_levels();
    return m_.solver.in_metric(m_.S_transpose).colwise().norm().transpose();
  }
  /// Moves a state onto the constraints, and evaluates the rows there.
  bool form_projected(State & sample)
  {
    const Dynamics & dynamics = law_.passive();
    return dynamics.project_position(sample.time, sample.q, m_.passive) == Status::kOk &&
           dynamics.project_velocity(sample.time, sample.q, sample.u, m_.passive) == Status::kOk &&
           has_output(form(sample));
  }

  const ServoLaw & law_;
  ServoWorkspace::Memory & m_;
  ServoCycle cycle_;
};

std::vector<State> Preparation::find_sizes(const State & state)
{
  constexpr int kSamples = 8;
  constexpr double kSpread = 1e-2;  // as Workspace::reset
  // Usual sizes: far enough from a singular state that the law may start at.
  constexpr double kFarSpread = 0.3;
  constexpr unsigned kSeed = 20260102U;
  // Rows that vanish at rest (energies) are measured at speeds of this size.
  constexpr double kSpeed = 1.0;
  constexpr double kVanishing = 0.1;
  const Eigen::VectorXd here = sizes();
  // What rows could be if the passive constraints left them alone; of forces what any of them is.
  Eigen::VectorXd possible =
    m_.rows.jacobian.rowwise().norm() * m_.solver.in_metric(m_.Y_transpose).norm();
  possible = possible.cwiseMax(here.maxCoeff());
  std::vector<State> samples{state};
  std::mt19937 generator(kSeed);
  std::normal_distribution<double> normal;
  Eigen::VectorXd moving = Eigen::VectorXd::Zero(law_.row_count());
  const Eigen::MatrixXd C = m_.passive.terms().kinematic_matrix;
  for (int i = 0; i < 2 * kSamples; ++i)
  {
    const bool far = i >= kSamples;
    State sample = state;
    Eigen::VectorXd delta(state.u.size());
    for (Eigen::Index k = 0; k < delta.size(); ++k)
    {
      delta(k) = (far ? kFarSpread : kSpread) * normal(generator);
      sample.u(k) += kSpeed * normal(generator);
    }
    sample.q += C * delta;
    law_.passive().system().normalise(sample.q);
    if (form_projected(sample))
    {
      moving = moving.cwiseMax(sizes());
      if (!far)
      {
        samples.push_back(std::move(sample));
      }
    }
  }
  for (Eigen::Index row = 0; row < law_.row_count(); ++row)
  {
    const double usual = here(row) >= kVanishing * moving(row) ? here(row) : moving(row);
    m_.row_size(row) = std::max(usual, kServoRounding * possible(row));
  }
  return samples;
}

void Preparation::find_ranks(const std::vector<State> & samples)
{
  std::vector<int> largest(law_.levels().size(), 0);
  for (const State & sample : samples)
  {
    if (!has_output(form(sample)))
    {
      continue;
    }
    cycle_.begin_levels();
    for (std::size_t level = 0; level < largest.size(); ++level)
    {
      const int before = m_.rank;
      cycle_.solve_level(static_cast<int>(level));
      largest[level] = std::max(largest[level], m_.rank - before);
    }
  }
  m_.nominal_rank = largest;
}

}  // namespace

void ServoLaw::reset(const State & state, ServoWorkspace & workspace) const
{
  ServoWorkspace::Memory & memory = *workspace.memory_;
  if (!ServoCycle(*this, memory).fits())
  {
    throw std::invalid_argument(
      "the servo workspace belongs to another law, or its gains have other sizes");
  }
  Preparation preparation(*this, memory);
  preparation.begin(state);
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    if (tasks_[i].constraint->start_reference() == StartReference::kOwn)
    {
      continue;
    }
    const Status status = measure(static_cast<int>(i), workspace);
    if (status != Status::kOk)
    {
      throw std::invalid_argument(
        "servo-constraint '" + tasks_[i].constraint->name() +
        "' cannot be evaluated at the given state: status " + to_string(status));
    }
  }
  preparation.find_ranks(preparation.find_sizes(state));
  // `hold` and `measure` speak of the given state.
  (void)preparation.form(state);
}

Status ServoLaw::evaluate(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  return ServoCycle(*this, *workspace.memory_).evaluate(time, q, u);
}

Status ServoLaw::measure(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Memory & memory = *workspace.memory_;
  const std::size_t i = static_cast<std::size_t>(task);
  RowBlock block = ServoCycle(*this, memory).rows_of(i);
  return tasks_[i].constraint->measure(
    memory.passive.system_data(), memory.scratch, block, memory.references[i]);
}

Status ServoLaw::hold(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  const Status status = measure(task, workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  const std::size_t i = static_cast<std::size_t>(task);
  return layouts_[i].rest(workspace.memory_->references[i]) ? Status::kOk
                                                            : Status::kNonFiniteResult;
}

}  // namespace constrained_dynamics
