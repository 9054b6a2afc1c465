// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
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
  kKuttaMerson,  ///< five stages, fixed step, order 4; used in the thesis
  kDopri5,       ///< Dormand-Prince 5(4) of Boost.odeint, adaptive, dense output
  kRodas,        ///< Rosenbrock method 4(3) for stiff systems, L-stable, adaptive, dense output
  kMoreau,       ///< semi-implicit Euler, fixed step, order 1; contacts by percussions (E56)
  kRadau,        ///< Radau IIA of order 9 for stiff systems, L-stable, adaptive, dense output
};

/// All integrators, in the order of the enumeration.
inline constexpr std::array<Integrator, 6> kIntegrators = {
  Integrator::kRk4,   Integrator::kKuttaMerson, Integrator::kDopri5,
  Integrator::kRodas, Integrator::kMoreau,      Integrator::kRadau};

/// Stable name: "rk4", "kutta_merson", "dopri5", "rodas", "moreau", "radau".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(Integrator integrator) noexcept;

/// Whether an integrator chooses its steps by tolerances.
constexpr bool is_adaptive(Integrator integrator) noexcept
{
  return integrator == Integrator::kDopri5 || integrator == Integrator::kRodas ||
         integrator == Integrator::kRadau;
}

struct SimulationOptions
{
  Integrator integrator = Integrator::kRk4;
  double step = 1e-3;  ///< [s]; of fixed-step integrators; initial step of adaptive ones
  double absolute_tolerance = 1e-10;  ///< of adaptive integrators, in the units of q and u
  double relative_tolerance = 1e-10;  ///< of adaptive integrators
  double largest_step = 0.1;          ///< [s]; of adaptive integrators
  /// Relative tolerance; a run whose energy error or step error exceeds it ends with kInaccurate.
  double error_tolerance = 1e-3;
  /// Whether runs check the limits of robot descriptions.
  bool watch_limits = true;
};

/// Rows that caused a status.
struct RowTrouble
{
  double time = 0.0;      ///< first time [s]
  std::vector<int> rows;  ///< indices; for names see ConstraintSet::row_name
};

/// How a run ended.
struct RunResult
{
  /// kOk, kInaccurate, or why it ended early.
  Status status = Status::kOk;
  bool completed = false;  ///< the run reached its end or was stopped by the observer
  double time = 0.0;       ///< of the last good state [s]
  long steps = 0;
  long evaluations = 0;
  long singular_evaluations = 0;      ///< evaluations with Status::kSingular
  long inconsistent_evaluations = 0;  ///< evaluations and projections with Status::kInconsistent
  EnergyBalance energy;               ///< of a run, not of single steps
  /// Estimated error of all steps (E31), relative to the largest speeds and displacements.
  double step_error = 0.0;
  bool is_accurate = true;  ///< both are within SimulationOptions::error_tolerance
  /// Adaptive steps or events came without progress in time: the reason of kNotConverged.
  bool has_stalled = false;
  /// Rows that lost rank, that contradicted each other, and that could not be satisfied.
  RowTrouble singular_rows;
  RowTrouble inconsistent_rows;
  RowTrouble unmet_rows;
  std::vector<ExceededLimit> exceeded_limits;  ///< in the order of the coordinates
};

/// Integrates a constrained system. Stages are in coordinates and speeds. After each step
/// quaternions are normalised and, with Stabilisation::projection, q and u are projected to the
/// manifold.
///
/// The motion passes singular positions on its present branch: if a stage falls on one, its
/// acceleration is the mean of the accelerations on the manifold shortly before and after it.
///
/// Contacts: the times at which modes change are located. Adaptive integrators use their dense
/// output. With fixed steps, a step in which a mode ends is repeated up to the first such time and
/// continued from there, a bounded number of times.
///
/// Integrator::kMoreau locates nothing: each step makes one solve and one contact problem at
/// velocity level (E56), and multipliers of contacts are those impulses divided by the step. It
/// needs rigid contacts and dry friction without viscous part.
class CONSTRAINED_DYNAMICS_EXPORT Simulation
{
public:
  /// Called at each output time with the solution evaluated there; false stops the run.
  using Observer = std::function<bool(const Simulation &)>;

