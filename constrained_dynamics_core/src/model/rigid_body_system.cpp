// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/rigid_body_system.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

// The only file with Pinocchio's headers. Vectors are handed over as exactly
// Eigen::Ref<const Eigen::VectorXd>: for that type the library carries compiled algorithms.
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "model/kinematic_tree.hpp"
#include "model/rigid_body_derivatives.hpp"
#include "model/scene.hpp"
#include "model/xml_reader.hpp"
#include "names.hpp"

namespace constrained_dynamics
{
namespace
{

/// Scratch memory with only what the two algorithms of this file use. Pinocchio's own constructor
/// makes four tensors of n³ numbers more, 4 GB for 500 joints. Versions whose algorithms have not
/// been looked at get everything.
pinocchio::Data make_pinocchio_data(const pinocchio::Model & model)
{
#if PINOCCHIO_VERSION_AT_MOST(4, 1, 99)
  const std::size_t count = static_cast<std::size_t>(model.njoints);
  pinocchio::Data data;
  data.joints.reserve(count);
  for (const pinocchio::JointModel & joint : model.joints)
  {
    data.joints.push_back(joint.createData());
  }
  data.oMi.assign(count, pinocchio::SE3::Identity());
  data.liMi.assign(count, pinocchio::SE3::Identity());
  data.v.assign(count, pinocchio::Motion::Zero());
  data.a.assign(count, pinocchio::Motion::Zero());
  data.a_gf.assign(count, pinocchio::Motion::Zero());
  data.f.assign(count, pinocchio::Force::Zero());
  data.oYcrb.assign(count, pinocchio::Inertia::Zero());
  data.mass.assign(count, 0.0);
  data.com.assign(count, Eigen::Vector3d::Zero());
  data.nle.setZero(model.nv);
  data.M.setZero(model.nv, model.nv);
  data.J.setZero(6, model.nv);
  data.Ag.setZero(6, model.nv);
  data.nvSubtree.assign(count, 0);
  for (std::size_t i = count - 1; i > 0; --i)
  {
    data.nvSubtree[i] += model.joints[i].nv();
    data.nvSubtree[model.parents[i]] += data.nvSubtree[i];
  }
  return data;
#else
  return pinocchio::Data(model);
#endif
}

class RigidBodyData : public TreeData
{
public:
  RigidBodyData(
    int nq, int n, int l, const pinocchio::Model & model, const std::vector<TreeWrench> & outside)
  : TreeData(nq, n, l, static_cast<std::size_t>(model.njoints) - 1, outside),
    data(make_pinocchio_data(model)),
    configuration(Eigen::VectorXd::Zero(model.nq))
  {
  }

