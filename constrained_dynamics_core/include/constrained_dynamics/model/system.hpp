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
  Eigen::MatrixXd mass_matrix;        ///< Q (n × n); accelerations in active forces are moved here
  Eigen::VectorXd force;         ///< P (n): active forces minus velocity terms, inputs excluded
  Eigen::MatrixXd input_matrix;  ///< G (n × l)
};

/// Whether C, D, q̇ and the bias of q̈ are finite. Real-time safe: yes.
inline bool has_finite_kinematics(const SystemTerms & terms) noexcept
{
  return terms.kinematic_matrix.allFinite() && terms.kinematic_drift.allFinite() &&
         terms.rates.allFinite() && terms.acceleration_bias.allFinite();
}

/// Motion of a frame F in the world W; everything is expressed in W.
struct FrameKinematics
{
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();       ///< R_WF
  Eigen::Vector3d position = Eigen::Vector3d::Zero();           ///< p_WF [m]
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();           ///< of the origin [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();   ///< [rad/s]
  Eigen::Vector3d acceleration_bias = Eigen::Vector3d::Zero();  ///< classical, u̇ = 0 [m/s²]
  Eigen::Vector3d angular_acceleration_bias = Eigen::Vector3d::Zero();  ///< u̇ = 0 [rad/s²]
};

/// Derivatives of a system at one state while accelerations u̇ and inputs τ are kept (E17).
///
/// Directions of the coordinates are those of the speeds: column k of a matrix `…_q` is the change
/// along δq = C e_k. Quaternions are not independent numbers, so ∂/∂q itself would mean nothing for
/// them; where nq = n, ∂/∂q is this times C⁻¹.
struct SystemDerivatives
{
  Eigen::VectorXd acceleration;             ///< u̇ (n) that was kept
  Eigen::VectorXd coordinate_acceleration;  ///< q̈ (nq) that belongs to it
  Eigen::MatrixXd residual_q;  ///< of Q u̇ − P − G τ (n × n); external wrenches are kept
  Eigen::MatrixXd residual_u;  ///< ∂/∂u of the same (n × n)
  Eigen::MatrixXd rate_q;      ///< of q̇ (nq × n); ∂q̇/∂u is C
  Eigen::MatrixXd coordinate_acceleration_q;  ///< of q̈ (nq × n)
  Eigen::MatrixXd coordinate_acceleration_u;  ///< ∂q̈/∂u (nq × n)
  /// T (n × n) of (E18): a change δ of the coordinates in the directions of the speeds and a change
  /// δu of the speeds move on as δ̇ = T δ + δu.
  Eigen::MatrixXd transport;

  /// Takes the memory and sets everything to zero.
  void resize(Eigen::Index coordinate_count, Eigen::Index speed_count);
};

/// Derivatives of the motion of a frame in the world at one state while u̇ is kept; rows 0 to 2
/// linear, rows 3 to 5 angular, columns as in SystemDerivatives.
struct FrameDerivatives
{
  Eigen::Vector3d acceleration = Eigen::Vector3d::Zero();          ///< classical, u̇ included
  Eigen::Vector3d angular_acceleration = Eigen::Vector3d::Zero();  ///< u̇ included
  Matrix6X jacobian;        ///< of position and orientation, and ∂/∂u of the velocities
  Matrix6X velocity_q;      ///< of velocity and angular velocity
  Matrix6X acceleration_q;  ///< of the accelerations
  Matrix6X acceleration_u;  ///< ∂/∂u of the accelerations

  /// Takes the memory and sets everything to zero.
  void resize(Eigen::Index speed_count);
};

class RigidBodySystem;

/// A wrench on a body: force and torque about `point`, all expressed in the world.
struct Wrench
{
  Eigen::Vector3d point = Eigen::Vector3d::Zero();   ///< [m]
  Eigen::Vector3d force = Eigen::Vector3d::Zero();   ///< [N]
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();  ///< [N m]
};

/// Power of what acts on a system, by kind [W]; with the meaning of the same names in Work.
/// d(T + V)/dt is the sum.
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

/// The scratch and the results of one thread's evaluations of a System. Systems derive from it.
class CONSTRAINED_DYNAMICS_EXPORT SystemData
{
public:
  explicit SystemData(int coordinate_count, int speed_count, int input_count);
  virtual ~SystemData();
  SystemData(const SystemData &) = delete;
  SystemData & operator=(const SystemData &) = delete;

  SystemTerms terms;
};

