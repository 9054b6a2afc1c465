// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#include "simulation/run_book.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "constrained_dynamics/formulations/multiplier_formulation.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

const char * to_string(Work kind) noexcept
{
  switch (kind)
  {
    case Work::kInputs:
      return "inputs";
    case Work::kExternal:
      return "external";
    case Work::kForces:
      return "forces";
    case Work::kDampers:
      return "dampers";
    case Work::kFriction:
      return "friction";
    case Work::kContacts:
      return "contacts";
    case Work::kPotential:
      return "potential";
    case Work::kDriven:
      return "driven";
    case Work::kMovingRows:
      return "moving_rows";
    case Work::kInhomogeneousRows:
      return "inhomogeneous_rows";
    case Work::kStabilisation:
      return "stabilisation";
    case Work::kImpacts:
      return "impacts";
  }
  return "unknown";
}

double EnergyBalance::total_work() const { return std::accumulate(work.begin(), work.end(), 0.0); }

RunBook::RunBook(const Dynamics & dynamics, const ContactSet & contacts)
: dynamics_(dynamics),
  is_baumgarte_(dynamics.options().stabilisation.kind == Stabilisation::Kind::kBaumgarte)
{
  multiplier_forces_ = dynamics.formulation().multiplier_forces();
  const ConstraintSet & set = dynamics.constraints();
  for (int row = 0; row < set.row_count(); ++row)
  {
    constraint_of_row_.push_back(set.constraint_of_row(row));
    level_of_row_.push_back(set.row(row).level);
  }
  is_friction_row_.assign(constraint_of_row_.size(), 0);
  for (const DryFriction & friction : contacts.frictions())
  {
    const int first = set.row_offset(friction.constraint);
    const int count = set[friction.constraint].row_count();
    std::fill_n(is_friction_row_.begin() + first, count, static_cast<char>(1));
    if (friction.dahl_stiffness == 0.0)
    {
      dry_frictions_.emplace_back(first, count);
    }
  }
}

void RunBook::forget() noexcept
{
  sizes_ = Sizes{};
  start_.resize(0);
}

void RunBook::open() noexcept
{
  balance_ = EnergyBalance{};
  error_ = Norms{};
  pending_ = Norms{};
  smooth_ = 0;
  inputs_held_ = false;
  inputs_jumped_ = false;
}

void RunBook::start(
  double time, const ConstVectorRef & x, const Eigen::VectorXd & inputs, Workspace & workspace)
{
  const System & system = dynamics_.system();
  change_.setZero(x.size());
  inputs_ = inputs;
  for (auto * vectors : {&old_x_, &old_slope_})
  {
    vectors->fill(Eigen::VectorXd::Zero(x.size()));
  }
  slopes_.fill(Eigen::VectorXd::Zero(x.size()));
  measure(inputs, workspace);
  balance_.start = last_.kinetic + last_.potential;
  account(time, last_);
  if (start_.size() > 0)
  {
    return;
  }
  start_ = x;
  start_time_ = time;
  // A solve along the tree has no Q.
  weight_.setZero(system.speed_count());
  if (dynamics_.evaluate_terms(workspace) == Status::kOk)
  {
    weight_ = workspace.terms().mass_matrix.diagonal().cwiseAbs();
  }
  for (const int speed : system.driven_speeds())
  {
    weight_(speed) = 0.0;  // controls have other units
  }
}

// ---- power
// ------------------------------------------------------------------------------

