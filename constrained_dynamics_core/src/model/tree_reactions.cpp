// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// What joints transmit at the state of the last update, with given accelerations (E43).

#include <Eigen/Geometry>

#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

void KinematicTree::required_wrenches(
  const TreeData & data, const ConstVectorRef & acceleration,
  std::vector<Wrench> & out) const noexcept CD_NONBLOCKING
{
  // Accelerations that u̇ causes, then Newton and Euler about the origin of each body. The members
  // of `out` hold the angular (torque) and the linear (force) acceleration of a parent until its
  // children have been visited: the second pass replaces them.
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    const TreeBody & body = bodies[i];
    const BodyMotion & m = data.motions[i];
    Eigen::Vector3d linear = Eigen::Vector3d::Zero();
    Eigen::Vector3d angular = Eigen::Vector3d::Zero();
    if (is_simple(body.kind))
    {
      (body.kind == JointKind::kRevolute ? angular : linear) =
        acceleration(body.u) * m.rotation.col(2);
    }
    else
    {
      joint_velocity(body, m.rotation, acceleration, linear, angular);
    }
    if (body.parent >= 0)
    {
      const Wrench & parent = out[static_cast<std::size_t>(body.parent)];
      linear += parent.force + parent.torque.cross(m.arm);
      angular += parent.torque;
    }
    out[i].point = m.position;
    out[i].force = linear;
    out[i].torque = angular;
  }
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    const TreeBody & body = bodies[i];
    const BodyMotion & m = data.motions[i];
    const Eigen::Vector3d moment = m.rotation * body.moment;
    const Eigen::Vector3d & w = m.angular_velocity;
    const Eigen::Vector3d a = m.acceleration_bias + out[i].force - gravity;
    const Eigen::Vector3d alpha = m.angular_acceleration_bias + out[i].torque;
    const auto turned = [&](const Eigen::Vector3d & x) -> Eigen::Vector3d
    { return m.rotation * (body.inertia * (m.rotation.transpose() * x)); };
    out[i].force = body.mass * a + alpha.cross(moment) + w.cross(w.cross(moment));
    out[i].torque = turned(alpha) + w.cross(turned(w)) + moment.cross(a);
  }
  const auto act = [&](
                     int body, const Eigen::Vector3d & point, const Eigen::Vector3d & force,
                     const Eigen::Vector3d & torque)
  {
    if (body >= 0)
    {
      Wrench & wrench = out[static_cast<std::size_t>(body)];
      wrench.force -= force;
      wrench.torque -= torque + (point - wrench.point).cross(force);
    }
  };
  for (const TreeWrench & wrench : data.wrenches)
  {
    Wrench world;
    world_wrench(data, wrench, world);
    act(
      frames[static_cast<std::size_t>(wrench.frame)].body, world.point, world.force, world.torque);
  }
  visit_element_wrenches(data, act);
}

void KinematicTree::sum_to_joints(
  const TreeData & data, std::vector<Wrench> & wrenches) const noexcept CD_NONBLOCKING
{
  for (std::size_t i = bodies.size(); i-- > 0;)
  {
    if (bodies[i].parent >= 0)
    {
      Wrench & parent = wrenches[static_cast<std::size_t>(bodies[i].parent)];
      parent.force += wrenches[i].force;
      parent.torque += wrenches[i].torque + data.motions[i].arm.cross(wrenches[i].force);
    }
  }
}

}  // namespace constrained_dynamics
