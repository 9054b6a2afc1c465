// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <pinocchio/multibody.hpp>

namespace constrained_dynamics::bench
{

struct Workload;

/// The robot of a workload as Pinocchio's own parser reads it, with the workload's state. The
/// library's headers stay out of what includes this: Pinocchio's algorithms take long to compile.
struct PinocchioModel
{
  explicit PinocchioModel(const Workload & workload);

  /// A vector of speeds or accelerations in the order of the workload's system.
  Eigen::VectorXd in_system_order(const Eigen::VectorXd & v) const;

  /// A closure between frames in two joints' frames; joint 0 is the world.
  struct JointClosure
  {
    bool is_weld;  ///< otherwise a point
    pinocchio::JointIndex joint_a;
    pinocchio::SE3 placement_a;
    pinocchio::JointIndex joint_b;
    pinocchio::SE3 placement_b;
  };

  pinocchio::Model model;
  Eigen::VectorXd q;
  Eigen::VectorXd v;
  Eigen::VectorXd tau;
  std::vector<JointClosure> closures;  ///< twice where the workload is redundant
  bool has_full_rank;                  ///< the rows of the closures
  bool closes_to_world;                ///< every closure ties to the world

private:
  std::vector<Eigen::Index> speed_index_;  // of each speed of the system, in the model
};

}  // namespace constrained_dynamics::bench
