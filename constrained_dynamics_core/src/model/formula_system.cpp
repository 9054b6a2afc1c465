// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/formula_system.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace constrained_dynamics
{
namespace detail
{

// ---- setup --------------------------------------------------------------------------------------

FormulaSystem::FormulaSystem(const AnalyticDescription & d)
: AnalyticSystem(d), n_(static_cast<Eigen::Index>(d.coordinates.size()))
{
  std::vector<std::string> speed_list;
  std::vector<std::string> input_list;
  for (const NamedFormula & speed : d.speeds)
  {
    speed_list.push_back(speed.name);
  }
  for (const AnalyticInput & input : d.inputs)
  {
    input_list.push_back(input.name);
  }
  if (d.speeds.empty())
  {
    for (const std::string & name : d.coordinates)
    {
      speed_list.push_back("d" + name);
    }
  }
  if (speed_list.size() != d.coordinates.size())
  {
    throw std::invalid_argument(
      "speeds: " + std::to_string(speed_list.size()) + " given; allowed: as many as coordinates, " +
      std::to_string(d.coordinates.size()) + ", or none");
  }
  set_names(d.coordinates, std::move(speed_list), std::move(input_list));
  if (d.kinetic.empty())
  {
    throw std::invalid_argument("kinetic is missing; a system needs its kinetic energy");
  }
  const bool given = d.regular_coordinates.size() != 0;
  if (given && (d.regular_coordinates.size() != n_ || !d.regular_coordinates.allFinite()))
  {
    throw std::invalid_argument(
      "regular_coordinates has " + std::to_string(d.regular_coordinates.size()) +
      " values; allowed: none, or " + std::to_string(n_) + " finite ones");
  }
  model_ = FormulaModel(d, speed_names());
  FormulaData data(model_, input_count());
  if (model_.constant_mass)
  {
    // M at nonzero rates; the checks below find out whether it depends on them.
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.x[model_.rate(i)] = 0.3 + 0.1 * static_cast<double>(i);
    }
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      mass_times(data, i);
    }
    mass_ = 0.5 * (data.mass_times_c + data.mass_times_c.transpose());
  }
  const FormulaSamples samples = check_formulas(d, model_, data);
  neutral_ = given ? d.regular_coordinates : samples.regular;
  is_scleronomic_ = samples.is_homogeneous && !model_.time_in_kinetic;
}

std::unique_ptr<SystemData> FormulaSystem::do_make_data() const
{
  auto data = std::make_unique<FormulaData>(model_, input_count());
  if (model_.constant_kinematics && !model_.speeds_are_rates)
  {
    update_speed_matrix(model_, *data);
  }
  if (model_.constant_inputs)
  {
    update_inputs(*data);
  }
  if (model_.constant_mass && model_.constant_kinematics)
  {
    update_mass(*data);
  }
  return data;
}

Status FormulaSystem::do_speeds_from_rates(
  double at_time, const ConstVectorRef & q, const ConstVectorRef & qdot, Eigen::VectorXd & u) const
{
  if (model_.speeds_are_rates)
  {
    u = qdot;
    return Status::kOk;
  }
  FormulaData data(model_, input_count());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.x[idx(i)] = q(i);
    data.x[model_.rate(i)] = qdot(i);
  }
  data.x[model_.time()] = at_time;
  model_.speeds.evaluate(data.x.data(), data.tape.data(), data.output.data());
  u = Eigen::Map<const Eigen::VectorXd>(data.output.data(), n_);
  return Status::kOk;
}

// ---- kinematics ---------------------------------------------------------------------------------

Status FormulaSystem::do_update_kinematics(SystemData & base) const noexcept CD_NONBLOCKING
{
  FormulaData & data = static_cast<FormulaData &>(base);
  SystemTerms & terms = data.terms;
  if (model_.speeds_are_rates)
  {
    terms.rates = terms.speeds;
    return Status::kOk;
  }
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.x[idx(i)] = terms.coordinates(i);
    data.x[model_.acceleration(i)] = 0.0;
  }
  data.x[model_.time()] = terms.time;
  if (!model_.constant_kinematics)
  {
    const double reciprocal_condition = update_speed_matrix(model_, data);
    if (std::isnan(reciprocal_condition))
    {
      return Status::kNonFiniteResult;
    }
    if (reciprocal_condition < kSingularReciprocalCondition)
    {
      return Status::kSingularKinematics;
    }
  }
  data.row = terms.speeds - data.speed_offset;
  terms.rates = terms.kinematic_matrix.lazyProduct(data.row);
  if (!model_.constant_kinematics)
  {
    // 0 = u̇ = W q̈0 + ds/dt at q̈ = 0.
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.dual_x[idx(i)] = Dual(terms.coordinates(i), terms.rates(i));
      data.dual_x[model_.rate(i)] = terms.rates(i);
      data.dual_x[model_.acceleration(i)] = 0.0;
    }
    data.dual_x[model_.time()] = Dual(terms.time, 1.0);
    model_.speeds.evaluate(data.dual_x.data(), data.dual_tape.data(), data.dual_output.data());
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.row(i) = -data.dual_output[idx(i)].derivative;
    }
    terms.acceleration_bias = terms.kinematic_matrix.lazyProduct(data.row);
  }
  return has_finite_kinematics(terms) ? Status::kOk : Status::kNonFiniteResult;
}