  pinocchio::Data data;
  Eigen::VectorXd configuration;  ///< q as Pinocchio wants it
  TreeDerivatives derivatives;    ///< of the last do_differentiate
};

const TreeData & own(const SystemData & data) noexcept
{
  return static_cast<const TreeData &>(data);
}

pinocchio::SE3 to_pinocchio(const Eigen::Isometry3d & X)
{
  return pinocchio::SE3(X.linear(), X.translation());
}

pinocchio::JointModel joint_model(const SceneJoint & joint)
{
  const Eigen::Vector3d & a = joint.axis;
  switch (joint.kind)
  {
    case JointKind::kRevolute:
      if (a == Eigen::Vector3d::UnitX()) return pinocchio::JointModelRX();
      if (a == Eigen::Vector3d::UnitY()) return pinocchio::JointModelRY();
      if (a == Eigen::Vector3d::UnitZ()) return pinocchio::JointModelRZ();
      return pinocchio::JointModelRevoluteUnaligned(a);
    case JointKind::kPrismatic:
      if (a == Eigen::Vector3d::UnitX()) return pinocchio::JointModelPX();
      if (a == Eigen::Vector3d::UnitY()) return pinocchio::JointModelPY();
      if (a == Eigen::Vector3d::UnitZ()) return pinocchio::JointModelPZ();
      return pinocchio::JointModelPrismaticUnaligned(a);
    case JointKind::kPlanar:
      return pinocchio::JointModelPlanar();
    case JointKind::kBall:
      return pinocchio::JointModelSpherical();
    default:
      return pinocchio::JointModelFreeFlyer();
  }
}

void append(
  std::vector<std::string> & names, const std::string & joint,
  const std::vector<const char *> & suffixes)
{
  for (const char * suffix : suffixes)
  {
    names.push_back(joint + suffix);
  }
}

void append_names(
  const SceneJoint & joint, std::vector<std::string> & coordinates,
  std::vector<std::string> & speeds)
{
  switch (joint.kind)
  {
    case JointKind::kPlanar:
      append(coordinates, joint.name, {"_x", "_y", "_theta"});
      append(speeds, joint.name, {"_vx", "_vy", "_wz"});
      return;
    case JointKind::kFloating:
      append(coordinates, joint.name, {"_x", "_y", "_z", "_qx", "_qy", "_qz", "_qw"});
      append(speeds, joint.name, {"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"});
      return;
    case JointKind::kBall:
      append(coordinates, joint.name, {"_qx", "_qy", "_qz", "_qw"});
      append(speeds, joint.name, {"_wx", "_wy", "_wz"});
      return;
    default:
      coordinates.push_back(joint.name);
      speeds.push_back("d" + joint.name);
  }
}

}  // namespace

struct RigidBodySystem::Impl
{
  Scene scene;
  KinematicTree tree;
  pinocchio::Model model;
  std::vector<int> joint_of_coordinate;  ///< of simple joints; −1 elsewhere
  std::vector<TreeWrench> wrenches;
  std::vector<std::string> coordinate_names;
  std::vector<std::string> speed_names;
  std::vector<std::string> input_names;
  std::vector<std::string> frame_names;
  std::vector<std::string> joint_names;
  std::vector<std::pair<std::string, double>> joint_friction;
  std::vector<std::string> wrench_names;
  std::vector<Limits> limits;
  Eigen::VectorXd neutral;

  explicit Impl(const SceneDescription & description)
  : scene(assemble_scene(description)), tree(scene)
  {
    if (!description.gravity.allFinite())
    {
      throw std::invalid_argument("the gravity of the scene is not finite");
    }
    tree.gravity = description.gravity;
    model.gravity.linear(description.gravity);
    model.gravity.angular().setZero();
    for (std::size_t i = 0; i < scene.joints.size(); ++i)
    {
      add_joint(static_cast<int>(i), description.use_model_damping);
    }
    for (const SceneFrame & frame : scene.frames)
    {
      frame_names.push_back(frame.name);
    }
    add_forces(description);
    choose_inputs(description);
  }

  void add_joint(int i, bool use_damping)
  {
    const SceneJoint & joint = scene.joints[static_cast<std::size_t>(i)];
    if (model.existJointName(joint.name))
    {
      throw std::invalid_argument(
        joint.where + ": joint '" + joint.name +
        "' exists already in the scene; names of robots, joints and bodies must differ");
    }
    const pinocchio::JointIndex parent = static_cast<pinocchio::JointIndex>(joint.parent + 1);
    const pinocchio::JointIndex index =
      model.addJoint(parent, joint_model(joint), to_pinocchio(joint.placement), joint.name);
    model.appendBodyToJoint(
      index, pinocchio::Inertia(joint.mass.mass, joint.mass.com, joint.mass.inertia),
      pinocchio::SE3::Identity());
    append_names(joint, coordinate_names, speed_names);

    const TreeBody & body = tree.bodies[static_cast<std::size_t>(i)];
    const Eigen::Index nq = static_cast<Eigen::Index>(coordinate_names.size());
    const JointProperties & properties = joint.properties;
    tree.damping.segment(body.u, body.nu).setConstant(use_damping ? properties.damping : 0.0);
    tree.armature.segment(body.u, body.nu).setConstant(properties.armature);
    neutral.conservativeResize(nq);
    neutral.tail(nq - body.q).setZero();
    limits.resize(static_cast<std::size_t>(nq));
    const bool simple = is_simple(joint.kind);
    joint_of_coordinate.resize(static_cast<std::size_t>(nq), simple ? i : -1);
    if (simple)
    {
      joint_names.push_back(joint.name);
      if (properties.friction > 0.0)
      {
        joint_friction.emplace_back(joint.name, properties.friction);
      }
      limits.back() = properties.limits;
      if (properties.stiffness > 0.0)
      {
        tree.springs.push_back({body.q, body.u, properties.stiffness, properties.rest});
      }
    }
    if (joint.kind == JointKind::kFloating)
    {
      neutral.segment<3>(body.q) = joint.neutral.translation();
      neutral.tail<4>() = Eigen::Quaterniond(joint.neutral.linear()).coeffs();
    }
    if (joint.kind == JointKind::kBall)
    {
      neutral(nq - 1) = 1.0;
    }
  }

