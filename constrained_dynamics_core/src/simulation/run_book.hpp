// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/simulation/energy_balance.hpp"

namespace constrained_dynamics
{

class MultiplierForces;

/// Books the energy of a run and the error of its steps, from evaluations that the integrator makes
/// anyway (E30, E31).
///
/// Work is the integral of power with the weights of the integrator: one more state of the same
/// Runge-Kutta scheme, on which no other depends.
///
/// Error of fixed steps: the defect of Simpson's rule over two of them, which has the order of the
/// error of a scheme of order 4; of a step without a neighbour that of the trapezoidal rule. Error
/// of adaptive steps: that of the embedded formula. The norms of all steps are added up: they tell
/// what the steps did wrong, not how the motion makes it grow.
class RunBook
{
public:
  RunBook(const Dynamics & dynamics, const ContactSet & contacts);

  /// A motion begins, of one or more runs: sizes are those of all its runs.
  void forget() noexcept;
  /// A run begins.
  void open() noexcept;
  /// It starts at the state of the workspace, which was solved with these inputs.
  /// @param x coordinates and speeds.
  void start(
    double time, const ConstVectorRef & x, const Eigen::VectorXd & inputs, Workspace & workspace);

  /// Power and energy at the evaluation that was just made.
  void measure(const Eigen::VectorXd & inputs, Workspace & workspace) noexcept CD_NONBLOCKING;

  // ---- fixed steps

  /// What was measured last, with these inputs, is stage i.
  void keep_stage(int i, const Eigen::VectorXd & inputs) noexcept CD_NONBLOCKING;
  /// The step of these stages was made.
  void add_step(double h, const double * weights, int stage_count) noexcept CD_NONBLOCKING;
  /// What was measured last is a state x with the slopes x_dot that the run has reached.
  void reach(
    double time, const ConstVectorRef & x, const ConstVectorRef & x_dot,
    const Workspace & workspace) noexcept CD_NONBLOCKING;

  // ---- steps of Dormand and Prince

  /// The next evaluation is the first of a step, not the last of the one before.
  void expect_first() noexcept { position_ = 0; }
  /// What was measured last is the next stage; steps that are tried again come over the old ones.
  void record_stage(const ConstVectorRef & slope) noexcept;
  /// The step from `time` and x was made, or the part of it until `end`.
  void add_dopri_step(
    double time, double step_end, double end, const ConstVectorRef & x,
    const Workspace & workspace) noexcept;
  /// The estimated error of a step of length h, from its stages.
  const Eigen::VectorXd & dopri_error(double h) noexcept;

  // ---- steps of any other method

  /// Where a step is sampled, from its begin 0 to its end 1: Lobatto's rule, of order 12, because
  /// implicit steps may be long.
  static const std::array<double, 7> & sample_places() noexcept;
  /// The step from `time` and x to `end` was made; the last stages that were recorded are those of
  /// sample_places(). @param error of the step, estimated.
  void add_sampled_step(
    double time, double end, const ConstVectorRef & x, const ConstVectorRef & error,
    const Workspace & workspace) noexcept;

  // ---- all of them

  /// Slopes from here on are not those before.
  void interrupt() noexcept { smooth_ = 0; }
  /// Energy that events from number `first` on changed.
  void add_events(const std::vector<ContactEvent> & events, std::size_t first) noexcept;
  /// Work of the percussions of a step [J].
  void add_percussions(double normal, double friction) noexcept;
  /// What was measured last is the end of the run.
  void finish(double time) noexcept;

  const EnergyBalance & balance() const { return balance_; }
  /// Σ of the steps, relative to the largest speeds and displacements.
  double step_error() const noexcept;

private:
  static constexpr std::size_t kMostStages = 7;
  /// [1] Energies below this fraction of the potential energy are round-off of it.
  static constexpr double kEnergyRounding = 1e-10;

  /// Of one evaluation.
  struct Sample
  {
    std::array<double, kWorkKinds> power{};  // [W]
    double kinetic = 0.0;                    // [J]
    double potential = 0.0;                  // [J]
  };
  /// Sizes of a change of the state, in the metric of the diagonal of Q.
  struct Norms
  {
    double coordinates = 0.0;
    double speeds = 0.0;
    void add(const Norms & other, double factor = 1.0) noexcept;
  };
  Norms norms(const ConstVectorRef & dx, const Workspace & workspace) const noexcept;
  void account(double time, const Sample & at) noexcept;
  void see(const ConstVectorRef & x, const Workspace & workspace) noexcept;
  void book_rows(SystemPower & system, Workspace & workspace) noexcept;
  double inhomogeneous_power(Workspace & workspace) const noexcept;
  void add_work(const std::array<double, kWorkKinds> & work) noexcept;

  const Dynamics & dynamics_;
  std::shared_ptr<const MultiplierForces> multiplier_forces_;  // null: none
  std::vector<int> constraint_of_row_;
  std::vector<RowLevel> level_of_row_;
  std::vector<char> is_friction_row_;
  std::vector<std::pair<int, int>> dry_frictions_;  // first row and number of rows; none of Dahl's
  bool is_baumgarte_;

  Sample last_;
  std::array<Sample, kMostStages> stages_;
  EnergyBalance balance_;
  /// What errors are relative to.
  struct Sizes
  {
    double work = 0.0;  // ∫ |power| dt
    double kinetic = 0.0;
    double potential = 0.0;
    Norms state;         // displacement from the start, and speed
    double place = 0.0;  // the coordinates themselves
  };
  Sizes sizes_;

  Eigen::VectorXd weight_;  // of the speeds
  Eigen::VectorXd start_;   // of the motion
  Eigen::VectorXd change_;
  Eigen::VectorXd inputs_;    // of the last evaluation
  bool inputs_held_ = false;  // all stages of the step have the same
  bool inputs_jumped_ = false;
  std::array<Eigen::VectorXd, kMostStages> slopes_;
  std::size_t position_ = 0;  // of the next stage
  // States one and two steps ago, with their slopes.
  std::array<Eigen::VectorXd, 2> old_x_;
  std::array<Eigen::VectorXd, 2> old_slope_;
  std::array<double, 2> old_time_{};
  int smooth_ = 0;  // how many states in a row belong together
  Norms error_;
  Norms pending_;  // of a step that may still get a neighbour
  double start_time_ = 0.0;
  double time_ = 0.0;  // of the last state
};

}  // namespace constrained_dynamics