// ---- dynamics -----------------------------------------------------------------------------------

/// rate_force = ∂T/∂q − d/dt ∂T/∂q̇ at u̇ = 0, that is along (q̇, q̈0, 1).
void FormulaSystem::add_kinetic(FormulaData & data) const noexcept
{
  if (model_.constant_mass)
  {
    model_.kinetic.evaluate(data.x.data(), data.tape.data(), &data.kinetic_energy);
    data.rate_force = -mass_.lazyProduct(data.terms.acceleration_bias);
    return;
  }
  data.differentiate_kinetic_along_motion(model_);
  data.kinetic_energy = model_.kinetic.output(data.dual_tape.data(), 0).value;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.rate_force(i) =
      data.dual_gradient[idx(i)].value - data.dual_gradient[model_.rate(i)].derivative;
  }
}

void FormulaSystem::add_potential(FormulaData & data) const noexcept
{
  const FormulaProgram & potential = model_.potential;
  potential.forward(data.x.data(), data.tape.data());
  data.potential_energy = potential.output(data.tape.data(), 0);
  if (model_.has_potential)
  {
    potential.reverse(data.tape.data(), data.adjoint.data(), 0, data.gradient.data());
    data.potential_rate = data.gradient[model_.time()];
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.rate_force(i) -= data.gradient[idx(i)];
    }
  }
}

/// Column `speed` of M C: the derivative of ∂T/∂q̇ along C's column, at the state in data.x.
void FormulaSystem::mass_times(FormulaData & data, Eigen::Index speed) const noexcept
{
  std::copy(data.x.begin(), data.x.end(), data.dual_x.begin());
  bool moves = false;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    const double direction = data.terms.kinematic_matrix(i, speed);
    moves = moves || (direction != 0.0 && model_.kinetic_has_rate[idx(i)]);
    data.dual_x[model_.rate(i)].derivative = direction;
  }
  if (!moves)
  {
    data.mass_times_c.col(speed).setZero();
    return;
  }
  data.differentiate_kinetic(model_);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.mass_times_c(i, speed) = data.dual_gradient[model_.rate(i)].derivative;
  }
}

/// Columns of M that share no row, at the state in data.x.
void FormulaSystem::mass_of(const std::vector<int> & rates, FormulaData & data) const noexcept
{
  std::copy(data.x.begin(), data.x.end(), data.dual_x.begin());
  for (const int column : rates)
  {
    data.dual_x[model_.rate(column)].derivative = 1.0;
  }
  data.differentiate_kinetic(model_);
  for (const int column : rates)
  {
    data.mass_times_c.col(column).setZero();
    for (const int row : model_.mass_rows[idx(column)])
    {
      data.mass_times_c(row, column) = data.dual_gradient[model_.rate(row)].derivative;
    }
  }
}

/// Q = Cᵀ M C, symmetric to the last bit.
void FormulaSystem::update_mass(FormulaData & data) const noexcept
{
  SystemTerms & terms = data.terms;
  if (model_.constant_mass)
  {
    data.mass_times_c = mass_.lazyProduct(terms.kinematic_matrix);
  }
  else if (model_.speeds_are_rates)
  {
    for (const std::vector<int> & group : model_.rate_groups)
    {
      mass_of(group, data);
    }
  }
  else
  {
    for (Eigen::Index j = 0; j < n_; ++j)
    {
      mass_times(data, j);
    }
  }
  if (model_.speeds_are_rates)
  {
    terms.mass_matrix = data.mass_times_c;
  }
  else
  {
    terms.mass_matrix = terms.kinematic_matrix.transpose().lazyProduct(data.mass_times_c);
  }
  for (Eigen::Index j = 0; j < n_; ++j)
  {
    for (Eigen::Index i = 0; i < j; ++i)
    {
      const double mean = 0.5 * (terms.mass_matrix(i, j) + terms.mass_matrix(j, i));
      terms.mass_matrix(i, j) = mean;
      terms.mass_matrix(j, i) = mean;
    }
  }
}

