// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Friction of a joint as a smooth function of its speed v (E50):
///     f(v) = viscous v + (coulomb + (static − coulomb) exp(−(v/stribeck)²)) tanh(v/smoothing).
struct JointFriction
{
  double viscous = 0.0;       ///< [N m s/rad, N s/m], ≥ 0
  double coulomb = 0.0;       ///< [N m, N], ≥ 0
  double static_bound = 0.0;  ///< [N m, N]; 0: as `coulomb`, otherwise ≥ coulomb
  double stribeck = 0.01;     ///< speed [rad/s, m/s] of the transition from static, > 0
  double smoothing = 1e-3;    ///< speed [rad/s, m/s] within which the dry part changes sign, > 0

  /// f at a speed [rad/s, m/s], opposite to the motion as a force on the joint. Real-time safe:
  /// yes.
  CONSTRAINED_DYNAMICS_EXPORT double effort(double speed) const noexcept CD_NONBLOCKING;
};

/// A joint of a robot profile.
struct ProfileJoint
{
  std::string name;
  double effort_limit = std::numeric_limits<double>::infinity();       ///< of a command [N m, N]
  double effort_rate_limit = std::numeric_limits<double>::infinity();  ///< [N m/s, N/s]
  double armature = 0.0;  ///< inertia of the rotor at the joint [kg m², kg]; part of the model
  JointFriction friction;
};

/// Which terms an effort contains, or a drive adds.
struct EffortTerms
{
  bool gravity = false;
  bool friction = false;
  bool armature = false;  ///< the effort that accelerates the rotor
};

/// A tool or payload at a frame.
struct Payload
{
  std::string name;                                   ///< of the frame that it defines
  std::string frame;                                  ///< where it is attached
  double mass = 0.0;                                  ///< [kg], ≥ 0
  Eigen::Vector3d com = Eigen::Vector3d::Zero();      ///< in the frame [m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  ///< about com, in axes of the frame [kg m²]
};

/// What distinguishes the drives and sensors of a real robot from the model: see doc/robots.md.
///
/// The effort τ of the model is that of the motors minus friction, so that Q u̇ = P + G τ + F^c with
/// the rotors in Q and gravity in P. A drive that receives the command c exerts
///     τ + f(u) = c + [g(q)] + [f(u)] + [B u̇],
/// and its sensor reads
///     y = τ + f(u)  minus the terms that `effort_contains` lacks,
/// where the terms in brackets are those of `command_adds`, f is the friction of the profile, B the
/// rotors and g(q) the effort that carries the weight.
struct RobotProfile
{
  std::string name;
  std::vector<ProfileJoint> joints;
  std::string command_interface = "effort";  ///< name in ros2_control
  std::string position_interface = "position";
  std::string velocity_interface = "velocity";
  std::string effort_interface = "effort";
  /// What the drive adds to a command; none: not known, and efforts are not commanded.
  std::optional<EffortTerms> command_adds;
  /// Which terms a measured effort contains; none: not known, and it is not used.
  std::optional<EffortTerms> effort_contains;
  /// Whether gravity in the two above includes that of `payloads`.
  bool drive_knows_payloads = true;
  /// Fraction of the friction that is compensated where the drive does not do so, 0 to 1.
  double friction_compensation = 1.0;
  /// In axes of the world frame of the model [m/s²]: the mounting of the robot.
  std::optional<Eigen::Vector3d> gravity;
  std::vector<Payload> payloads;
  double rate = 0.0;   ///< of the control cycle [1/s]; 0: not stated
  double delay = 0.0;  ///< from a measurement to the effect of the command [s], ≥ 0

  /// Checks all values. @throw std::invalid_argument naming joint or payload, value and range.
  CONSTRAINED_DYNAMICS_EXPORT void check() const;
  /// @throw std::invalid_argument if `command_adds` is not stated.
  CONSTRAINED_DYNAMICS_EXPORT void require_command_terms() const;
  /// @throw std::invalid_argument if `effort_contains` is not stated.
  CONSTRAINED_DYNAMICS_EXPORT void require_effort_contents() const;
  /// Adds payloads and rotors to a scene and sets its gravity, where stated.
  /// @throw std::invalid_argument as `check`.
  CONSTRAINED_DYNAMICS_EXPORT void apply(SceneDescription & scene) const;
};

/// Converts between the efforts of a model and those of the drives of a robot profile.
/// Allocates only in the constructor; use one per thread.
///
///     DriveConversion drives(profile, system);                            // once
///     status = drives.command(data, effort, acceleration, period, out);   // each cycle
///     status = drives.net_effort(data, measured, acceleration, effort);
class CONSTRAINED_DYNAMICS_EXPORT DriveConversion
{
public:
  /// @param system whose inputs are joints of the profile. It contains what RobotProfile::apply
  /// adds, and must outlive this object.
  /// @throw std::invalid_argument for a profile that fails `check`, a system that is not a
  /// RigidBodySystem, an input that is not a joint of the profile, or an unknown frame.
  DriveConversion(RobotProfile profile, const System & system);

  const RobotProfile & profile() const { return profile_; }

