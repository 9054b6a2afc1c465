// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/simulation/simulation.hpp"
#include "contact/contact_events.hpp"
#include "contact/contact_forces.hpp"
#include "contact/controlled_dynamics.hpp"
#include "contact/mode_decision.hpp"
#include "simulation/output_times.hpp"
#include "simulation/run_book.hpp"

namespace constrained_dynamics
{

class FixedStepper;
class MoreauStep;

/// What a step came to.
struct Advance
{
  Status status = Status::kOk;
  double time = 0.0;        ///< where it ends
  bool has_ended = false;   ///< a mode ends there: the modes that follow are to be decided
  bool may_change = false;  ///< scheduled changes and outputs belong there
};

/// Implementation of a Simulation: its state, modes and records, and the event loop.
///
/// A stepper (FixedStepper, AdaptiveStepper) makes one step with constant modes, up to the first
/// end of a mode in it; `pass` goes there, decides the modes that follow and makes the changes that
/// are due; `loop` repeats this and shows outputs. `Simulation::step` is the same without outputs.
class SimulationCore
{
public:
  SimulationCore(
    const Simulation & face, std::shared_ptr<const Dynamics> dynamics,
    const SimulationOptions & options, std::shared_ptr<InputLaw> inputs,
    std::shared_ptr<const ContactSet> contacts);
  ~SimulationCore();

  // ---- simulation.cpp

  RankReport start(const State & state);
  Status step() noexcept CD_NONBLOCKING;
  const Dynamics & dynamics() const { return controlled_.dynamics(); }
  const System & system() const { return controlled_.system(); }
  const Workspace & workspace() const { return controlled_.workspace(); }
  Workspace & workspace() { return controlled_.workspace(); }
  bool is_adaptive() const { return constrained_dynamics::is_adaptive(options_.integrator); }
  /// Whether contacts act by percussions, without modes and events in time.
  bool is_moreau() const { return options_.integrator == Integrator::kMoreau; }
  /// Whether contacts and frictions have modes.
  bool has_modes() const { return !model_.is_empty() && !is_moreau(); }
  ContactView view() const { return forces_.view(modes_, workspace()); }

  // ---- simulation_motion.cpp: evaluations, and states on the rows

  /// x = (q, u) of the state, and back.
  void load(VectorRef x) const noexcept CD_NONBLOCKING;
  void store(double time, const ConstVectorRef & x) noexcept CD_NONBLOCKING;
  /// Solves at the state.
  Status evaluate() noexcept CD_NONBLOCKING;
  Status derivative(double time, const ConstVectorRef & x, VectorRef x_dot) noexcept CD_NONBLOCKING;
  /// The derivative for a stage: at a singular position, and for adaptive steps close to one, the
  /// mean of those just before and after it.
  Status stage_derivative(double time, const ConstVectorRef & x, VectorRef x_dot) noexcept
    CD_NONBLOCKING;
  /// Normalised and on the rows. Statuses: kOk, kInconsistent (without the contacts), failures.
  Status settle(double time, VectorRef x) noexcept CD_NONBLOCKING;
  /// The state on the enforced rows as far as they can be met. Contacts that several events in one
  /// step have left below the surface are lifted out.
  Status settle_state() noexcept CD_NONBLOCKING;

  // ---- simulation_changes.cpp: instants

  /// Modes for the state and what has ended; the state then meets the rows that are enforced.
  Status decide() noexcept CD_NONBLOCKING;
  /// Switches and impulses of one instant, and the modes that follow.
  Status change(const ScheduledChange * changes, std::size_t count) noexcept CD_NONBLOCKING;
  Status apply_due_changes() noexcept CD_NONBLOCKING;
  double next_change_time() const noexcept;
  void record(const ContactEvent & event) noexcept CD_NONBLOCKING;
  void reserve_events();
  void schedule(std::vector<ScheduledChange> changes);

  // ---- simulation_run.cpp: runs

  RunResult run(double until, double output_interval, const Simulation::Observer & observer);
  void watch_limits() noexcept;

