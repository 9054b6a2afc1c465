// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// The terms of the unconstrained system at one state, with n speeds, nq coordinates, l inputs:
///     (E1) q̇ = C u + D,      (E2) Q u̇ = P + G τ + F^c.
/// Sizes are set once by System::make_data and never change.
struct SystemTerms
{
  double time = 0.0;                  ///< t [s]
  Eigen::VectorXd coordinates;        ///< q (nq)
  Eigen::VectorXd speeds;             ///< u (n)
  Eigen::MatrixXd kinematic_matrix;   ///< C (nq × n)
  Eigen::VectorXd kinematic_drift;    ///< D (nq)
  Eigen::VectorXd rates;              ///< q̇ (nq)
  Eigen::VectorXd acceleration_bias;  ///< q̈ at u̇ = 0 (nq)
  Eigen::MatrixXd mass_matrix;        ///< Q (n × n), with the coefficients of u̇ in active forces
  Eigen::VectorXd force;         ///< P (n): active forces minus velocity terms, inputs excluded
  Eigen::MatrixXd input_matrix;  ///< G (n × l)
};

/// Returns whether C, D, q̇ and the bias of q̈ are finite. Real-time safe: yes.
inline bool has_finite_kinematics(const SystemTerms & terms) noexcept
{
  return terms.kinematic_matrix.allFinite() && terms.kinematic_drift.allFinite() &&
         terms.rates.allFinite() && terms.acceleration_bias.allFinite();
}

/// Motion of a frame F relative to the world W. All vectors are expressed in W.
struct FrameKinematics
{
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();       ///< R_WF
  Eigen::Vector3d position = Eigen::Vector3d::Zero();           ///< p_WF [m]
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();           ///< of the origin of F [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();   ///< [rad/s]
  Eigen::Vector3d acceleration_bias = Eigen::Vector3d::Zero();  ///< of the origin at u̇ = 0 [m/s²]
  Eigen::Vector3d angular_acceleration_bias = Eigen::Vector3d::Zero();  ///< at u̇ = 0 [rad/s²]
};

/// Derivatives of a system at one state, with the accelerations u̇ and inputs τ held constant
/// (E17).
///
/// Coordinates are varied along the speeds: column k of a matrix `…_q` is the derivative along
/// δq = C e_k. The elements of a quaternion cannot be varied independently, so ∂/∂q itself is not
/// defined for them. Where nq = n, ∂/∂q is this matrix times C⁻¹.
struct SystemDerivatives
{
  Eigen::VectorXd acceleration;             ///< u̇ (n) that was held constant
  Eigen::VectorXd coordinate_acceleration;  ///< q̈ (nq) that follows from it
  Eigen::MatrixXd residual_q;  ///< of Q u̇ − P − G τ (n × n), external wrenches constant
  Eigen::MatrixXd residual_u;  ///< ∂/∂u of the same (n × n)
  Eigen::MatrixXd rate_q;      ///< of q̇ (nq × n); ∂q̇/∂u is C
  Eigen::MatrixXd coordinate_acceleration_q;  ///< of q̈ (nq × n)
  Eigen::MatrixXd coordinate_acceleration_u;  ///< ∂q̈/∂u (nq × n)
  /// T (n × n) of (E18): a variation δ of the coordinates along the speeds and a variation δu of
  /// the speeds evolve as δ̇ = T δ + δu.
  Eigen::MatrixXd transport;

  /// Takes the memory and sets everything to zero.
  void resize(Eigen::Index coordinate_count, Eigen::Index speed_count);
};

/// Derivatives of the motion of a frame relative to the world at one state, with u̇ held constant.
/// Rows 0 to 2 are linear and rows 3 to 5 angular; columns are as in SystemDerivatives.
struct FrameDerivatives
{
  Eigen::Vector3d acceleration = Eigen::Vector3d::Zero();          ///< with u̇ [m/s²]
  Eigen::Vector3d angular_acceleration = Eigen::Vector3d::Zero();  ///< with u̇ [rad/s²]
  Matrix6X jacobian;        ///< of position and orientation, and ∂/∂u of the velocities
  Matrix6X velocity_q;      ///< of velocity and angular velocity
  Matrix6X acceleration_q;  ///< of the accelerations
  Matrix6X acceleration_u;  ///< ∂/∂u of the accelerations

