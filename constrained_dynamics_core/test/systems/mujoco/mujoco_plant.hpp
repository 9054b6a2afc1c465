// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics::test
{

/// A shape that touches others in MuJoCo. Shapes of the robot touch those of the world only.
struct MujocoShape
{
  enum class Kind
  {
    kPlane,   ///< its z axis points out of it
    kSphere,  ///< size(0): radius
    kBox,     ///< size: half lengths
  };
  std::string name;
  std::string body = "world";  ///< link, attachment or "world"
  Kind kind = Kind::kSphere;
  Pose pose;  ///< in the body
  Eigen::Vector3d size = Eigen::Vector3d::Constant(0.01);
  double friction = 0.0;  ///< μ of the pair is the larger of the two; 0 on both: no friction
};

/// What a MujocoPlant is made of: the same URDF as ours, read by MuJoCo itself.
struct MujocoScene
{
  std::string urdf;  ///< path; visuals and collisions are left out
  /// kFixed or kFloating (free joint "base"); a system of ours with a planar base takes x, y and
  /// the angle about z of the free one.
  Base base = Base::kFixed;
  double base_height = 0.0;      ///< z of a planar base
  std::set<std::string> locked;  ///< joints that are fixed at 0
  std::vector<Attachment> attachments;
  std::map<std::string, double> armature;
  bool model_damping = true;
  std::vector<MujocoShape> shapes;
  /// Step of MuJoCo [s].
  double step = 1e-4;
  /// MuJoCo's contacts are soft: penetration vanishes with this time constant [s], and the force
  /// takes the fraction `impedance` of the acceleration into the obstacle. With these values the
  /// robots of the tests sink in by some micrometres and slip by as little. Stiffer is worse: from
  /// an impedance of 0.999 on, and below some ten steps, contacts open and close from step to step,
  /// and the force at an instant is none or twice what it should be.
  double time_constant = 1e-3;
  double impedance = 0.99;
};

/// A robot in MuJoCo: a plant that this project did not write. For tests.
class MujocoPlant
{
public:
  /// @param system ours, whose coordinates, speeds and inputs the plant speaks.
  /// @throw std::runtime_error with MuJoCo's message.
  MujocoPlant(const MujocoScene & scene, std::shared_ptr<const System> system);
  ~MujocoPlant();
  MujocoPlant(const MujocoPlant &) = delete;
  MujocoPlant & operator=(const MujocoPlant &) = delete;

  void set_state(const State & state);
  /// State as ours.
  State state() const;

  /// Goes on by `period`, a multiple of the step, with inputs (l) that are held.
  void advance(const Eigen::VectorXd & inputs, double period);

  /// Force of the world on a shape, in world axes [N], for the state and inputs with which the last
  /// `advance` began.
  Eigen::Vector3d contact_force(const std::string & shape) const;
  /// Deepest penetration of all contacts at the end of the last `advance` [m].
  double penetration() const;

  /// Q of ours, computed by MuJoCo at its state. Not for a planar base.
  Eigen::MatrixXd mass_matrix();
  /// u̇ of ours for inputs, computed by MuJoCo. Not for a planar base.
  Eigen::VectorXd acceleration(const Eigen::VectorXd & inputs);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace constrained_dynamics::test