void RunBook::measure(const Eigen::VectorXd & inputs, Workspace & workspace) noexcept CD_NONBLOCKING
{
  const System & system = dynamics_.system();
  const Solution & solution = workspace.solution();
  last_.kinetic = system.kinetic_energy(workspace.system_data());
  last_.potential = system.potential_energy(workspace.system_data());
  SystemPower power;
  balance_.available = system.power(
    *WorkspaceAccess::evaluation(workspace).system_data, solution.acceleration, inputs,
    solution.constraint_force, power);
  last_.power.fill(0.0);
  if (!balance_.available)
  {
    return;
  }
  if (multiplier_forces_ != nullptr)
  {
    const FormulationData & data = workspace.formulation_data();
    multiplier_forces_->add_power(
      workspace.system_data(), MultiplierFormulation::values(data),
      MultiplierFormulation::directions(data), power);
  }
  const auto book = [this](Work kind) -> double &
  { return last_.power[static_cast<std::size_t>(kind)]; };
  book_rows(power, workspace);
  book(Work::kInputs) = power.inputs;
  book(Work::kExternal) = power.external;
  book(Work::kForces) = power.forces;
  book(Work::kDampers) = power.dampers;
  book(Work::kPotential) = power.potential;
  book(Work::kDriven) = power.driven;
}

/// Splits the power of F^c.
void RunBook::book_rows(SystemPower & system, Workspace & workspace) noexcept
{
  const auto book = [this](Work kind) -> double &
  { return last_.power[static_cast<std::size_t>(kind)]; };
  const Rows & rows = workspace.rows();
  const Eigen::VectorXd & lambda = workspace.solution().multipliers;
  const Eigen::VectorXd & u = workspace.terms().speeds;
  const std::vector<int> & driven = dynamics_.system().driven_speeds();
  double rest = system.constraints;
  double drift = 0.0;
  bool has_position = false;
  bool has_other = false;
  for (std::size_t i = 0; i < constraint_of_row_.size(); ++i)
  {
    const auto row = static_cast<Eigen::Index>(i);
    if (lambda(row) == 0.0)
    {
      continue;
    }
    // Constraints also act on driven speeds; the drives provide the reaction.
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      const double power =
        lambda(row) * rows.driven_jacobian(row, static_cast<Eigen::Index>(k)) * u(driven[k]);
      system.driven -= power;
      rest += power;
    }
    if (!workspace.is_active(constraint_of_row_[i]))
    {
      // A given force; contacts have A.
      const double power = lambda(row) * rows.jacobian.row(row).dot(u);
      book(is_friction_row_[i] != 0 ? Work::kFriction : Work::kContacts) += power;
      rest -= power;
      continue;
    }
    const bool is_position = level_of_row_[i] == RowLevel::kPosition;
    has_position = has_position || is_position;
    has_other = has_other || !is_position;
    if (level_of_row_[i] != RowLevel::kAcceleration)
    {
      drift += lambda(row) * rows.velocity(row);
    }
  }
  // Dry friction takes from the slip; where it gives, beyond the end of a slip, that is error.
  for (const auto & [first, count] : dry_frictions_)
  {
    if (!workspace.is_active(constraint_of_row_[static_cast<std::size_t>(first)]))
    {
      const double power = lambda.segment(first, count).dot(rows.velocity.segment(first, count));
      book(Work::kFriction) -= std::max(0.0, power);
    }
  }
  rest -= drift;
  // Off the rows constraint forces work: by intention with Baumgarte's terms, else by error.
  book(Work::kStabilisation) = is_baumgarte_ ? drift : 0.0;
  if (has_position && has_other)
  {
    const double size = workspace.solution().constraint_force.cwiseAbs().dot(u.cwiseAbs());
    const double inhomogeneous =
      std::abs(rest) > kEnergyRounding * size ? inhomogeneous_power(workspace) : 0.0;
    book(Work::kInhomogeneousRows) = inhomogeneous;
    book(Work::kMovingRows) = rest - inhomogeneous;
    return;
  }
  book(has_other ? Work::kInhomogeneousRows : Work::kMovingRows) = rest;
}

/// λᵀ (A u − ψ) of velocity rows and λᵀ A u of acceleration rows.
double RunBook::inhomogeneous_power(Workspace & workspace) const noexcept
{
  const Eigen::VectorXd & u = workspace.terms().speeds;
  const std::vector<int> & driven = dynamics_.system().driven_speeds();
  if (dynamics_.evaluate_rows(workspace) != Status::kOk)
  {
    return 0.0;
  }
  const Rows & rows = workspace.rows();
  double power = 0.0;
  for (std::size_t i = 0; i < constraint_of_row_.size(); ++i)
  {
    const auto row = static_cast<Eigen::Index>(i);
    if (level_of_row_[i] == RowLevel::kPosition || !workspace.is_active(constraint_of_row_[i]))
    {
      continue;
    }
    double velocity = rows.jacobian.row(row).dot(u);
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      velocity += rows.driven_jacobian(row, static_cast<Eigen::Index>(k)) * u(driven[k]);
    }
    velocity -= level_of_row_[i] == RowLevel::kVelocity ? rows.velocity(row) : 0.0;
    power += workspace.solution().multipliers(row) * velocity;
  }
  return power;
}