  /// Takes the memory and sets everything to zero.
  void resize(Eigen::Index speed_count);
};

class RigidBodySystem;

/// A wrench on a body: a force and a torque about `point`, all expressed in world axes.
struct Wrench
{
  Eigen::Vector3d point = Eigen::Vector3d::Zero();   ///< [m]
  Eigen::Vector3d force = Eigen::Vector3d::Zero();   ///< [N]
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();  ///< [N m]
};

/// Power of everything that acts on a system, by kind [W]. The kinds are those of Work, and their
/// sum is d(T + V)/dt.
struct SystemPower
{
  double inputs = 0.0;
  double external = 0.0;
  double forces = 0.0;
  double dampers = 0.0;
  double potential = 0.0;
  double driven = 0.0;
  double constraints = 0.0;  ///< of F^c
};

/// Scratch memory and results of the evaluations of a System, one per thread. Systems derive their
/// own from it.
class CONSTRAINED_DYNAMICS_EXPORT SystemData
{
public:
  explicit SystemData(int coordinate_count, int speed_count, int input_count);
  virtual ~SystemData();
  SystemData(const SystemData &) = delete;
  SystemData & operator=(const SystemData &) = delete;

  SystemTerms terms;
};

/// The unconstrained system. Constant after construction; threads may share it, each with its own
/// SystemData.
///
/// Public methods check their arguments and call the protected `do_…` of the derived class.
class CONSTRAINED_DYNAMICS_EXPORT System
{
public:
  virtual ~System();

  int coordinate_count() const { return static_cast<int>(coordinate_names_.size()); }  ///< nq
  int speed_count() const { return static_cast<int>(speed_names_.size()); }            ///< n
  int input_count() const { return static_cast<int>(input_names_.size()); }            ///< l

  /// Names of the coordinates, e.g. "crank". The rate of coordinate `x` is called `dx`.
  const std::vector<std::string> & coordinate_names() const { return coordinate_names_; }
  /// Names of the speeds; where a speed is the rate of coordinate `x` it is called `dx`.
  const std::vector<std::string> & speed_names() const { return speed_names_; }
  /// Names of the inputs.
  const std::vector<std::string> & input_names() const { return input_names_; }
  /// Names of the frames that constraints may refer to; frame 0 of a spatial system is "world".
  /// Empty for systems without bodies.
  const std::vector<std::string> & frame_names() const { return frame_names_; }

  /// Speeds that constraint forces cannot accelerate: controls that are states, and motions imposed
  /// by a drive. Inputs and P alone determine their accelerations; virtual displacements leave them
  /// unchanged, and Q is diagonal and positive there. Ascending; empty for most systems.
  const std::vector<int> & driven_speeds() const { return driven_speeds_; }

  /// The robot that this system is; null for other systems, also for those that wrap a robot.
  /// `underlying().as_robot()` finds that one too. Real-time safe: yes.
  const RigidBodySystem * as_robot() const noexcept CD_NONBLOCKING { return do_as_robot(); }
  /// What a ControlStateSystem wraps; any other system itself. Real-time safe: yes.
  const System & underlying() const noexcept CD_NONBLOCKING { return do_underlying(); }

  /// Index of a coordinate, speed, input or frame by name.
  /// @throw std::invalid_argument naming the unknown name and those that exist.
  int coordinate_index(const std::string & name) const;
  int speed_index(const std::string & name) const;
  int input_index(const std::string & name) const;
  int frame_index(const std::string & name) const;

  /// Name of the body (link) that a frame is fixed to; "world" for the world.
  std::string body_of_frame(int frame) const { return do_body_of_frame(frame); }

  /// A configuration at which every evaluation succeeds: zeros, or as a description draws it.
  Eigen::VectorXd neutral_coordinates() const { return do_neutral_coordinates(); }

  /// Allocates scratch memory and results for one thread. Real-time safe: no.
  std::unique_ptr<SystemData> make_data() const { return do_make_data(); }

