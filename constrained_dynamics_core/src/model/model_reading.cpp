// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Reads a pinocchio::Model, once: kinds and axes of the joints, the arrays of the tree, limits, and
// the names of a Model that the caller provides.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include <pinocchio/multibody.hpp>

#include "model/kinematic_tree.hpp"
#include "model/model_builder.hpp"
#include "model/robot_model.hpp"
#include "model/robot_tree.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics
{
namespace
{

using pinocchio::JointIndex;

/// A kind of Pinocchio's joints. The axis of an unaligned joint is its own.
struct KnownJoint
{
  JointKind kind = JointKind::kRevolute;
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();
};

const std::map<std::string, KnownJoint> & known_joints()
{
  static const Eigen::Vector3d x = Eigen::Vector3d::UnitX();
  static const Eigen::Vector3d y = Eigen::Vector3d::UnitY();
  static const Eigen::Vector3d z = Eigen::Vector3d::UnitZ();
  static const std::map<std::string, KnownJoint> joints = {
    {"JointModelRX", {JointKind::kRevolute, x}},
    {"JointModelRY", {JointKind::kRevolute, y}},
    {"JointModelRZ", {JointKind::kRevolute, z}},
    {"JointModelRevoluteUnaligned", {JointKind::kRevolute, z}},
    {"JointModelRUBX", {JointKind::kRevolute, x}},
    {"JointModelRUBY", {JointKind::kRevolute, y}},
    {"JointModelRUBZ", {JointKind::kRevolute, z}},
    {"JointModelRevoluteUnboundedUnaligned", {JointKind::kRevolute, z}},
    {"JointModelPX", {JointKind::kPrismatic, x}},
    {"JointModelPY", {JointKind::kPrismatic, y}},
    {"JointModelPZ", {JointKind::kPrismatic, z}},
    {"JointModelPrismaticUnaligned", {JointKind::kPrismatic, z}},
    {"JointModelPlanar", {JointKind::kPlanar, z}},
    {"JointModelFreeFlyer", {JointKind::kFloating, z}},
    {"JointModelSpherical", {JointKind::kBall, z}},
    {"JointModelTranslation", {JointKind::kTranslation, z}}};
  return joints;
}

Eigen::Vector3d axis_of(const pinocchio::JointModel & joint)
{
  if (const auto * turns = boost::get<pinocchio::JointModelRevoluteUnaligned>(&joint))
  {
    return turns->axis;
  }
  if (const auto * turns = boost::get<pinocchio::JointModelRevoluteUnboundedUnaligned>(&joint))
  {
    return turns->axis;
  }
  if (const auto * slides = boost::get<pinocchio::JointModelPrismaticUnaligned>(&joint))
  {
    return slides->axis;
  }
  return known_joints().at(joint.shortname()).axis;
}

Eigen::Isometry3d isometry(const pinocchio::SE3 & X)
{
  Eigen::Isometry3d result = Eigen::Isometry3d::Identity();
  result.linear() = X.rotation();
  result.translation() = X.translation();
  return result;
}

/// Pinocchio writes its largest numbers where there is no limit.
double limit_of(double value)
{
  return std::abs(value) < std::numeric_limits<double>::max()
           ? value
           : std::copysign(std::numeric_limits<double>::infinity(), value);
}

}  // namespace

std::vector<JointKind> joint_kinds(const pinocchio::Model & model)
{
  std::vector<JointKind> kinds;
  for (JointIndex i = 1; i < model.joints.size(); ++i)
  {
    const std::string name = model.joints[i].shortname();
    const auto known = known_joints().find(name);
    if (known == known_joints().end())
    {
      throw std::invalid_argument(
        "joint '" + model.names[i] + "' of the model is a " + name +
        "; allowed are revolute, unbounded revolute and prismatic joints with any axis, planar, "
        "spherical, translation and free-flyer joints");
    }
    JointIndex above = i - 1;
    while (above > model.parents[i])
    {
      above = model.parents[above];
    }
    if (above != model.parents[i])
    {
      throw std::invalid_argument(
        "joint '" + model.names[i] + "' of the model does not follow those that its parent '" +
        model.names[model.parents[i]] + "' carries; joints must be added depth first");
    }
    kinds.push_back(known->second.kind);
  }
  return kinds;
}

std::vector<ConfigurationPart> configuration_parts(const RobotModel & robot)
{
  std::vector<ConfigurationPart> parts;
  Eigen::Index own = 0;
  for (std::size_t i = 0; i < robot.joints.size(); ++i)
  {
    const JointKind kind = robot.joints[i].kind;
    const bool unbounded = is_simple(kind) && robot.model->nqs[i + 1] == 2;
    parts.push_back({kind, i + 1, own, robot.model->idx_qs[i + 1], unbounded});
    own += coordinates_of(kind);
  }
  return parts;
}

std::vector<std::string> joint_names(const RobotModel & robot)
{
  return std::vector<std::string>(robot.model->names.begin() + 1, robot.model->names.end());
}

std::vector<RigidBodySystem::Limits> coordinate_limits(const RobotModel & robot)
{
  const pinocchio::Model & model = *robot.model;
  std::vector<RigidBodySystem::Limits> limits(static_cast<std::size_t>(robot.neutral.size()));
  for (const ConfigurationPart & part : configuration_parts(robot))
  {
    if (!is_simple(part.kind))
    {
      continue;
    }
    const JointIndex joint = part.joint;
    RigidBodySystem::Limits & own = limits[static_cast<std::size_t>(part.own)];
    if (!part.unbounded)
    {
      own.lower = limit_of(model.lowerPositionLimit(part.model));
      own.upper = limit_of(model.upperPositionLimit(part.model));
    }
    own.velocity = limit_of(model.upperVelocityLimit(model.idx_vs[joint]));
    own.effort = limit_of(model.upperEffortLimit(model.idx_vs[joint]));
  }
  return limits;
}

std::vector<std::pair<std::string, double>> stated_friction(const RobotModel & robot)
{
  std::vector<std::pair<std::string, double>> friction;
  for (std::size_t i = 0; i < robot.joints.size(); ++i)
  {
    const double value = robot.model->upperDryFrictionLimit(robot.model->idx_vs[i + 1]);
    if (is_simple(robot.joints[i].kind) && value > 0.0)
    {
      friction.emplace_back(robot.model->names[i + 1], value);
    }
  }
  return friction;
}

KinematicTree::KinematicTree(const RobotModel & robot)
: gravity(robot.model->gravity.linear()),
  damping(robot.model->damping),
  armature(robot.model->armature)
{
  const pinocchio::Model & model = *robot.model;
  const auto turn_of = [&](JointIndex joint)
  { return joint == 0 ? Eigen::Matrix3d(Eigen::Matrix3d::Identity()) : turns[joint - 1]; };
  int q = 0;
  for (std::size_t i = 0; i < robot.joints.size(); ++i)
  {
    const JointIndex joint = i + 1;
    TreeBody body;
    body.kind = robot.joints[i].kind;
    body.parent = static_cast<int>(model.parents[joint]) - 1;
    body.q = q;
    body.u = model.idx_vs[joint];
    body.nu = speeds_of(body.kind);
    q += coordinates_of(body.kind);
    turns.push_back(
      is_simple(body.kind) ? axes_with_z(axis_of(model.joints[joint]))
                           : Eigen::Matrix3d(Eigen::Matrix3d::Identity()));
    const Eigen::Matrix3d R = turns.back();
    const Eigen::Matrix3d R_parent = turn_of(model.parents[joint]);
    const pinocchio::SE3 & placement = model.jointPlacements[joint];
    body.rotation = R_parent.transpose() * placement.rotation() * R;
    body.position = R_parent.transpose() * placement.translation();
    const pinocchio::Inertia & inertia = model.inertias[joint];
    const Eigen::Vector3d com = R.transpose() * inertia.lever();
    body.mass = inertia.mass();
    body.moment = body.mass * com;
    body.inertia =
      R.transpose() * inertia.inertia().matrix() * R +
      body.mass * (com.squaredNorm() * Eigen::Matrix3d::Identity() - com * com.transpose());
    bodies.push_back(body);
    total_mass += body.mass;
  }
  for (const FrameNotes & frame : robot.frames)
  {
    const pinocchio::Frame & f = model.frames[frame.id];
    const Eigen::Matrix3d R = turn_of(f.parentJoint);
    TreeFramePlace place;
    place.body = static_cast<int>(f.parentJoint) - 1;
    place.rotation = R.transpose() * f.placement.rotation();
    place.position = R.transpose() * f.placement.translation();
    frames.push_back(place);
  }
  carried_mass_.assign(bodies.size(), 0.0);
  for (std::size_t i = bodies.size(); i-- > 0;)
  {
    carried_mass_[i] += bodies[i].mass;
    if (bodies[i].parent >= 0)
    {
      carried_mass_[static_cast<std::size_t>(bodies[i].parent)] += carried_mass_[i];
    }
  }
}

// ---- a Model of the caller's -------------------------------------------------------------------

void ModelBuilder::adopt(const pinocchio::Model & model)
{
  const std::vector<JointKind> kinds = joint_kinds(model);
  for (const Eigen::VectorXd * values :
       {&model.armature, &model.damping, &model.upperVelocityLimit, &model.upperEffortLimit,
        &model.upperDryFrictionLimit})
  {
    if (values->size() != model.nv)
    {
      throw std::invalid_argument("a vector of the model does not have nv elements");
    }
  }
  if (model.lowerPositionLimit.size() != model.nq || model.upperPositionLimit.size() != model.nq)
  {
    throw std::invalid_argument("the position limits of the model do not have nq elements");
  }
  if (!model.gravity.toVector().allFinite() || !model.gravity.angular().isZero(0.0))
  {
    throw std::invalid_argument(
      "the gravity of the model is not finite or has an angular part; neither is allowed");
  }
  for (const Eigen::VectorXd * values : {&model.armature, &model.damping})
  {
    if (!values->allFinite() || !(values->array() >= 0.0).all())
    {
      throw std::invalid_argument(
        "the armature or damping of the model is not finite or negative; finite values from 0 on "
        "are allowed");
    }
  }
  model_ = model;
  adopted_ = kinds.size();
  for (JointIndex i = 1; i <= kinds.size(); ++i)
  {
    adopt_joint(i, kinds[i - 1]);
  }
  adopt_frames();
}

namespace
{

/// Along axes that turn with the body, a constant inertia bends its way without a force, and so do
/// unequal ones about them.
void check_armature(
  const std::string & who, JointKind kind, const Eigen::Ref<const Eigen::VectorXd> & armature)
{
  const Eigen::Index linear = kind == JointKind::kFloating ? 3 : kind == JointKind::kPlanar ? 2 : 0;
  if (!armature.head(linear).isZero(0.0))
  {
    throw std::invalid_argument(
      who + ": its armature is " + show(armature.head(linear).maxCoeff()) +
      " for the translation of a body that turns; 0 is allowed");
  }
  const auto angular = armature.tail(armature.size() - linear);
  if (has_quaternion(kind) && (angular.array() != angular(0)).any())
  {
    throw std::invalid_argument(
      who + ": its armature about three axes is between " + show(angular.minCoeff()) + " and " +
      show(angular.maxCoeff()) + "; three equal values are allowed");
  }
}

}  // namespace

void ModelBuilder::adopt_joint(JointIndex joint, JointKind kind)
{
  const std::string who = "joint '" + model_.names[joint] + "' of the model";
  check_armature(
    who, kind, model_.armature.segment(model_.idx_vs[joint], model_.joints[joint].nv()));
  const pinocchio::Inertia & inertia = model_.inertias[joint];
  if (!isometry(model_.jointPlacements[joint]).matrix().allFinite())
  {
    throw std::invalid_argument(who + ": its placement is not finite");
  }
  if (is_simple(kind) && !(std::abs(axis_of(model_.joints[joint]).norm() - 1.0) <= 1e-9))
  {
    throw std::invalid_argument(who + ": its axis is not a unit vector");
  }
  const Eigen::Index q = model_.idx_qs[joint];
  if (is_simple(kind) && !(model_.lowerPositionLimit(q) <= model_.upperPositionLimit(q)))
  {
    throw std::invalid_argument(who + ": its lower limit is not below its upper limit");
  }
  JointNotes notes;
  notes.kind = kind;
  robot_.joints.push_back(notes);
  masses_.push_back({inertia.mass(), inertia.lever(), inertia.inertia().matrix()});
  where_.push_back(who);
  may_be_light_.push_back(false);
  append_neutral(kind, Eigen::Isometry3d::Identity());
}

// Body frames are links; the first one of a joint names its body. Joint frames are skipped: they
// coincide with body frames, and their names would collide with those of links.
void ModelBuilder::adopt_frames()
{
  std::set<std::string> seen = {"universe", "world"};
  const auto is_new = [&](const pinocchio::Frame & frame)
  { return frame.type != pinocchio::JOINT && seen.count(frame.name) == 0; };
  const auto place_of = [&](const pinocchio::Frame & frame)
  {
    Place place;
    place.joint = static_cast<int>(frame.parentJoint) - 1;
    place.X = isometry(frame.placement);
    return place;
  };
  for (const pinocchio::Frame & frame : model_.frames)
  {
    if (frame.type == pinocchio::BODY && frame.parentJoint > 0)
    {
      std::string & link = robot_.joints[frame.parentJoint - 1].child_link;
      link = link.empty() ? frame.name : link;
    }
  }
  for (std::size_t i = 0; i < robot_.joints.size(); ++i)
  {
    if (robot_.joints[i].child_link.empty())
    {
      robot_.joints[i].child_link = model_.names[i + 1] + "_link";
      Place place;
      place.joint = static_cast<int>(i);
      add_link_frame(model_.name, robot_.joints[i].child_link, place);
      seen.insert(robot_.joints[i].child_link);
    }
  }
  const auto link_of = [&](JointIndex joint)
  { return joint == 0 ? std::string("world") : robot_.joints[joint - 1].child_link; };
  for (std::size_t id = 1; id < model_.frames.size(); ++id)
  {
    const pinocchio::Frame & frame = model_.frames[id];
    if (!is_new(frame))
    {
      continue;
    }
    seen.insert(frame.name);
    const bool is_link = frame.type == pinocchio::BODY;
    const std::string body = is_link ? frame.name : link_of(frame.parentJoint);
    if (is_link)
    {
      robot_.links.push_back(frame.name);
    }
    frames_.push_back({frame.name, body, place_of(frame), is_link, static_cast<int>(id)});
  }
  for (std::size_t i = 0; i < robot_.joints.size(); ++i)
  {
    const JointIndex joint = i + 1;
    const std::size_t at = model_.getFrameId(model_.names[joint], pinocchio::JOINT);
    const bool stated = at < model_.frames.size() &&
                        model_.frames[model_.frames[at].parentFrame].type == pinocchio::BODY;
    robot_.joints[i].parent_link =
      stated ? model_.frames[model_.frames[at].parentFrame].name : link_of(model_.parents[joint]);
  }
}

RobotModel extend_model(const pinocchio::Model & model, const SceneDescription & description)
{
  ModelBuilder builder(description);
  builder.adopt(model);
  return builder.build();
}

}  // namespace constrained_dynamics