  /// Index of a joint of one degree of freedom.
  const TreeBody & simple_joint(const std::string & what, const std::string & name) const
  {
    const int k = index_of_name("joint of one degree of freedom", name, joint_names);
    std::size_t simple = 0;
    for (const TreeBody & body : tree.bodies)
    {
      if (is_simple(body.kind) && simple++ == static_cast<std::size_t>(k))
      {
        return body;
      }
    }
    throw std::invalid_argument(what + " of joint '" + name + "' has no place");
  }

  static double checked(const std::string & what, const std::string & joint, double value)
  {
    if (!(value >= 0.0) || !std::isfinite(value))
    {
      throw std::invalid_argument(
        "the " + what + " of joint '" + joint + "' is " + show(value) +
        "; finite values from 0 on are allowed");
    }
    return value;
  }

  void add_forces(const SceneDescription & description)
  {
    for (const JointSpring & spring : description.springs)
    {
      const TreeBody & joint = simple_joint("spring", spring.joint);
      if (!std::isfinite(spring.rest))
      {
        throw std::invalid_argument(
          "the rest of the spring of joint '" + spring.joint + "' is not finite");
      }
      tree.springs.push_back(
        {joint.q, joint.u, checked("stiffness", spring.joint, spring.stiffness), spring.rest});
    }
    for (const auto & [name, value] : description.dampers)
    {
      tree.damping(simple_joint("damper", name).u) += checked("damper", name, value);
    }
    for (const auto & [name, value] : description.armature)
    {
      tree.armature(simple_joint("armature", name).u) += checked("armature", name, value);
    }
    for (const ExternalWrench & wrench : description.external_wrenches)
    {
      if (!wrench.force.allFinite() || !wrench.torque.allFinite())
      {
        throw std::invalid_argument("external wrench '" + wrench.name + "' is not finite");
      }
      wrench_names.push_back(wrench.name);
      wrenches.push_back(
        {index_of_name("frame", wrench.frame, frame_names), wrench.expressed_in_frame, wrench.force,
         wrench.torque});
    }
    check_names("external wrench", wrench_names);
  }

  void choose_inputs(const SceneDescription & description)
  {
    if (description.actuated)
    {
      for (const std::string & name : *description.actuated)
      {
        bool found = false;
        for (std::size_t u = 0; u < speed_names.size() && !found; ++u)
        {
          found = speed_names[u] == name;
          if (found)
          {
            tree.actuated.push_back(static_cast<Eigen::Index>(u));
          }
        }
        if (!found)
        {
          tree.actuated.push_back(simple_joint("input", name).u);
        }
        input_names.push_back(name);
      }
      return;
    }
    for (std::size_t i = 0; i < scene.joints.size(); ++i)
    {
      if (is_simple(scene.joints[i].kind) && !scene.joints[i].properties.mimics)
      {
        tree.actuated.push_back(tree.bodies[i].u);
        input_names.push_back(scene.joints[i].name);
      }
    }
  }

