// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>

#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/dense_output_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <boost/numeric/odeint/util/unwrap_reference.hpp>

namespace constrained_dynamics
{

using StateVector = std::vector<double>;

/// RODAS of Hairer and Wanner: a Rosenbrock method of order 4(3), stiffly accurate and L-stable,
/// with dense output of order 3. One step x' = f(t, x) costs six evaluations and one factorisation
/// of 1/(γ h) − J.
class RosenbrockStep
{
public:
  explicit RosenbrockStep(Eigen::Index size)
  : matrix_(size, size), slope_(size), stage_(size), error_(size), cubic_(2, size)
  {
    for (Eigen::VectorXd & g : g_)
    {
      g.setZero(size);
    }
  }

  /// @param derive (x, slope, time). @param by_time ∂f/∂t.
  template <typename Derive>
  void make(
    const Derive & derive, const Eigen::MatrixXd & jacobian, const Eigen::VectorXd & by_time,
    const StateVector & begin, const StateVector & first_slope, double time, double h,
    StateVector & end)
  {
    // rodas.f, method 1; time[4] of its dated copies has the wrong sign in some libraries.
    constexpr double kGamma = 0.25;
    constexpr double kTime[6] = {0.25, -0.1043, 0.1035, -0.03620000000000023, 0.0, 0.0};
    constexpr double kPlace[6] = {0.0, 0.386, 0.21, 0.63, 1.0, 1.0};
    constexpr double kA[5][5] = {
      {0.0, 0.0, 0.0, 0.0, 0.0},
      {1.544, 0.0, 0.0, 0.0, 0.0},
      {0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0},
      {3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0},
      {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 0.0}};
    constexpr double kC[6][5] = {
      {0.0, 0.0, 0.0, 0.0, 0.0},
      {-5.6688, 0.0, 0.0, 0.0, 0.0},
      {-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0},
      {-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0},
      {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160, 0.0},
      {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
       -6.058818238834054}};
    constexpr double kDense[2][5] = {
      {10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
       1.025137723295662},
      {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386,
       -6.594389125716872}};
    const Eigen::Index n = static_cast<Eigen::Index>(begin.size());
    const Eigen::Map<const Eigen::VectorXd> x(begin.data(), n);
    matrix_ = -jacobian;
    matrix_.diagonal().array() += 1.0 / (kGamma * h);
    const Eigen::PartialPivLU<Eigen::MatrixXd> factor(matrix_);
    stage_vector_.resize(begin.size());
    slope_vector_ = first_slope;
    for (int i = 0; i < 6; ++i)
    {
      if (i > 0)
      {
        stage_ = i < 5 ? Eigen::VectorXd(x) : Eigen::VectorXd(stage_ + g_[4]);
        for (int k = 0; i < 5 && k < i; ++k)
        {
          stage_ += kA[i][k] * g_[k];
        }
        Eigen::Map<Eigen::VectorXd>(stage_vector_.data(), n) = stage_;
        derive(stage_vector_, slope_vector_, time + kPlace[i] * h);
      }
      slope_ = Eigen::Map<const Eigen::VectorXd>(slope_vector_.data(), n) + h * kTime[i] * by_time;
      for (int k = 0; k < i; ++k)
      {
        slope_ += kC[i][k] / h * g_[k];
      }
      (i < 5 ? g_[i] : error_) = factor.solve(slope_);
    }
    end.resize(begin.size());
    Eigen::Map<Eigen::VectorXd>(end.data(), n) = stage_ + error_;
    cubic_.setZero();
    for (int k = 0; k < 5; ++k)
    {
      cubic_.row(0) += kDense[0][k] * g_[k].transpose();
      cubic_.row(1) += kDense[1][k] * g_[k].transpose();
    }
  }

  const Eigen::VectorXd & error() const { return error_; }
  /// Within the last step. @param s 0 to 1.
  double at(double s, double begin, double end, Eigen::Index i) const
  {
    return begin * (1.0 - s) + s * (end + (1.0 - s) * (cubic_(0, i) + s * cubic_(1, i)));
  }

private:
  Eigen::MatrixXd matrix_;
  Eigen::VectorXd slope_;
  Eigen::VectorXd stage_;
  Eigen::VectorXd error_;
  Eigen::VectorXd g_[5];
  Eigen::MatrixXd cubic_;
  StateVector stage_vector_;
  StateVector slope_vector_;
};

/// Adaptive steps of one phase, between events: Dormand and Prince's, and RODAS where the step of
/// those would be one of stability. The direction of a slip ψ in a plane follows the motion at the
/// rate K/|ψ|, K what friction contributes to ψ̇: 1e10 1/s where slip begins, at 1e-9 m/s.
///
/// `Motion` has begin_step(), derive(x, slope, time) and jacobian(x, slope, time, J, ∂f/∂t).
template <typename Motion>
class PhaseStepper
{
public:
  PhaseStepper(Motion & motion, double absolute, double relative, double largest, std::size_t size)
  : motion_(motion),
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
    // The stability of Dormand and Prince's method ends at 3.3.
    constexpr double kLeave = 2.5;
    constexpr double kReturn = 1.0;
    const double product = rate * step_;
    const bool was_stiff = is_stiff_;
    is_stiff_ = is_stiff_ ? product > kReturn : product > kLeave;
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
  using Explicit = typename boost::numeric::odeint::result_of::make_dense_output<
    boost::numeric::odeint::runge_kutta_dopri5<StateVector>>::type;

  Explicit make_explicit() const
  {
    return boost::numeric::odeint::make_dense_output(
      absolute_, relative_, largest_, boost::numeric::odeint::runge_kutta_dopri5<StateVector>());
  }
  auto derive()
  {
    return [this](const StateVector & x, StateVector & slope, double time)
    { motion_.derive(x, slope, time); };
  }

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
    constexpr int kMostTrials = 100;
    begin_ = state_;
    begin_time_ = time_;
    slope_.resize(begin_.size());
    motion_.derive(begin_, slope_, begin_time_);
    motion_.jacobian(begin_, slope_, begin_time_, jacobian_, by_time_);
    for (int k = 0; k < kMostTrials; ++k)
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

  Motion & motion_;
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