  /// Evaluates C, D, q̇, the bias of q̈ and the motion of frames at a state, and stores the state.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput, kNonFiniteResult, kSingularKinematics,
  /// kUserFunctionFailed. On failure the data must not be used. Real-time safe: yes.
  [[nodiscard]] Status update_kinematics(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    SystemData & data) const noexcept CD_NONBLOCKING;

  /// Evaluates Q, P and G at the state of the last update_kinematics.
  /// Statuses: kOk, kNonFiniteResult, kUserFunctionFailed. Real-time safe: yes.
  [[nodiscard]] Status update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING;

  /// Normalises the quaternions in q (nq) to unit length. Real-time safe: yes.
  void normalise(VectorRef q) const noexcept CD_NONBLOCKING { do_normalise(q); }

  /// Motion of a frame at the state of the last update_kinematics. Real-time safe: yes.
  void frame_kinematics(const SystemData & data, int frame, FrameKinematics & out) const noexcept
    CD_NONBLOCKING
  {
    do_frame_kinematics(data, frame, out);
  }

  /// Jacobian of a frame's origin velocity and angular velocity, expressed in the world, at the
  /// state of the last update_kinematics; `out` is 6 × n. Real-time safe: yes.
  void frame_jacobian(const SystemData & data, int frame, Matrix6X & out) const noexcept
    CD_NONBLOCKING
  {
    do_frame_jacobian(data, frame, out);
  }