/// Adds the active forces. The accelerations in them are C u̇ + q̈0: q̈0 is in data.x, and the
/// coefficients of u̇ move into Q.
void FormulaSystem::add_force(FormulaData & data) const noexcept
{
  SystemTerms & terms = data.terms;
  model_.force.forward(data.x.data(), data.tape.data());
  for (std::size_t k = 0; k < model_.force_targets.size(); ++k)
  {
    const ForceTarget & to = model_.force_targets[k];
    const int output = static_cast<int>(k);
    const double value = model_.force.output(data.tape.data(), output);
    if (to.on_speed)
    {
      terms.force(to.index) += value;
    }
    else
    {
      terms.force += value * terms.kinematic_matrix.row(to.index).transpose();
    }
    if (!to.accelerations)
    {
      continue;
    }
    model_.force.reverse(data.tape.data(), data.adjoint.data(), output, data.gradient.data());
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.row(i) = data.gradient[model_.acceleration(i)];
    }
    data.row_times_c = terms.kinematic_matrix.transpose().lazyProduct(data.row);
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      const double weight =
        to.on_speed ? (i == to.index ? 1.0 : 0.0) : terms.kinematic_matrix(to.index, i);
      terms.mass_matrix.row(i) -= weight * data.row_times_c.transpose();
    }
  }
}

void FormulaSystem::update_inputs(FormulaData & data) const noexcept
{
  SystemTerms & terms = data.terms;
  terms.input_matrix.setZero();
  model_.inputs.evaluate(data.x.data(), data.tape.data(), data.output.data());
  for (std::size_t k = 0; k < model_.input_targets.size(); ++k)
  {
    const ForceTarget & to = model_.input_targets[k];
    if (to.on_speed)
    {
      terms.input_matrix(to.index, to.input) += data.output[k];
    }
    else
    {
      terms.input_matrix.col(to.input) +=
        data.output[k] * terms.kinematic_matrix.row(to.index).transpose();
    }
  }
}

Status FormulaSystem::do_update_dynamics(SystemData & base) const noexcept CD_NONBLOCKING
{
  FormulaData & data = static_cast<FormulaData &>(base);
  SystemTerms & terms = data.terms;
  data.load(model_, terms.acceleration_bias);
  add_kinetic(data);
  add_potential(data);
  terms.force = terms.kinematic_matrix.transpose().lazyProduct(data.rate_force);
  if (!(model_.constant_mass && model_.constant_kinematics) || model_.has_accelerations)
  {
    update_mass(data);
  }
  add_force(data);
  if (!(model_.constant_inputs && model_.constant_kinematics))
  {
    update_inputs(data);
  }
  return Status::kOk;
}

// ---- power (E30) --------------------------------------------------------------------------------

/// The power that maintains the motion which T contains as a function of time. It is not zero where
/// T is not homogeneous of degree 2 in the rates or depends on t: dT/dt − q̇ᵀ (d/dt ∂T/∂q̇ − ∂T/∂q).
/// @pre q, q̇, t and q̈ in data.x.
double FormulaSystem::moving_frame_power(FormulaData & data) const noexcept
{
  data.differentiate_kinetic_along_motion(model_);
  double power = model_.kinetic.output(data.dual_tape.data(), 0).derivative;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    power -= data.x[model_.rate(i)] *
             (data.dual_gradient[model_.rate(i)].derivative - data.dual_gradient[idx(i)].value);
  }
  return power;
}

bool FormulaSystem::do_power(
  SystemData & base, const ConstVectorRef & accelerations, const ConstVectorRef & inputs,
  const ConstVectorRef & constraint_force, SystemPower & out) const noexcept CD_NONBLOCKING
{
  FormulaData & data = static_cast<FormulaData &>(base);
  const SystemTerms & terms = data.terms;
  out = SystemPower{};
  data.row = terms.acceleration_bias;
  data.row += terms.kinematic_matrix.lazyProduct(accelerations);
  data.load(model_, data.row);
  // Forces conjugate to the speeds do work along W q̇ = u − w0.
  data.row = terms.speeds;
  if (!model_.speeds_are_rates)
  {
    data.row -= data.speed_offset;
  }
  model_.force.evaluate(data.x.data(), data.tape.data(), data.output.data());
  for (std::size_t k = 0; k < model_.force_targets.size(); ++k)
  {
    const ForceTarget & to = model_.force_targets[k];
    out.forces += data.output[k] * (to.on_speed ? data.row(to.index) : terms.rates(to.index));
  }
  for (Eigen::Index k = 0; k < inputs.size(); ++k)
  {
    out.inputs += inputs(k) * terms.input_matrix.col(k).dot(data.row);
  }
  out.potential = data.potential_rate;
  out.constraints = constraint_force.dot(data.row);
  out.driven = is_scleronomic_ ? 0.0 : moving_frame_power(data);
  return true;
}

}  // namespace detail

std::shared_ptr<const AnalyticSystem> make_analytic_system(const AnalyticDescription & description)
{
  return std::make_shared<const detail::FormulaSystem>(description);
}

}  // namespace constrained_dynamics
