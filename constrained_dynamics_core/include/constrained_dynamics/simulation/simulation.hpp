// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/dynamics/input_law.hpp"
#include "constrained_dynamics/simulation/energy_balance.hpp"
#include "constrained_dynamics/simulation/limits.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

class SimulationCore;

enum class Integrator
{
  kRk4,          ///< classical Runge-Kutta, fixed step, order 4
  kKuttaMerson,  ///< five stages, fixed step, order 4: the thesis' integrator
  kDopri5,       ///< Dormand-Prince 5(4) of Boost.odeint, adaptive, dense output
};

/// Stable name: "rk4", "kutta_merson", "dopri5".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(Integrator integrator) noexcept;

struct SimulationOptions
{
  Integrator integrator = Integrator::kRk4;
  double step = 1e-3;  ///< [s]; of fixed-step integrators, first try of adaptive ones
  double absolute_tolerance = 1e-10;  ///< of adaptive integrators, in the units of q and u
  double relative_tolerance = 1e-10;  ///< of adaptive integrators
  double largest_step = 0.1;          ///< [s]; of adaptive integrators
  /// Relative; a run whose energy balance or step error exceeds it ends with kInaccurate.
  double error_tolerance = 1e-3;
  /// Whether runs look at the limits that robot descriptions state.
  bool watch_limits = true;
};

/// Rows that a status is about.
struct RowTrouble
{
  double time = 0.0;      ///< when it was first so [s]
  std::vector<int> rows;  ///< ConstraintSet::row_name names them
};

/// How a run ended.
struct RunResult
{
  /// kOk, kInaccurate, or why it ended early.
  Status status = Status::kOk;
  bool completed = false;  ///< reached the end, or was stopped by the observer
  double time = 0.0;       ///< of the last good state [s]
  long steps = 0;
  long evaluations = 0;
  long singular_evaluations = 0;      ///< evaluations with Status::kSingular
  long inconsistent_evaluations = 0;  ///< evaluations and projections with Status::kInconsistent
  EnergyBalance energy;               ///< of a run, not of single steps
  /// Estimate of what all steps did wrong (E31), relative to the largest speeds and displacements.
  double step_error = 0.0;
  bool is_accurate = true;  ///< both are within SimulationOptions::error_tolerance
  /// The rows that lost their rank, that contradicted each other, and that could not be met.
  RowTrouble singular_rows;
  RowTrouble inconsistent_rows;
  RowTrouble unmet_rows;
  std::vector<ExceededLimit> exceeded_limits;  ///< in the order of the coordinates
};

/// Integrates a constrained system on its configuration manifold: stages in coordinates and speeds,
/// quaternions normalised and, with Stabilisation::projection, q and u moved back to the rows after
/// each step.
///
/// Singular positions are passed on the branch that the motion is on: where a stage falls on one,
/// its acceleration is the mean of the accelerations on the manifold shortly before and shortly
/// after.
///
/// Contacts: the instants at which modes change are located, with the adaptive integrator on its
/// dense output, with fixed steps by shorter steps: a step in which modes end is made again up to
/// the first end and goes on from there, a bounded number of times.
class CONSTRAINED_DYNAMICS_EXPORT Simulation
{
public:
  /// Called at each output time with the solution evaluated there; false stops the run.
  using Observer = std::function<bool(const Simulation &)>;

  /// @param inputs none stands for τ = 0.
  /// @param contacts constraints that come and go; the simulation switches them.
  /// @throw std::invalid_argument for options out of range, contacts of other dynamics.
  explicit Simulation(
    std::shared_ptr<const Dynamics> dynamics, SimulationOptions options = {},
    std::shared_ptr<InputLaw> inputs = nullptr,
    std::shared_ptr<const ContactSet> contacts = nullptr);
  ~Simulation();
  Simulation(const Simulation &) = delete;
  Simulation & operator=(const Simulation &) = delete;

  /// Sets the state, analyses the rank of the rows there and finds the modes of the contacts (those
  /// that touch and approach strike at once). Real-time safe: no.
  /// @throw std::invalid_argument for wrong sizes; for a state where rows cannot be evaluated or
  /// contacts have no motion, which is set all the same, so that `evaluate` says why as a status.
  RankReport start(const State & state);

  /// One fixed step from the current state, which is untouched on failure.
  /// Statuses: kOk, kSingular and kInconsistent (step made), others (not made). Where the contacts
  /// have no motion after a step (kNoUniqueSolution), the state is that after it, and further steps
  /// and evaluations return the same until a switch, an impulse or `start` finds one. Real-time
  /// safe: yes.
  [[nodiscard]] Status step() noexcept CD_NONBLOCKING;

  /// Solves at the current state, so that workspace().solution() belongs to it. Real-time safe:
  /// yes.
  [[nodiscard]] Status evaluate() noexcept CD_NONBLOCKING;

  /// Integrates until `until` and calls the observer at the start, every `output_interval` seconds
  /// and at the end, with numbers that are finite. Real-time safe: no.
  /// @throw std::invalid_argument for an end before the current time or an interval that is not
  /// positive.
  RunResult run(double until, double output_interval, const Observer & observer);

  /// Ends the run that is under way, or the next one, after the step that is being made; the
  /// observer sees the state there. Status: kInterrupted. May be called from another thread and
  /// from a signal handler. Real-time safe: yes.
  void request_stop() noexcept CD_NONBLOCKING;

  /// Switches a constraint that no contact manages. Where it is switched on with a velocity that
  /// violates it, the speeds jump (E13) by an impulse that the event reports.
  /// Statuses as ImpactSolver::solve, kSizeMismatch for a constraint that does not exist or that a
  /// contact manages; nothing is changed without output. Real-time safe: yes.
  [[nodiscard]] Status switch_constraint(int constraint, bool active) noexcept CD_NONBLOCKING;

  /// Applies a generalized impulse (n) at once; closed contacts and active constraints share it.
  /// Statuses likewise. Real-time safe: yes.
  [[nodiscard]] Status apply_impulse(const ConstVectorRef & impulse) noexcept CD_NONBLOCKING;

  /// Switches and impulses at given times. Adaptive runs stop at each of them, fixed steps make
  /// them at the first step that reaches them. Replaces what was scheduled before.
  /// @throw std::invalid_argument for unknown constraints, wrong sizes, values that are not finite.
  void schedule(std::vector<ScheduledChange> changes);

  /// What happened since `start`, in the order of time. Where more happened than
  /// kEventCapacity in cycles of `step` outside of `run`, the later ones are only counted.
  const std::vector<ContactEvent> & events() const;
  /// Forgets what happened so far, so that a simulation without an end keeps room for what comes.
  /// Real-time safe: yes.
  void clear_events() noexcept CD_NONBLOCKING;
  long lost_event_count() const;
  static constexpr std::size_t kEventCapacity = 4096;

  /// Whether contacts or frictions enforce and release constraints in it.
  bool has_contacts() const;
  /// Whether forces act besides those of enforced rows: sliding friction, Dahl's law, force laws.
  bool has_law_forces() const;

  const Dynamics & dynamics() const;
  const State & state() const;
  const Workspace & workspace() const;
  Workspace & workspace();
  /// Status of the last `evaluate`, in an observer that of the solution it sees.
  Status last_status() const;
  /// The law of the inputs; null: τ = 0.
  const InputLaw * input_law() const;
  /// τ of the last evaluation.
  const Eigen::VectorXd & inputs() const;
  /// Kinetic and potential energy of the last evaluation [J].
  double kinetic_energy() const;
  double potential_energy() const;

private:
  std::unique_ptr<SimulationCore> core_;
};

}  // namespace constrained_dynamics
