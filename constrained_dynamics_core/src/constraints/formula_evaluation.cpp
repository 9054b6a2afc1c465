// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

/// @file
/// Values and derivatives of bound formulas at a state.

#include <algorithm>
#include <cmath>
#include <limits>

#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constraints/formula_scratch.hpp"
#include "formula/sized.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr double kUnavailable = std::numeric_limits<double>::quiet_NaN();

bool is_finite(double x) noexcept { return std::isfinite(x); }
bool is_finite(const Dual & x) noexcept
{
  return std::isfinite(x.value) && std::isfinite(x.derivative);
}
bool is_finite(const Jet2 & x) noexcept
{
  return std::isfinite(x.value) && std::isfinite(x.first) && std::isfinite(x.second);
}

template <class S>
bool are_finite(const S * x, int count) noexcept
{
  return std::all_of(x, x + count, [](const S & value) { return is_finite(value); });
}

}  // namespace

int FormulaBinding::value_scratch_size() const noexcept CD_NONBLOCKING
{
  return variable_count() + program_.tape_size() + output_count();
}

int FormulaBinding::jet_scratch_size() const noexcept CD_NONBLOCKING
{
  return 3 * value_scratch_size();
}

int FormulaBinding::gradient_scratch_size() const noexcept CD_NONBLOCKING
{
  return variable_count() + 2 * program_.tape_size() + output_count() * variable_count();
}

template <class Assign>
void FormulaBinding::load(const SystemData & data, Assign assign) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  FrameKinematics frame;
  int frame_index = -1;
  const auto at_frame = [&](int index) -> const FrameKinematics &
  {
    if (index != frame_index)
    {
      system_->frame_kinematics(data, index, frame);
      frame_index = index;
    }
    return frame;
  };
  for (std::size_t k = 0; k < variables_.size(); ++k)
  {
    const int i = variables_[k].index;
    const int c = variables_[k].component;
    Numbers x{0.0, 0.0, 0.0};
    switch (variables_[k].kind)
    {
      case Kind::kTime:
        x = {terms.time, 1.0, 0.0};
        break;
      case Kind::kCoordinate:
        x = {terms.coordinates(i), terms.rates(i), terms.acceleration_bias(i)};
        break;
      case Kind::kRate:
        x = {terms.rates(i), terms.acceleration_bias(i), kUnavailable};
        break;
      case Kind::kSpeed:
        x = {terms.speeds(i), 0.0, kUnavailable};
        break;
      case Kind::kCoordinateAcceleration:
        x = {terms.acceleration_bias(i), kUnavailable, kUnavailable};
        break;
      case Kind::kSpeedAcceleration:
        x = {0.0, kUnavailable, kUnavailable};
        break;
      case Kind::kFramePosition:
        x = {at_frame(i).position(c), at_frame(i).velocity(c), at_frame(i).acceleration_bias(c)};
        break;
      case Kind::kFrameVelocity:
        x = {at_frame(i).velocity(c), at_frame(i).acceleration_bias(c), kUnavailable};
        break;
      case Kind::kFrameAngularVelocity:
        x = {
          at_frame(i).angular_velocity(c), at_frame(i).angular_acceleration_bias(c), kUnavailable};
        break;
      case Kind::kUnused:
        break;
    }
    assign(k, x);
  }
}

Status FormulaBinding::evaluate(
  const SystemData & data, double * scratch, double * out) const noexcept CD_NONBLOCKING
{
  double * variables = scratch;
  double * tape = variables + variable_count();
  double * outputs = tape + program_.tape_size();
  load(data, [&](std::size_t k, const Numbers & x) { variables[k] = x.value; });
  program_.evaluate(variables, tape, outputs);
  if (!are_finite(outputs, output_count()))
  {
    return Status::kNonFiniteResult;
  }
  std::copy(outputs, outputs + output_count(), out);
  return Status::kOk;
}

const Dual * FormulaBinding::evaluate_rates(
  const SystemData & data, double * scratch) const noexcept CD_NONBLOCKING
{
  Dual * variables = detail::scalars_at<Dual>(scratch, value_scratch_size());
  Dual * tape = variables + variable_count();
  Dual * outputs = tape + program_.tape_size();
  load(data, [&](std::size_t k, const Numbers & x) { variables[k] = Dual(x.value, x.first); });
  program_.evaluate(variables, tape, outputs);
  return are_finite(outputs, output_count()) ? outputs : nullptr;
}

const Jet2 * FormulaBinding::evaluate_jets(const SystemData & data, double * scratch) const noexcept
  CD_NONBLOCKING
{
  Jet2 * variables = detail::scalars_at<Jet2>(scratch, value_scratch_size());
  Jet2 * tape = variables + variable_count();
  Jet2 * outputs = tape + program_.tape_size();
  load(
    data,
    [&](std::size_t k, const Numbers & x) { variables[k] = Jet2(x.value, x.first, x.second); });
  program_.evaluate(variables, tape, outputs);
  return are_finite(outputs, output_count()) ? outputs : nullptr;
}

