// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

/// @file
/// Derivatives of the rows that formulas describe, and of their forces.

#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constraints/formula_scratch.hpp"

namespace constrained_dynamics
{

/// One call of differentiate_rows: each variable with its rates, u̇ included, and their derivatives
/// by q (n) and by u (n). Everything lies in the scratch memory.
class FormulaBinding::RowDifferentiator
{
public:
  RowDifferentiator(
    const FormulaBinding & binding, const SystemData & data, FormulaLevel level,
    ConstraintScratch & scratch) noexcept CD_NONBLOCKING;

  /// Number of scratch doubles.
  static int scratch_size(const FormulaBinding & binding) noexcept CD_NONBLOCKING;

  void load(const SystemDerivatives & derivatives);
  /// Derivatives of the rows: gradients along the motion, differentiated in time as often as the
  /// level requires. Finds y = λ · ∂/∂x.
  void add_rows(const ConstVectorRef & multipliers, RowDerivatives & out);
  /// Adds the change of Aᵀ λ = Σ J_kᵀ y_k with the Jacobians J_k of the variables held constant.
  void add_force_changes(const ConstVectorRef & multipliers, RowDerivatives & out);
  /// Adds the change of Aᵀ λ with y held constant.
  void add_jacobian_changes(RowDerivatives & out);

private:
  using Columns = Eigen::Map<Eigen::MatrixXd>;

  static int tape_scratch_size(const FormulaBinding & binding) noexcept CD_NONBLOCKING
  {
    constexpr int kDoubles = sizeof(HyperDual) / sizeof(double);
    return kDoubles * 2 * (binding.variable_count() + binding.program_.tape_size());
  }

  const Variable & variable(Eigen::Index k) const
  {
    return binding_.variables_[static_cast<std::size_t>(k)];
  }
  auto by_q(Eigen::Index k, int order) { return by_q_.col(3 * k + order); }
  auto by_u(Eigen::Index k, int order) { return by_u_.col(3 * k + order); }
  void load_variable(
    const SystemDerivatives & derivatives, const FrameKinematics & frame, Eigen::Index k);
  void load_coordinate(const SystemDerivatives & derivatives, int first, Eigen::Index k);
  void load_frame(
    int first, Eigen::Index row, double velocity, double acceleration,
    const FrameKinematics & frame, Eigen::Index k);
  template <class ByQ, class ByU>
  void set(Eigen::Index k, int order, double number, const ByQ & by_q, const ByU & by_u);

