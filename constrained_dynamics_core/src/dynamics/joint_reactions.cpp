// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/joint_reactions.hpp"

#include <cmath>

#include <Eigen/Geometry>

#include "constrained_dynamics/formulations/multiplier_formulation.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constraints/validation.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

JointReactions::JointReactions(const Dynamics & dynamics)
: robot_(&checked_robot("joint reactions", dynamics.system())),
  is_wrapped_(robot_ != &dynamics.system()),
  work_(robot_->tree().bodies.size()),
  wrenches_(robot_->tree().bodies.size())
{
  const ConstraintSet & set = dynamics.constraints();
  const KinematicTree & tree = robot_->tree();
  const auto body = [&](const std::string & name)
  { return tree.frames[static_cast<std::size_t>(robot_->frame_index(name))].body; };
  for (int i = 0; i < set.size(); ++i)
  {
    for (const WrenchBodies & pair : set[i].wrench_bodies())
    {
      bodies_.push_back({body(pair.body_a), body(pair.body_b)});
    }
  }
  if (const auto forces = dynamics.formulation().multiplier_forces())
  {
    const std::vector<MultiplierForceTarget> & targets = forces->targets();
    for (std::size_t k = 0; k < targets.size(); ++k)
    {
      const MultiplierForceTarget & target = targets[k];
      if (target.kind == MultiplierForceTarget::Kind::kFrame)
      {
        const auto frame = static_cast<std::size_t>(target.index);
        loads_.push_back({target, static_cast<Eigen::Index>(k), tree.frames[frame].body});
      }
    }
  }
}

Status JointReactions::update(const Workspace & workspace) noexcept CD_NONBLOCKING
{
  const Solution & solution = workspace.solution();
  const Eigen::Index n = robot_->speed_count();
  if (solution.wrenches.size() != bodies_.size() || solution.acceleration.size() < n)
  {
    return Status::kSizeMismatch;
  }
  if (!solution.acceleration.allFinite())
  {
    return Status::kNoState;
  }
  const SystemData & data = workspace.system_data();
  const TreeData & tree_data =
    static_cast<const TreeData &>(is_wrapped_ ? ControlStateSystem::wrapped_data(data) : data);
  const KinematicTree & tree = robot_->tree();
  tree.required_wrenches(tree_data, solution.acceleration.head(n), work_);
  const auto relieve = [&](int body, const Wrench & by)
  {
    if (body >= 0)
    {
      Wrench & wrench = work_[static_cast<std::size_t>(body)];
      wrench.force -= by.force;
      wrench.torque -= by.torque + (by.point - wrench.point).cross(by.force);
    }
  };
  for (std::size_t k = 0; k < bodies_.size(); ++k)
  {
    relieve(bodies_[k].a, solution.wrenches[k].on_a);
    relieve(bodies_[k].b, solution.wrenches[k].on_b);
  }
  for (const Load & load : loads_)
  {
    FrameKinematics frame;
    robot_->frame_kinematics(tree_data, load.target.index, frame);
    const Eigen::Index axis = load.target.component % 3;
    const Eigen::Vector3d vector =
      MultiplierFormulation::values(workspace.formulation_data())(load.value) *
      (load.target.in_frame_axes ? Eigen::Vector3d(frame.rotation.col(axis))
                                 : Eigen::Vector3d(Eigen::Vector3d::Unit(axis)));
    Wrench wrench;
    wrench.point = frame.position;
    (load.target.component < 3 ? wrench.force : wrench.torque) = vector;
    relieve(load.body, wrench);
  }
  tree.sum_to_joints(tree_data, work_);
  double probe = 0.0;  // NaN if a number is not finite
  for (const Wrench & wrench : work_)
  {
    probe += 0.0 * (wrench.force.sum() + wrench.torque.sum());
  }
  if (!(probe == 0.0))
  {
    return Status::kNonFiniteResult;
  }
  wrenches_.swap(work_);
  return Status::kOk;
}

}  // namespace constrained_dynamics