  /// Magnitudes of the columns of frame_jacobian that are well above round-off: row 0 of `out`
  /// (6 × n) for the linear velocity of the frame's origin, row 1 for the angular velocity; the
  /// other rows are scratch. They are the norms of the columns. Where the lever arm of a joint is a
  /// small difference of link lengths, a fraction of these lengths is used instead. Real-time safe:
  /// yes.
  void frame_reach(const SystemData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING
  {
    do_frame_reach(data, frame, out);
  }

  /// Returns whether a coordinate belongs to a joint with one degree of freedom between two bodies.
  /// A generalized force on it is then a wrench on both bodies.
  bool has_joint(int coordinate) const { return do_has_joint(coordinate); }
  /// Names of the joint's child (a) and parent (b) body. @pre has_joint(coordinate).
  std::pair<std::string, std::string> joint_bodies(int coordinate) const
  {
    return do_joint_bodies(coordinate);
  }
  /// Wrench that a unit generalized force on `coordinate` exerts on the joint's child body, about
  /// the joint's origin. The parent body receives the opposite wrench. Real-time safe: yes.
  void joint_wrench(const SystemData & data, int coordinate, Wrench & out) const noexcept
    CD_NONBLOCKING
  {
    do_joint_wrench(data, coordinate, out);
  }

  /// Speeds that the rate of a coordinate can depend on, at any state. By default all speeds.
  std::vector<int> speeds_of_coordinate(int coordinate) const
  {
    return do_speeds_of_coordinate(coordinate);
  }

  /// Kinetic energy at the state of the last update_dynamics [J]. Real-time safe: yes.
  double kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING
  {
    return do_kinetic_energy(data);
  }
  /// Potential energy (gravity, springs) at the state of the last update_dynamics [J]; 0 if the
  /// system has none. Real-time safe: yes.
  double potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING
  {
    return do_potential_energy(data);
  }

  /// Power of everything that acts at the state of the last solve, with its accelerations u̇ (n),
  /// inputs τ (l) and constraint force F^c (n). Rows also act on driven speeds, by A_dᵀ λ; that
  /// power is part of `driven` here, and the caller moves it to `constraints`. Returns false and
  /// writes nothing if the system has no energy function. Real-time safe: yes.
  [[nodiscard]] bool power(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    const ConstVectorRef & constraint_force, SystemPower & out) const noexcept CD_NONBLOCKING
  {
    return do_power(data, acceleration, inputs, constraint_force, out);
  }

  /// Analytic derivatives at the state of the last update_dynamics, with accelerations u̇ (n) and
  /// inputs τ (l) held constant. Returns false and writes nothing if the system has none;
  /// `differentiate` of derivatives.hpp then uses finite differences. Real-time safe: no, like the
  /// three functions below.
  [[nodiscard]] bool differentiate(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    SystemDerivatives & out) const
  {
    return do_differentiate(data, acceleration, inputs, out);
  }
  /// Derivatives of the motion of a frame, with the u̇ of the last `differentiate`.
  /// @pre `differentiate` returned true.
  void frame_derivatives(const SystemData & data, int frame, FrameDerivatives & out) const
  {
    do_frame_derivatives(data, frame, out);
  }
  /// Adds the derivatives (n × n) of the generalized force Jᵀ (force; torque) that acts at a frame,
  /// with force [N] and torque [N m] constant in world axes. @pre `differentiate` returned true.
  void add_frame_force_derivatives(
    const SystemData & data, int frame, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, MatrixRef out) const
  {
    do_add_frame_force_derivatives(data, frame, force, torque, out);
  }
  /// Adds the derivatives (n × n) of Cᵀ y, the generalized force of constant forces y (nq) on the
  /// coordinates. @pre `differentiate` returned true.
  void add_coordinate_force_derivatives(
    const SystemData & data, const ConstVectorRef & y, MatrixRef out) const
  {
    do_add_coordinate_force_derivatives(data, y, out);
  }

protected:
  System() = default;
  /// The constructor of a derived class calls this once.
  /// @throw std::invalid_argument for empty or duplicate names.
  void set_names(
    std::vector<std::string> coordinates, std::vector<std::string> speeds,
    std::vector<std::string> inputs, std::vector<std::string> frames = {});

  /// The constructor of a derived class may call this after set_names. @throw std::invalid_argument
  /// for indices that are out of range or repeated, or that name all speeds.
  void set_driven_speeds(std::vector<int> speeds);

  virtual std::unique_ptr<SystemData> do_make_data() const;
  /// terms.time, .coordinates and .speeds are already set and finite. Returns kNonFiniteResult if a
  /// result is not finite.
  virtual Status do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING = 0;
  virtual Status do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING = 0;
  virtual void do_normalise(VectorRef q) const noexcept CD_NONBLOCKING;
  virtual Eigen::VectorXd do_neutral_coordinates() const;
  virtual std::string do_body_of_frame(int frame) const;
  virtual void do_frame_kinematics(
    const SystemData & data, int frame, FrameKinematics & out) const noexcept CD_NONBLOCKING;
  virtual void do_frame_jacobian(const SystemData & data, int frame, Matrix6X & out) const noexcept
    CD_NONBLOCKING;
  /// By default the norms of the columns of frame_jacobian.
  virtual void do_frame_reach(const SystemData & data, int frame, Matrix6X & out) const noexcept
    CD_NONBLOCKING;
  virtual bool do_has_joint(int coordinate) const;
  virtual std::pair<std::string, std::string> do_joint_bodies(int coordinate) const;
  virtual void do_joint_wrench(const SystemData & data, int coordinate, Wrench & out) const noexcept
    CD_NONBLOCKING;
  virtual std::vector<int> do_speeds_of_coordinate(int coordinate) const;
  virtual double do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING;
  virtual double do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING;
  virtual bool do_power(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    const ConstVectorRef & constraint_force, SystemPower & out) const noexcept CD_NONBLOCKING;
  virtual bool do_differentiate(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    SystemDerivatives & out) const;
  virtual void do_frame_derivatives(
    const SystemData & data, int frame, FrameDerivatives & out) const;
  virtual void do_add_frame_force_derivatives(
    const SystemData & data, int frame, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, MatrixRef out) const;
  virtual void do_add_coordinate_force_derivatives(
    const SystemData & data, const ConstVectorRef & y, MatrixRef out) const;
  virtual const RigidBodySystem * do_as_robot() const noexcept CD_NONBLOCKING { return nullptr; }
  virtual const System & do_underlying() const noexcept CD_NONBLOCKING { return *this; }

private:
  std::vector<std::string> coordinate_names_;
  std::vector<std::string> speed_names_;
  std::vector<std::string> input_names_;
  std::vector<std::string> frame_names_;
  std::vector<int> driven_speeds_;
};

}  // namespace constrained_dynamics
