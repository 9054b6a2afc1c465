// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Checks at random samples of properties that the structure of the formulas does not show.

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>

#include "model/formula_system.hpp"

namespace constrained_dynamics::detail
{
namespace
{

/// Relative difference up to which values count as equal: some 1e6 roundings.
constexpr double kSetupTolerance = 1e-9;
/// How many samples are needed at which all formulas have values, and how many are tried.
constexpr int kWantedSamples = 8;
constexpr int kMostSamples = 600;

class FormulaChecks
{
public:
  FormulaChecks(const AnalyticDescription & d, const FormulaModel & model, FormulaData & data)
  : d_(d), model_(model), data_(data)
  {
  }

  FormulaSamples run();

private:
  bool check_sample(bool & regular);
  bool all_finite();
  void set(std::size_t first, const Eigen::VectorXd & values, double factor);
  void check_kinetic(const Eigen::VectorXd & rates);
  void check_speeds(const Eigen::VectorXd & rates);
  void check_force();
  bool is_affine(
    const FormulaProgram & program, int output, std::size_t first, const Eigen::VectorXd & step);

  const AnalyticDescription & d_;
  const FormulaModel & model_;
  FormulaData & data_;
  FormulaSamples samples_;
};

/// Variables from `first` on become factor × values.
void FormulaChecks::set(std::size_t first, const Eigen::VectorXd & values, double factor)
{
  for (Eigen::Index i = 0; i < values.size(); ++i)
  {
    data_.x[first + idx(i)] = factor * values(i);
  }
}

/// Whether all formulas and their derivatives have values at data.x.
bool FormulaChecks::all_finite()
{
  for (const FormulaProgram * program : model_.programs())
  {
    program->forward(data_.x.data(), data_.tape.data());
    for (int output = 0; output < program->output_count(); ++output)
    {
      if (!std::isfinite(program->output(data_.tape.data(), output)))
      {
        return false;
      }
      program->reverse(data_.tape.data(), data_.adjoint.data(), output, data_.gradient.data());
      for (const double derivative : data_.gradient)
      {
        if (!std::isfinite(derivative))
        {
          return false;
        }
      }
    }
  }
  return true;
}

/// Checks that T equals its Taylor polynomial of degree 2 in the rates about zero.
void FormulaChecks::check_kinetic(const Eigen::VectorXd & rates)
{
  const auto value_at = [&](double factor)
  {
    set(model_.rate(0), rates, factor);
    double value = 0.0;
    model_.kinetic.evaluate(data_.x.data(), data_.tape.data(), &value);
    return value;
  };
  // T(s q̇) as a function of s: value, slope and curvature at 0, by dual numbers of the gradient.
  const double at_zero = value_at(0.0);
  data_.dual_x.assign(data_.x.begin(), data_.x.end());
  for (Eigen::Index i = 0; i < model_.n; ++i)
  {
    data_.dual_x[model_.rate(i)].derivative = rates(i);
  }
  data_.differentiate_kinetic(model_);
  double slope = 0.0;
  double curvature = 0.0;
  for (Eigen::Index i = 0; i < model_.n; ++i)
  {
    slope += data_.dual_gradient[model_.rate(i)].value * rates(i);
    curvature += data_.dual_gradient[model_.rate(i)].derivative * rates(i);
  }
  if (std::abs(at_zero) + std::abs(slope) > kSetupTolerance * std::abs(curvature))
  {
    samples_.is_homogeneous = false;
  }
  for (const double s : {1.0, -1.0, 2.0})
  {
    const double expected = at_zero + s * slope + 0.5 * s * s * curvature;
    const double size = std::abs(at_zero) + std::abs(slope) + std::abs(curvature);
    const double value = value_at(s);
    if (!(std::abs(value - expected) <= kSetupTolerance * (size + std::abs(value))))
    {
      throw std::invalid_argument(
        "kinetic is not a polynomial of degree 2 or less in the rates, so that the mass matrix "
        "depends on the rates; allowed: T = T0 + T1·q̇ + q̇ᵀ M q̇/2, with values at q̇ = 0");
    }
  }
}

/// Whether an output is affine in the variables from `first` on, between 0 and `step`. They are
/// left at `step`.
bool FormulaChecks::is_affine(
  const FormulaProgram & program, int output, std::size_t first, const Eigen::VectorXd & step)
{
  double value[2] = {0.0, 0.0};
  Eigen::VectorXd row[2] = {step, step};
  for (int pass = 0; pass < 2; ++pass)
  {
    set(first, step, pass);
    program.gradient(
      data_.x.data(), data_.tape.data(), data_.adjoint.data(), output, data_.gradient.data());
    value[pass] = program.output(data_.tape.data(), output);
    for (Eigen::Index j = 0; j < step.size(); ++j)
    {
      row[pass](j) = data_.gradient[first + idx(j)];
    }
  }
  const double size = std::abs(value[0]) + std::abs(value[1]) + row[0].norm() * step.norm();
  const double error =
    std::abs(value[1] - value[0] - row[0].dot(step)) + (row[1] - row[0]).norm() * step.norm();
  return error <= kSetupTolerance * size;
}

void FormulaChecks::check_speeds(const Eigen::VectorXd & rates)
{
  for (int i = 0; i < model_.speeds.output_count(); ++i)
  {
    if (!is_affine(model_.speeds, i, model_.rate(0), rates))
    {
      throw std::invalid_argument(
        "speed '" + model_.speed_names[idx(i)] + "' is '" + d_.speeds[idx(i)].formula +
        "', which is not affine in the rates; allowed: formulas linear in the rates, with values "
        "at zero rates");
    }
  }
}

void FormulaChecks::check_force()
{
  const Eigen::VectorXd accelerations = Eigen::VectorXd::NullaryExpr(
    model_.n, [](Eigen::Index j) { return 1.3 * std::cos(1.0 + 2.0 * static_cast<double>(j)); });
  for (std::size_t k = 0; k < model_.force_targets.size(); ++k)
  {
    const bool affine =
      !model_.force_targets[k].accelerations ||
      is_affine(model_.force, static_cast<int>(k), model_.acceleration(0), accelerations);
    if (!affine)
    {
      throw std::invalid_argument(
        "force on '" + d_.force[k].name + "' is '" + d_.force[k].formula +
        "', which is not affine in the accelerations; allowed: forces linear in them");
    }
  }
}

/// Checks at the coordinates, rates and time in data.x; false where formulas have no values.
bool FormulaChecks::check_sample(bool & regular)
{
  if (!all_finite())
  {
    return false;
  }
  Eigen::VectorXd rates(model_.n);
  for (Eigen::Index i = 0; i < model_.n; ++i)
  {
    rates(i) = data_.x[model_.rate(i)];
  }
  check_kinetic(rates);
  check_speeds(rates);
  set(model_.rate(0), rates, 1.0);
  check_force();
  regular =
    model_.speeds_are_rates || update_speed_matrix(model_, data_) >= kSingularReciprocalCondition;
  return true;
}

FormulaSamples FormulaChecks::run()
{
  std::mt19937 random(20021u);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Eigen::VectorXd centre = Eigen::VectorXd::Zero(model_.n);
  if (d_.regular_coordinates.size() != 0)
  {
    centre = d_.regular_coordinates;
  }
  int found = 0;
  int regular_count = 0;
  for (int i = 0; i < kMostSamples && (found < kWantedSamples || regular_count == 0); ++i)
  {
    // First the centre itself, then boxes about it that grow from 0.1 to 1000.
    const double width = i == 0 ? 0.0 : std::pow(10.0, -1.0 + (i % 30) / 6.0);
    Eigen::VectorXd q = centre;
    for (Eigen::Index k = 0; k < model_.n; ++k)
    {
      q(k) += width * uniform(random);
      data_.x[idx(k)] = q(k);
      data_.x[model_.rate(k)] = 1.5 * uniform(random);
      data_.x[model_.acceleration(k)] = 0.0;
    }
    data_.x[model_.time()] = i == 0 ? 0.0 : 0.5 * (1.0 + uniform(random));
    bool regular = false;
    if (!check_sample(regular))
    {
      continue;
    }
    ++found;
    if (regular && ++regular_count == 1)
    {
      samples_.regular = q;
    }
  }
  if (found == 0)
  {
    throw std::invalid_argument(
      "the formulas have no finite value and derivatives at any of " +
      std::to_string(kMostSamples) +
      " samples; allowed: systems that have, near zero or near regular_coordinates");
  }
  if (regular_count == 0)
  {
    throw std::invalid_argument(
      "speeds do not determine the rates: they are dependent at all of " + std::to_string(found) +
      " samples; allowed: as many independent speeds as coordinates");
  }
  return samples_;
}

}  // namespace

FormulaSamples check_formulas(
  const AnalyticDescription & d, const FormulaModel & model, FormulaData & data)
{
  return FormulaChecks(d, model, data).run();
}

}  // namespace constrained_dynamics::detail