// ---- work
// ------------------------------------------------------------------------------

void RunBook::add_work(const std::array<double, kWorkKinds> & work) noexcept
{
  for (std::size_t k = 0; k < kWorkKinds; ++k)
  {
    balance_.work[k] += work[k];
    sizes_.work += std::abs(work[k]);
  }
}

void RunBook::keep_stage(int i, const Eigen::VectorXd & inputs) noexcept CD_NONBLOCKING
{
  stages_[static_cast<std::size_t>(i)] = last_;
  const bool is_same = inputs == inputs_;
  // A law that takes samples: the same in all stages of a step, and then others.
  inputs_jumped_ = i == 0 ? inputs_held_ && !is_same : inputs_jumped_;
  inputs_held_ = i == 0 || (inputs_held_ && is_same);
  inputs_ = inputs;
}

void RunBook::add_step(double h, const double * weights, int stage_count) noexcept CD_NONBLOCKING
{
  std::array<double, kWorkKinds> work{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(stage_count); ++i)
  {
    for (std::size_t k = 0; k < kWorkKinds; ++k)
    {
      work[k] += h * weights[i] * stages_[i].power[k];
    }
  }
  add_work(work);
}

void RunBook::account(double time, const Sample & at) noexcept
{
  time_ = time;
  sizes_.kinetic = std::max(sizes_.kinetic, at.kinetic);
  sizes_.potential = std::max(sizes_.potential, std::abs(at.potential));
  balance_.end = at.kinetic + at.potential;
  balance_.error = balance_.end - balance_.start - balance_.total_work();
  balance_.scale = std::max({sizes_.kinetic, sizes_.work, kEnergyRounding * sizes_.potential});
  if (!(std::abs(balance_.error) <= balance_.largest_error))
  {
    balance_.largest_error = std::abs(balance_.error);
    balance_.time_of_largest_error = time;
  }
}

void RunBook::add_events(const std::vector<ContactEvent> & events, std::size_t first) noexcept
{
  if (first >= events.size())
  {
    return;
  }
  interrupt();
  std::array<double, kWorkKinds> work{};
  double & impacts = work[static_cast<std::size_t>(Work::kImpacts)];
  const ContactEvent * last = nullptr;
  for (std::size_t i = first; i < events.size(); ++i)
  {
    const ContactEvent & event = events[i];
    const bool is_impact = event.kind == ContactEventKind::kImpact;
    const bool is_change = event.kind == ContactEventKind::kImpulse ||
                           event.kind == ContactEventKind::kSwitchOn ||
                           event.kind == ContactEventKind::kSwitchOff;
    if (!is_impact && !is_change)
    {
      continue;  // a change of modes does no work
    }
    // What strikes together, or changes at one instant, each carries the change of the whole.
    const bool is_same = last != nullptr && event.time == last->time &&
                         event.energy_change == last->energy_change &&
                         is_impact == (last->kind == ContactEventKind::kImpact);
    impacts += is_same ? 0.0 : event.energy_change;
    last = &event;
  }
  add_work(work);
}

void RunBook::add_percussions(double normal, double friction) noexcept
{
  std::array<double, kWorkKinds> work{};
  work[static_cast<std::size_t>(Work::kImpacts)] = normal;
  work[static_cast<std::size_t>(Work::kFriction)] = friction;
  add_work(work);
}

void RunBook::finish(double time) noexcept
{
  account(time, last_);
  error_.add(pending_);
  pending_ = Norms{};
}

}  // namespace constrained_dynamics
