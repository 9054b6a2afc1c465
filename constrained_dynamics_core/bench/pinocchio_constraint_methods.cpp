// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>

#include "method.hpp"
#include "pinocchio_constraints.hpp"

namespace constrained_dynamics::bench
{

namespace
{

class ConstraintDynamics : public Method
{
public:
  explicit ConstraintDynamics(const Workload & workload) : problem_(workload)
  {
    // Rows of full rank are solved in one go; others need the proximal iterations.
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
  }

  Eigen::VectorXd acceleration() const override
  {
    return problem_.robot.in_system_order(problem_.data.ddq);
  }

protected:
  PinocchioProblem problem_;
  pinocchio::ProximalSettings settings_;
};

/// constraintDynamics, then computeConstraintDynamicsDerivatives.
class ConstraintDerivatives : public ConstraintDynamics
{
public:
  using ConstraintDynamics::ConstraintDynamics;

  void run() override
  {
    ConstraintDynamics::run();
    pinocchio::computeConstraintDynamicsDerivatives(
      problem_.robot.model, problem_.data, problem_.constraints, problem_.constraint_data,
      settings_);
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
};

/// Without constraints: the floor.
class ArticulatedBody : public Method
{
public:
  explicit ArticulatedBody(const Workload & workload)
  : robot_(workload), data_(robot_.model), q_(robot_.q), v_(robot_.v), tau_(robot_.tau)
  {
  }

  void run() override { pinocchio::aba(robot_.model, data_, q_, v_, tau_); }

  Eigen::VectorXd acceleration() const override { return robot_.in_system_order(data_.ddq); }

private:
  PinocchioModel robot_;
  pinocchio::Data data_;
  // Of the type that the compiled Pinocchio has the function for.
  Eigen::Ref<const Eigen::VectorXd> q_;
  Eigen::Ref<const Eigen::VectorXd> v_;
  Eigen::Ref<const Eigen::VectorXd> tau_;
};

}  // namespace

MethodList pinocchio_constraint_methods()
{
  return {
    {"pinocchio_constraint_dynamics", make_method<ConstraintDynamics>},
    {"pinocchio_derivatives", make_method<ConstraintDerivatives>},
    {"pinocchio_aba", make_method<ArticulatedBody>}};
}

}  // namespace constrained_dynamics::bench
