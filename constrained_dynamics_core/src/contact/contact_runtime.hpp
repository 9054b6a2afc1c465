// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/contact/impact.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "contact/cone_problem.hpp"

namespace constrained_dynamics
{

// Contacts that are as close as this [m, rad] when another strikes take part in the impact.
constexpr double kTouch = 1e-9;
// Slower than this after an impact a contact stays closed [m/s, rad/s].
constexpr double kStays = 1e-10;
// Forces below this fraction of the largest are rounding.
constexpr double kForceRounding = 1e-11;
// Redundancy of a row (see Solution) from which on others share its load.
constexpr double kRedundant = 1e-6;

/// What decisions about contacts need of a simulation.
class ContactHost
{
public:
  virtual ~ContactHost() = default;
  /// Rows and inputs at a state.
  virtual Status update(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
    CD_NONBLOCKING = 0;
  virtual const Eigen::VectorXd & input_values() const noexcept CD_NONBLOCKING = 0;
  virtual void record(const ContactEvent & event) noexcept CD_NONBLOCKING = 0;
};

/// The modes of the contacts of one simulation, and how they change.
///
/// Within a phase the modes are fixed and the motion is smooth: closed contacts and sticking
/// frictions are rows in force, sliding friction is a given multiplier in proportion to its normal
/// force. Event functions say when a mode ends; `decide` finds the modes that follow.
///
/// Memory is taken in the constructor. Everything else is real-time safe.
class ContactRuntime
{
public:
  ContactRuntime(const Dynamics & dynamics, std::shared_ptr<const ContactSet> contacts);

  const ContactSet & contacts() const { return *set_; }
  bool is_empty() const { return set_->contacts().empty() && set_->frictions().empty(); }

  /// Whether a force acts that is not one of a row in force.
  bool has_law_forces() const noexcept;

  /// The step of fixed-step integrators; 0: steps adapt.
  void set_step(double step) noexcept { step_ = step; }
  /// Where the step began whose end the simulation is at.
  void keep_start(const State & state) noexcept { start_ = state; }
  const State & start() const noexcept { return start_; }

  /// Slip below this says nothing, whatever the creep speeds: what the integrator leaves open.
  void set_least_creep(double speed) noexcept { least_creep_ = speed; }