  /// @param inputs null: τ = 0.
  /// @param contacts contacts and frictions; the simulation switches their constraints.
  /// @throw std::invalid_argument for options out of range, contacts of other dynamics, and
  /// contacts that Integrator::kMoreau does not take.
  explicit Simulation(
    std::shared_ptr<const Dynamics> dynamics, SimulationOptions options = {},
    std::shared_ptr<InputLaw> inputs = nullptr,
    std::shared_ptr<const ContactSet> contacts = nullptr);
  ~Simulation();
  Simulation(const Simulation &) = delete;
  Simulation & operator=(const Simulation &) = delete;

  /// Sets the state, analyses the rank of the rows there and finds the modes of the contacts.
  /// Contacts that touch and approach have an impact immediately. Real-time safe: no.
  /// @throw std::invalid_argument for wrong sizes, and for a state at which rows cannot be
  /// evaluated or contacts admit no motion. Such a state is set nevertheless, so that `evaluate`
  /// returns the reason as a status.
  RankReport start(const State & state);

  /// One fixed step from the current state, which is untouched on failure.
  /// Statuses: kOk, kSingular and kInconsistent (step made), others (not made). If the contacts
  /// admit no motion after a step (kNoUniqueSolution), the state is the one after the step. Further
  /// steps and evaluations then return the same status until a switch, an impulse or `start` finds
  /// a motion. Real-time safe: yes.
  [[nodiscard]] Status step() noexcept CD_NONBLOCKING;

  /// Solves at the current state, so that workspace().solution() belongs to it. Real-time safe:
  /// yes.
  [[nodiscard]] Status evaluate() noexcept CD_NONBLOCKING;

  /// Integrates until `until` [s] and calls the observer with finite values at the start, every
  /// `output_interval` seconds and at the end. Real-time safe: no.
  /// @throw std::invalid_argument for an end before the current time or an interval that is not
  /// positive.
  RunResult run(double until, double output_interval, const Observer & observer);

  /// Ends the current run, or the next one, after its current step; the observer is called with
  /// that state. Status: kInterrupted. May be called from another thread and from a signal handler.
  /// Real-time safe: yes.
  void request_stop() noexcept CD_NONBLOCKING;

  /// Switches a constraint that is not managed by a contact. If it is switched on with a velocity
  /// that violates it, the speeds jump (E13); the event reports the impulse. Statuses: those of
  /// ImpactSolver::solve; kSizeMismatch if the constraint does not exist or is managed by a
  /// contact. Nothing changes unless has_output(status). Real-time safe: yes.
  [[nodiscard]] Status switch_constraint(int constraint, bool active) noexcept CD_NONBLOCKING;

  /// Applies a generalized impulse (n); closed contacts and active constraints react to it.
  /// Statuses as above. Real-time safe: yes.
  [[nodiscard]] Status apply_impulse(const ConstVectorRef & impulse) noexcept CD_NONBLOCKING;

  /// Schedules switches and impulses, replacing earlier schedules. Adaptive runs stop at each of
  /// the times; with fixed steps, a change is made after the first step that reaches its time.
  /// @throw std::invalid_argument for unknown constraints, wrong sizes, values that are not finite.
  void schedule(std::vector<ScheduledChange> changes);

  /// Events since `start`, in order of time. If there are more than kEventCapacity in calls of
  /// `step` outside `run`, later events are only counted.
  const std::vector<ContactEvent> & events() const;
  /// Discards the events so far, so that a simulation without an end has room for later ones.
  /// Real-time safe: yes.
  void clear_events() noexcept CD_NONBLOCKING;
  long lost_event_count() const;
  static constexpr std::size_t kEventCapacity = 4096;

  /// Whether contacts or frictions switch constraints in this simulation.
  bool has_contacts() const;
  /// Whether forces other than those of enforced rows act: sliding friction, Dahl's law, force
  /// laws.
  bool has_law_forces() const;

  const Dynamics & dynamics() const;
  const State & state() const;
  const Workspace & workspace() const;
  Workspace & workspace();
  /// Status of the last `evaluate`; in an observer, that of the solution passed to it.
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
