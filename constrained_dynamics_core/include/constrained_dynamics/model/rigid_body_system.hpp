// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/key_description.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

class ForceElement;
struct ForceElementState;
class KinematicTree;

/// Language of a robot description.
enum class RobotFormat
{
  kUrdf,  ///< Unified Robot Description Format (xacro already expanded)
  kMjcf,  ///< MuJoCo XML
  kSdf,   ///< Simulation Description Format, 1.4 to 1.12: one model, with nested ones
};

/// How the root of a robot (or a free body) moves in the world.
enum class Base
{
  kFixed,     ///< welded to the world
  kPlanar,    ///< x, y and the angle about z of the base pose
  kFloating,  ///< all six degrees of freedom
};

/// Where a frame is in its parent: R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF.
struct Pose
{
  Eigen::Vector3d xyz = Eigen::Vector3d::Zero();  ///< [m]
  Eigen::Vector3d rpy = Eigen::Vector3d::Zero();  ///< roll, pitch, yaw [rad]
};

/// One robot of a scene. Meshes are never read.
struct RobotDescription
{
  /// Used in messages, and as the name of a planar or floating base ("base" if empty).
  std::string name;
  /// Put in front of every link, joint and frame name of this robot, e.g. "left_".
  std::string prefix;
  RobotFormat format = RobotFormat::kUrdf;
  /// The XML document itself.
  std::string text;
  /// Where the text came from, for messages.
  std::string source;
  Base base = Base::kFixed;
  /// Pose of the root link in the world (fixed base), or of the frame in which the base's
  /// coordinates are measured. SDF: the model's own pose is applied after it, and the base moves
  /// the model frame.
  Pose pose;
  /// Joints (names without prefix) that are locked at a value [rad, m]. They must have one degree
  /// of freedom.
  std::map<std::string, double> locked;
  /// Whether RigidBodySystem::file_constraints and mimics list the constraints and couplings that
  /// the description states. Otherwise each of them causes a warning, and its kind may be one that
  /// is not supported.
  bool use_file_constraints = true;
  /// The folder of the file. `<include>` reads files of this folder and below it; empty: none.
  std::string folder;
  /// Joints (names without prefix) of one degree of freedom that become others at the same place:
  /// "ball", or two axes of their frame, "xy", "zx", …, about which they turn one after the other.
  /// The coordinates are then called `<joint>_X` and `<joint>_Y`. Limits, damping and dry friction
  /// of the joint do not apply.
  std::map<std::string, std::string> replaced;
  /// Whether links without mass or without inertia may move. Accelerations exist where the masses
  /// behind them or the constraints determine their motion.
  bool allow_light_links = false;
};

/// A constraint that a robot description states: a loop that is closed, or joints that depend on
/// each other. It is an item of the section `constraints` of a scenario: a type with its keys.
struct FileConstraint
{
  std::string name;                                    ///< with the prefix of the robot
  std::string type;                                    ///< of doc/types.md
  std::vector<std::pair<std::string, KeyValue>> keys;  ///< frames and joints with their prefixes
  bool active = true;                                  ///< whether it holds from the start
  std::string source;                                  ///< what states it, for messages
};

/// A rigid body that is not connected to a parent by a joint.
struct FreeBody
{
  std::string name;   ///< also the name of its frame and of its coordinates
  double mass = 0.0;  ///< [kg], > 0
  Eigen::Vector3d com = Eigen::Vector3d::Zero();      ///< in the body frame [m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  ///< about com, body axes [kg m²]
  Base base = Base::kFloating;                        ///< kFloating or kPlanar
  Pose pose;  ///< of the frame in which its coordinates are measured
};

/// A rigid mass that is welded to a link, e.g. a tool. It also defines a frame of the same name.
struct Attachment
{
  std::string name;
  std::string parent;                                 ///< link, frame or earlier attachment
  Pose pose;                                          ///< in the parent
  double mass = 0.0;                                  ///< [kg], ≥ 0
  Eigen::Vector3d com = Eigen::Vector3d::Zero();      ///< in the attachment's frame [m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  ///< about com, the attachment's axes [kg m²]
};

