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
#include "simulation/radau_step.hpp"
#include "simulation/rosenbrock_step.hpp"

namespace constrained_dynamics
{

/// Adaptive steps of one phase, between events: Dormand and Prince's, RODAS and Radau's for stiff
/// systems. Where slip turns so fast that the step would be one of stability, the others leave it
/// to RODAS. The direction of a slip ψ in a plane
/// follows the motion at the rate K/|ψ|, K what friction contributes to ψ̇: 1e10 1/s where slip
/// begins, at 1e-9 m/s.
class PhaseStepper
{
public:
  PhaseStepper(
    PhaseMotion & motion, double absolute, double relative, double largest, std::size_t size,
    Integrator integrator)
  : usual_(
      integrator == Integrator::kRodas   ? Method::kRosenbrock
      : integrator == Integrator::kRadau ? Method::kRadau
                                         : Method::kExplicit),
    motion_(motion),
    absolute_(absolute),
    relative_(relative),
    largest_(largest),
    explicit_(make_explicit()),
    implicit_(static_cast<Eigen::Index>(size)),
    collocation_(static_cast<Eigen::Index>(size)),
    jacobian_(size, size),
    by_time_(size)
  {
  }

  /// A phase begins.
  void initialize(const StateVector & x, double time, double step)
  {
    go_on(x, time, step);
    collocation_.forget();
  }
  /// The motion goes on from a state that was corrected.
  void go_on(const StateVector & x, double time, double step)
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
    turns_ = turns_ ? product > kReturn : product > kLeave;
    is_explicit_ready_ = is_explicit_ready_ && method_ == Method::kExplicit;
    method_ = turns_ ? Method::kRosenbrock : usual_;
    return is_stiff() ? stiff_step() : smooth_step();
  }

  /// Whether the last step was an implicit one, and its estimate of its error.
  bool is_stiff() const { return method_ != Method::kExplicit; }
  const Eigen::VectorXd & stiff_error() const
  {
    return method_ == Method::kRadau ? collocation_.error() : implicit_.error();
  }
  /// The state at the begin of the last step.
  const StateVector & begin_state() const { return begin_; }
  const StateVector & current_state() const { return state_; }
  double current_time() const { return time_; }
  double current_time_step() const { return step_; }

  void calc_state(double time, StateVector & x)
  {
    const double s = (time - begin_time_) / (time_ - begin_time_);
    switch (method_)
    {
      case Method::kExplicit:
        explicit_.calc_state(time, x);
        break;
      case Method::kRosenbrock:
        implicit_.at(s, begin_, state_, x);
        break;
      case Method::kRadau:
        collocation_.at(s, begin_, x);
        break;
    }
  }

  /// A step to within the last one, with the order of the method and not that of its dense output.
  void step_to(double time, StateVector & x)
  {
    if (is_stiff())
    {
      calc_state(time, x);  // stays if the iteration fails
      make_stiff(time - begin_time_, x);
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

  /// One implicit step of that length. @return whether it could be made.
  bool make_stiff(double h, StateVector & end)
  {
    if (method_ == Method::kRosenbrock)
    {
      implicit_.make(derive(), jacobian_, by_time_, begin_, slope_, begin_time_, h, end);
      return true;
    }
    scale_ = absolute_ + relative_ * view_of(begin_).array().abs();
    StateVector reached;
    try
    {
      if (!collocation_.make(derive(), jacobian_, begin_, slope_, begin_time_, h, scale_, reached))
      {
        return false;
      }
    }
    catch (const EvaluationFailed &)
    {
      collocation_.forget();  // an iterate may be where nothing can be evaluated
      return false;
    }
    end = reached;
    return true;
  }

  /// The estimated error of the last implicit step, in units of the tolerance.
  double relative_error() const
  {
    double error = 0.0;
    for (std::size_t i = 0; i < state_.size(); ++i)
    {
      const double size =
        absolute_ + relative_ * std::max(std::abs(begin_[i]), std::abs(state_[i]));
      error = std::max(error, std::abs(stiff_error()(static_cast<Eigen::Index>(i))) / size);
    }
    return error;
  }

  std::pair<double, double> stiff_step()
  {
    // Orders of the estimates plus one.
    const double exponent = method_ == Method::kRadau ? -1.0 / 6.0 : -0.25;
    begin_ = state_;
    begin_time_ = time_;
    slope_.resize(begin_.size());
    motion_.derive(begin_, slope_, begin_time_);
    motion_.jacobian(begin_, slope_, begin_time_, jacobian_, by_time_);
    for (int k = 0; k < bound::kStiffTrials; ++k)
    {
      const double h = std::min(step_, largest_);
      if (!make_stiff(h, state_))
      {
        step_ = 0.3 * h;
        continue;
      }
      const double error = relative_error();
      // No factor beyond these from one step to the next.
      const double factor =
        std::isfinite(error) ? std::clamp(0.9 * std::pow(error, exponent), 0.1, 4.0) : 0.1;
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

  enum class Method
  {
    kExplicit,
    kRosenbrock,
    kRadau,
  };

  Method usual_;
  Method method_ = Method::kExplicit;  // of the last step
  bool turns_ = false;                 // slip turns too fast for the others
  PhaseMotion & motion_;
  double absolute_;
  double relative_;
  double largest_;
  Explicit explicit_;
  RosenbrockStep implicit_;
  RadauStep collocation_;
  Eigen::MatrixXd jacobian_;
  Eigen::VectorXd by_time_;
  Eigen::VectorXd scale_;
  StateVector state_;
  StateVector begin_;
  StateVector slope_;
  double time_ = 0.0;
  double begin_time_ = 0.0;
  double step_ = 0.0;
  bool is_explicit_ready_ = false;
};

}  // namespace constrained_dynamics
