// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "model/element_derivatives.hpp"
#include "model/kinematic_tree.hpp"
#include "model/rigid_body_derivatives.hpp"
#include "model/robot_model.hpp"

namespace constrained_dynamics
{

/// The constant part of a RigidBodySystem: the Model, its notes, and what is derived from them.
struct RigidBodySystem::Impl
{
  Impl(RobotModel model, const SceneDescription & description, bool use_damping);

  RobotModel robot;
  KinematicTree tree;
  std::vector<ConfigurationPart> parts;
  std::vector<int> joint_of_coordinate;  ///< of simple joints; −1 elsewhere
  std::vector<TreeWrench> wrenches;
  std::vector<std::shared_ptr<const ForceElement>> elements;
  std::vector<std::string> coordinate_names;
  std::vector<std::string> speed_names;
  std::vector<std::string> input_names;
  std::vector<std::string> frame_names;
  std::vector<std::string> joint_names;  ///< of simple joints
  std::vector<Joint> joints;
  std::vector<std::string> wrench_names;
  std::vector<std::pair<std::string, double>> joint_friction;
  std::vector<Limits> limits;

  bool has_frame(int index) const noexcept
  {
    return index >= 0 && static_cast<std::size_t>(index) < robot.frames.size();
  }

private:
  void add_joints();
  void add_forces(const SceneDescription & description);
  void add_elements(const SceneDescription & description);
  void choose_inputs(const SceneDescription & description);
  /// A joint of one degree of freedom.
  const TreeBody & simple_joint(const std::string & name) const;
};

/// Scratch memory of a RigidBodySystem.
class RigidBodyData : public TreeData
{
public:
  RigidBodyData(
    int input_count, const RobotModel & robot, const std::vector<ConfigurationPart> & parts,
    const std::vector<TreeWrench> & outside);
  ~RigidBodyData() override;

  /// The configuration of the current coordinates.
  const Eigen::VectorXd & update_configuration() noexcept CD_NONBLOCKING;
  /// Writes the inertia at the current state, and subtracts gravity and velocity terms from P.
  void add_inertia_and_bias() noexcept CD_NONBLOCKING;
  /// Pinocchio's memory for all of its algorithms.
  pinocchio::Data & complete_data();

  TreeDerivatives derivatives;   ///< of the last do_differentiate
  Matrix6X frame_jacobian;       ///< scratch of do_differentiate
  ElementMemory element_memory;  ///< the same; empty without force elements

private:
  std::shared_ptr<const pinocchio::Model> model_;
  std::vector<ConfigurationPart> parts_;
  std::unique_ptr<pinocchio::Data> pinocchio_;
  bool is_complete_ = false;
  Eigen::VectorXd configuration_;
};

}  // namespace constrained_dynamics
