// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/percussion.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "contact/tolerances.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

namespace
{

[[noreturn]] void refuse(const ContactModel & model, int constraint, const std::string & what)
{
  throw std::invalid_argument(
    "integrator moreau: '" + model.dynamics.constraints()[constraint].name() + "' has " + what +
    "; allowed: rigid contacts, and dry friction without viscous part and without Dahl's law");
}

const ContactModel & checked(const ContactModel & model)
{
  for (int i = 0; i < model.contact_count(); ++i)
  {
    if (!model.is_rigid(i))
    {
      refuse(model, model.contact(i).constraint, "a contact law");
    }
  }
  for (int i = 0; i < model.friction_count(); ++i)
  {
    const DryFriction & friction = model.friction(i);
    if (friction.viscous > 0.0 || friction.dahl_stiffness > 0.0)
    {
      refuse(
        model, friction.constraint, friction.viscous > 0.0 ? "viscous friction" : "Dahl's law");
    }
  }
  return model;
}

int row_count(const ContactModel & model)
{
  int count = model.contact_count();
  for (int i = 0; i < model.friction_count(); ++i)
  {
    count += model.row_count(i);
  }
  return count;
}

}  // namespace

Percussion::Percussion(const ContactModel & model)
: model_(checked(model)),
  cone_(model.dynamics.system().speed_count(), std::max(1, row_count(model))),
  rows_(static_cast<std::size_t>(row_count(model))),
  now_(static_cast<std::size_t>(model.contact_count())),
  last_(now_),
  axes_(model.dynamics.system()),
  friction_slides_(static_cast<std::size_t>(model.friction_count()), 0)
{
  const Eigen::Index n = model.dynamics.system().speed_count();
  const auto most = static_cast<std::size_t>(model.contact_count() + model.friction_count());
  cones_.resize(most);
  contact_of_.assign(most, -1);
  friction_of_.assign(most, -1);
  holds_.assign(most, 0);
  depth_.assign(most, 0.0);
  deep_rows_.reserve(most);
  lengths_.reserve(most);
  for (Eigen::VectorXd * vector : {&impulse_, &free_, &change_, &row_, &turning_, &turned_})
  {
    vector->setZero(n);
  }
  near_.setZero(row_count(model));
  forces_.setZero(model.dynamics.constraints().row_count());
  kept_ = forces_;
  now_impulse_ = forces_;
}

void Percussion::reset() noexcept
{
  std::fill(now_.begin(), now_.end(), Outcome{});
  std::fill(last_.begin(), last_.end(), Outcome{});
  std::fill(friction_slides_.begin(), friction_slides_.end(), static_cast<char>(0));
  forces_.setZero();
  kept_.setZero();
  has_last_ = false;
  taken_ = 0.0;
}

// ---- the problem
// ------------------------------------------------------------------------------

/// The motion without contacts.
Status Percussion::begin(double h, ControlledDynamics & dynamics) noexcept
{
  Evaluation & evaluation = WorkspaceAccess::evaluation(dynamics.workspace());
  evaluation.given_multipliers.setZero();
  evaluation.inputs = dynamics.inputs();
  Status status = evaluation.ask_rows_and_terms();
  if (status != Status::kOk)
  {
    return status;
  }
  const RowProblem problem = evaluation.motion_problem();
  const Eigen::VectorXd & u = evaluation.system_data->terms.speeds;
  step_ = h;
  impulse_ = h * problem.force;
  axes_.turning(u, turning_);
  turned_ = u + h * turning_;
  status = cone_.begin(problem.mass_matrix, turned_, impulse_);
  if (status != Status::kOk)
  {
    return status;
  }
  const bool projects =
    model_.dynamics.options().stabilisation.kind == Stabilisation::Kind::kProjection;
  for (Eigen::Index i = 0; i < problem.bias.size(); ++i)
  {
    // The projection at the end of the step turns the speeds by the other half.
    const bool is_halved =
      projects && evaluation.of().contains(RowSubset::kVelocity, evaluation.active_rows(i));
    row_ = problem.rows.row(i).transpose();
    const double turn = is_halved ? 0.5 * (problem.bias(i) - row_.dot(turning_)) : problem.bias(i);
    cone_.add_equality(row_, row_.dot(turned_) + h * turn, 1.0 / problem.row_scale(i));
  }
  cone_.speeds(free_);
  change_ = free_ - u;
  return Status::kOk;
}

/// Adds a row with w = v⁺ − approach.
int Percussion::add(const ConstVectorRef & row, const Row & values) noexcept
{
  // v⁺ = v⁻ + a (u⁺ − u⁻), also where a row contains the time.
  const int index = cone_.add_row(row, row.dot(free_ - change_) - values.before + values.approach);
  rows_[static_cast<std::size_t>(index)] = values;
  return index;
}

