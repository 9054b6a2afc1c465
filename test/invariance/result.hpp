// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include <Eigen/Core>

namespace invariance
{

/// Values by name, in the order of the system.
struct Named
{
  std::vector<std::string> names;
  Eigen::VectorXd values;

  /// −1: there is none.
  int index(const std::string & name) const;
  bool has(const std::string & name) const { return index(name) >= 0; }
  /// @throw std::out_of_range that names it
  double at(const std::string & name) const;
  double & at(const std::string & name);
  void add(const std::string & name, double value);
};

struct ConstraintWrench
{
  std::string constraint;
  Eigen::Vector3d point, force, torque;  ///< on A, world axes, about the point
};

/// Result of `cdyn solve`, or the `final` state of `cdyn run`.
struct Result
{
  int exit_code = -1;
  std::string status;   ///< empty: no JSON (rejected or crashed)
  std::string message;  ///< first line of the standard error
  double time = 0.0;
  Named q, u, udot, inputs, multipliers, force, observe;
  std::vector<ConstraintWrench> wrenches;
  int rank = -1;
  int nominal_rank = -1;
  int row_count = -1;
  double inconsistency = 0.0;
  std::vector<std::string> dependent_rows;  ///< rows that take part in a dependency

  bool ok() const { return status == "ok"; }
  bool has_solution() const { return udot.values.size() > 0; }
  /// F^c · u.
  double power() const { return force.values.size() > 0 ? force.values.dot(u.values) : 0.0; }
};

/// Reads the JSON of `cdyn solve` (yaml-cpp also reads JSON).
Result read_result(const YAML::Node & json);

}  // namespace invariance
