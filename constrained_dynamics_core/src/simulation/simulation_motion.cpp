// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Evaluations of a simulation, and states that meet the rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "contact/tolerances.hpp"
#include "simulation/moreau_step.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

namespace
{

// Passing a singular position.

// [units of q] Change of a coordinate to the nearest neighbours. The smallest that leads to regular
// ones is taken.
constexpr double kDistance = 1e-4;
// [1] Neighbours in units of the nearest one, and their weights: the value between them, right to
// the fourth power of the distance. The error of a mean of two, right to the square, exceeds tight
// tolerances and changes the energy at every passage.
constexpr double kNeighbours[][2] = {
  {-2.0, -1.0 / 6.0}, {-1.0, 4.0 / 6.0}, {1.0, 4.0 / 6.0}, {2.0, -1.0 / 6.0}};
constexpr int kDoublings = 3;
// [units of u] Slower than this the motion says nothing about the branch.
constexpr double kSlowest = 1e-6;
// [1] Round-off of the accelerations is ε times the condition, more with many rows; over a step of
// some milliseconds less is left of it. Above this multiple of the tolerance adaptive steps would
// shrink until round-off has driven the speeds off the rows (n_four_bar with 40 loops).
constexpr double kStepFactor = 2.0;

}  // namespace

void SimulationCore::load(VectorRef x) const noexcept CD_NONBLOCKING
{
  x.head(state_.q.size()) = state_.q;
  x.tail(state_.u.size()) = state_.u;
}

void SimulationCore::store(double time, const ConstVectorRef & x) noexcept CD_NONBLOCKING
{
  state_.time = time;
  state_.q = x.head(state_.q.size());
  state_.u = x.tail(state_.u.size());
}

// ---- evaluations
// ------------------------------------------------------------------------------

Status SimulationCore::evaluate() noexcept CD_NONBLOCKING
{
  load(x_);
  if (is_moreau())
  {
    workspace().given_multipliers() = moreau_->forces();
  }
  Status status = derivative(state_.time, x_, slope_);
  if (has_output(status) && has_modes())
  {
    status = worse(status, decision_.share_within_bounds(modes_, forces_, controlled_));
  }
  // An impact that meets not all rows belongs to its instant.
  const bool is_of_now = mode_time_ == state_.time;
  last_status_ = !has_output(mode_status_) ? mode_status_
                 : is_of_now               ? worse(status, mode_status_)
                                           : status;
  return last_status_;
}

Status SimulationCore::derivative(double time, const ConstVectorRef & x, VectorRef x_dot) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index nq = system().coordinate_count();
  const Eigen::Index n = system().speed_count();
  ++counts_.evaluations;
  Status status = controlled_.update(time, x.head(nq), x.tail(n));
  if (status != Status::kOk)
  {
    return status;
  }
  status = has_modes() ? forces_.solve(modes_, controlled_) : controlled_.solve();
  if (!has_output(status))
  {
    return status;
  }
  counts_.singular_evaluations += status == Status::kSingular ? 1 : 0;
  counts_.inconsistent_evaluations += status == Status::kInconsistent ? 1 : 0;
  if (status == Status::kSingular || status == Status::kInconsistent)
  {
    remember_trouble(
      status == Status::kSingular ? kSingularTrouble : kInconsistentTrouble, time, x, false);
  }
  x_dot.head(nq) = workspace().terms().rates;
  x_dot.tail(n) = workspace().solution().acceleration;
  return status;
}

void SimulationCore::remember_trouble(
  Trouble kind, double time, const ConstVectorRef & x, bool ends) noexcept CD_NONBLOCKING
{
  if (book_ == nullptr || (naming_[kind] != Naming::kNothing && !ends))
  {
    return;
  }
  trouble_state_[kind] = x;
  trouble_time_[kind] = time;
  naming_[kind] = Naming::kDue;
  trouble_rank_ = kind == kSingularTrouble ? workspace().solution().rank : trouble_rank_;
}

Status SimulationCore::stage_derivative(
  double time, const ConstVectorRef & x, VectorRef x_dot) noexcept CD_NONBLOCKING
{
  const double largest_condition =
    kStepFactor * options_.relative_tolerance / std::numeric_limits<double>::epsilon();
  const Status status = derivative(time, x, x_dot);
  if (book_ != nullptr && has_output(status))
  {
    book_->measure(controlled_.inputs(), workspace());
  }
  const Eigen::Index nq = system().coordinate_count();
  const bool is_noisy =
    is_adaptive() && status == Status::kOk && workspace().solution().condition > largest_condition;
  const double speed =
    is_noisy || status == Status::kSingular ? x_dot.head(nq).cwiseAbs().maxCoeff() : 0.0;
  if (speed < kSlowest)
  {
    return status;
  }
  double shift = kDistance / speed;
  for (int i = 0; i <= (is_noisy ? kDoublings : 0); ++i, shift *= 2.0)
  {
    const double worst = interpolate_neighbours(time, x, x_dot, shift);
    if (worst <= largest_condition || (status == Status::kSingular && std::isfinite(worst)))
    {
      x_dot.tail(interpolated_acceleration_.size()) = interpolated_acceleration_;
      break;
    }
  }
  if (book_ != nullptr)
  {
    // The records of the stage use its kinematics.
    const Eigen::Index n = system().speed_count();
    static_cast<void>(controlled_.set_state(time, x.head(nq), x.tail(n)));
  }
  return status;  // the bounded solution is the best if no neighbour is regular
}

