// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Forces, momentum and energies of the tree at the state of the last update.

#include <cstddef>

#include <Eigen/Geometry>

#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

void KinematicTree::add_generalized_force(
  const TreeData & data, int body, const Eigen::Vector3d & point, const Eigen::Vector3d & force,
  const Eigen::Vector3d & torque, VectorRef out) const noexcept CD_NONBLOCKING
{
  for (int i = body; i >= 0; i = bodies[static_cast<std::size_t>(i)].parent)
  {
    const BodyMotion & m = data.motions[static_cast<std::size_t>(i)];
    project(
      static_cast<std::size_t>(i), m, force, torque + (point - m.position).cross(force),
      [&](int u, double value) { out(u) += value; });
  }
}

void KinematicTree::world_wrench(
  const TreeData & data, const TreeWrench & wrench, Wrench & out) const noexcept CD_NONBLOCKING
{
  FrameKinematics frame;
  frame_kinematics(data, wrench.frame, frame);
  out.point = frame.position;
  out.force = wrench.force;
  out.torque = wrench.torque;
  if (wrench.expressed_in_frame)
  {
    out.force = frame.rotation * wrench.force;
    out.torque = frame.rotation * wrench.torque;
  }
}

void KinematicTree::joint_force(const TreeData & data, VectorRef out) const noexcept CD_NONBLOCKING
{
  out = -damping.cwiseProduct(data.terms.speeds);
  for (const TreeSpring & spring : springs)
  {
    out(spring.u) -= spring.stiffness * (data.terms.coordinates(spring.q) - spring.rest);
  }
}

template <typename Visit>
void KinematicTree::visit_carried_moments(const TreeData & data, Visit && visit) const noexcept
{
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    data.moments[i] = data.motions[i].rotation * bodies[i].moment;
  }
  for (std::size_t i = bodies.size(); i-- > 0;)
  {
    visit(i, data.moments[i]);
    if (bodies[i].parent >= 0)
    {
      data.moments[static_cast<std::size_t>(bodies[i].parent)] +=
        data.moments[i] + carried_mass_[i] * data.motions[i].arm;
    }
  }
}

void KinematicTree::gravity_torque(const TreeData & data, VectorRef out) const noexcept
  CD_NONBLOCKING
{
  // Weight of everything that joint i carries, and its moment about the joint.
  visit_carried_moments(
    data,
    [&](std::size_t i, const Eigen::Vector3d & moment)
    {
      project(
        i, data.motions[i], carried_mass_[i] * gravity, moment.cross(gravity),
        [&](int u, double value) { out(u) = -value; });
    });
}

void KinematicTree::mass_jacobian(const TreeData & data, MatrixRef out) const noexcept
  CD_NONBLOCKING
{
  // Row k is the generalized force of a unit force per mass along axis k.
  visit_carried_moments(
    data,
    [&](std::size_t i, const Eigen::Vector3d & moment)
    {
      for (int axis = 0; axis < 3; ++axis)
      {
        const Eigen::Vector3d e = Eigen::Vector3d::Unit(axis);
        project(
          i, data.motions[i], carried_mass_[i] * e, moment.cross(e),
          [&](int u, double value) { out(axis, u) = value; });
      }
    });
}

Eigen::Vector3d KinematicTree::mass_moment(const TreeData & data) const noexcept CD_NONBLOCKING
{
  Eigen::Vector3d moment = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    moment +=
      bodies[i].mass * data.motions[i].position + data.motions[i].rotation * bodies[i].moment;
  }
  return moment;
}

double KinematicTree::kinetic_energy(const TreeData & data) const noexcept CD_NONBLOCKING
{
  double twice = data.terms.speeds.cwiseAbs2().dot(armature);
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    const BodyMotion & m = data.motions[i];
    const Eigen::Vector3d w = m.rotation.transpose() * m.angular_velocity;
    const Eigen::Vector3d moment = m.rotation * bodies[i].moment;
    twice += bodies[i].mass * m.velocity.squaredNorm() +
             2.0 * m.velocity.dot(m.angular_velocity.cross(moment)) + w.dot(bodies[i].inertia * w);
  }
  return 0.5 * twice;
}

