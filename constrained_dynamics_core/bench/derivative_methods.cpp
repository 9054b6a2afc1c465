// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/derivatives.hpp"

#include "method.hpp"
#include "workload.hpp"

namespace constrained_dynamics::bench
{

namespace
{

Eigen::MatrixXd by_state_of(const SolutionDerivatives & d)
{
  Eigen::MatrixXd result(d.acceleration_q.rows(), 2 * d.acceleration_q.cols());
  result << d.acceleration_q, d.acceleration_u;
  return result;
}

/// The solution and all its derivatives.
class LibraryDerivatives : public Method
{
public:
  explicit LibraryDerivatives(const Workload & workload)
  : dynamics_(workload.constraint_set()),
    workspace_(dynamics_, workload.state),
    derivatives_(dynamics_),
    state_(workload.state),
    inputs_(workload.inputs)
  {
  }

  void run() override
  {
    status_ =
      differentiate(dynamics_, state_.time, state_.q, state_.u, inputs_, workspace_, derivatives_);
  }

  bool succeeded() const override { return has_output(status_); }
  Eigen::VectorXd acceleration() const override { return workspace_.solution().acceleration; }
  Eigen::MatrixXd by_state() const override { return by_state_of(derivatives_.derivatives()); }

private:
  Dynamics dynamics_;
  Workspace workspace_;
  DerivativeWorkspace derivatives_;
  State state_;
  Eigen::VectorXd inputs_;
  Status status_ = Status::kOk;
};

}  // namespace

MethodList derivative_methods() { return {{"derivatives", make_method<LibraryDerivatives>}}; }

Eigen::MatrixXd reference_by_state(const Workload & workload)
{
  const Dynamics dynamics(workload.constraint_set());
  Workspace workspace(dynamics, workload.state);
  SolutionDerivatives derivatives;
  DerivativeOptions options;
  options.force_differences = true;
  const State & state = workload.state;
  const Status status = differentiate(
    dynamics, state.time, state.q, state.u, workload.inputs, workspace, derivatives, options);
  return has_output(status) ? by_state_of(derivatives) : Eigen::MatrixXd();
}

}  // namespace constrained_dynamics::bench
