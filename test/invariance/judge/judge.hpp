// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <vector>

/// A second opinion on constrained dynamics, in 50 digits. It reads the scenario file and the robot
/// descriptions by itself and shares no code with the library that it judges.
namespace invariance
{

/// A state with inputs: exactly the doubles that `cdyn` reported, in the library's order.
struct Given
{
  double time = 0.0;
  std::vector<double> q;       ///< coordinates
  std::vector<double> u;       ///< speeds
  std::vector<double> inputs;  ///< τ
};

/// What a constraint between two frames exerts on body A, in axes of the world; on body B the
/// opposite.
struct Wrench
{
  std::string constraint;
  std::array<double, 3> point{};   ///< about which the torque counts [m]
  std::array<double, 3> force{};   ///< [N]
  std::array<double, 3> torque{};  ///< [N m]
  double force_tolerance = 0.0;    ///< of each component
  double torque_tolerance = 0.0;   ///< of each component
};

/// What is right at that state. "Right" means exact for data within 1e3 ε (ε = 2.2e-16) of those
/// given; the tolerances say how much such data may change a result.
struct Verdict
{
  bool supported = false;
  std::string unsupported;        ///< the key or type that the judge does not know
  std::vector<std::string> rows;  ///< names of the active rows, in order
  std::vector<double> sizes;      ///< what each row's derivative could be: sums in absolute values
  /// Of diag(1/size) A, descending, relative to the largest but at least to 1: a row that is
  /// nothing but rounding stays small although it is the only one.
  std::vector<double> singular_values;
  int rank_exact = 0;    ///< directions above 1e3 ε: these must be enforced
  int rank_regular = 0;  ///< directions above the singular tolerance (1e-8)
  /// Directions above the singular tolerance in general, at states around this one that meet the
  /// position rows: more than `rank_regular` in a singular position.
  int rank_nominal = 0;
  std::vector<double> acceleration;            ///< u̇, directions below 1e3 ε taken as redundant
  std::vector<double> constraint_force;        ///< F^c
  std::vector<double> acceleration_tolerance;  ///< elementwise
  std::vector<double> force_tolerance;         ///< elementwise
  std::vector<double> multipliers;  ///< least ‖diag(1/weight) λ‖ (`options.characteristic_length`)
  std::vector<double> multiplier_tolerance;  ///< elementwise
  std::vector<Wrench> wrenches;              ///< of constraints between frames, in order
  double inconsistency = 0.0;                ///< of the row that is missed most, relative
  double power = 0.0;                        ///< λᵀ A u [W]
};

/// @throw std::exception for files that cannot be read and vectors of a wrong size.
Verdict judge(const std::string & scenario_file, const Given & given);

}  // namespace invariance