  /// Forgets everything: all contacts open, their rows switched off.
  void reset(Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Whether the modes have rows in force.
  bool has_rows() const noexcept CD_NONBLOCKING;
  /// Puts the rows of the modes into force, and the others out of it.
  void switch_rows(Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// Puts all of them out of force, until `switch_rows`.
  void withdraw_rows(Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Opens a contact that is in force and that the others keep away from where its row would be
  /// met: three feet of a table on an uneven floor. Returns which; −1: none, all of them press.
  /// @pre rows of the state.
  int open_surplus(Workspace & workspace) noexcept CD_NONBLOCKING;

  /// In place of Dynamics::solve: with the forces that belong to the modes.
  /// Statuses: as there, and kNoUniqueSolution (Painlevé).
  Status solve(const ConstVectorRef & inputs, Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Puts the rows of rigid contacts into force that are below the surface without being closed,
  /// until `switch_rows`. Returns whether there are any. @pre rows of the state.
  bool add_sunk_rows(Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// One function a contact, then one a friction; below 0 the mode has ended. @pre solve.
  int event_count() const { return static_cast<int>(fired_.size()); }
  double event_function(int i, const Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// Rounding that an event function may contain.
  double event_tolerance(int i, const Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// Which functions have come to an end; `decide` reads and clears them.
  std::vector<char> & fired() noexcept { return fired_; }
  /// Fires what has ended at the state, with the values of all functions. Returns whether any has.
  /// @pre solve.
  bool fire(const Workspace & workspace, std::vector<double> & values) noexcept CD_NONBLOCKING;
  /// Memory for the values of the functions at both ends of a bracket and between them.
  struct EventValues
  {
    std::vector<double> low;
    std::vector<double> high;
    std::vector<double> now;
  };
  EventValues & values() noexcept { return values_; }

  /// Half of the time in which an open contact that touches with a small velocity comes back, for a
  /// constant acceleration; 0 where it does not leave. @pre solve.
  double hop(int contact, const Workspace & workspace) const noexcept CD_NONBLOCKING;
  bool is_open(int contact) const noexcept
  {
    return normal_[static_cast<std::size_t>(contact)] == Normal::kOpen;
  }
  /// Whether an event function below 0 means something. Open contacts that leave do not, nor those
  /// that their acceleration opens and that are too slow to strike: a decision would only open them
  /// again. @pre solve.
  bool is_closing(int contact, const Workspace & workspace) const noexcept CD_NONBLOCKING
  {
    const double rate = gap_rate(contact, workspace);
    return rate < -kStays || (rate < 0.0 && !is_pulled_apart(contact, workspace));
  }
  /// Whether the acceleration opens it. @pre solve.
  bool is_pulled_apart(int contact, const Workspace & workspace) const noexcept CD_NONBLOCKING
  {
    return gap_acceleration(contact, workspace) > 0.0;
  }

  /// Whether a slip that was on its way has turned back in an evaluation since `watch_slips`: its
  /// end is in between, whatever the state says afterwards.
  void watch_slips() noexcept { has_turned_back_ = false; }
  bool has_turned_back() const noexcept { return has_turned_back_; }

  /// Remembers directions and displacements at the end of a step. @pre rows of that state.
  void commit(const Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Modes for the state and what has fired; u jumps where contacts strike or begin to stick.
  /// Statuses: those of solve and of ImpactSolver::solve.
  Status decide(
    double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
    ContactHost & host) noexcept CD_NONBLOCKING;

  /// Constraints that are switched and impulses, all at one instant, with the contacts as they are:
  /// one impact, shared by what is in force after it. Statuses: those of ImpactSolver::solve;
  /// nothing is changed without output.
  Status jump(
    double time, const ConstVectorRef & q, VectorRef u, const ScheduledChange * changes,
    std::size_t count, Workspace & workspace, ContactHost & host) noexcept CD_NONBLOCKING;
  /// Memory for one change, its impulse sized.
  ScheduledChange & single_change() noexcept { return single_change_; }

  /// Frictions that slide in a plane: the directions of their forces turn with the slip.
  const std::vector<int> & planar_slides() noexcept CD_NONBLOCKING;
  /// The direction of such a slip, and the speed that says so. @pre rows.
  void slide_direction(int friction, const Workspace & workspace, double * s) const noexcept;
  double turning_speed(int friction, const Workspace & workspace) const noexcept;
  /// Holds the directions as they are at the state, that of one turned by an angle; −1: of none.
  void hold_directions(const Workspace & workspace) noexcept;
  void turn_direction(int friction, double angle) noexcept
  {
    turned_ = friction;
    turned_by_ = angle;
  }
  void release_directions() noexcept { is_held_ = false; }
  /// ψ of a friction and its change with accelerations along a direction. @pre rows.
  double slip_along(int friction, const double * s, const Workspace & workspace) const noexcept;
  double slip_change_along(
    int friction, const double * s, const Eigen::VectorXd & acceleration,
    const Workspace & workspace) const noexcept;
  /// Remembers what a turn by a radian adds to ψ̇ across the slip. @pre solve.
  void set_turning(int friction, double change, const Workspace & workspace) noexcept;
  /// The fastest rate at which a slip turns towards the motion, K/|ψ| [1/s]. @pre solve.
  double turning_rate(const Workspace & workspace) noexcept;

private:
  enum class Normal : std::uint8_t
  {
    kOpen,
    kClosed,      // its row is in force
    kIdle,        // touches without force: other rows carry it
    kSeparating,  // compliant, inside, would pull
    kForce,       // force law
  };
  enum class Slip : std::uint8_t
  {
    kNone,
    kStick,
    kSlide,
    kDahl,
  };
  struct FrictionState
  {
    Slip slip = Slip::kNone;
    bool armed = false;  // has slid away from zero, so that its end can be seen
    double direction[2] = {1.0, 0.0};
    double dahl_force = 0.0;
    double dahl_place = 0.0;
    double turning = 0.0;  // K of a unit of force
  };

  int row_of_contact(int contact) const noexcept;
  int row_of_friction(int friction) const noexcept;
  int row_count(int friction) const noexcept;
  bool is_rigid(int contact) const noexcept
  {
    return !set_->is_compliant(contact) &&
           !(set_->contacts()[static_cast<std::size_t>(contact)].stiffness > 0.0);
  }
  double gap(int contact, const Workspace & workspace) const noexcept;
  double gap_rate(int contact, const Workspace & workspace) const noexcept;
  double gap_acceleration(int contact, const Workspace & workspace) const noexcept;
  double normal_force(int contact, const Workspace & workspace) const noexcept;
  double slip_along_direction(int friction, const Workspace & workspace) const noexcept;
  double slip_speed(int friction, const Workspace & workspace) const noexcept;
  double tangent_force(int friction, const Workspace & workspace) const noexcept;
  double static_bound(int friction, const Workspace & workspace) const noexcept;
  bool is_dry(int friction) const noexcept;
  double creep_speed(int friction) const noexcept;
  void turning_slip(int friction, const Workspace & workspace, double * v) const noexcept;
  double kinetic_bound(int friction, const Workspace & workspace) const noexcept;
  double dahl_force(int friction, const Workspace & workspace) const noexcept;
  void add_given(int friction, double bound, Workspace & workspace) const noexcept;
  Status solve_sliding(const ConstVectorRef & inputs, Workspace & workspace) noexcept;

  double kinetic_energy(const ConstVectorRef & u, const Workspace & workspace) const noexcept;
  void begin_impact(const Workspace & workspace) noexcept;
  Status strike(
    double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
    ContactHost & host) noexcept;
  void choose_normals(double time, const Workspace & workspace) noexcept;
  void choose_slips(double time, const Workspace & workspace) noexcept;
  void stop_slips(Workspace & workspace) noexcept;
  Status solve_pressing(const ContactHost & host, Workspace & workspace) noexcept;
  void go_ahead(
    double time, const ConstVectorRef & q, const ConstVectorRef & u, Workspace & workspace,
    ContactHost & host) noexcept;
  bool holds(const Workspace & workspace) const noexcept;
  Status choose_by_cones(const ContactHost & host, Workspace & workspace) noexcept;
  bool begins_to_slide(int friction, const Workspace & workspace) const noexcept;
  bool slips_follow(const Workspace & workspace) const noexcept;
  Status choose_by_split(const ContactHost & host, Workspace & workspace) noexcept;
  Status begin_cones(
    const ContactHost & host, const Workspace & workspace, bool with_split) noexcept;
  void add_tangents(int friction, const Workspace & workspace, ConeContact & to) noexcept;
  Status solve_cones(int count, const Workspace & workspace) noexcept;
  bool is_at_rim(const ConeContact & contact) const noexcept;
  void read_cones(int count) noexcept;
  void record_changes(double time, const Workspace & workspace, ContactHost & host) noexcept;

  const Dynamics * dynamics_;
  std::shared_ptr<const ContactSet> set_;
  double step_ = 0.0;
  State start_;
  State ahead_;
  double look_ahead_ = 0.0;
  double last_decision_ = -1e300;
  EventValues values_;
  double least_creep_ = 0.0;
  bool has_turned_back_ = false;
  bool is_held_ = false;
  int turned_ = -1;
  double turned_by_ = 0.0;
  std::vector<double> held_;
  std::vector<int> planar_;
  double energy_change_ = 0.0;  // of a decision [J]
  double unseen_ = 0.0;         // speed of bounces that fixed steps cannot see
  std::vector<Normal> normal_;
  std::vector<Normal> old_normal_;
  std::vector<FrictionState> friction_;
  std::vector<FrictionState> old_friction_;
  std::vector<char> fired_;
  std::vector<char> touching_;
  std::vector<char> candidate_;
  std::vector<char> gives_way_;   // frictions in a plane that cannot hold any longer
  std::vector<double> gave_way_;  // when they last did
  bool any_gives_way_ = false;
  std::vector<double> law_force_;
  std::vector<int> impacts_in_a_row_;
  std::vector<double> last_impact_;
  std::vector<double> let_go_;  // when contacts would have pulled

  std::vector<int> sliding_;  // frictions with an unknown normal force
  Eigen::VectorXd base_normals_;
  Eigen::VectorXd unknown_normals_;
  Eigen::MatrixXd sliding_matrix_;

  ConeProblem cone_;
  std::vector<ConeContact> cone_contacts_;
  std::vector<int> cone_owner_;  // contact, or −1 − friction
  std::vector<FrictionState> cone_friction_;
  Eigen::VectorXd row_buffer_;
  Eigen::VectorXd force_;
  Eigen::VectorXd zero_speeds_;

  ImpactSolver impact_solver_;
  ImpactProblem impact_;
  ImpactSolution impact_solution_;
  Eigen::VectorXd speeds_before_;
  ScheduledChange single_change_;
};

}  // namespace constrained_dynamics