const Jet2 * FormulaBinding::evaluate_jets(double time, double * scratch) const noexcept
  CD_NONBLOCKING
{
  Jet2 * variables = detail::scalars_at<Jet2>(scratch, value_scratch_size());
  Jet2 * tape = variables + variable_count();
  Jet2 * outputs = tape + program_.tape_size();
  for (std::size_t k = 0; k < variables_.size(); ++k)
  {
    variables[k] = variables_[k].kind == Kind::kTime ? Jet2(time, 1.0, 0.0) : Jet2();
  }
  program_.evaluate(variables, tape, outputs);
  return are_finite(outputs, output_count()) ? outputs : nullptr;
}

const double * FormulaBinding::gradients(const SystemData & data, double * scratch) const noexcept
  CD_NONBLOCKING
{
  double * variables = scratch;
  double * tape = variables + variable_count();
  double * adjoint = tape + program_.tape_size();
  double * result = adjoint + program_.tape_size();
  load(data, [&](std::size_t k, const Numbers & x) { variables[k] = x.value; });
  program_.forward(variables, tape);
  for (int output = 0; output < output_count(); ++output)
  {
    program_.reverse(tape, adjoint, output, result + output * variable_count());
  }
  return are_finite(result, output_count() * variable_count()) ? result : nullptr;
}

void FormulaBinding::speed_jacobian(
  const SystemData & data, FormulaLevel level, const double * gradients,
  ConstraintScratch & scratch, MatrixRef out) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  int frame_index = -1;
  out.setZero();
  for (int k = 0; k < variable_count(); ++k)
  {
    const Variable & variable = variables_[static_cast<std::size_t>(k)];
    if (variable.kind == Kind::kUnused || level_of(variable.kind) != level)
    {
      continue;
    }
    const bool is_speed =
      variable.kind == Kind::kSpeed || variable.kind == Kind::kSpeedAcceleration;
    const bool is_frame = variable.kind == Kind::kFramePosition ||
                          variable.kind == Kind::kFrameVelocity ||
                          variable.kind == Kind::kFrameAngularVelocity;
    if (is_frame && variable.index != frame_index)
    {
      system_->frame_jacobian(data, variable.index, scratch.jacobian_a);
      frame_index = variable.index;
    }
    const int component =
      variable.component + (variable.kind == Kind::kFrameAngularVelocity ? 3 : 0);
    const auto weight = [&](int row) { return gradients[row * variable_count() + k]; };
    if (is_speed || is_frame)
    {
      for (int row = 0; row < output_count(); ++row)
      {
        if (weight(row) == 0.0)
        {
          continue;
        }
        if (is_speed)
        {
          out(row, variable.index) += weight(row);
        }
        else
        {
          out.row(row) += weight(row) * scratch.jacobian_a.row(component);
        }
      }
      continue;
    }
    // A coordinate or its rate: a row of C, which has few elements other than zero.
    for (Eigen::Index speed = 0; speed < out.cols(); ++speed)
    {
      const double element = terms.kinematic_matrix(variable.index, speed);
      for (int row = 0; row < output_count() && element != 0.0; ++row)
      {
        out(row, speed) += weight(row) * element;
      }
    }
  }
}

void FormulaBinding::row_sizes(
  const SystemData & data, FormulaLevel level, ConstraintScratch & scratch,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  using detail::Sized;
  const SystemTerms & terms = data.terms;
  const int n = variable_count();
  const int tape_size = program_.tape_size();
  Sized * variables = detail::scalars_at<Sized>(scratch.buffer.data(), 2 * n + 2 * tape_size);
  Sized * gradient = variables + n;
  Sized * tape = gradient + n;
  Sized * adjoint = tape + tape_size;
  load(data, [&](std::size_t k, const Numbers & x) { variables[k] = Sized(x.value); });
  program_.forward(variables, tape);
  auto sum = scratch.jacobian_b.row(0);
  for (int row = 0; row < output_count(); ++row)
  {
    program_.reverse(tape, adjoint, row, gradient);
    sum.setZero();
    int frame_index = -1;
    for (int k = 0; k < n; ++k)
    {
      const Variable & variable = variables_[static_cast<std::size_t>(k)];
      const double weight = gradient[k].size;
      if (variable.kind == Kind::kUnused || level_of(variable.kind) != level || weight == 0.0)
      {
        continue;
      }
      switch (variable.kind)
      {
        case Kind::kSpeed:
        case Kind::kSpeedAcceleration:
          sum(variable.index) += weight;
          break;
        case Kind::kFramePosition:
        case Kind::kFrameVelocity:
        case Kind::kFrameAngularVelocity:
          if (variable.index != frame_index)
          {
            system_->frame_reach(data, variable.index, scratch.jacobian_a);
            frame_index = variable.index;
          }
          sum +=
            weight * scratch.jacobian_a.row(variable.kind == Kind::kFrameAngularVelocity ? 1 : 0);
          break;
        default:  // a coordinate or its rate
          sum += weight * terms.kinematic_matrix.row(variable.index).cwiseAbs();
      }
    }
    out(row) = sum.norm();
  }
}

}  // namespace constrained_dynamics