  /// Goes to the end of a step that was made, decides what ended there and makes the changes that
  /// are due: the body of the event loop.
  template <typename Stepper>
  Status pass(Stepper & stepper, const Advance & made) noexcept(noexcept(stepper.arrive(made)))
  {
    const std::size_t first = events_.size();
    Status status = stepper.arrive(made);
    if (has_output(status) && made.has_ended)
    {
      status = worse(status, decide());
      if (book_ != nullptr)
      {
        book_->interrupt();
      }
    }
    if (has_output(status) && made.may_change)
    {
      status = worse(status, apply_due_changes());
    }
    status = has_output(status) ? worse(status, stepper.depart(made)) : status;
    if (book_ != nullptr)
    {
      book_->add_events(events_, first < events_.size() ? first : events_.size());
    }
    return status;
  }

private:
  friend class FixedStepper;
  friend class MoreauStep;
  friend class AdaptiveStepper;
  friend class PhaseMotion;
  friend class EventSearch;
  friend class Simulation;

  /// Rows that a status was about, kept until `name_rows`, which may allocate.
  enum Trouble
  {
    kSingularTrouble,
    kInconsistentTrouble,
    kUnmetTrouble,
    kTroubleCount,
  };
  enum class Naming : std::uint8_t
  {
    kNothing,
    kDue,
    kDone,
  };

  double interpolate_neighbours(
    double time, const ConstVectorRef & x, const ConstVectorRef & x_dot,
    double shift) noexcept CD_NONBLOCKING;
  template <typename Project>
  Status meet_rows(const Project & project) noexcept CD_NONBLOCKING;
  Status project(double time, VectorRef x) noexcept CD_NONBLOCKING;
  bool open_surplus(double time, const ConstVectorRef & x) noexcept CD_NONBLOCKING;
  Status lift_out() noexcept CD_NONBLOCKING;
  /// Only the first of a run is kept, unless it `ends` the run.
  void remember_trouble(Trouble kind, double time, const ConstVectorRef & x, bool ends) noexcept
    CD_NONBLOCKING;

  ContactSnapshot snapshot() noexcept;
  Status decide_modes() noexcept CD_NONBLOCKING;
  void take(const ContactDecision & decision) noexcept CD_NONBLOCKING;

  template <typename Stepper>
  RunResult loop(
    Stepper & stepper, double until, OutputTimes output, const Simulation::Observer & observer);
  template <typename Stepper>
  Status show_between(
    Stepper & stepper, double end, OutputTimes & output, const Simulation::Observer & observer,
    bool & goes_on);
  RunResult finish(Status status, bool completed);
  bool is_interrupted(const Simulation::Observer & observer);
  bool has_finite_output() const;
  /// Solves at the state and shows it. Statuses: as `evaluate`, and kNonFiniteResult, which the
  /// observer does not see.
  Status show(const Simulation::Observer & observer, bool & goes_on);
  Status show_solved(Status solved, const Simulation::Observer & observer, bool & goes_on);
  void name_rows();

  const Simulation & face_;  // what observers see
  SimulationOptions options_;
  ControlledDynamics controlled_;
  ContactModel model_;
  ContactForces forces_;
  ModeDecision decision_;
  ContactDecision decided_;

  State state_;
  ContactModes modes_;
  std::vector<char> ended_;           // event functions that have come to their end
  Status mode_status_ = Status::kOk;  // of the last decision …
  double mode_time_ = 0.0;            // … and when it was made
  Status last_status_ = Status::kOk;  // of the last evaluation
  std::unique_ptr<FixedStepper> fixed_;
  std::unique_ptr<MoreauStep> moreau_;  // null for other integrators

  std::vector<ContactEvent> events_;
  long lost_events_ = 0;
  std::vector<ScheduledChange> schedule_;
  std::size_t next_change_ = 0;
  ScheduledChange single_change_;

  Eigen::VectorXd x_;
  Eigen::VectorXd slope_;
  Eigen::VectorXd settled_;
  Eigen::VectorXd beside_;
  Eigen::VectorXd beside_slope_;
  Eigen::VectorXd interpolated_acceleration_;

  RunResult counts_;
  std::unique_ptr<RunBook> run_book_;
  RunBook * book_ = nullptr;  // while a run is under way
  LimitWatch * limits_ = nullptr;
  std::atomic<bool> stop_requested_{false};
  double shown_time_ = 0.0;  // of the last output
  std::array<Eigen::VectorXd, kTroubleCount> trouble_state_;
  std::array<double, kTroubleCount> trouble_time_{};
  std::array<Naming, kTroubleCount> naming_{};
  bool rows_contradict_ = false;
  int trouble_rank_ = 0;  // of the rows that became singular
};

}  // namespace constrained_dynamics