  const FormulaBinding & binding_;
  const System & system_;
  const SystemData & data_;
  FormulaLevel level_;
  FrameDerivatives & frame_;
  int count_;
  int tape_size_;
  double * tapes_;
  Columns number_;    // x, ẋ and ẍ of each variable; zero where there is none
  Columns by_q_;      // n × 3 count: those of x, ẋ and ẍ side by side
  Columns by_u_;      // likewise
  Columns jacobian_;  // n × count: ∂/∂u of the number that multipliers of its level act on
  Eigen::Map<Eigen::VectorXd> force_;           // y
  Eigen::Map<Eigen::VectorXd> on_coordinates_;  // the part of y that acts on coordinates
};

FormulaBinding::RowDifferentiator::RowDifferentiator(
  const FormulaBinding & binding, const SystemData & data, FormulaLevel level,
  ConstraintScratch & scratch) noexcept CD_NONBLOCKING
: binding_(binding),
  system_(binding.system()),
  data_(data),
  level_(level),
  frame_(scratch.frame_derivatives),
  count_(binding.variable_count()),
  tape_size_(binding.program_.tape_size()),
  tapes_(scratch.buffer.data()),
  number_(tapes_ + tape_scratch_size(binding), 3, count_),
  by_q_(number_.data() + number_.size(), system_.speed_count(), 3 * count_),
  by_u_(by_q_.data() + by_q_.size(), system_.speed_count(), 3 * count_),
  jacobian_(by_u_.data() + by_u_.size(), system_.speed_count(), count_),
  force_(jacobian_.data() + jacobian_.size(), count_),
  on_coordinates_(force_.data() + force_.size(), system_.coordinate_count())
{
  number_.setZero();
  by_q_.setZero();
  by_u_.setZero();
  jacobian_.setZero();
  force_.setZero();
  on_coordinates_.setZero();
}

int FormulaBinding::RowDifferentiator::scratch_size(const FormulaBinding & binding) noexcept
  CD_NONBLOCKING
{
  const int count = binding.variable_count();
  return tape_scratch_size(binding) + (4 + 7 * binding.system_->speed_count()) * count +
         binding.system_->coordinate_count();
}

/// The derivative of variable k in time of the given order; those below 0 are not needed.
template <class ByQ, class ByU>
void FormulaBinding::RowDifferentiator::set(
  Eigen::Index k, int order, double number, const ByQ & by_q_row, const ByU & by_u_row)
{
  if (order >= 0)
  {
    number_(order, k) = number;
    by_q(k, order) = by_q_row.transpose();
    by_u(k, order) = by_u_row.transpose();
  }
}

void FormulaBinding::RowDifferentiator::load_coordinate(
  const SystemDerivatives & derivatives, int first, Eigen::Index k)
{
  const SystemTerms & terms = data_.terms;
  const Eigen::Index i = variable(k).index;
  const auto zero = Eigen::RowVectorXd::Zero(system_.speed_count());
  jacobian_.col(k) = terms.kinematic_matrix.row(i).transpose();
  set(k, first, terms.coordinates(i), terms.kinematic_matrix.row(i), zero);
  set(k, first + 1, terms.rates(i), derivatives.rate_q.row(i), terms.kinematic_matrix.row(i));
  set(
    k, first + 2, derivatives.coordinate_acceleration(i),
    derivatives.coordinate_acceleration_q.row(i), derivatives.coordinate_acceleration_u.row(i));
}

void FormulaBinding::RowDifferentiator::load_frame(
  int first, Eigen::Index row, double velocity, double acceleration, const FrameKinematics & frame,
  Eigen::Index k)
{
  const auto zero = Eigen::RowVectorXd::Zero(system_.speed_count());
  jacobian_.col(k) = frame_.jacobian.row(row).transpose();
  set(k, first, frame.position(variable(k).component), frame_.jacobian.row(row), zero);
  set(k, first + 1, velocity, frame_.velocity_q.row(row), frame_.jacobian.row(row));
  set(k, first + 2, acceleration, frame_.acceleration_q.row(row), frame_.acceleration_u.row(row));
}

void FormulaBinding::RowDifferentiator::load_variable(
  const SystemDerivatives & derivatives, const FrameKinematics & frame, Eigen::Index k)
{
  const Eigen::Index i = variable(k).index;
  const Eigen::Index c = variable(k).component;
  const auto zero = Eigen::RowVectorXd::Zero(system_.speed_count());
  switch (variable(k).kind)
  {
    case Kind::kTime:
      number_.col(k) << data_.terms.time, 1.0, 0.0;
      break;
    case Kind::kCoordinate:
      load_coordinate(derivatives, 0, k);
      break;
    case Kind::kRate:
      load_coordinate(derivatives, -1, k);
      break;
    case Kind::kCoordinateAcceleration:
      load_coordinate(derivatives, -2, k);
      break;
    case Kind::kSpeed:
      jacobian_(i, k) = 1.0;
      set(k, 0, data_.terms.speeds(i), zero, jacobian_.col(k).transpose());
      number_(1, k) = derivatives.acceleration(i);
      break;
    case Kind::kSpeedAcceleration:
      jacobian_(i, k) = 1.0;
      number_(0, k) = derivatives.acceleration(i);
      break;
    case Kind::kFramePosition:
      load_frame(0, c, frame.velocity(c), frame_.acceleration(c), frame, k);
      break;
    case Kind::kFrameVelocity:
      load_frame(-1, c, frame.velocity(c), frame_.acceleration(c), frame, k);
      break;
    case Kind::kFrameAngularVelocity:
      load_frame(-1, c + 3, frame.angular_velocity(c), frame_.angular_acceleration(c), frame, k);
      break;
    case Kind::kUnused:
      break;
  }
}

void FormulaBinding::RowDifferentiator::load(const SystemDerivatives & derivatives)
{
  FrameKinematics frame;
  for (Eigen::Index k = 0; k < count_; ++k)
  {
    const Kind kind = variable(k).kind;
    if (
      kind == Kind::kFramePosition || kind == Kind::kFrameVelocity ||
      kind == Kind::kFrameAngularVelocity)
    {
      system_.frame_kinematics(data_, variable(k).index, frame);
      system_.frame_derivatives(data_, variable(k).index, frame_);
    }
    load_variable(derivatives, frame, k);
  }
}

void FormulaBinding::RowDifferentiator::add_rows(
  const ConstVectorRef & multipliers, RowDerivatives & out)
{
  HyperDual * const x =
    detail::scalars_at<HyperDual>(tapes_, 2 * (count_ + tape_size_));  // all four arrays
  HyperDual * const gradient = x + count_;
  HyperDual * const tape = gradient + count_;
  HyperDual * const adjoint = tape + tape_size_;
  for (Eigen::Index k = 0; k < count_; ++k)
  {
    x[k] = {number_(0, k), number_(1, k), number_(1, k), number_(2, k)};
  }
  binding_.program_.forward(x, tape);
  for (int row = 0; row < binding_.output_count(); ++row)
  {
    binding_.program_.reverse(tape, adjoint, row, gradient);
    auto velocity_q = out.velocity_q.row(row).transpose();
    auto residual_q = out.residual_q.row(row).transpose();
    auto residual_u = out.residual_u.row(row).transpose();
    for (const int k : binding_.program_.variables_of(row))
    {
      const HyperDual & g = gradient[k];
      force_(k) += multipliers(row) * g.value;
      if (level_ == FormulaLevel::kPosition)
      {
        velocity_q += g.first * by_q(k, 0) + g.value * by_q(k, 1);
        residual_q += g.mixed * by_q(k, 0) + 2.0 * g.first * by_q(k, 1) + g.value * by_q(k, 2);
        residual_u += g.mixed * by_u(k, 0) + 2.0 * g.first * by_u(k, 1) + g.value * by_u(k, 2);
      }
      else if (level_ == FormulaLevel::kVelocity)
      {
        velocity_q += g.value * by_q(k, 0);
        residual_q += g.first * by_q(k, 0) + g.value * by_q(k, 1);
        residual_u += g.first * by_u(k, 0) + g.value * by_u(k, 1);
      }
      else
      {
        residual_q += g.value * by_q(k, 0);
        residual_u += g.value * by_u(k, 0);
      }
    }
  }
}

void FormulaBinding::RowDifferentiator::add_force_changes(
  const ConstVectorRef & multipliers, RowDerivatives & out)
{
  Dual * const x = detail::scalars_at<Dual>(tapes_, 2 * (count_ + tape_size_));
  Dual * const gradient = x + count_;
  Dual * const tape = gradient + count_;
  Dual * const adjoint = tape + tape_size_;
  for (Eigen::Index along = 0; along < count_; ++along)
  {
    for (Eigen::Index k = 0; k < count_; ++k)
    {
      x[k] = Dual(number_(0, k), k == along ? 1.0 : 0.0);
    }
    binding_.program_.forward(x, tape);
    for (int row = 0; row < binding_.output_count(); ++row)
    {
      binding_.program_.reverse(tape, adjoint, row, gradient);
      for (const int k : binding_.program_.variables_of(row))
      {
        const double change = multipliers(row) * gradient[k].derivative;
        if (change == 0.0 || level_of(variable(k).kind) != level_)
        {
          continue;
        }
        for (Eigen::Index j = 0; j < system_.speed_count(); ++j)
        {
          out.force_q.col(j) += (change * by_q(along, 0)(j)) * jacobian_.col(k);
          out.force_u.col(j) += (change * by_u(along, 0)(j)) * jacobian_.col(k);
        }
      }
    }
  }
}

void FormulaBinding::RowDifferentiator::add_jacobian_changes(RowDerivatives & out)
{
  for (Eigen::Index k = 0; k < count_; ++k)
  {
    const Variable & at = variable(k);
    if (level_of(at.kind) != level_)
    {
      continue;
    }
    const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
    const Eigen::Vector3d direction = force_(k) * Eigen::Vector3d::Unit(at.component);
    switch (at.kind)
    {
      case Kind::kCoordinate:
      case Kind::kRate:
      case Kind::kCoordinateAcceleration:
        on_coordinates_(at.index) += force_(k);
        break;
      case Kind::kFramePosition:
      case Kind::kFrameVelocity:
        system_.add_frame_force_derivatives(data_, at.index, direction, zero, out.force_q);
        break;
      case Kind::kFrameAngularVelocity:
        system_.add_frame_force_derivatives(data_, at.index, zero, direction, out.force_q);
        break;
      default:
        break;
    }
  }
  system_.add_coordinate_force_derivatives(data_, on_coordinates_, out.force_q);
}

int FormulaBinding::derivative_scratch_size() const noexcept CD_NONBLOCKING
{
  return RowDifferentiator::scratch_size(*this);
}

void FormulaBinding::differentiate_rows(
  const SystemData & data, const SystemDerivatives & derivatives, FormulaLevel level,
  const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const
{
  RowDifferentiator rows(*this, data, level, scratch);
  rows.load(derivatives);
  rows.add_rows(multipliers, out);
  rows.add_force_changes(multipliers, out);
  rows.add_jacobian_changes(out);
}

}  // namespace constrained_dynamics
