// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "simulation/rosenbrock_step.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

inline Eigen::Map<Eigen::VectorXd> view_of(StateVector & x)
{
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}

inline Eigen::Map<const Eigen::VectorXd> view_of(const StateVector & x)
{
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}

/// Leaves an adaptive integrator where an evaluation fails.
struct EvaluationFailed
{
  Status status;
};

inline void require_output(Status status)
{
  if (!has_output(status))
  {
    throw EvaluationFailed{status};
  }
}

/// The motion of a phase as the adaptive integrators see it. @throw EvaluationFailed
class PhaseMotion
{
public:
  explicit PhaseMotion(SimulationCore & of) : of_(of) {}

  void derive(const StateVector & x, StateVector & slope, double time);
  /// The next derivative is the first of a step that shares none with the one before.
  void begin_step();

  /// ∂f/∂x and ∂f/∂t by differences. The directions of slip are held meanwhile: how they turn with
  /// the state, by dψ/|ψ|, is far beyond any difference where slip is slow, and is put in exactly.
  void jacobian(
    const StateVector & x, const StateVector & slope, double time, Eigen::MatrixXd & by_state,
    Eigen::VectorXd & by_time);

  /// Measures how fast the slips turn that begin with a phase, which decides between the
  /// integrators.
  void measure_turning(const StateVector & x, double time);

private:
  struct Slide
  {
    int friction = -1;
    double across[2] = {0.0, 0.0};
    double speed = 0.0;
    double slip = 0.0;
    Eigen::VectorXd by_turn;
  };

  void evaluate(double time);
  void find_slides();
  void turn_slides(const StateVector & slope, double time);

  SimulationCore & of_;
  StateVector moved_;
  StateVector changed_;
  std::vector<Slide> slides_;
};

}  // namespace constrained_dynamics
