// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>

#include "method.hpp"
#include "pinocchio_constraints.hpp"

namespace constrained_dynamics::bench
{

namespace
{

/// constraintDynamics, then computeConstraintDynamicsDerivatives.
class ConstraintDerivatives : public Method
{
public:
  explicit ConstraintDerivatives(const Workload & workload) : problem_(workload)
  {
    if (!problem_.robot.has_full_rank)
    {
      settings_ = pinocchio::ProximalSettings(1e-12, 1e-10, 20);
    }
    pinocchio::initConstraintDynamics(
      problem_.robot.model, problem_.data, problem_.constraints, problem_.constraint_data);
  }

  void run() override
  {
    pinocchio::constraintDynamics(
      problem_.robot.model, problem_.data, problem_.robot.q, problem_.robot.v, problem_.robot.tau,
      problem_.constraints, problem_.constraint_data, settings_);
    pinocchio::computeConstraintDynamicsDerivatives(
      problem_.robot.model, problem_.data, problem_.constraints, problem_.constraint_data,
      settings_);
  }

  Eigen::VectorXd acceleration() const override
  {
    return problem_.robot.in_system_order(problem_.data.ddq);
  }

  Eigen::MatrixXd by_state() const override
  {
    const Eigen::Index n = problem_.data.ddq.size();
    Eigen::MatrixXd result(n, 2 * n);
    result << in_system_order(problem_.data.ddq_dq), in_system_order(problem_.data.ddq_dv);
    return result;
  }

private:
  Eigen::MatrixXd in_system_order(const Eigen::MatrixXd & derivative) const
  {
    Eigen::MatrixXd result = derivative;
    for (Eigen::Index k = 0; k < result.cols(); ++k)
    {
      result.col(k) = problem_.robot.in_system_order(result.col(k));
    }
    for (Eigen::Index k = 0; k < result.rows(); ++k)
    {
      result.row(k) = problem_.robot.in_system_order(result.row(k).transpose()).transpose();
    }
    return result;
  }

  PinocchioProblem problem_;
  pinocchio::ProximalSettings settings_;
};

}  // namespace

MethodList pinocchio_derivative_methods()
{
  return {{"pinocchio_derivatives", make_method<ConstraintDerivatives>}};
}

}  // namespace constrained_dynamics::bench
