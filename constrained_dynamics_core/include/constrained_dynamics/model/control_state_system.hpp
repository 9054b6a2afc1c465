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
/// Controls as states (E16). Rows that contain controls then become ordinary constraint rows.

namespace constrained_dynamics
{

/// The controls that become states.
struct ControlStates
{
  /// Inputs τ that become speeds, while their rates become the inputs. The speed has the name of τ,
  /// with the prefix `tau_` if a coordinate, a speed or a rate has that name already. The input is
  /// named `d` + that speed.
  std::vector<std::string> first;
  /// Coordinates τ, with the speed `d` + τ, whose second derivatives become the inputs, named
  /// `dd` + τ. For controls in the kinematics, and for motions that a stiff drive imposes on a
  /// joint.
  std::vector<std::string> second;
};

/// A system whose controls are states. The wrapped system is Q u̇ = P + G τ with τ = (τ₁, τ₀),
/// where τ₁ are the inputs in `first`, and u = (u_f, u_d), where u_d are the speeds of `second`.
/// This system is
///     Q_ff u̇_f = P_f + G_f1 τ₁ + G_f0 τ₀ − Q_fd ü,   u̇_d = ü,   τ̇₁ = v,
/// with the inputs τ₀ (the remaining ones), v and ü, in this order. u_d and τ₁ are driven speeds
/// (System::driven_speeds): constraint forces do not act on them. Coordinates, frames, joints and
/// energies are those of the wrapped system.
class CONSTRAINED_DYNAMICS_EXPORT ControlStateSystem : public System
{
public:
  /// @throw std::invalid_argument for a null system, a system that already has driven speeds,
  /// unknown or repeated names, a coordinate whose rate is not a speed, and if every speed would be
  /// driven.
  ControlStateSystem(std::shared_ptr<const System> wrapped, ControlStates states);
  ~ControlStateSystem() override;

  const System & wrapped() const { return *wrapped_; }
  const std::shared_ptr<const System> & shared_wrapped() const { return wrapped_; }
  /// The wrapped system's part of the data of this system, e.g. for external wrenches on a robot.
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
  std::vector<int> kept_;     // the other inputs
  std::vector<int> imposed_;  // speeds of `second`
};

/// Makes all inputs of a system states of first order: τ become speeds, τ̇ the inputs. Throws as
/// the constructor does.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const ControlStateSystem> make_control_state_system(
  std::shared_ptr<const System> system);

/// Adds a coordinate for each control of second order that has none yet, so that any formula may
/// use it, including those of the kinematics. A control that is an input keeps its coefficients.
CONSTRAINED_DYNAMICS_EXPORT void add_control_coordinates(
  const std::vector<std::string> & controls, AnalyticDescription & description);

/// Builds a system from formulas, after add_control_coordinates, and makes its controls states.
/// Throws as make_analytic_system and the constructor do.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const ControlStateSystem> make_control_state_system(
  AnalyticDescription description, ControlStates states);

}  // namespace constrained_dynamics
