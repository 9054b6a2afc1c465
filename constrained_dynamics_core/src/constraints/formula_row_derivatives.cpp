// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <array>
#include <limits>

#include "constrained_dynamics/constraints/formula_binding.hpp"

namespace constrained_dynamics
{

struct FormulaBinding::VariableDerivatives
{
  /// x, ẋ and ẍ; zero where there is none.
  std::array<double, 3> number{0.0, 0.0, 0.0};
  std::array<Eigen::RowVectorXd, 3> by_q;
  std::array<Eigen::RowVectorXd, 3> by_u;
  Eigen::RowVectorXd jacobian;  // ∂/∂u of the number that multipliers of its level act on

  /// All variables of a binding.
  static std::vector<VariableDerivatives> of_all(
    const FormulaBinding & binding, const SystemData & data, const SystemDerivatives & derivatives);
  /// Derivatives of the rows: gradients along the motion, differentiated in time as often as the
  /// level requires. Returns λ · ∂/∂x_k for each variable.
  static std::vector<double> add_rows(
    const FormulaBinding & binding, const std::vector<VariableDerivatives> & variables,
    FormulaLevel level, const ConstVectorRef & multipliers, RowDerivatives & out);
  /// Adds the change of Aᵀ λ with the Jacobians of the variables held constant.
  static void add_force_changes(
    const FormulaBinding & binding, const std::vector<VariableDerivatives> & variables,
    FormulaLevel level, const ConstVectorRef & multipliers, RowDerivatives & out);
  /// Adds the change of Aᵀ λ with `force` = λ · ∂/∂x held constant.
  static void add_jacobian_changes(
    const FormulaBinding & binding, const SystemData & data, const std::vector<double> & force,
    FormulaLevel level, RowDerivatives & out);
};

FormulaBinding::VariableDerivatives FormulaBinding::differentiate_variable(
  const SystemData & data, const SystemDerivatives & derivatives, const FrameKinematics & frame,
  const FrameDerivatives & moved, std::size_t k) const
{
  const SystemTerms & terms = data.terms;
  const Eigen::Index i = variables_[k].index;
  const Eigen::Index c = variables_[k].component;
  const Eigen::Index n = system_->speed_count();
  const Eigen::RowVectorXd zero = Eigen::RowVectorXd::Zero(n);
  VariableDerivatives x;
  x.by_q = {zero, zero, zero};
  x.by_u = {zero, zero, zero};
  x.jacobian = zero;
  // A quantity and its derivatives in time: position, velocity, acceleration.
  const auto set = [&](int at, double number, const auto & by_q, const auto & by_u)
  {
    if (at >= 0)
    {
      const std::size_t place = static_cast<std::size_t>(at);
      x.number[place] = number;
      x.by_q[place] = by_q;
      x.by_u[place] = by_u;
    }
  };
  const auto coordinate = [&](int first)
  {
    x.jacobian = terms.kinematic_matrix.row(i);
    set(first, terms.coordinates(i), terms.kinematic_matrix.row(i), zero);
    set(first + 1, terms.rates(i), derivatives.rate_q.row(i), terms.kinematic_matrix.row(i));
    set(
      first + 2, derivatives.coordinate_acceleration(i),
      derivatives.coordinate_acceleration_q.row(i), derivatives.coordinate_acceleration_u.row(i));
  };
  const auto of_frame = [&](int first, Eigen::Index row, double velocity, double acceleration)
  {
    x.jacobian = moved.jacobian.row(row);
    if (first == 0)
    {
      set(0, frame.position(c), moved.jacobian.row(row), zero);
    }
    set(first + 1, velocity, moved.velocity_q.row(row), moved.jacobian.row(row));
    set(first + 2, acceleration, moved.acceleration_q.row(row), moved.acceleration_u.row(row));
  };
  switch (variables_[k].kind)
  {
    case Kind::kTime:
      x.number = {terms.time, 1.0, 0.0};
      break;
    case Kind::kCoordinate:
      coordinate(0);
      break;
    case Kind::kRate:
      coordinate(-1);
      break;
    case Kind::kCoordinateAcceleration:
      coordinate(-2);
      break;
    case Kind::kSpeed:
      x.jacobian(i) = 1.0;
      set(0, terms.speeds(i), zero, x.jacobian);
      set(1, derivatives.acceleration(i), zero, zero);
      break;
    case Kind::kSpeedAcceleration:
      x.jacobian(i) = 1.0;
      set(0, derivatives.acceleration(i), zero, zero);
      break;
    case Kind::kFramePosition:
      of_frame(0, c, frame.velocity(c), moved.acceleration(c));
      break;
    case Kind::kFrameVelocity:
      of_frame(-1, c, frame.velocity(c), moved.acceleration(c));
      break;
    case Kind::kFrameAngularVelocity:
      of_frame(-1, c + 3, frame.angular_velocity(c), moved.angular_acceleration(c));
      break;
    case Kind::kUnused:
      break;
  }
  return x;
}

std::vector<FormulaBinding::VariableDerivatives> FormulaBinding::VariableDerivatives::of_all(
  const FormulaBinding & binding, const SystemData & data, const SystemDerivatives & derivatives)
{
  const std::size_t count = static_cast<std::size_t>(binding.variable_count());
  std::vector<VariableDerivatives> variables;
  FrameKinematics frame;
  FrameDerivatives moved;
  moved.resize(binding.system_->speed_count());
  for (std::size_t k = 0; k < count; ++k)
  {
    const Kind kind = binding.variables_[k].kind;
    if (
      kind == Kind::kFramePosition || kind == Kind::kFrameVelocity ||
      kind == Kind::kFrameAngularVelocity)
    {
      binding.system_->frame_kinematics(data, binding.variables_[k].index, frame);
      binding.system_->frame_derivatives(data, binding.variables_[k].index, moved);
    }
    variables.push_back(binding.differentiate_variable(data, derivatives, frame, moved, k));
  }
  return variables;
}

std::vector<double> FormulaBinding::VariableDerivatives::add_rows(
  const FormulaBinding & binding, const std::vector<VariableDerivatives> & variables,
  FormulaLevel level, const ConstVectorRef & multipliers, RowDerivatives & out)
{
  const std::size_t count = variables.size();
  const std::size_t tape_size = static_cast<std::size_t>(binding.program_.tape_size());
  std::vector<HyperDual> x(count);
  for (std::size_t k = 0; k < count; ++k)
  {
    const std::array<double, 3> & number = variables[k].number;
    x[k] = {number[0], number[1], number[1], number[2]};
  }
  std::vector<HyperDual> tape(tape_size);
  std::vector<HyperDual> adjoint(tape_size);
  std::vector<HyperDual> gradient(count);
  std::vector<double> force(count, 0.0);  // λ · ∂/∂x_k
  binding.program_.forward(x.data(), tape.data());
  for (int row = 0; row < binding.output_count(); ++row)
  {
    binding.program_.reverse(tape.data(), adjoint.data(), row, gradient.data());
    for (const int variable : binding.program_.variables_of(row))
    {
      const std::size_t k = static_cast<std::size_t>(variable);
      const HyperDual & g = gradient[k];
      const VariableDerivatives & v = variables[k];
      force[k] += multipliers(row) * g.value;
      if (level == FormulaLevel::kPosition)
      {
        out.velocity_q.row(row) += g.first * v.by_q[0] + g.value * v.by_q[1];
        out.residual_q.row(row) +=
          g.mixed * v.by_q[0] + 2.0 * g.first * v.by_q[1] + g.value * v.by_q[2];
        out.residual_u.row(row) +=
          g.mixed * v.by_u[0] + 2.0 * g.first * v.by_u[1] + g.value * v.by_u[2];
      }
      else if (level == FormulaLevel::kVelocity)
      {
        out.velocity_q.row(row) += g.value * v.by_q[0];
        out.residual_q.row(row) += g.first * v.by_q[0] + g.value * v.by_q[1];
        out.residual_u.row(row) += g.first * v.by_u[0] + g.value * v.by_u[1];
      }
      else
      {
        out.residual_q.row(row) += g.value * v.by_q[0];
        out.residual_u.row(row) += g.value * v.by_u[0];
      }
    }
  }
  return force;
}

void FormulaBinding::VariableDerivatives::add_force_changes(
  const FormulaBinding & binding, const std::vector<VariableDerivatives> & variables,
  FormulaLevel level, const ConstVectorRef & multipliers, RowDerivatives & out)
{
  const std::size_t count = variables.size();
  const std::size_t tape_size = static_cast<std::size_t>(binding.program_.tape_size());
  std::vector<Dual> dual_x(count);
  std::vector<Dual> dual_tape(tape_size);
  std::vector<Dual> dual_adjoint(tape_size);
  std::vector<Dual> dual_gradient(count);
  for (std::size_t along = 0; along < count; ++along)
  {
    for (std::size_t k = 0; k < count; ++k)
    {
      dual_x[k] = Dual(variables[k].number[0], k == along ? 1.0 : 0.0);
    }
    binding.program_.forward(dual_x.data(), dual_tape.data());
    for (int row = 0; row < binding.output_count(); ++row)
    {
      binding.program_.reverse(dual_tape.data(), dual_adjoint.data(), row, dual_gradient.data());
      for (const int variable : binding.program_.variables_of(row))
      {
        const std::size_t k = static_cast<std::size_t>(variable);
        const double change = multipliers(row) * dual_gradient[k].derivative;
        if (change != 0.0 && level_of(binding.variables_[k].kind) == level)
        {
          out.force_q += change * variables[k].jacobian.transpose() * variables[along].by_q[0];
          out.force_u += change * variables[k].jacobian.transpose() * variables[along].by_u[0];
        }
      }
    }
  }
}

void FormulaBinding::VariableDerivatives::add_jacobian_changes(
  const FormulaBinding & binding, const SystemData & data, const std::vector<double> & force,
  FormulaLevel level, RowDerivatives & out)
{
  const std::size_t count = force.size();
  Eigen::VectorXd on_coordinates = Eigen::VectorXd::Zero(binding.system_->coordinate_count());
  for (std::size_t k = 0; k < count; ++k)
  {
    if (level_of(binding.variables_[k].kind) != level)
    {
      continue;
    }
    const Eigen::Vector3d direction =
      force[k] * Eigen::Vector3d::Unit(binding.variables_[k].component);
    switch (binding.variables_[k].kind)
    {
      case Kind::kCoordinate:
      case Kind::kRate:
      case Kind::kCoordinateAcceleration:
        on_coordinates(binding.variables_[k].index) += force[k];
        break;
      case Kind::kFramePosition:
      case Kind::kFrameVelocity:
        binding.system_->add_frame_force_derivatives(
          data, binding.variables_[k].index, direction, Eigen::Vector3d::Zero(), out.force_q);
        break;
      case Kind::kFrameAngularVelocity:
        binding.system_->add_frame_force_derivatives(
          data, binding.variables_[k].index, Eigen::Vector3d::Zero(), direction, out.force_q);
        break;
      default:
        break;
    }
  }
  binding.system_->add_coordinate_force_derivatives(data, on_coordinates, out.force_q);
}

void FormulaBinding::differentiate_rows(
  const SystemData & data, const SystemDerivatives & derivatives, FormulaLevel level,
  const ConstVectorRef & multipliers, RowDerivatives & out) const
{
  using Variables = VariableDerivatives;
  const std::vector<Variables> variables = Variables::of_all(*this, data, derivatives);
  const std::vector<double> force = Variables::add_rows(*this, variables, level, multipliers, out);
  // Aᵀ λ = Σ J_kᵀ y_k over the variables of the level, y = λ · ∂/∂x: first y changes, then J.
  Variables::add_force_changes(*this, variables, level, multipliers, out);
  Variables::add_jacobian_changes(*this, data, force, level, out);
}

}  // namespace constrained_dynamics