/// The unconstrained system S_h of the seeds. Constant after building; may be shared by threads,
/// each with a SystemData of its own.
///
/// Public methods check and call the protected `do_…` of the derived class.
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

  /// Speeds whose accelerations are what inputs and P say, whatever constraints do: controls that
  /// are states, motions that a drive imposes. Constraint forces do not act on them (virtual
  /// displacements keep them), Q is diagonal and positive there. Ascending; none for most systems.
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

  /// A configuration that every evaluation accepts: zeros, unit quaternions.
  Eigen::VectorXd neutral_coordinates() const { return do_neutral_coordinates(); }

  /// Scratch and results for one thread. Real-time safe: no.
  std::unique_ptr<SystemData> make_data() const { return do_make_data(); }

  /// Fills time, coordinates, speeds, C, D, q̇, the bias of q̈ and the kinematics of frames.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput, kNonFiniteResult, kSingularKinematics,
  /// kUserFunctionFailed. On failure the data must not be used. Real-time safe: yes.
  [[nodiscard]] Status update_kinematics(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    SystemData & data) const noexcept CD_NONBLOCKING;

  /// Fills Q, P and G for the state of the last update_kinematics.
  /// Statuses: kOk, kNonFiniteResult, kUserFunctionFailed. Real-time safe: yes.
  [[nodiscard]] Status update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING;

  /// Brings q back to its manifold (unit quaternions). Real-time safe: yes.
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

  /// Sizes of the columns of frame_jacobian that rounding is far below: row 0 of `out` (6 × n) for
  /// the linear velocity of the frame's origin, row 1 for the angular velocity; the other rows are
  /// scratch. Norms of the columns, but where the lever of a joint is a small difference of link
  /// lengths, a fraction of these lengths. Real-time safe: yes.
  void frame_reach(const SystemData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING
  {
    do_frame_reach(data, frame, out);
  }

  /// Whether coordinate `coordinate` belongs to a joint of one degree of freedom between two
  /// bodies, so that a generalized force on it is a wrench on them.
  bool has_joint(int coordinate) const { return do_has_joint(coordinate); }
  /// Names of the joint's child (a) and parent (b) body. Only where has_joint.
  std::pair<std::string, std::string> joint_bodies(int coordinate) const
  {
    return do_joint_bodies(coordinate);
  }
  /// Wrench on the joint's child body that a unit generalized force on `coordinate` exerts, about
  /// the joint's origin; the parent gets the opposite. Real-time safe: yes.
  void joint_wrench(const SystemData & data, int coordinate, Wrench & out) const noexcept
    CD_NONBLOCKING
  {
    do_joint_wrench(data, coordinate, out);
  }

  /// The speeds that the rate of a coordinate depends on, at any state; all of them where the
  /// system does not tell.
  std::vector<int> speeds_of_coordinate(int coordinate) const
  {
    return do_speeds_of_coordinate(coordinate);
  }

  /// Kinetic energy at the state of the last update_dynamics [J]. Real-time safe: yes.
  double kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING
  {
    return do_kinetic_energy(data);
  }
  /// Potential energy (gravity, springs) at the state of the last update_dynamics [J]; 0 where the
  /// system states none. Real-time safe: yes.
  double potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING
  {
    return do_potential_energy(data);
  }

  /// Power of all that acts at the state of the last solve, with its accelerations u̇ (n), inputs
  /// τ (l) and constraint force F^c (n); rows that driven speeds appear in are the caller's
  /// (constraints act on them by A_dᵀ λ, which is in `driven` here). False, with nothing written,
  /// where the system does not know its energy. Real-time safe: yes.
  [[nodiscard]] bool power(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    const ConstVectorRef & constraint_force, SystemPower & out) const noexcept CD_NONBLOCKING
  {
    return do_power(data, acceleration, inputs, constraint_force, out);
  }

  /// Analytic derivatives at the state of the last update_dynamics, with accelerations u̇ (n) and
  /// inputs τ (l) kept. False, with nothing written, for systems that have none: `differentiate` of
  /// derivatives.hpp takes differences then. Real-time safe: no, none of these is.
  [[nodiscard]] bool differentiate(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    SystemDerivatives & out) const
  {
    return do_differentiate(data, acceleration, inputs, out);
  }
  /// Of a frame, after `differentiate` gave true, with the u̇ of that call.
  void frame_derivatives(const SystemData & data, int frame, FrameDerivatives & out) const
  {
    do_frame_derivatives(data, frame, out);
  }
  /// Adds the derivatives (n × n) of the generalized force Jᵀ (force; torque) of a frame, force and
  /// torque kept in the world. After `differentiate` gave true.
  void add_frame_force_derivatives(
    const SystemData & data, int frame, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, MatrixRef out) const
  {
    do_add_frame_force_derivatives(data, frame, force, torque, out);
  }
  /// Adds the derivatives (n × n) of Cᵀ y, the generalized force of forces y (nq) on the
  /// coordinates, y kept. After `differentiate` gave true.
  void add_coordinate_force_derivatives(
    const SystemData & data, const ConstVectorRef & y, MatrixRef out) const
  {
    do_add_coordinate_force_derivatives(data, y, out);
  }

protected:
  System() = default;
  /// To be called once by the derived class's constructor.
  /// @throw std::invalid_argument for empty or duplicate names.
  void set_names(
    std::vector<std::string> coordinates, std::vector<std::string> speeds,
    std::vector<std::string> inputs, std::vector<std::string> frames = {});

  /// To be called by the constructor, after set_names. @throw std::invalid_argument for indices out
  /// of range, twice the same or all of the speeds.
  void set_driven_speeds(std::vector<int> speeds);

  virtual std::unique_ptr<SystemData> do_make_data() const;
  /// terms.time, .coordinates and .speeds are already set and finite. What is filled must be
  /// finite, else kNonFiniteResult.
  virtual Status do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING = 0;
  virtual Status do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING = 0;
  virtual void do_normalise(VectorRef q) const noexcept CD_NONBLOCKING;
  virtual Eigen::VectorXd do_neutral_coordinates() const;
  virtual std::string do_body_of_frame(int frame) const;
  virtual void do_frame_kinematics(
    const SystemData & data, int frame, FrameKinematics & out) const noexcept CD_NONBLOCKING;
  virtual void do_frame_jacobian(const SystemData & data, int frame, Matrix6X & out) const noexcept
    CD_NONBLOCKING;
  /// The norms of the columns of frame_jacobian, unless the system knows better.
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
