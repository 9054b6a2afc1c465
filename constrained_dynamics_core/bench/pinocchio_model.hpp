#pragma once

#include <vector>

#include <pinocchio/multibody.hpp>

#include "workloads.hpp"

namespace constrained_dynamics::bench
{

/// The robot of a workload as Pinocchio's own parser reads it, with the workload's state.
struct PinocchioModel
{
  explicit PinocchioModel(const Workload & workload);

  /// A vector of speeds or accelerations in the order of the workload's system.
  Eigen::VectorXd in_system_order(const Eigen::VectorXd & v) const;

  /// Joint that carries a place, and the place in the joint's frame.
  struct Attached
  {
    pinocchio::JointIndex joint;
    pinocchio::SE3 placement;
  };
  Attached attached(const Place & place) const;

  pinocchio::Model model;
  Eigen::VectorXd q;
  Eigen::VectorXd v;
  Eigen::VectorXd tau;

private:
  std::vector<Eigen::Index> speed_index_;  // of each speed of the system, in the model
};

}  // namespace constrained_dynamics::bench
