// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/model/system.hpp"

/// @file
/// The plainest system and constraint, for tests of what is made of their numbers.

namespace constrained_dynamics::test
{

/// Constant inertia, q̇ = u, no forces.
class ConstantSystem : public System
{
public:
  explicit ConstantSystem(Eigen::MatrixXd mass) : mass_(std::move(mass))
  {
    std::vector<std::string> q;
    std::vector<std::string> u;
    for (Eigen::Index i = 0; i < mass_.rows(); ++i)
    {
      q.push_back("q" + std::to_string(i));
      u.push_back("dq" + std::to_string(i));
    }
    set_names(q, u, {});
  }

protected:
  Status do_update_kinematics(SystemData & data) const noexcept override
  {
    data.terms.kinematic_matrix.setIdentity();
    data.terms.kinematic_drift.setZero();
    data.terms.rates = data.terms.speeds;
    data.terms.acceleration_bias.setZero();
    return Status::kOk;
  }
  Status do_update_dynamics(SystemData & data) const noexcept override
  {
    data.terms.mass_matrix = mass_;
    data.terms.force.setZero();
    return Status::kOk;
  }

private:
  Eigen::MatrixXd mass_;
};

/// φ̇ (or ψ) = a u + α with constant a, one or more rows; φ = 0 wherever it is.
class LinearRows : public Constraint
{
public:
  LinearRows(
    const std::string & name, const System & system, Eigen::MatrixXd a, RowLevel level,
    double alpha = 0.0)
  : Constraint(name, "linear_rows", system, describe(a.rows(), level)),
    a_(std::move(a)),
    alpha_(alpha)
  {
  }

protected:
  Status do_evaluate(
    const SystemData & data, ConstraintScratch &, RowBlock & rows) const noexcept override
  {
    rows.position.setZero();
    for (Eigen::Index i = 0; i < a_.rows(); ++i)
    {
      rows.velocity(i) = a_.row(i).dot(data.terms.speeds) + alpha_;
    }
    rows.jacobian = a_;
    rows.bias.setZero();
    return Status::kOk;
  }

private:
  static std::vector<RowDescription> describe(Eigen::Index count, RowLevel level)
  {
    std::vector<RowDescription> rows;
    for (Eigen::Index i = 0; i < count; ++i)
    {
      rows.push_back({"row_" + std::to_string(i + 1), level, false});
    }
    return rows;
  }

  Eigen::MatrixXd a_;
  double alpha_;
};

}  // namespace constrained_dynamics::test
