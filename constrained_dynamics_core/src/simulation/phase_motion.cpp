// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/phase_motion.hpp"

#include <algorithm>
#include <cmath>

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

namespace
{

// [1] Step of central differences for the Jacobian of a stiff system: round-off of 1e-16 and
// curvature are both about 1e-10 of a derivative. The order of the method needs that.
constexpr double kCentralDifference = 1e-5;

/// Holds the directions of slip in its lifetime.
class HeldSlips
{
public:
  HeldSlips(ContactForces & forces, const ContactModes & modes, const Workspace & workspace)
  : forces_(forces)
  {
    forces_.hold_directions(modes, workspace);
  }
  ~HeldSlips() { forces_.release_directions(); }
  HeldSlips(const HeldSlips &) = delete;
  HeldSlips & operator=(const HeldSlips &) = delete;

private:
  ContactForces & forces_;
};

}  // namespace

void PhaseMotion::derive(const StateVector & x, StateVector & slope, double time)
{
  slope.resize(x.size());
  require_output(of_.stage_derivative(time, view_of(x), view_of(slope)));
  of_.book_->record_stage(view_of(slope));
}

void PhaseMotion::begin_step() { of_.book_->expect_first(); }

void PhaseMotion::evaluate(double time)
{
  require_output(of_.derivative(time, view_of(moved_), view_of(changed_)));
}

/// The planar slips at the state that is evaluated, with held directions.
void PhaseMotion::find_slides()
{
  const ContactView at = of_.view();
  slides_.clear();
  for (const int i : of_.forces_.planar_slides(of_.modes_))
  {
    Slide slide;
    slide.friction = i;
    double s[2];
    at.slide_direction(i, s);
    slide.across[0] = -s[1];
    slide.across[1] = s[0];
    slide.speed = at.turning_speed(i);
    slide.slip = at.slip_along(i, slide.across);
    slides_.push_back(slide);
  }
}

/// What a turn of each slip by a radian changes.
void PhaseMotion::turn_slides(const StateVector & slope, double time)
{
  for (Slide & slide : slides_)
  {
    of_.forces_.turn_direction(slide.friction, tolerance::kTurn);
    evaluate(time);
    slide.by_turn = (view_of(changed_) - view_of(slope)) / tolerance::kTurn;
    const Eigen::VectorXd acceleration = slide.by_turn.tail(of_.state_.u.size());
    of_.forces_.set_turning(
      of_.modes_, slide.friction,
      -of_.view().slip_change_along(slide.friction, slide.across, acceleration), of_.workspace());
  }
  of_.forces_.turn_direction(-1, 0.0);
}

void PhaseMotion::jacobian(
  const StateVector & x, const StateVector & slope, double time, Eigen::MatrixXd & by_state,
  Eigen::VectorXd & by_time)
{
  const auto n = static_cast<Eigen::Index>(x.size());
  const auto f = view_of(slope);
  moved_ = x;
  changed_.resize(x.size());
  evaluate(time);
  const HeldSlips held(of_.forces_, of_.modes_, of_.workspace());
  find_slides();
  turn_slides(slope, time);
  // Slow slip needs stability only and takes the cheaper differences of one side.
  const bool is_central = of_.options_.integrator == Integrator::kRodas;
  const double step = is_central ? kCentralDifference : tolerance::kStateDifference;
  const double distance = is_central ? 2.0 : 1.0;
  for (Eigen::Index i = 0; i <= n; ++i)
  {
    auto column = i < n ? by_state.col(i) : Eigen::Ref<Eigen::VectorXd>(by_time);
    column.setZero();
    const std::size_t k = static_cast<std::size_t>(i);
    const double here = i < n ? x[k] : time;
    for (const double side : {1.0, -1.0})
    {
      if (side < 0.0 && !is_central)
      {
        break;
      }
      const double there = here + side * step * std::max(1.0, std::abs(here));
      const double size = distance * (there - here);
      if (i < n)
      {
        moved_[k] = there;
      }
      evaluate(i < n ? time : there);
      column += (view_of(changed_) - f) / size;
      for (const Slide & slide : slides_)
      {
        const double across = of_.view().slip_along(slide.friction, slide.across) - slide.slip;
        column += across / (size * slide.speed) * slide.by_turn;
      }
    }
    if (i < n)
    {
      moved_[k] = here;
    }
  }
}

void PhaseMotion::measure_turning(const StateVector & x, double time)
{
  if (of_.forces_.planar_slides(of_.modes_).empty())
  {
    return;
  }
  moved_ = x;
  changed_.resize(x.size());
  evaluate(time);
  const StateVector slope = changed_;
  const HeldSlips held(of_.forces_, of_.modes_, of_.workspace());
  find_slides();
  turn_slides(slope, time);
}

}  // namespace constrained_dynamics