/// A massless named frame for constraints and measurements.
struct FrameDescription
{
  std::string name;
  std::string parent = "world";  ///< "world", link, attachment or earlier frame
  Pose pose;                     ///< in the parent
};

/// A spring with force −stiffness (q − rest) on a joint with one degree of freedom.
struct JointSpring
{
  std::string joint;
  double stiffness = 0.0;  ///< [N m/rad] or [N/m], ≥ 0
  double rest = 0.0;       ///< [rad] or [m]
};

/// A place where an external wrench may act. Its value is stored in the SystemData.
struct ExternalWrench
{
  std::string name;
  std::string frame;                                 ///< the wrench acts at this frame's origin
  bool expressed_in_frame = false;                   ///< axes of the frame instead of the world's
  Eigen::Vector3d force = Eigen::Vector3d::Zero();   ///< initial value [N]
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();  ///< initial value [N m]
};

/// Largest scene that is accepted. Descriptions are untrusted, and the defaults protect memory and
/// stack. Raise them for large models that you trust.
struct SizeLimits
{
  int links = 500;  ///< of a document, and of the scene
  int depth = 200;  ///< links from the root to a tip
};

/// Everything that a RigidBodySystem is built from. Joint names include the prefix.
struct SceneDescription
{
  std::vector<RobotDescription> robots;
  std::vector<FreeBody> bodies;
  std::vector<Attachment> attachments;
  std::vector<FrameDescription> frames;
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};  ///< [m/s²]
  std::vector<JointSpring> springs;
  /// Joint → viscous coefficient [N m s/rad, N s/m], ≥ 0; adds to the model's own damping.
  std::map<std::string, double> dampers;
  /// Joint → inertia of the rotor reflected to the joint [kg m², kg], ≥ 0; adds to the model's own.
  std::map<std::string, double> armature;
  /// Whether the damping that the robot descriptions state is applied.
  bool use_model_damping = true;
  /// Joints with one degree of freedom (or names of speeds) that have an input. By default, all
  /// joints with one degree of freedom that do not mimic another.
  std::optional<std::vector<std::string>> actuated;
  std::vector<ExternalWrench> external_wrenches;
  /// Springs, dampers and cables between frames (force_element.hpp, spring.hpp).
  std::vector<std::shared_ptr<const ForceElement>> force_elements;
  SizeLimits size_limits;
};

/// Reads a robot description; the format follows from the root element.
/// @throw std::invalid_argument naming the file if it cannot be read, exceeds 10 MB or is not a
/// `<robot>`, `<mujoco>` or `<sdf>` document.
CONSTRAINED_DYNAMICS_EXPORT RobotDescription load_robot_description(const std::string & path);