  /// Forgets the last command, from which the rate is limited. Real-time safe: yes.
  void reset() noexcept CD_NONBLOCKING { has_last_ = false; }
  /// Sets the last command (l), e.g. what the drive applies at activation. Real-time safe: yes.
  void reset(const ConstVectorRef & command) noexcept CD_NONBLOCKING;

  /// Converts efforts τ (l) of the model to the command (l) that makes the drives exert them.
  /// @param data at the state of the last update_kinematics. @param acceleration u̇ (n) that the
  /// efforts are meant to produce. @param period since the last command [s]; 0: the rate is not
  /// limited.
  /// @param out within the limits of effort and rate.
  /// Statuses: kOk; kLimited (a limit binds: see `requested`); kDeclined (the profile does not
  /// state what the drive adds); kSizeMismatch, kNonFiniteInput, kNonFiniteResult. Real-time safe:
  /// yes.
  [[nodiscard]] Status command(
    const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
    double period, VectorRef out) noexcept CD_NONBLOCKING;
  /// The same for a robot at rest, or one whose speeds are not known: friction is not compensated,
  /// and no rotor is accelerated. Real-time safe: yes.
  [[nodiscard]] Status rest_command(
    const SystemData & data, const ConstVectorRef & effort, double period,
    VectorRef out) noexcept CD_NONBLOCKING;
  /// The last command before its limits (l).
  const Eigen::VectorXd & requested() const { return requested_; }
  /// The last command before its limits, minus the efforts of the model that it was made from (l):
  /// subtract it from what became of a command to get efforts of the model.
  const Eigen::VectorXd & offset() const { return offset_; }

  /// Converts measured efforts (l) to efforts τ (l) of the model. Parameters as of `command`.
  /// Statuses: kOk; kDeclined (the profile does not state what a measured effort contains);
  /// kSizeMismatch, kNonFiniteInput, kNonFiniteResult. Real-time safe: yes.
  [[nodiscard]] Status net_effort(
    const SystemData & data, const ConstVectorRef & measured, const ConstVectorRef & acceleration,
    VectorRef out) noexcept CD_NONBLOCKING;

  // The opposite directions, for simulated drives and sensors.

  /// The efforts τ (l) of the model that the drives exert when they receive a command (l), which
  /// they limit to their limits of effort. Parameters and statuses as of `command`, without
  /// kLimited. Real-time safe: yes.
  [[nodiscard]] Status exerted_effort(
    const SystemData & data, const ConstVectorRef & command, const ConstVectorRef & acceleration,
    VectorRef out) noexcept CD_NONBLOCKING;
  /// What sensors show (l) where the efforts τ (l) of the model act. Parameters and statuses as of
  /// `net_effort`. Real-time safe: yes.
  [[nodiscard]] Status measured_effort(
    const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
    VectorRef out) noexcept CD_NONBLOCKING;

  /// The effort (l) that carries the weight as the drives know it: g(q), without payloads if the
  /// drives do not know them. Real-time safe: yes.
  const Eigen::VectorXd & find_gravity(const SystemData & data) noexcept CD_NONBLOCKING;

private:
  /// Whether sizes agree and everything is finite.
  Status check_arguments(
    const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
    Eigen::Index out_size) const noexcept CD_NONBLOCKING;
  /// Terms of the effort of an input.
  struct Terms
  {
    double gravity;
    double friction;
    double rotor;
    /// Those that are selected.
    double sum(const EffortTerms & selected) const noexcept CD_NONBLOCKING
    {
      return (selected.gravity ? gravity : 0.0) + (selected.friction ? friction : 0.0) +
             (selected.armature ? rotor : 0.0);
    }
  };
  /// Of input i, after find_gravity.
  Terms terms_of(std::size_t i, const SystemData & data, const ConstVectorRef & acceleration)
    const noexcept CD_NONBLOCKING;
  const ProfileJoint & joint_of(std::size_t i) const noexcept CD_NONBLOCKING
  {
    return profile_.joints[static_cast<std::size_t>(joints_[i])];
  }
  /// `command` with a fraction of the friction compensated.
  Status send(
    const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
    double period, double compensation, VectorRef out) noexcept CD_NONBLOCKING;
  /// net_effort (sign 1), or measured_effort (sign −1).
  Status read(
    const SystemData & data, const ConstVectorRef & from, const ConstVectorRef & acceleration,
    double sign, VectorRef out) noexcept CD_NONBLOCKING;
  void subtract_payload(const SystemData & data, const Payload & payload, int frame) noexcept
    CD_NONBLOCKING;

  RobotProfile profile_;
  const RigidBodySystem * robot_;
  std::vector<int> joints_;  // of the profile, of each input
  std::vector<int> speeds_;  // of each input
  std::vector<int> frames_;  // of each payload
  Eigen::VectorXd held_;     // generalized force that carries the weight (n)
  Eigen::VectorXd gravity_;  // of each input
  Eigen::VectorXd rest_;     // zeros (n)
  Eigen::VectorXd requested_;
  Eigen::VectorXd offset_;
  Eigen::VectorXd granted_;
  Eigen::VectorXd last_;
  Matrix6X jacobian_;
  bool has_last_ = false;
};

}  // namespace constrained_dynamics
