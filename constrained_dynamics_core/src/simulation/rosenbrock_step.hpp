// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "dense_decompositions.hpp"

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
  /// The state within the last step. @param s 0 to 1.
  void at(double s, const StateVector & begin, const StateVector & end, StateVector & x) const
  {
    for (std::size_t k = 0; k < x.size(); ++k)
    {
      const auto i = static_cast<Eigen::Index>(k);
      x[k] = begin[k] * (1.0 - s) + s * (end[k] + (1.0 - s) * (cubic_(0, i) + s * cubic_(1, i)));
    }
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

}  // namespace constrained_dynamics