/// Whether a contact can push in this step, with its target. @pre row_ is its row.
bool Percussion::takes_part(int i, double h, const ContactView & view, Row & row) noexcept
{
  const Contact & contact = model_.contact(i);
  const double gap = view.gap(i);
  const double rate = view.gap_rate(i);
  const double free_rate = rate + row_.dot(change_);
  const double approach = -std::max(rate, free_rate);
  // Bounces that last a few steps only are not resolved by them.
  const double unresolved = tolerance::kUnresolvedSteps * std::abs(free_rate - rate);
  const bool strikes = approach > std::max(contact.rest_speed, unresolved);
  const bool rebounds = strikes && contact.restitution > 0.0;
  // What rebounds does so where it has reached the surface: before, it would lose part of its
  // speed.
  if (gap > 0.0 && (rebounds || gap + h * std::min(rate, free_rate) > tolerance::kTouch))
  {
    return false;
  }
  row.before = rate;
  row.rebound = rebounds ? contact.restitution * approach : 0.0;
  row.approach = gap > 0.0 ? -gap / h : 0.0;
  Outcome & outcome = now_[static_cast<std::size_t>(i)];
  outcome.strikes = strikes;
  outcome.rate_before = rate;
  return true;
}

void Percussion::add_friction(
  int i, double factor, const ContactView & view, ConeContact & to) noexcept
{
  const DryFriction & law = model_.friction(i);
  const bool slides = view.slip_speed(i) > model_.creep_speed(i);
  const double bound = factor * (slides ? law.kinetic : law.stiction);
  if (!(bound > 0.0))
  {
    return;
  }
  to.friction = bound;
  to.tangent_count = model_.row_count(i);
  for (int k = 0; k < to.tangent_count; ++k)
  {
    const int row = model_.row_of_friction(i) + k;
    row_ = view.workspace().rows().jacobian.row(row).transpose();
    to.tangent[k] = add(row_, Row{view.workspace().rows().velocity(row), 0.0, 0.0});
    near_(to.tangent[k]) = kept_(row);
  }
}

/// The contacts that can push, and frictions that need none.
void Percussion::gather(double h, const Workspace & workspace) noexcept
{
  const ContactModes open(0, 0);
  const ContactView view(model_, open, workspace);
  count_ = 0;
  const auto next = [this](int contact, int friction, bool holds) -> ConeContact &
  {
    const auto index = static_cast<std::size_t>(count_++);
    contact_of_[index] = contact;
    friction_of_[index] = friction;
    holds_[index] = holds;
    depth_[index] = 0.0;
    cones_[index] = ConeContact{};
    return cones_[index];
  };
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    now_[static_cast<std::size_t>(i)] = Outcome{};
    const int row = model_.row_of_contact(i);
    const double side = model_.contact(i).side;
    row_ = -side * workspace.rows().jacobian.row(row).transpose();
    Row values;
    if (!takes_part(i, h, view, values))
    {
      continue;
    }
    const Outcome & before = at(last_, i);
    const int friction = model_.set->friction_of(i);
    ConeContact & to = next(i, friction, !has_last_ || (before.pushes && !before.slides));
    depth_[static_cast<std::size_t>(count_ - 1)] = -view.gap(i);
    to.normal = add(row_, values);
    near_(to.normal) = -side * kept_(row);
    if (friction >= 0)
    {
      add_friction(friction, 1.0, view, to);
    }
  }
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    if (model_.friction(i).contact < 0)
    {
      ConeContact & to = next(-1, i, friction_slides_[static_cast<std::size_t>(i)] == 0);
      add_friction(i, h, view, to);
    }
  }
}

// ---- its solution
// ------------------------------------------------------------------------------

Status Percussion::solve_cones() noexcept
{
  const Status status = cone_.solve_near(cones_.data(), count_, holds_.data(), near_);
  // The last that was found: friction satisfies its law approximately.
  return status == Status::kNotConverged ? Status::kInconsistent : status;
}

bool Percussion::rebounds() const noexcept
{
  return std::any_of(
    rows_.begin(), rows_.begin() + cone_.row_count(),
    [](const Row & row) { return row.rebound > 0.0; });
}

/// Solves with all rebounds times a factor.
Status Percussion::solve_with(double scale) noexcept
{
  for (int row = 0; row < cone_.row_count(); ++row)
  {
    cone_.move_target(row, (scale - scale_) * rows_[static_cast<std::size_t>(row)].rebound);
  }
  scale_ = scale;
  return solve_cones();
}

/// Of the kinetic energy by the percussions, from u° to u⁺: ½ Λᵀ(v⁺ + v°).
double Percussion::energy_change() const noexcept
{
  double sum = 0.0;
  for (int i = 0; i < cone_.row_count(); ++i)
  {
    const Row & row = rows_[static_cast<std::size_t>(i)];
    const double target = row.approach + scale_ * row.rebound;
    sum += cone_.force(i) * (0.5 * (cone_.motion(i) + cone_.free_motion(i)) + target);
  }
  return sum;
}

double Percussion::energy_rounding() const noexcept
{
  double sum = 0.0;
  for (int i = 0; i < cone_.row_count(); ++i)
  {
    sum += std::abs(cone_.force(i)) * cone_.size(i);
  }
  return tolerance::kImpactRounding * sum;
}

