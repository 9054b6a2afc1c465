// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/rigid_body_system.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "model/rigid_body_impl.hpp"

namespace constrained_dynamics
{
namespace
{

const TreeData & own(const SystemData & data) noexcept
{
  return static_cast<const TreeData &>(data);
}

}  // namespace

RigidBodySystem::RigidBodySystem(const SceneDescription & scene)
: RigidBodySystem(std::make_unique<const Impl>(build_model(scene), scene, scene.use_model_damping))
{
}

RigidBodySystem::RigidBodySystem(std::unique_ptr<const Impl> impl) : impl_(std::move(impl))
{
  set_names(impl_->coordinate_names, impl_->speed_names, impl_->input_names, impl_->frame_names);
}

RigidBodySystem::~RigidBodySystem() = default;

namespace
{

std::shared_ptr<RigidBodySystem> single_robot(RobotDescription robot, RobotFormat format, Base base)
{
  robot.format = format;
  robot.base = base;
  SceneDescription scene;
  scene.robots.push_back(std::move(robot));
  return std::make_shared<RigidBodySystem>(scene);
}

RobotDescription from_text(const std::string & text)
{
  RobotDescription robot;
  robot.text = text;
  return robot;
}

}  // namespace

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_urdf_file(
  const std::string & path, Base base)
{
  return single_robot(load_robot_description(path), RobotFormat::kUrdf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_urdf_text(
  const std::string & text, Base base)
{
  return single_robot(from_text(text), RobotFormat::kUrdf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_mjcf_file(
  const std::string & path, Base base)
{
  return single_robot(load_robot_description(path), RobotFormat::kMjcf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_mjcf_text(
  const std::string & text, Base base)
{
  return single_robot(from_text(text), RobotFormat::kMjcf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_sdf_file(const std::string & path, Base base)
{
  return single_robot(load_robot_description(path), RobotFormat::kSdf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_sdf_text(const std::string & text, Base base)
{
  return single_robot(from_text(text), RobotFormat::kSdf, base);
}

const std::vector<std::string> & RigidBodySystem::warnings() const { return impl_->robot.warnings; }

const std::vector<RigidBodySystem::Mimic> & RigidBodySystem::mimics() const
{
  return impl_->robot.mimics;
}

const std::vector<FileConstraint> & RigidBodySystem::file_constraints() const
{
  return impl_->robot.file_constraints;
}

const std::vector<RigidBodySystem::Limits> & RigidBodySystem::limits() const
{
  return impl_->limits;
}

const std::vector<std::string> & RigidBodySystem::joint_names() const { return impl_->joint_names; }

const std::vector<RigidBodySystem::Joint> & RigidBodySystem::joints() const
{
  return impl_->joints;
}

const std::vector<std::string> & RigidBodySystem::link_names() const { return impl_->robot.links; }

const std::vector<std::string> & RigidBodySystem::external_wrench_names() const
{
  return impl_->wrench_names;
}

double RigidBodySystem::total_mass() const { return impl_->tree.total_mass; }

Eigen::Vector3d RigidBodySystem::gravity() const { return impl_->tree.gravity; }

const Eigen::VectorXd & RigidBodySystem::damping() const { return impl_->tree.damping; }
const std::vector<std::pair<std::string, double>> & RigidBodySystem::joint_friction() const
{
  return impl_->joint_friction;
}

void RigidBodySystem::set_external_wrench(
  SystemData & data, int index, const Eigen::Vector3d & force,
  const Eigen::Vector3d & torque) const noexcept CD_NONBLOCKING
{
  std::vector<TreeWrench> & wrenches = static_cast<TreeData &>(data).wrenches;
  if (index >= 0 && static_cast<std::size_t>(index) < wrenches.size())
  {
    wrenches[static_cast<std::size_t>(index)].force = force;
    wrenches[static_cast<std::size_t>(index)].torque = torque;
  }
}

const std::vector<std::shared_ptr<const ForceElement>> & RigidBodySystem::force_elements() const
{
  return impl_->elements;
}

const ForceElementState & RigidBodySystem::force_element_state(
  const SystemData & data, int index) const noexcept CD_NONBLOCKING
{
  static const ForceElementState kNone;
  const std::vector<ForceElementState> & states = own(data).elements;
  const std::size_t i = static_cast<std::size_t>(index);
  return index >= 0 && i < states.size() ? states[i] : kNone;
}

void RigidBodySystem::gravity_torque(const SystemData & data, VectorRef out) const noexcept
  CD_NONBLOCKING
{
  impl_->tree.gravity_torque(own(data), out);
}

Eigen::Vector3d RigidBodySystem::centre_of_mass(const SystemData & data) const noexcept
  CD_NONBLOCKING
{
  return impl_->tree.mass_moment(own(data)) / impl_->tree.total_mass;
}

Eigen::Vector3d RigidBodySystem::body_centre(const SystemData & data, int frame) const noexcept
  CD_NONBLOCKING
{
  const int body = impl_->tree.frames[static_cast<std::size_t>(frame)].body;
  const TreeBody * const of =
    body < 0 ? nullptr : &impl_->tree.bodies[static_cast<std::size_t>(body)];
  if (of == nullptr || !(of->mass > 0.0))
  {
    FrameKinematics out;
    frame_kinematics(data, frame, out);
    return out.position;
  }
  const BodyMotion & motion = own(data).motions[static_cast<std::size_t>(body)];
  return motion.position + motion.rotation * of->moment / of->mass;
}

const KinematicTree & RigidBodySystem::tree() const { return impl_->tree; }

std::unique_ptr<SystemData> RigidBodySystem::do_make_data() const
{
  auto data =
    std::make_unique<RigidBodyData>(input_count(), impl_->robot, impl_->parts, impl_->wrenches);
  impl_->tree.prepare_elements(*data);
  if (!impl_->tree.elements.empty())
  {
    data->element_memory.a.resize(speed_count());
    data->element_memory.b.resize(speed_count());
    data->element_memory.scratch.resize(static_cast<std::size_t>(data->element_scratch.size()));
  }
  SystemTerms & terms = data->terms;
  for (std::size_t i = 0; i < impl_->tree.actuated.size(); ++i)
  {
    terms.input_matrix(impl_->tree.actuated[i], static_cast<Eigen::Index>(i)) = 1.0;
  }
  // Terms of simple joints that never change.
  for (const TreeBody & body : impl_->tree.bodies)
  {
    if (is_simple(body.kind))
    {
      terms.kinematic_matrix(body.q, body.u) = 1.0;
    }
  }
  return data;
}

Status RigidBodySystem::do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING
{
  return impl_->tree.update(static_cast<TreeData &>(data));
}

Status RigidBodySystem::do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING
{
  RigidBodyData & d = static_cast<RigidBodyData &>(data);
  const KinematicTree & tree = impl_->tree;
  Eigen::VectorXd & P = d.terms.force;
  tree.joint_force(d, P);
  d.add_inertia_and_bias();
  for (const TreeWrench & wrench : d.wrenches)
  {
    Wrench world;
    tree.world_wrench(d, wrench, world);
    tree.add_generalized_force(
      d, tree.frames[static_cast<std::size_t>(wrench.frame)].body, world.point, world.force,
      world.torque, P);
  }
  tree.visit_element_wrenches(
    d, [&](
         int body, const Eigen::Vector3d & point, const Eigen::Vector3d & force,
         const Eigen::Vector3d & torque)
    { tree.add_generalized_force(d, body, point, force, torque, P); });
  return Status::kOk;
}

void RigidBodySystem::do_normalise(VectorRef q) const noexcept CD_NONBLOCKING
{
  for (const TreeBody & body : impl_->tree.bodies)
  {
    if (!has_quaternion(body.kind))
    {
      continue;
    }
    const Eigen::Index first = body.q + coordinates_of(body.kind) - 4;
    const double norm = q.segment<4>(first).stableNorm();
    if (norm >= kShortestQuaternion && std::isfinite(norm))
    {
      q.segment<4>(first) /= norm;
    }
  }
}

Eigen::VectorXd RigidBodySystem::do_neutral_coordinates() const { return impl_->robot.neutral; }

std::string RigidBodySystem::do_body_of_frame(int frame) const
{
  if (!impl_->has_frame(frame))
  {
    throw std::invalid_argument("there is no frame with index " + std::to_string(frame));
  }
  return impl_->robot.frames[static_cast<std::size_t>(frame)].body;
}

void RigidBodySystem::do_frame_kinematics(
  const SystemData & data, int frame, FrameKinematics & out) const noexcept CD_NONBLOCKING
{
  if (!impl_->has_frame(frame))
  {
    out = FrameKinematics{};
    return;
  }
  impl_->tree.frame_kinematics(own(data), frame, out);
}

void RigidBodySystem::do_frame_jacobian(
  const SystemData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING
{
  if (!impl_->has_frame(frame))
  {
    out.setZero();
    return;
  }
  impl_->tree.frame_jacobian(own(data), frame, out);
}

void RigidBodySystem::do_frame_reach(
  const SystemData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING
{
  if (!impl_->has_frame(frame))
  {
    out.setZero();
    return;
  }
  impl_->tree.frame_reach(own(data), frame, out);
}

bool RigidBodySystem::do_has_joint(int coordinate) const
{
  return coordinate >= 0 && coordinate < coordinate_count() &&
         impl_->joint_of_coordinate[static_cast<std::size_t>(coordinate)] >= 0;
}

std::pair<std::string, std::string> RigidBodySystem::do_joint_bodies(int coordinate) const
{
  if (!do_has_joint(coordinate))
  {
    throw std::invalid_argument(
      "coordinate " + std::to_string(coordinate) + " is not a joint with one degree of freedom");
  }
  const int joint = impl_->joint_of_coordinate[static_cast<std::size_t>(coordinate)];
  const JointNotes & j = impl_->robot.joints[static_cast<std::size_t>(joint)];
  return {j.child_link, j.parent_link};
}

void RigidBodySystem::do_joint_wrench(
  const SystemData & data, int coordinate, Wrench & out) const noexcept CD_NONBLOCKING
{
  out = Wrench{};
  if (coordinate < 0 || coordinate >= coordinate_count())
  {
    return;
  }
  const int joint = impl_->joint_of_coordinate[static_cast<std::size_t>(coordinate)];
  if (joint < 0)
  {
    return;
  }
  const std::size_t j = static_cast<std::size_t>(joint);
  const BodyMotion & motion = own(data).motions[j];
  out.point = motion.position;
  (impl_->tree.bodies[j].kind == JointKind::kRevolute ? out.torque : out.force) =
    motion.rotation.col(2);
}

double RigidBodySystem::do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING
{
  return impl_->tree.kinetic_energy(own(data));
}

double RigidBodySystem::do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING
{
  return impl_->tree.potential_energy(own(data));
}

bool RigidBodySystem::do_power(
  SystemData & data, const ConstVectorRef &, const ConstVectorRef & inputs,
  const ConstVectorRef & constraint_force, SystemPower & out) const noexcept CD_NONBLOCKING
{
  const TreeData & d = own(data);
  const KinematicTree & tree = impl_->tree;
  const Eigen::VectorXd & u = d.terms.speeds;
  out = SystemPower{};
  for (std::size_t i = 0; i < tree.actuated.size(); ++i)
  {
    out.inputs += u(tree.actuated[i]) * inputs(static_cast<Eigen::Index>(i));
  }
  for (const TreeWrench & wrench : d.wrenches)
  {
    Wrench world;
    FrameKinematics frame;
    tree.world_wrench(d, wrench, world);
    tree.frame_kinematics(d, wrench.frame, frame);
    out.external += world.force.dot(frame.velocity) + world.torque.dot(frame.angular_velocity);
  }
  out.dampers = -tree.damping.dot(u.cwiseAbs2());
  for (const ForceElementState & element : d.elements)
  {
    out.dampers += element.damper_power;
    out.forces += element.supplied_power;
  }
  out.constraints = constraint_force.dot(u);
  return true;
}

std::vector<int> RigidBodySystem::do_speeds_of_coordinate(int coordinate) const
{
  for (const TreeBody & body : impl_->tree.bodies)
  {
    if (body.q <= coordinate && coordinate < body.q + coordinates_of(body.kind))
    {
      std::vector<int> speeds;
      for (int u = body.u; u < body.u + body.nu; ++u)
      {
        speeds.push_back(u);
      }
      return speeds;
    }
  }
  return {};
}

}  // namespace constrained_dynamics
