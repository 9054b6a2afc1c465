// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/reduction.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "servo/level_solver.hpp"
#include "servo/limited_controls.hpp"
#include "servo/motion_bounds.hpp"

namespace constrained_dynamics
{

/// Rows of S below this fraction of what A_s and Y could make are rounding.
inline constexpr double kServoRounding = 1e-9;

/// What a ServoWorkspace holds. S, z, y, A_s and Y are those of (E14), (E15).
struct ServoWorkspace::Memory
{
  explicit Memory(const ServoLaw & law);

  /// Whether the nominal ranks belong to the tasks and constraints that are switched on.
  bool is_prepared() const noexcept CD_NONBLOCKING;
  void set_last_inputs(const ConstVectorRef & inputs) noexcept CD_NONBLOCKING;

  // ---- what users set
  std::vector<ServoReference> references;
  std::vector<ErrorDynamics> gains;
  std::vector<bool> enabled;
  std::vector<double> weights_of_tasks;
  Eigen::VectorXd external_null_vector;
  Eigen::VectorXd last;  // controls that the rate limit counts from
  bool has_last = false;

  // ---- what the preparation finds
  std::vector<int> nominal_rank;  // of each level, −1: unknown
  std::vector<bool> prepared_enabled;
  std::vector<bool> prepared_active;
  Eigen::VectorXd row_size;  // usual size of each row of S, 0: unknown

  // ---- results
  Workspace passive;
  Rows rows;
  Eigen::VectorXd y;
  ServoResult result;

  // ---- of one cycle
  Reduction reduction;
  ConstraintScratch scratch;
  bool has_force_tasks;         // which need λ_0 and Λ in every cycle
  bool has_forces = false;      // λ_0 and Λ are there
  bool is_solved = false;       // the passive solution is that of tau
  Status solved = Status::kOk;  // its status
  Eigen::MatrixXd Y_transpose;
  Eigen::MatrixXd S_transpose;
  Eigen::VectorXd z;
  Eigen::VectorXd tau;
  Eigen::VectorXd unlimited_tau;  // only where limits bind
  Eigen::VectorXd null_part;
  Eigen::VectorXd force;
  LevelSolver solver;
  // Rows of enabled tasks, level by level.
  Eigen::MatrixXd ordered_S_transpose;
  Eigen::VectorXd ordered_z;
  Eigen::VectorXd ordered_size;
  std::vector<int> level_ends;
  std::vector<int> level_ranks;
  // Of one level, or of all rows.
  Eigen::MatrixXd level_A;   // A_sᵀ
  Eigen::MatrixXd response;  // of the motion to forces A_sᵀ
  Eigen::MatrixXd gram;      // A_s · response
  Eigen::VectorXd motion;    // Y τ
  Eigen::VectorXd weights;
  Eigen::VectorXd residual;                 // S τ − z
  std::unique_ptr<LimitedControls> limits;  // null: none
  // What leaving the controls without limits costs each level.
  Eigen::MatrixXd directions;
  std::vector<int> direction_ends;
  // Limits of coordinates and their rates: bounds of q̈ = motion_rowsᵀ τ + motion_offset.
  std::unique_ptr<MotionBounds> motion_bounds;
  Eigen::MatrixXd motion_rows;
  Eigen::VectorXd motion_offset;
  Eigen::VectorXd motion_lower;  // less the offset
  Eigen::VectorXd motion_upper;
  Eigen::VectorXd motion_size;
  std::unique_ptr<LevelSolver> brake_solver;
  Eigen::VectorXd motion_acceleration;  // u̇ with the controls
  bool motion_met = true;
  bool limited = false;
  bool cones_met = true;
  int rank = 0;
  double condition = 1.0;
  double smallest_size = 1.0;
  bool damped = false;

private:
  Memory(const ServoLaw & law, int input_count, int row_count, int speed_count);
  void make_limits(const ServoLaw & law);
};

}  // namespace constrained_dynamics
