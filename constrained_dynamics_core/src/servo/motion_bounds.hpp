// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"

namespace constrained_dynamics
{

/// Limits of coordinates and of their rates as bounds of the accelerations (E32). With the distance
/// d to a limit of position, the rate towards it may be at most
///     U(d) = κ d for d ≤ d0 = a/κ²,   √(a (2 d − d0)) beyond,
/// from which the deceleration a stops the coordinate, and towards a limit of velocity U = v. The
/// bound of the acceleration is the one with which the rest of U decays at most at the rate k,
///     q̈ ≤ U̇ + k (U − q̇),
/// and never asks for more than twice the deceleration a.
///
/// Memory is taken in the constructor. Everything else is real-time safe.
class MotionBounds
{
public:
  /// @throw std::invalid_argument for limits of the wrong size, NaN, lower above upper, a velocity
  /// or deceleration that is not above 0.
  MotionBounds(const System & system, const MotionLimits & limits, double period);

  int count() const { return static_cast<int>(bounds_.size()); }
  int coordinate(int i) const { return bounds_[static_cast<std::size_t>(i)].coordinate; }

  /// Bounds at the state of the terms.
  void update(const SystemTerms & terms) noexcept CD_NONBLOCKING;
  const Eigen::VectorXd & lower() const { return lower_; }  ///< of q̈ (count)
  const Eigen::VectorXd & upper() const { return upper_; }
  /// Accelerations that bring the coordinates to rest (count).
  const Eigen::VectorXd & brake() const { return brake_; }

private:
  struct Bound
  {
    int coordinate;
    double lower;
    double upper;
    double velocity;
    double deceleration;
  };

  /// The largest acceleration towards a limit at the distance; `rate` is positive towards it.
  double most(const Bound & bound, double distance, double rate) const noexcept;

  std::vector<Bound> bounds_;
  double decay_;      // k [1/s]
  double stiffness_;  // κ [1/s]
  Eigen::VectorXd lower_;
  Eigen::VectorXd upper_;
  Eigen::VectorXd brake_;
};

}  // namespace constrained_dynamics
