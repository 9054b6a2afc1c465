// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Pinocchio's recursion with loops.
#include <pinocchio/algorithm/loop-constrained-aba.hpp>

#include "method.hpp"
#include "pinocchio_constraints.hpp"

namespace constrained_dynamics::bench
{

namespace
{

class LoopConstrainedAba : public Method
{
public:
  explicit LoopConstrainedAba(const Workload & workload) : problem_(workload)
  {
    pinocchio::computeJointMinimalOrdering(
      problem_.robot.model, problem_.data, problem_.constraints);
  }

  void run() override
  {
    pinocchio::lcaba(
      problem_.robot.model, problem_.data, problem_.robot.q, problem_.robot.v, problem_.robot.tau,
      problem_.constraints, problem_.constraint_data, settings_);
  }

  Eigen::VectorXd acceleration() const override
  {
    return problem_.robot.in_system_order(problem_.data.ddq);
  }

private:
  PinocchioProblem problem_;
  pinocchio::ProximalSettings settings_{1e-10, 1e-6, 10};
};

}  // namespace

MethodList pinocchio_lcaba_methods()
{
  return {{"pinocchio_lcaba", make_method<LoopConstrainedAba>}};
}

}  // namespace constrained_dynamics::bench
