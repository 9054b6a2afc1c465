// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/system.hpp"

/// @file
/// Controls as states (E16): rows that contain the controls become ordinary rows.

namespace constrained_dynamics
{

/// Which controls are states.
struct ControlStates
{
  /// Inputs τ whose rates become the inputs. τ is a speed of the same name (`tau_` in front where a
  /// coordinate, a speed or a rate has that name already); the input is `d` + that speed.
  std::vector<std::string> first;
  /// Coordinates τ, with the speed `d` + τ, whose second derivatives become the inputs, named `dd`
  /// + τ. Controls of the kinematics; motions that a stiff drive imposes on a joint.
  std::vector<std::string> second;
};

/// A system whose controls are states. With the wrapped system Q u̇ = P + G τ, τ = (τ₁, τ₀), and the
/// speeds u = (u_f, u_d), u_d those of `second`, this is
///     Q_ff u̇_f = P_f + G_f1 τ₁ + G_f0 τ₀ − Q_fd ü,   u̇_d = ü,   τ̇₁ = v,
/// with the inputs τ₀ (those that are left), v and ü in this order. u_d and τ₁ are driven speeds
/// (System::driven_speeds): no constraint force acts on them. Coordinates, frames, joints and
/// energies are those of the wrapped system.
class CONSTRAINED_DYNAMICS_EXPORT ControlStateSystem : public System
{
public:
  /// @throw std::invalid_argument for a null system, one that has driven speeds already, names that
  /// are unknown or given twice, a coordinate whose rate is not a speed of its own, and where
  /// nothing at all is left undriven.
  ControlStateSystem(std::shared_ptr<const System> wrapped, ControlStates states);
  ~ControlStateSystem() override;

  const System & wrapped() const { return *wrapped_; }
  const std::shared_ptr<const System> & shared_wrapped() const { return wrapped_; }
  /// The data of the wrapped system within data of this one, e.g. for external wrenches of a robot.
  /// Real-time safe: yes.
  static SystemData & wrapped_data(SystemData & data) noexcept CD_NONBLOCKING;
  static const SystemData & wrapped_data(const SystemData & data) noexcept CD_NONBLOCKING;

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
  std::vector<int> do_speeds_of_coordinate(int coordinate) const override;
  double do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING override;
  double do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING override;
  bool do_power(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    const ConstVectorRef & constraint_force,
    SystemPower & out) const noexcept CD_NONBLOCKING override;
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
  const System & do_underlying() const noexcept CD_NONBLOCKING override { return *wrapped_; }

private:
  void fill_inputs(const SystemData & data, const ConstVectorRef & inputs, VectorRef out)
    const noexcept CD_NONBLOCKING;

  std::shared_ptr<const System> wrapped_;
  std::vector<int> first_;    // inputs of the wrapped system that are states here
  std::vector<int> kept_;     // the other ones
  std::vector<int> imposed_;  // speeds of `second`
};

/// Makes all inputs of a system states, first order: τ are speeds, τ̇ the inputs. Throws as the
/// constructor.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const ControlStateSystem> make_control_state_system(
  std::shared_ptr<const System> system);

/// Adds coordinates for controls of second order that are none yet, so that any formula may use
/// them, the kinematics included. Those that are inputs act with their coefficients as before.
CONSTRAINED_DYNAMICS_EXPORT void add_control_coordinates(
  const std::vector<std::string> & controls, AnalyticDescription & description);

/// Makes a system from formulas, with `add_control_coordinates`, and its controls states. Throws as
/// make_analytic_system and the constructor.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const ControlStateSystem> make_control_state_system(
  AnalyticDescription description, ControlStates states);

}  // namespace constrained_dynamics