  /// The configuration as Pinocchio wants it.
  void fill_configuration(RigidBodyData & data) const noexcept
  {
    const Eigen::VectorXd & q = data.terms.coordinates;
    Eigen::VectorXd & x = data.configuration;
    for (std::size_t i = 0; i < tree.bodies.size(); ++i)
    {
      const TreeBody & body = tree.bodies[i];
      const Eigen::Index at = model.joints[i + 1].idx_q();
      const Eigen::Index nq = coordinates_of(body.kind);
      switch (body.kind)
      {
        case JointKind::kPlanar:
          x.segment<4>(at) << q(body.q), q(body.q + 1), std::cos(q(body.q + 2)),
            std::sin(q(body.q + 2));
          break;
        case JointKind::kFloating:
        case JointKind::kBall:
          x.segment(at, nq) = q.segment(body.q, nq);
          x.segment<4>(at + nq - 4) /= x.segment<4>(at + nq - 4).stableNorm();
          break;
        default:
          x(at) = q(body.q);
      }
    }
  }

  /// What the derivatives need of the tree.
  std::vector<TreeJoint> derivative_tree() const;

  const SceneFrame & frame(int index) const noexcept
  {
    return scene.frames[static_cast<std::size_t>(index)];
  }
  bool has_frame(int index) const noexcept
  {
    return index >= 0 && static_cast<std::size_t>(index) < scene.frames.size();
  }
};

RigidBodySystem::RigidBodySystem(const SceneDescription & scene)
: impl_(std::make_unique<const Impl>(scene))
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

const std::vector<std::string> & RigidBodySystem::warnings() const { return impl_->scene.warnings; }

const std::vector<RigidBodySystem::Mimic> & RigidBodySystem::mimics() const
{
  return impl_->scene.mimics;
}

const std::vector<RigidBodySystem::Limits> & RigidBodySystem::limits() const
{
  return impl_->limits;
}

const std::vector<std::string> & RigidBodySystem::joint_names() const { return impl_->joint_names; }

const std::vector<std::string> & RigidBodySystem::link_names() const { return impl_->scene.links; }

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

const KinematicTree & RigidBodySystem::tree() const { return impl_->tree; }

std::unique_ptr<SystemData> RigidBodySystem::do_make_data() const
{
  auto data = std::make_unique<RigidBodyData>(
    coordinate_count(), speed_count(), input_count(), impl_->model, impl_->wrenches);
  SystemTerms & terms = data->terms;
  for (std::size_t i = 0; i < impl_->tree.actuated.size(); ++i)
  {
    terms.input_matrix(impl_->tree.actuated[i], static_cast<Eigen::Index>(i)) = 1.0;
  }
  // What the kinematics of simple joints never changes.
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
  SystemTerms & terms = d.terms;
  impl_->fill_configuration(d);
  // In the local convention a planar joint costs an allocation.
  pinocchio::crba(
    impl_->model, d.data, ConstVectorRef(d.configuration), pinocchio::Convention::WORLD);
  pinocchio::nonLinearEffects(
    impl_->model, d.data, ConstVectorRef(d.configuration), ConstVectorRef(terms.speeds));

  Eigen::MatrixXd & Q = terms.mass_matrix;
  for (Eigen::Index j = 0; j < Q.cols(); ++j)  // crba fills the upper triangle
  {
    for (Eigen::Index i = 0; i <= j; ++i)
    {
      Q(i, j) = Q(j, i) = d.data.M(i, j);
    }
  }
  Q.diagonal() += tree.armature;

  Eigen::VectorXd & P = terms.force;
  tree.joint_force(d, P);
  P -= d.data.nle;
  for (const TreeWrench & wrench : d.wrenches)
  {
    Wrench world;
    tree.world_wrench(d, wrench, world);
    tree.add_generalized_force(
      d, tree.frames[static_cast<std::size_t>(wrench.frame)].body, world.point, world.force,
      world.torque, P);
  }
  return Status::kOk;
}

void RigidBodySystem::do_normalise(VectorRef q) const noexcept CD_NONBLOCKING
{
  for (const TreeBody & body : impl_->tree.bodies)
  {
    if (body.kind != JointKind::kFloating && body.kind != JointKind::kBall)
    {
      continue;
    }
    const Eigen::Index first = body.q + (body.kind == JointKind::kFloating ? 3 : 0);
    const double norm = q.segment<4>(first).stableNorm();
    if (norm >= kShortestQuaternion && std::isfinite(norm))
    {
      q.segment<4>(first) /= norm;
    }
  }
}

Eigen::VectorXd RigidBodySystem::do_neutral_coordinates() const { return impl_->neutral; }

std::string RigidBodySystem::do_body_of_frame(int frame) const
{
  if (!impl_->has_frame(frame))
  {
    throw std::invalid_argument("there is no frame with index " + std::to_string(frame));
  }
  return impl_->frame(frame).body;
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
      "coordinate " + std::to_string(coordinate) + " is no joint of one degree of freedom");
  }
  const int joint = impl_->joint_of_coordinate[static_cast<std::size_t>(coordinate)];
  const SceneJoint & j = impl_->scene.joints[static_cast<std::size_t>(joint)];
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