Status Percussion::solve(double h, ControlledDynamics & dynamics, VectorRef speeds) noexcept
  CD_NONBLOCKING
{
  Status status = begin(h, dynamics);
  if (status != Status::kOk)
  {
    return status;
  }
  gather(h, dynamics.workspace());
  scale_ = 0.0;
  const bool has_rebound = rebounds();
  status = count_ > 0 ? solve_with(has_rebound ? 1.0 : 0.0) : Status::kOk;
  if (has_rebound && has_output(status) && energy_change() > energy_rounding())
  {
    double low = 0.0;
    double high = 1.0;
    for (int k = 0; k < bound::kPercussionScalings && has_output(status); ++k)
    {
      const double middle = 0.5 * (low + high);
      status = solve_with(middle);
      (energy_change() > energy_rounding() ? high : low) = middle;
    }
    status = has_output(status) ? solve_with(low) : status;
  }
  if (has_output(status) && energy_change() > energy_rounding())
  {
    // What was found of friction gives energy: none then.
    for (int i = 0; i < count_; ++i)
    {
      cones_[static_cast<std::size_t>(i)].tangent_count = 0;
    }
    status = worse(solve_with(0.0), Status::kInconsistent);
  }
  scale_ = has_rebound ? scale_ : 1.0;
  if (!has_output(status))
  {
    return status;
  }
  if (count_ > 0)
  {
    cone_.speeds(free_);
  }
  if (!free_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  speeds = free_;
  read(h);
  return status;
}

/// Impulses, work and outcomes of what was solved.
void Percussion::read(double h) noexcept
{
  now_impulse_.setZero();
  normal_work_ = 0.0;
  friction_work_ = 0.0;
  for (int i = 0; i < count_; ++i)
  {
    const auto index = static_cast<std::size_t>(i);
    const ConeContact & cone = cones_[index];
    const int contact = contact_of_[index];
    const int friction = friction_of_[index];
    const auto rate_after = [&](int row)
    {
      const Row & values = rows_[static_cast<std::size_t>(row)];
      return cone_.motion(row) + values.approach + scale_ * values.rebound;
    };
    const auto work = [&](int row)
    {
      return 0.5 * cone_.force(row) *
             (rows_[static_cast<std::size_t>(row)].before + rate_after(row));
    };
    double tangent = 0.0;
    double slip = 0.0;
    double size = 0.0;
    for (int k = 0; k < cone.tangent_count; ++k)
    {
      const int row = cone.tangent[k];
      now_impulse_(model_.row_of_friction(friction) + k) = cone_.force(row);
      tangent = std::hypot(tangent, cone_.force(row));
      slip = std::hypot(slip, cone_.motion(row));
      size += cone_.size(row);
      friction_work_ += work(row);
    }
    const bool slides = cone.tangent_count > 0 && slip > tolerance::kHeld * size;
    if (contact < 0)
    {
      friction_slides_[static_cast<std::size_t>(friction)] = slides;
      continue;
    }
    Outcome & outcome = now_[static_cast<std::size_t>(contact)];
    outcome.impulse = cone_.force(cone.normal);
    outcome.pushes = outcome.impulse > 0.0;
    outcome.slides = outcome.pushes && slides;
    outcome.friction_impulse = tangent;
    outcome.rate_after = rate_after(cone.normal);
    now_impulse_(model_.row_of_contact(contact)) =
      -model_.contact(contact).side * cone_.force(cone.normal);
    normal_work_ += work(cone.normal);
  }
  forces_ = now_impulse_ / h;
}

// ---- after it
// ------------------------------------------------------------------------------

bool Percussion::drift_correction(VectorRef change) noexcept CD_NONBLOCKING
{
  deep_rows_.clear();
  lengths_.clear();
  for (int i = 0; i < count_; ++i)
  {
    const auto index = static_cast<std::size_t>(i);
    const int row = cones_[index].normal;
    if (
      row >= 0 && depth_[index] > tolerance::kDrift && cone_.force(row) > 0.0 &&
      !(rows_[static_cast<std::size_t>(row)].rebound > 0.0))
    {
      deep_rows_.push_back(row);
      lengths_.push_back(depth_[index]);
    }
  }
  if (
    deep_rows_.empty() || !(taken_ > 0.0) ||
    !cone_.smallest_change(
      deep_rows_.data(), lengths_.data(), static_cast<int>(deep_rows_.size()), change))
  {
    return false;
  }
  const double rise = -impulse_.dot(change) / step_;  // work against P + G τ
  if (rise > taken_)
  {
    change *= taken_ / rise;
  }
  taken_ -= std::clamp(rise, 0.0, taken_);
  return true;
}

void Percussion::commit() noexcept CD_NONBLOCKING
{
  taken_ -= normal_work_ + friction_work_;
  kept_ = now_impulse_;
  std::swap(now_, last_);
  has_last_ = true;
}

}  // namespace constrained_dynamics
