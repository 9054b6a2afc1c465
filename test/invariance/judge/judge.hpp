// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

/// An independent solution of constrained dynamics in 50 digits. It has its own readers of scenario
/// files and robot descriptions and shares no code with the library that it judges.
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

/// The wrench that a constraint between two frames exerts on body A, in world axes; body B receives
/// the opposite.
struct Wrench
{
  std::string constraint;
  std::array<double, 3> point{};   ///< to which the torque refers [m]
  std::array<double, 3> force{};   ///< [N]
  std::array<double, 3> torque{};  ///< [N m]
  double force_tolerance = 0.0;    ///< of each component
  double torque_tolerance = 0.0;   ///< of each component
};

/// The correct result at that state: exact for data within 1e3 ε (ε = 2.2e-16) of those given. The
/// tolerances state how much a result may change within these data.
struct Verdict
{
  bool supported = false;
  std::string unsupported;        ///< the key or type that the judge does not know
  std::vector<std::string> rows;  ///< names of the active rows, in order
  std::vector<double> sizes;      ///< possible sizes of the rows' derivatives
  /// Of diag(1/size) A, descending, relative to the largest but at least to 1: a row that is only
  /// round-off stays small even if it is the only one.
  std::vector<double> singular_values;
  int rank_exact = 0;    ///< directions above 1e3 ε: these must be enforced
  int rank_regular = 0;  ///< directions above the singular tolerance (1e-8)
  /// Directions above the singular tolerance in general, at states around this one that satisfy the
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

/// What was answered at a state where contacts touch.
struct Answered
{
  std::vector<double> acceleration;
  std::map<std::string, double> multipliers;            ///< by row
  std::map<std::string, std::array<double, 3>> forces;  ///< on A, world axes, by constraint
};

struct ContactVerdict
{
  bool supported = false;
  std::string unsupported;
  std::string violated;  ///< the first law that the answer violates; empty: none
};

/// Inserts an answer into the laws of motion, of contact (no penetration, no pull, one of gap and
/// force) and of Coulomb's friction. There may be other answers that satisfy them.
/// @throw std::exception as `judge`.
ContactVerdict judge_contacts(
  const std::string & scenario_file, const Given & given, const Answered & answered);

}  // namespace invariance
