// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "pinocchio_model.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include <Eigen/Geometry>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include "workload.hpp"

namespace constrained_dynamics::bench
{

namespace
{

pinocchio::Model make_model(const RobotDescription & robot)
{
  pinocchio::Model model;
  switch (robot.base)
  {
    case Base::kFixed:
      pinocchio::urdf::buildModelFromXML(robot.text, model);
      break;
    case Base::kPlanar:
      pinocchio::urdf::buildModelFromXML(robot.text, pinocchio::JointModelPlanar(), "base", model);
      break;
    case Base::kFloating:
      pinocchio::urdf::buildModelFromXML(
        robot.text, pinocchio::JointModelFreeFlyer(), "base", model);
      break;
  }
  if (robot.locked.empty())
  {
    return model;
  }
  Eigen::VectorXd reference = Eigen::VectorXd::Zero(model.nq);
  std::vector<pinocchio::JointIndex> joints;
  for (const auto & [name, value] : robot.locked)
  {
    joints.push_back(model.getJointId(name));
    reference(model.joints[joints.back()].idx_q()) = value;
  }
  return pinocchio::buildReducedModel(model, joints, reference);
}

pinocchio::SE3 placement_of(const Pose & pose)
{
  const Eigen::Matrix3d rotation = (Eigen::AngleAxisd(pose.rpy.z(), Eigen::Vector3d::UnitZ()) *
                                    Eigen::AngleAxisd(pose.rpy.y(), Eigen::Vector3d::UnitY()) *
                                    Eigen::AngleAxisd(pose.rpy.x(), Eigen::Vector3d::UnitX()))
                                     .toRotationMatrix();
  return pinocchio::SE3(rotation, pose.xyz);
}

/// Joint that carries a place, and the place in the joint's frame.
struct Attached
{
  pinocchio::JointIndex joint;
  pinocchio::SE3 placement;
};

Attached attach(const pinocchio::Model & model, const Place & place)
{
  if (place.link == "world")
  {
    return {0, placement_of(place.pose)};
  }
  const auto & frame = model.frames[model.getFrameId(place.link, pinocchio::BODY)];
  return {frame.parentJoint, frame.placement * placement_of(place.pose)};
}

}  // namespace

PinocchioModel::PinocchioModel(const Workload & workload)
: model(make_model(workload.scene.robots[0])),
  has_full_rank(!workload.planar && !workload.redundant),
  closes_to_world(true)
{
  for (const Closure & closure : workload.closures)
  {
    const Attached a = attach(model, closure.a);
    const Attached b = attach(model, closure.b);
    const JointClosure in_joints{
      closure.kind == Closure::Kind::kWeld, a.joint, a.placement, b.joint, b.placement};
    closures.insert(closures.end(), workload.redundant ? 2 : 1, in_joints);
    closes_to_world = closes_to_world && b.joint == 0;
  }

  const System & system = *workload.system;
  if (model.nv != system.speed_count())
  {
    throw std::logic_error("bench: Pinocchio reads " + workload.name + " differently");
  }
  q.setZero(model.nq);
  speed_index_.resize(static_cast<std::size_t>(model.nv));
  for (std::size_t j = 1; j < model.joints.size(); ++j)
  {
    const auto & joint = model.joints[j];
    const std::string & name = model.names[j];
    if (joint.nv() == 1)
    {
      const int coordinate = system.coordinate_index(name);
      const double value = workload.state.q(coordinate);
      q(joint.idx_q()) = joint.nq() == 2 ? std::cos(value) : value;
      if (joint.nq() == 2)
      {
        q(joint.idx_q() + 1) = std::sin(value);
      }
      speed_index_[static_cast<std::size_t>(system.speed_index("d" + name))] = joint.idx_v();
      continue;
    }
    // A base: its coordinates are in the same order but for the planar one's angle.
    const int first = system.coordinate_index(name + "_x");
    if (joint.nv() == 3)
    {
      const double angle = workload.state.q(first + 2);
      q.segment<4>(joint.idx_q()) << workload.state.q(first), workload.state.q(first + 1),
        std::cos(angle), std::sin(angle);
    }
    else
    {
      q.segment<7>(joint.idx_q()) = workload.state.q.segment<7>(first);
    }
    const int first_speed = system.speed_index(name + "_vx");
    for (int k = 0; k < joint.nv(); ++k)
    {
      speed_index_[static_cast<std::size_t>(first_speed + k)] = joint.idx_v() + k;
    }
  }
  v.resize(model.nv);
  tau.resize(model.nv);
  for (std::size_t i = 0; i < speed_index_.size(); ++i)
  {
    v(speed_index_[i]) = workload.state.u(static_cast<Eigen::Index>(i));
    tau(speed_index_[i]) = workload.force(static_cast<Eigen::Index>(i));
  }
}

Eigen::VectorXd PinocchioModel::in_system_order(const Eigen::VectorXd & x) const
{
  Eigen::VectorXd result(x.size());
  for (std::size_t i = 0; i < speed_index_.size(); ++i)
  {
    result(static_cast<Eigen::Index>(i)) = x(speed_index_[i]);
  }
  return result;
}

}  // namespace constrained_dynamics::bench