/// Robots, free bodies and tools in one world. They form trees; loops are closed by constraints.
///
/// Internally it is one pinocchio::Model with names, springs and limits. The header
/// constrained_dynamics/model/pinocchio.hpp builds a system from a Model and gives access to Model
/// and Data.
///
/// Coordinates q and speeds u. Robots come first, with their joints in depth-first order, then
/// bodies:
/// - revolute, continuous, prismatic, hinge, slide `j`: `j` (a continuous joint is one angle); `dj`
/// - planar `j`: `j_x`, `j_y`, `j_theta`; `j_vx`, `j_vy`, `j_wz`
/// - floating, free `j`: `j_x`, `j_y`, `j_z`, `j_qx`, `j_qy`, `j_qz`, `j_qw`; `j_vx` … `j_wz`
/// - ball `j`: `j_qx`, `j_qy`, `j_qz`, `j_qw`; `j_wx`, `j_wy`, `j_wz`
/// - translation `j` (of a Model): `j_x`, `j_y`, `j_z`; `j_vx`, `j_vy`, `j_vz`
///
/// For a planar or floating base `j` is the robot's (body's) name, "base" if it has none.
/// `j_v…` and `j_w…` are the velocity of the moving frame's origin and its angular velocity, both
/// in axes of the moving frame. So q̇ = C u with D = 0, and C is the identity if all joints have
/// one degree of freedom. Quaternions of any nonzero length are accepted and normalised for the
/// evaluation; a length of 0 (below 1e-150) gives kNonFiniteInput.
///
/// Frames: "world", then every link, MJCF site and SDF `<frame>`, the free bodies, the attachments
/// and the named frames. The root link of a robot that is fixed at the origin is the world itself
/// if it is named `world`.
///
/// Q is the joint-space inertia with armature. P contains gravity and velocity terms, dampers,
/// springs, force elements and external wrenches. G selects the actuated speeds. Constraints, joint
/// friction, limits, transmissions, tendons and contacts of the descriptions are not applied:
/// constraints, limits, mimics and friction can be read below, the others cause warnings.
class CONSTRAINED_DYNAMICS_EXPORT RigidBodySystem : public System
{
public:
  /// joint = multiplier · source + offset, as stated in a description. The system does not apply it
  /// (the coordinates stay free): use a JointCoupling for that.
  struct Mimic
  {
    std::string joint;
    std::string source;
    double multiplier = 1.0;
    double offset = 0.0;
    std::string name = {};  ///< of its constraint; empty: `<joint>_mimic`
  };

  /// Bounds of a coordinate, its rate and the force along it; infinite if none are stated.
  struct Limits
  {
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();
    double velocity = std::numeric_limits<double>::infinity();
    double effort = std::numeric_limits<double>::infinity();
  };

  /// A joint with at least one degree of freedom, and the bodies that it connects.
  struct Joint
  {
    std::string name;    ///< of a planar or floating base: the name of the robot or body
    std::string child;   ///< the link that the joint moves
    std::string parent;  ///< the link that the joint sits on; "world" if none
  };

  /// Builds and checks the scene.
  /// @throw std::invalid_argument naming robot, link or joint, the value and what is allowed: for
  /// documents that are malformed, exceed SceneDescription::size_limits or have more than 10 MB,
  /// and for models that are not physical (see src/model/robot_xml.hpp and robot_tree.hpp).
  explicit RigidBodySystem(const SceneDescription & scene);
  ~RigidBodySystem() override;

  /// Builds a system of one robot from a file or a string, with defaults for everything else.
  static std::shared_ptr<RigidBodySystem> from_urdf_file(
    const std::string & path, Base base = Base::kFixed);
  static std::shared_ptr<RigidBodySystem> from_urdf_text(
    const std::string & text, Base base = Base::kFixed);
  static std::shared_ptr<RigidBodySystem> from_mjcf_file(
    const std::string & path, Base base = Base::kFixed);
  static std::shared_ptr<RigidBodySystem> from_mjcf_text(
    const std::string & text, Base base = Base::kFixed);
  static std::shared_ptr<RigidBodySystem> from_sdf_file(
    const std::string & path, Base base = Base::kFixed);
  static std::shared_ptr<RigidBodySystem> from_sdf_text(
    const std::string & text, Base base = Base::kFixed);

  /// Warnings about elements of the descriptions that this system does not apply.
  const std::vector<std::string> & warnings() const;
  /// Mimic joints of all robots, with prefixes.
  const std::vector<Mimic> & mimics() const;
  /// Loops and couplings that the descriptions state, besides mimic joints. The system does not
  /// apply them: make_file_constraints builds the constraints.
  const std::vector<FileConstraint> & file_constraints() const;
  /// Limits of each coordinate (nq).
  const std::vector<Limits> & limits() const;
  /// Names of the joints with one degree of freedom, in the order of their coordinates.
  const std::vector<std::string> & joint_names() const;
  /// All joints that move, in the order of their coordinates.
  const std::vector<Joint> & joints() const;
  /// Names of all links and free bodies, without "world".
  const std::vector<std::string> & link_names() const;
  /// Names of the external wrenches, in the order of their indices.
  const std::vector<std::string> & external_wrench_names() const;
  /// Mass of everything that moves [kg].
  double total_mass() const;
  Eigen::Vector3d gravity() const;
  /// Joints with one degree of freedom and the dry friction that the descriptions state [N m, N].
  /// The system does not apply it: use a DryFriction, as scenarios do.
  const std::vector<std::pair<std::string, double>> & joint_friction() const;
  /// Viscous coefficient that acts on each speed (n).
  const Eigen::VectorXd & damping() const;

