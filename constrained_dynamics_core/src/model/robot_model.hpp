// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <pinocchio/multibody/fwd.hpp>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "model/joint_kind.hpp"

namespace constrained_dynamics
{

/// Data of a joint and the body that it moves which a pinocchio::Model does not contain.
struct JointNotes
{
  JointKind kind = JointKind::kRevolute;
  std::string child_link;   ///< child link of the joint
  std::string parent_link;  ///< parent link of the joint; "world" if none
  double stiffness = 0.0;   ///< of a spring in the description
  double rest = 0.0;
  bool mimics = false;  ///< whether the description couples the joint to another
};

/// A named frame of a system: which frame of the Model it is, and the link that it is fixed to.
struct FrameNotes
{
  std::string name;
  std::string body;
  std::size_t id = 0;
};

/// A robot, or a scene of robots: a pinocchio::Model with what this library adds to it. Links that
/// are fixed to each other are one body. Joint i of the notes is joint i + 1 of the Model. Frame 0
/// is the world. Speeds are those of the Model; coordinates differ by ConfigurationPart.
struct RobotModel
{
  std::shared_ptr<const pinocchio::Model> model;
  std::vector<JointNotes> joints;
  std::vector<FrameNotes> frames;
  std::vector<std::string> links;
  std::vector<RigidBodySystem::Mimic> mimics;
  std::vector<FileConstraint> file_constraints;
  std::vector<std::string> warnings;
  Eigen::VectorXd neutral;  ///< coordinates of this library
};

/// Where the coordinates of a joint are, here and in the Model's configuration.
struct ConfigurationPart
{
  JointKind kind = JointKind::kRevolute;
  std::size_t joint = 0;   ///< in the Model
  Eigen::Index own = 0;    ///< first coordinate
  Eigen::Index model = 0;  ///< first element of the Model's configuration
  bool unbounded = false;  ///< one angle here, its cosine and sine in the Model
};

/// Reads, places, locks, merges and checks everything of a description that is a body or a frame.
/// @throw std::invalid_argument naming the thing, the value and what is allowed.
RobotModel build_model(const SceneDescription & description);

/// The same for a scene that is added to a Model. Bodies and frames of the Model keep their names.
/// @throw std::invalid_argument also for joints that this library does not have.
RobotModel extend_model(const pinocchio::Model & model, const SceneDescription & description);

/// The kind of each joint of a Model, without the universe.
/// @throw std::invalid_argument naming a joint whose kind is not allowed or out of order.
std::vector<JointKind> joint_kinds(const pinocchio::Model & model);
/// Where each joint's coordinates are.
std::vector<ConfigurationPart> configuration_parts(const RobotModel & robot);
/// Limits of each coordinate; only those of joints of one degree of freedom are stated.
std::vector<RigidBodySystem::Limits> coordinate_limits(const RobotModel & robot);
/// Names and dry friction of those joints of one degree of freedom whose description states it.
std::vector<std::pair<std::string, double>> stated_friction(const RobotModel & robot);
/// Name of each joint, without the universe.
std::vector<std::string> joint_names(const RobotModel & robot);

/// Converts coordinates. Quaternions are normalised. Real-time safe: yes.
void to_model_configuration(
  const std::vector<ConfigurationPart> & parts, const ConstVectorRef & q,
  VectorRef out) noexcept CD_NONBLOCKING;
void from_model_configuration(
  const std::vector<ConfigurationPart> & parts, const ConstVectorRef & configuration,
  VectorRef out) noexcept CD_NONBLOCKING;

}  // namespace constrained_dynamics
