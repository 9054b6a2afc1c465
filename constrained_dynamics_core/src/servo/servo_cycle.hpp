// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>

#include "constrained_dynamics/servo/servo_law.hpp"
#include "servo/servo_memory.hpp"

namespace constrained_dynamics
{

/// One evaluation of a ServoLaw: rows (servo_rows.cpp), levels of priority (servo_levels.cpp),
/// limits (servo_limiting.cpp), result (servo_cycle.cpp). Real-time safe: yes, all of it.
class ServoCycle
{
public:
  ServoCycle(const ServoLaw & law, ServoWorkspace::Memory & memory) noexcept : law_(law), m_(memory)
  {
  }

  Status evaluate(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept;

  /// Whether sizes that a user may have changed are those of the law.
  bool fits() const noexcept;
  /// S and z of all rows.
  Status form(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept;
  void begin_levels() noexcept;
  void solve_level(int level) noexcept;
  /// The rows of a task.
  RowBlock rows_of(std::size_t task) noexcept;

private:
  // Rows.
  Status evaluate_rows() noexcept;
  void form_task(std::size_t task) noexcept;
  void form_motion(std::size_t task) noexcept;
  void form_force(std::size_t task) noexcept;
  /// Rows of S = A_s Y, and what z loses by u̇_0.
  void add_responses(Eigen::Index offset, Eigen::Index count) noexcept;
  void add_response(Eigen::Index row) noexcept;
  // Levels.
  bool is_ideal_metric() const noexcept { return law_.options().metric == ServoMetric::kIdeal; }
  Eigen::Index level_begin(int level) const noexcept;
  /// What the first `count` columns of A_sᵀ, taken as forces, do to the motion, and A_s times that.
  void find_gram(Eigen::Index count) noexcept;
  /// Rows of a level in the norm that errors count in with ServoMetric::kIdeal.
  void weigh_level(int level) noexcept;
  /// The rows of all levels, in the units that errors count in.
  void weigh_levels() noexcept;
  void add_null_part() noexcept;
  /// Whether the controls move the system as forces along A_sᵀ would (E15').
  bool is_ideal() noexcept;
  // Limits.
  void limit() noexcept;
  /// What leaving the controls costs each level. @param rows S of all levels, transposed.
  void find_directions(LevelSolver & solver, const Eigen::MatrixXd & rows) noexcept;
  /// The bounds of the coordinates' accelerations as limits of the controls.
  void form_motion_limits() noexcept;
  /// Controls where none keep all limits: those that miss the limits of motion least, and among
  /// these a stop.
  void stop() noexcept;
  Status solve_limited() noexcept;
  /// Whether the coordinates' accelerations with the controls are within their bounds.
  bool keeps_motion_limits() noexcept;
  /// Whether the controls bring a limited coordinate's acceleration to its bound, or beyond.
  bool is_at_motion_limit(int i) const noexcept;
  /// Whether the controls keep the input limits and the cones.
  bool keeps_limits() noexcept;
  /// λ_0 and Λ for cones, unless force tasks asked for them; the controls will change.
  void find_forces() noexcept;
  const Eigen::MatrixXd * effort_metric() const noexcept;
  // Result.
  /// The passive system with the controls, unless it was solved already.
  Status solve() noexcept;
  void report() noexcept;
  void report_limits() noexcept;
  /// Whether the rows of a task are missed by more than rounding.
  bool is_missed(std::size_t task) const noexcept;
  void report_errors(std::size_t task) noexcept;

  const ServoLaw & law_;
  ServoWorkspace::Memory & m_;
};

}  // namespace constrained_dynamics