  /// Sets the value of an external wrench, starting with the next update_dynamics. An index out of
  /// range is ignored. Real-time safe: yes.
  void set_external_wrench(
    SystemData & data, int index, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque) const noexcept CD_NONBLOCKING;

  /// The force elements, in the order of their indices.
  const std::vector<std::shared_ptr<const ForceElement>> & force_elements() const;
  /// A force element at the state of the last update_kinematics; zeros for an index out of range.
  /// Real-time safe: yes.
  const ForceElementState & force_element_state(const SystemData & data, int index) const noexcept
    CD_NONBLOCKING;

  /// Generalized force (n) that holds the system at rest against gravity at the state of the last
  /// update_kinematics: the gravity part of −P. Real-time safe: yes.
  void gravity_torque(const SystemData & data, VectorRef out) const noexcept CD_NONBLOCKING;

  /// Centre of mass of everything that moves, in the world [m]. Real-time safe: yes.
  Eigen::Vector3d centre_of_mass(const SystemData & data) const noexcept CD_NONBLOCKING;

  /// Centre of mass of the body that a frame moves with, in the world [m]; the origin of the frame
  /// if that has no mass. Real-time safe: yes.
  Eigen::Vector3d body_centre(const SystemData & data, int frame) const noexcept CD_NONBLOCKING;

  /// The tree of bodies, for algorithms of this library.
  const KinematicTree & tree() const;

protected:
  std::unique_ptr<SystemData> do_make_data() const override;
  Status do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING override;
  Status do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING override;
  void do_normalise(VectorRef q) const noexcept CD_NONBLOCKING override;
  Eigen::VectorXd do_neutral_coordinates() const override;
  std::string do_body_of_frame(int frame) const override;
  void do_frame_kinematics(const SystemData & data, int frame, FrameKinematics & out) const noexcept
    CD_NONBLOCKING override;
  void do_frame_jacobian(const SystemData & data, int frame, Matrix6X & out) const noexcept
    CD_NONBLOCKING override;
  void do_frame_reach(const SystemData & data, int frame, Matrix6X & out) const noexcept
    CD_NONBLOCKING override;
  bool do_has_joint(int coordinate) const override;
  std::pair<std::string, std::string> do_joint_bodies(int coordinate) const override;
  void do_joint_wrench(const SystemData & data, int coordinate, Wrench & out) const noexcept
    CD_NONBLOCKING override;
  double do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING override;
  double do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING override;
  bool do_power(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    const ConstVectorRef & constraint_force,
    SystemPower & out) const noexcept CD_NONBLOCKING override;
  std::vector<int> do_speeds_of_coordinate(int coordinate) const override;
  bool do_differentiate(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    SystemDerivatives & out) const override;
  void do_frame_derivatives(
    const SystemData & data, int frame, FrameDerivatives & out) const override;
  void do_add_frame_force_derivatives(
    const SystemData & data, int frame, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, MatrixRef out) const override;
  void do_add_coordinate_force_derivatives(
    const SystemData & data, const ConstVectorRef & y, MatrixRef out) const override;
  const RigidBodySystem * do_as_robot() const noexcept CD_NONBLOCKING override { return this; }

private:
  friend struct PinocchioAccess;
  struct Impl;
  explicit RigidBodySystem(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace constrained_dynamics