void KinematicTree::mass_moment_rates(
  const TreeData & data, Eigen::Vector3d & first,
  Eigen::Vector3d & second) const noexcept CD_NONBLOCKING
{
  first.setZero();
  second.setZero();
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    const BodyMotion & m = data.motions[i];
    const Eigen::Vector3d moment = m.rotation * bodies[i].moment;
    const Eigen::Vector3d turned = m.angular_velocity.cross(moment);
    first += bodies[i].mass * m.velocity + turned;
    second += bodies[i].mass * m.acceleration_bias + m.angular_acceleration_bias.cross(moment) +
              m.angular_velocity.cross(turned);
  }
}

void KinematicTree::momentum(const TreeData & data, VectorRef out) const noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    const BodyMotion & m = data.motions[i];
    const Eigen::Vector3d moment = m.rotation * bodies[i].moment;
    const Eigen::Vector3d w = m.rotation.transpose() * m.angular_velocity;
    data.momenta[i] = bodies[i].mass * m.velocity + m.angular_velocity.cross(moment);
    data.moments[i] = m.rotation * (bodies[i].inertia * w) + moment.cross(m.velocity);
  }
  for (std::size_t i = bodies.size(); i-- > 0;)
  {
    // Momentum of everything that joint i carries, and its moment about the joint.
    project(
      i, data.motions[i], data.momenta[i], data.moments[i],
      [&](int u, double value) { out(u) = value; });
    if (bodies[i].parent >= 0)
    {
      const auto parent = static_cast<std::size_t>(bodies[i].parent);
      data.momenta[parent] += data.momenta[i];
      data.moments[parent] += data.moments[i] + data.motions[i].arm.cross(data.momenta[i]);
    }
  }
  out += armature.cwiseProduct(data.terms.speeds);
}

double KinematicTree::kinetic_power_bias(const TreeData & data) const noexcept CD_NONBLOCKING
{
  double power = 0.0;
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    // What it takes to move the body with its accelerations at u̇ = 0, times its velocities.
    const BodyMotion & m = data.motions[i];
    const Eigen::Vector3d & w = m.angular_velocity;
    const Eigen::Vector3d moment = m.rotation * bodies[i].moment;
    const Eigen::Vector3d force = bodies[i].mass * m.acceleration_bias +
                                  m.angular_acceleration_bias.cross(moment) +
                                  w.cross(w.cross(moment));
    const Eigen::Vector3d alpha = m.rotation.transpose() * m.angular_acceleration_bias;
    const Eigen::Vector3d torque =
      m.rotation * (bodies[i].inertia * alpha) + moment.cross(m.acceleration_bias);
    power += m.velocity.dot(force) + w.dot(torque);  // ω · (ω × I ω) = 0
  }
  return power;
}

double KinematicTree::potential_energy(const TreeData & data) const noexcept CD_NONBLOCKING
{
  double energy = -gravity.dot(mass_moment(data));
  for (const TreeSpring & spring : springs)
  {
    const double stretch = data.terms.coordinates(spring.q) - spring.rest;
    energy += 0.5 * spring.stiffness * stretch * stretch;
  }
  for (const ForceElementState & element : data.elements)
  {
    energy += element.energy;
  }
  return energy;
}

double KinematicTree::potential_power(const TreeData & data) const noexcept CD_NONBLOCKING
{
  Eigen::Vector3d first;
  Eigen::Vector3d second;
  mass_moment_rates(data, first, second);
  double power = -gravity.dot(first);
  for (const TreeSpring & spring : springs)
  {
    const double stretch = data.terms.coordinates(spring.q) - spring.rest;
    power += spring.stiffness * stretch * data.terms.speeds(spring.u);
  }
  for (const ForceElementState & element : data.elements)
  {
    power += element.stored_power;
  }
  return power;
}

}  // namespace constrained_dynamics