std::vector<TreeJoint> RigidBodySystem::Impl::derivative_tree() const
{
  std::vector<TreeJoint> result;
  for (std::size_t i = 0; i < tree.bodies.size(); ++i)
  {
    const TreeBody & body = tree.bodies[i];
    result.push_back({body.kind, body.parent, body.q, body.u, body.nu, scene.joints[i].mass});
  }
  return result;
}

bool RigidBodySystem::do_differentiate(
  SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef &,
  SystemDerivatives & out) const
{
  RigidBodyData & d = static_cast<RigidBodyData &>(data);
  const KinematicTree & bodies = impl_->tree;
  const std::vector<TreeJoint> tree = impl_->derivative_tree();
  std::vector<TreePose> poses;
  for (std::size_t i = 0; i < tree.size(); ++i)
  {
    const BodyMotion & motion = d.motions[i];
    poses.push_back({motion.rotation * bodies.turns[i].transpose(), motion.position});
  }
  Matrix6X jacobian(6, speed_count());
  bodies.spatial_jacobian(d, jacobian);
  out.resize(coordinate_count(), speed_count());
  out.acceleration = acceleration;
  differentiate_joints(tree, d.terms, out);
  d.derivatives.update(
    tree, std::move(poses), jacobian, d.terms.speeds, acceleration, bodies.gravity);
  d.derivatives.inverse_dynamics(out.residual_q, out.residual_u);
  out.residual_u.diagonal() += bodies.damping;
  for (const TreeSpring & spring : bodies.springs)
  {
    out.residual_q(spring.u, spring.u) += spring.stiffness;
  }
  FrameDerivatives moved;
  for (const TreeWrench & wrench : d.wrenches)
  {
    Eigen::Vector3d force = wrench.force;
    Eigen::Vector3d torque = wrench.torque;
    FrameKinematics frame;
    frame_kinematics(data, wrench.frame, frame);
    if (wrench.expressed_in_frame)
    {
      force = frame.rotation * force;
      torque = frame.rotation * torque;
      frame_derivatives(data, wrench.frame, moved);
      for (Eigen::Index k = 0; k < speed_count(); ++k)
      {
        const Eigen::Vector3d turn = moved.jacobian.col(k).tail<3>();
        out.residual_q.col(k) -= moved.jacobian.topRows<3>().transpose() * turn.cross(force) +
                                 moved.jacobian.bottomRows<3>().transpose() * turn.cross(torque);
      }
    }
    add_frame_force_derivatives(data, wrench.frame, -force, -torque, out.residual_q);
  }
  return true;
}

void RigidBodySystem::do_frame_derivatives(
  const SystemData & data, int frame, FrameDerivatives & out) const
{
  const SceneFrame & f = impl_->frame(frame);
  static_cast<const RigidBodyData &>(data).derivatives.frame(
    f.joint, f.placement.translation(), out);
}

void RigidBodySystem::do_add_frame_force_derivatives(
  const SystemData & data, int frame, const Eigen::Vector3d & force, const Eigen::Vector3d & torque,
  MatrixRef out) const
{
  const SceneFrame & f = impl_->frame(frame);
  static_cast<const RigidBodyData &>(data).derivatives.add_frame_force(
    f.joint, f.placement.translation(), force, torque, out);
}

void RigidBodySystem::do_add_coordinate_force_derivatives(
  const SystemData & data, const ConstVectorRef & y, MatrixRef out) const
{
  add_joint_force_derivatives(impl_->derivative_tree(), data.terms, y, out);
}

}  // namespace constrained_dynamics
