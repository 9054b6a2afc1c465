// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "body_tree.hpp"

#include <algorithm>

#include <pinocchio/algorithm/kinematics.hpp>

#include "pinocchio_model.hpp"

namespace constrained_dynamics::bench
{

namespace
{

Eigen::Isometry3d isometry(const pinocchio::SE3 & placement)
{
  Eigen::Isometry3d result = Eigen::Isometry3d::Identity();
  result.linear() = placement.rotation();
  result.translation() = placement.translation();
  return result;
}

TreePlace tree_place(pinocchio::JointIndex joint, const pinocchio::SE3 & placement)
{
  return {static_cast<int>(joint) - 1, isometry(placement)};
}

}  // namespace

BodyTree::BodyTree(const Workload & workload)
{
  const PinocchioModel robot(workload);
  pinocchio::Data data(robot.model);
  const Eigen::Ref<const Eigen::VectorXd> q(robot.q);
  pinocchio::forwardKinematics(robot.model, data, q);
  for (std::size_t j = 1; j < robot.model.joints.size(); ++j)
  {
    TreeBody body;
    body.joint_name = robot.model.names[j];
    const auto & joint = robot.model.joints[j];
    if (joint.nv() == 1)
    {
      const Eigen::Matrix<double, 6, 1> motion = data.joints[j].S().matrix();
      const bool turns = motion.tail<3>().norm() > 0.5;
      body.joint = turns ? TreeBody::Joint::kRevolute : TreeBody::Joint::kPrismatic;
      body.axis = turns ? motion.tail<3>() : motion.head<3>();
    }
    else if (joint.nv() == 6)
    {
      body.joint = TreeBody::Joint::kFloating;
    }
    body.parent = static_cast<int>(robot.model.parents[j]) - 1;
    body.placement = isometry(robot.model.jointPlacements[j]);
    body.mass = robot.model.inertias[j].mass();
    body.com = robot.model.inertias[j].lever();
    body.inertia = robot.model.inertias[j].inertia().matrix();
    bodies.push_back(body);
  }
  for (const PinocchioModel::JointClosure & closure : robot.closures)
  {
    closures.push_back(
      {closure.is_weld, tree_place(closure.joint_a, closure.placement_a),
       tree_place(closure.joint_b, closure.placement_b)});
  }
}

bool BodyTree::is_simple() const
{
  return std::none_of(
    bodies.begin(), bodies.end(),
    [](const TreeBody & body) { return body.joint == TreeBody::Joint::kOther; });
}

BaseMotion::BaseMotion(const Workload & workload, const TreeBody & body)
: first_speed_(workload.system->speed_index(body.joint_name + "_vx"))
{
  const int first = workload.system->coordinate_index(body.joint_name + "_x");
  const Eigen::VectorXd & q = workload.state.q;
  pose = Eigen::Isometry3d::Identity();
  pose.translation() = q.segment<3>(first);
  pose.linear() =
    Eigen::Quaterniond(q(first + 6), q(first + 3), q(first + 4), q(first + 5)).toRotationMatrix();
  velocity = pose.linear() * workload.state.u.segment<3>(first_speed_);
  angular_velocity = pose.linear() * workload.state.u.segment<3>(first_speed_ + 3);
}

void BaseMotion::set_acceleration(
  const Eigen::Vector3d & linear, const Eigen::Vector3d & angular, Eigen::VectorXd & out) const
{
  // The system's speeds are in axes of the base, which turn.
  out.segment<3>(first_speed_) =
    pose.linear().transpose() * (linear - angular_velocity.cross(velocity));
  out.segment<3>(first_speed_ + 3) = pose.linear().transpose() * angular;
}

}  // namespace constrained_dynamics::bench
