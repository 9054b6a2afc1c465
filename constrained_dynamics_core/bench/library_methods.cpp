// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "method.hpp"
#include "workload.hpp"

namespace constrained_dynamics::bench
{

namespace
{

/// Dynamics::solve with one formulation.
class Library : public Method
{
public:
  Library(const Workload & workload, const std::string & formulation)
  : dynamics_(workload.constraint_set(), {}, make_formulation(formulation)),
    workspace_(dynamics_, workload.state),
    state_(workload.state),
    inputs_(workload.inputs)
  {
  }

  void run() override
  {
    status_ = dynamics_.solve(state_.time, state_.q, state_.u, inputs_, workspace_);
  }

  bool succeeded() const override { return has_output(status_); }
  Eigen::VectorXd acceleration() const override { return workspace_.solution().acceleration; }

private:
  Dynamics dynamics_;
  Workspace workspace_;
  State state_;
  Eigen::VectorXd inputs_;
  Status status_ = Status::kOk;
};

}  // namespace

MethodList library_methods()
{
  MethodList methods;
  for (const std::string & name : formulation_names())
  {
    methods.push_back({name, [name](const Workload & workload) {
                         return std::make_unique<Library>(workload, name);
                       }});
  }
  return methods;
}

}  // namespace constrained_dynamics::bench