/// interpolated_acceleration_ at x, from states before and after it along its motion that are
/// `shift` [s] apart. Returns the largest condition of their rows, infinity where one is not
/// regular.
double SimulationCore::interpolate_neighbours(
  double time, const ConstVectorRef & x, const ConstVectorRef & x_dot,
  double shift) noexcept CD_NONBLOCKING
{
  const Eigen::Index nq = system().coordinate_count();
  const double singular = dynamics().options().rank.singular_tolerance;
  double condition = 0.0;
  interpolated_acceleration_.setZero();
  for (const auto & [place, weight] : kNeighbours)
  {
    const double step = place * shift;
    auto q = beside_.head(nq);
    auto u = beside_.tail(x.size() - nq);
    q = x.head(nq) + step * x_dot.head(nq);
    u = x.tail(x.size() - nq);
    system().normalise(q);
    if (
      controlled_.project_position(time + step, q, singular) != Status::kOk ||
      controlled_.project_velocity(time + step, q, u, singular) != Status::kOk ||
      derivative(time + step, beside_, beside_slope_) != Status::kOk)
    {
      return std::numeric_limits<double>::infinity();
    }
    condition = std::max(condition, workspace().solution().condition);
    interpolated_acceleration_ += weight * beside_slope_.tail(u.size());
  }
  return condition;
}

// ---- states on the rows
// ------------------------------------------------------------------------------

Status SimulationCore::settle(double time, VectorRef x) noexcept CD_NONBLOCKING
{
  const Status status = project(time, x);
  if (status == Status::kNotConverged || status == Status::kInconsistent)
  {
    remember_trouble(kUnmetTrouble, time, x, status == Status::kNotConverged);
  }
  return status;
}

/// Projects on all enforced rows. Contacts may close at places that cannot be met at once (what is
/// clamped harder than it is wide): then the others are met, and contacts stay where they are.
template <typename Project>
Status SimulationCore::meet_rows(const Project & project) noexcept CD_NONBLOCKING
{
  const Status status = project();
  if (status != Status::kNotConverged || !modes_.has_rows())
  {
    return status;
  }
  release_all_rows(*model_.set, workspace());
  const Status without = project();
  modes_.enforce(*model_.set, workspace());
  if (without != Status::kOk)
  {
    return without;
  }
  ++counts_.inconsistent_evaluations;
  return Status::kInconsistent;
}

Status SimulationCore::project(double time, VectorRef x) noexcept CD_NONBLOCKING
{
  auto q = x.head(system().coordinate_count());
  auto u = x.tail(system().speed_count());
  system().normalise(q);
  if (dynamics().options().stabilisation.kind != Stabilisation::Kind::kProjection)
  {
    return Status::kOk;
  }
  const auto project_position = [&]() noexcept { return controlled_.project_position(time, q); };
  Status position = project_position();
  while (position == Status::kNotConverged && modes_.has_rows() && open_surplus(time, x))
  {
    position = project_position();
  }
  position = position == Status::kNotConverged ? meet_rows(project_position) : position;
  if (!has_output(position))
  {
    return position;
  }
  const Status velocity =
    meet_rows([&]() noexcept { return controlled_.project_velocity(time, q, u); });
  return worse(position, velocity);
}

/// Of contacts that cannot all be met one that is surplus opens. Returns whether there was one.
bool SimulationCore::open_surplus(double time, const ConstVectorRef & x) noexcept CD_NONBLOCKING
{
  const Eigen::Index nq = system().coordinate_count();
  if (controlled_.update_rows(time, x.head(nq), x.tail(x.size() - nq)) != Status::kOk)
  {
    return false;
  }
  const int opened = decision_.surplus(modes_, controlled_);
  if (opened < 0)
  {
    return false;
  }
  modes_.unload(*model_.set, opened, NormalMode::kOpen);
  modes_.enforce(*model_.set, workspace());
  ContactEvent event;
  event.time = time;
  event.kind = ContactEventKind::kRelease;
  event.constraint = model_.contact(opened).constraint;
  record(event);
  return true;
}

Status SimulationCore::settle_state() noexcept CD_NONBLOCKING
{
  load(settled_);
  const Status settled = settle(state_.time, settled_);
  if (!has_output(settled))
  {
    return Status::kOk;  // contacts stay where they are
  }
  store(state_.time, settled_);
  return worse(settled, lift_out());
}

Status SimulationCore::lift_out() noexcept CD_NONBLOCKING
{
  if (
    dynamics().options().stabilisation.kind != Stabilisation::Kind::kProjection ||
    controlled_.update_rows(state_.time, state_.q, state_.u) != Status::kOk)
  {
    return Status::kOk;
  }
  bool any = false;
  const ContactView at = view();
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    if (at.normal(i) != NormalMode::kClosed && model_.is_rigid(i) && at.gap(i) < -tolerance::kTouch)
    {
      workspace().set_active(model_.contact(i).constraint, true);
      any = true;
    }
  }
  if (!any)
  {
    return Status::kOk;
  }
  auto q = settled_.head(state_.q.size());
  const Status lifted = controlled_.project_position(state_.time, q);
  modes_.enforce(*model_.set, workspace());
  if (lifted == Status::kOk && has_output(settle(state_.time, settled_)))
  {
    store(state_.time, settled_);
  }
  return lifted == Status::kOk ? Status::kOk : Status::kInconsistent;
}

}  // namespace constrained_dynamics
