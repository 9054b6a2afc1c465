// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/servo/servo_law.hpp"
#include "servo/level_solver.hpp"
#include "servo/limited_controls.hpp"
#include "servo/motion_bounds.hpp"

namespace constrained_dynamics
{

/// Rows of S below this fraction of what A_s and Y could make are rounding.
inline constexpr double kServoRounding = 1e-9;

/// What a cycle of a servo law needs besides what it hands out.
struct ServoWorkspace::Scratch
{
  Scratch(int input_count, int row_count, int largest_level, int speed_count)
  : S(Eigen::MatrixXd::Zero(row_count, input_count)),
    z(Eigen::VectorXd::Zero(row_count)),
    tau(Eigen::VectorXd::Zero(input_count)),
    null_part(Eigen::VectorXd::Zero(input_count)),
    force(Eigen::VectorXd::Zero(speed_count)),
    solver(input_count, std::max(largest_level, 1)),
    ordered_S(Eigen::MatrixXd::Zero(row_count, input_count)),
    ordered_z(Eigen::VectorXd::Zero(row_count)),
    ordered_size(Eigen::VectorXd::Ones(row_count)),
    level_A(Eigen::MatrixXd::Zero(speed_count, row_count)),
    response(Eigen::MatrixXd::Zero(speed_count, row_count)),
    gram(Eigen::MatrixXd::Zero(row_count, row_count)),
    motion(Eigen::VectorXd::Zero(speed_count)),
    weights(Eigen::VectorXd::Zero(row_count)),
    residual(Eigen::VectorXd::Zero(row_count))
  {
  }

  Eigen::MatrixXd S;
  Eigen::VectorXd z;
  Eigen::VectorXd tau;
  Eigen::VectorXd null_part;
  Eigen::VectorXd force;
  LevelSolver solver;
  // Rows of enabled tasks, level by level.
  Eigen::MatrixXd ordered_S;
  Eigen::VectorXd ordered_z;
  Eigen::VectorXd ordered_size;
  std::vector<int> level_ends;
  // Of one level, or of all rows.
  Eigen::MatrixXd level_A;   // A_sᵀ
  Eigen::MatrixXd response;  // of the motion to forces A_sᵀ
  Eigen::MatrixXd gram;      // A_s · response
  Eigen::VectorXd motion;    // Y τ
  Eigen::VectorXd weights;
  Eigen::VectorXd residual;                 // S τ − z
  std::unique_ptr<LimitedControls> limits;  // null: none
  // Limits of coordinates and their rates: bounds of q̈ = motion_rows τ + motion_offset.
  std::unique_ptr<MotionBounds> motion_bounds;
  std::unique_ptr<LimitedControls> motion_limits;  // null: no coordinate has any
  Eigen::MatrixXd motion_rows;
  Eigen::VectorXd motion_offset;
  Eigen::VectorXd motion_lower;  // less the offset
  Eigen::VectorXd motion_upper;
  Eigen::VectorXd motion_acceleration;  // u̇ with the controls
  std::vector<int> motion_ends;         // of the one level that brakes
  bool weighed = false;                 // ordered_S and ordered_z are in the units of errors
  bool motion_limited = false;
  bool motion_met = true;
  bool limited = false;
  bool cones_met = true;
  int rank = 0;
  double condition = 1.0;
  double smallest_size = 1.0;
  bool damped = false;
};

}  // namespace constrained_dynamics
