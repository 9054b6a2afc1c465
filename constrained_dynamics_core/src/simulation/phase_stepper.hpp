// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/dense_output_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <boost/numeric/odeint/util/unwrap_reference.hpp>

#include "contact/tolerances.hpp"
#include "simulation/phase_motion.hpp"
#include "simulation/rosenbrock_step.hpp"

namespace constrained_dynamics
{

/// Adaptive steps of one phase, between events: Dormand and Prince's, and RODAS for stiff systems
/// or where the step of those would be one of stability. The direction of a slip ψ in a plane
/// follows the motion at the rate K/|ψ|, K what friction contributes to ψ̇: 1e10 1/s where slip
/// begins, at 1e-9 m/s.
class PhaseStepper
{
public:
  PhaseStepper(
    PhaseMotion & motion, double absolute, double relative, double largest, std::size_t size,
    bool always_stiff)
  : always_stiff_(always_stiff),
    motion_(motion),
    absolute_(absolute),
    relative_(relative),
    largest_(largest),
    explicit_(make_explicit()),
    implicit_(static_cast<Eigen::Index>(size)),
    jacobian_(size, size),
    by_time_(size)
  {
  }

  void initialize(const StateVector & x, double time, double step)
  {
    state_ = x;
    time_ = time;
    step_ = step;
    is_explicit_ready_ = false;
  }

  /// One step from the current state. @param rate the fastest at which a slip turns [1/s].
  std::pair<double, double> do_step(double rate)
  {
    // [1] Rate times step: the stability of Dormand and Prince's method ends at 3.3.
    constexpr double kLeave = 2.5;
    constexpr double kReturn = 1.0;
    const double product = rate * step_;
    const bool was_stiff = is_stiff_;
    is_stiff_ = always_stiff_ || (is_stiff_ ? product > kReturn : product > kLeave);
    is_explicit_ready_ = is_explicit_ready_ && !was_stiff;
    return is_stiff_ ? stiff_step() : smooth_step();
  }

  /// Whether the last step was one of RODAS, and its estimate of its error.
  bool is_stiff() const { return is_stiff_; }
  const Eigen::VectorXd & stiff_error() const { return implicit_.error(); }
  /// The state at the begin of the last step.
  const StateVector & begin_state() const { return begin_; }
  const StateVector & current_state() const { return state_; }
  double current_time() const { return time_; }
  double current_time_step() const { return step_; }

  void calc_state(double time, StateVector & x)
  {
    if (!is_stiff_)
    {
      explicit_.calc_state(time, x);
      return;
    }
    const double s = (time - begin_time_) / (time_ - begin_time_);
    for (std::size_t i = 0; i < x.size(); ++i)
    {
      x[i] = implicit_.at(s, begin_[i], state_[i], static_cast<Eigen::Index>(i));
    }
  }

  /// A step to within the last one, with the order of the method and not that of its dense output.
  void step_to(double time, StateVector & x)
  {
    if (is_stiff_)
    {
      implicit_.make(
        derive(), jacobian_, by_time_, begin_, slope_, begin_time_, time - begin_time_, x);
      return;
    }
    boost::numeric::odeint::runge_kutta_dopri5<StateVector> whole;
    motion_.begin_step();
    whole.do_step(derive(), begin_, begin_time_, x, time - begin_time_);
  }

private:
  using Explicit = boost::numeric::odeint::result_of::make_dense_output<
    boost::numeric::odeint::runge_kutta_dopri5<StateVector>>::type;

  Explicit make_explicit() const
  {
    return boost::numeric::odeint::make_dense_output(
      absolute_, relative_, largest_, boost::numeric::odeint::runge_kutta_dopri5<StateVector>());
  }
  struct Derive
  {
    PhaseMotion & motion;
    void operator()(const StateVector & x, StateVector & slope, double time) const
    {
      motion.derive(x, slope, time);
    }
  };
  Derive derive() { return {motion_}; }

  std::pair<double, double> smooth_step()
  {
    if (!is_explicit_ready_)
    {
      explicit_ = make_explicit();
      explicit_.initialize(state_, time_, step_);
      motion_.begin_step();
      is_explicit_ready_ = true;
    }
    begin_ = state_;
    begin_time_ = time_;
    const std::pair<double, double> span = explicit_.do_step(derive());
    state_ = explicit_.current_state();
    time_ = span.second;
    step_ = explicit_.current_time_step();
    return span;
  }

  std::pair<double, double> stiff_step()
  {
    begin_ = state_;
    begin_time_ = time_;
    slope_.resize(begin_.size());
    motion_.derive(begin_, slope_, begin_time_);
    motion_.jacobian(begin_, slope_, begin_time_, jacobian_, by_time_);
    for (int k = 0; k < bound::kStiffTrials; ++k)
    {
      const double h = std::min(step_, largest_);
      implicit_.make(derive(), jacobian_, by_time_, begin_, slope_, begin_time_, h, state_);
      double error = 0.0;
      for (std::size_t i = 0; i < state_.size(); ++i)
      {
        const double size =
          absolute_ + relative_ * std::max(std::abs(begin_[i]), std::abs(state_[i]));
        error = std::max(error, std::abs(implicit_.error()(static_cast<Eigen::Index>(i))) / size);
      }
      // Order 4 with an estimate of order 3; no factor beyond these from one step to the next.
      const double factor =
        std::isfinite(error) ? std::clamp(0.9 * std::pow(error, -0.25), 0.1, 4.0) : 0.1;
      step_ = std::min(h * factor, largest_);
      if (error <= 1.0)
      {
        time_ = begin_time_ + h;
        return {begin_time_, time_};
      }
    }
    time_ = begin_time_;
    state_ = begin_;
    return {begin_time_, begin_time_};  // no step is small enough
  }

  bool always_stiff_;
  PhaseMotion & motion_;
  double absolute_;
  double relative_;
  double largest_;
  Explicit explicit_;
  RosenbrockStep implicit_;
  Eigen::MatrixXd jacobian_;
  Eigen::VectorXd by_time_;
  StateVector state_;
  StateVector begin_;
  StateVector slope_;
  double time_ = 0.0;
  double begin_time_ = 0.0;
  double step_ = 0.0;
  bool is_stiff_ = false;
  bool is_explicit_ready_ = false;
};

}  // namespace constrained_dynamics
