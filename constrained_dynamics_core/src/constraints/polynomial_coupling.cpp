// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/polynomial_coupling.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/joint_pairs.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

const std::array<const char *, 5> kPowers = {"constant", "linear", "quadratic", "cubic", "quartic"};

/// The coordinates of two sums, each once.
std::vector<int> coordinates_of(
  const std::string & name, const System & system, const std::vector<CouplingTerm> & terms,
  const std::vector<CouplingTerm> & of)
{
  std::vector<int> result = coupled_coordinates(name, system, terms);
  for (const int coordinate : coupled_coordinates(name, system, of))
  {
    if (std::find(result.begin(), result.end(), coordinate) == result.end())
    {
      result.push_back(coordinate);
    }
  }
  return result;
}

}  // namespace

PolynomialCoupling::PolynomialCoupling(
  std::string name, const System & system, const std::vector<CouplingTerm> & terms,
  const std::vector<CouplingTerm> & of, const std::array<double, 5> & coefficients)
: Constraint(
    name, "polynomial_coupling", system,
    {{"coupling", RowLevel::kPosition,
      are_angles(system, coordinates_of(name, system, terms, of))}},
    joint_pairs(system, coordinates_of(name, system, terms, of))),
  coefficients_(coefficients)
{
  for (std::size_t k = 0; k < kPowers.size(); ++k)
  {
    checked_finite("constraint '" + name + "'", kPowers[k], coefficients[k]);
  }
  const std::vector<int> coordinates = coordinates_of(name, system, terms, of);
  const auto coefficient_of = [&](int coordinate, const std::vector<CouplingTerm> & sum)
  {
    const auto found = std::find_if(
      sum.begin(), sum.end(),
      [&](const CouplingTerm & term)
      { return system.coordinate_index(term.coordinate) == coordinate; });
    return found == sum.end() ? 0.0 : checked_coupling_coefficient(name, *found);
  };
  for (const int coordinate : coordinates)
  {
    terms_.push_back(
      {coordinate, coefficient_of(coordinate, terms), coefficient_of(coordinate, of),
       system.has_joint(coordinate)});
  }
  set_speed_support(speeds_of_coordinates(system, coordinates));
}

PolynomialCoupling::Point PolynomialCoupling::evaluate_polynomial(
  const SystemTerms & terms) const noexcept CD_NONBLOCKING
{
  Point point;
  for (const Term & term : terms_)
  {
    point.x += term.x * terms.coordinates(term.coordinate);
    point.rate += term.x * terms.rates(term.coordinate);
  }
  // Horner's scheme; p[k] are derivatives divided by k!.
  for (std::size_t i = coefficients_.size(); i-- > 0;)
  {
    point.p[3] = point.p[3] * point.x + point.p[2];
    point.p[2] = point.p[2] * point.x + point.p[1];
    point.p[1] = point.p[1] * point.x + point.p[0];
    point.p[0] = point.p[0] * point.x + coefficients_[i];
  }
  point.p[2] *= 2.0;
  point.p[3] *= 6.0;
  return point;
}

Status PolynomialCoupling::do_evaluate(
  const SystemData & data, ConstraintScratch &, RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  const Point point = evaluate_polynomial(terms);
  double position = -point.p[0];
  double velocity = 0.0;
  double acceleration = -point.p[2] * point.rate * point.rate;
  rows.jacobian.setZero();
  for (const Term & term : terms_)
  {
    const double weight = term.y - point.p[1] * term.x;
    position += term.y * terms.coordinates(term.coordinate);
    velocity += weight * terms.rates(term.coordinate);
    acceleration += weight * terms.acceleration_bias(term.coordinate);
    rows.jacobian.row(0) += weight * terms.kinematic_matrix.row(term.coordinate);
  }
  rows.position(0) = position;
  rows.velocity(0) = velocity;
  rows.bias(0) = -acceleration;
  return Status::kOk;
}

void PolynomialCoupling::do_row_sizes(
  const SystemData & data, ConstraintScratch &, const ConstMatrixRef & jacobian,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  const Point point = evaluate_polynomial(data.terms);
  double squares = 0.0;
  for (Eigen::Index j = 0; j < jacobian.cols(); ++j)
  {
    double size = 0.0;
    for (const Term & term : terms_)
    {
      size += (std::abs(term.y) + std::abs(point.p[1] * term.x)) *
              std::abs(data.terms.kinematic_matrix(term.coordinate, j));
    }
    squares += size * size;
  }
  out(0) = std::sqrt(squares);
}

void PolynomialCoupling::do_wrenches(
  const SystemData & data, ConstraintScratch &, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  const Point point = evaluate_polynomial(data.terms);
  for (const Term & term : terms_)
  {
    if (term.has_joint)
    {
      const double weight = term.y - point.p[1] * term.x;
      fill_joint_pair(system(), data, term.coordinate, multipliers(0) * weight, *out++);
    }
  }
}

bool PolynomialCoupling::do_differentiate(
  const SystemData & data, const SystemDerivatives & derivatives,
  const ConstVectorRef & multipliers, ConstraintScratch &, RowDerivatives & out) const
{
  const SystemTerms & terms = data.terms;
  const Point point = evaluate_polynomial(terms);
  const Eigen::Index nq = system().coordinate_count();
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(nq);
  Eigen::VectorXd d = Eigen::VectorXd::Zero(nq);
  for (const Term & term : terms_)
  {
    weights(term.coordinate) = term.y - point.p[1] * term.x;
    d(term.coordinate) = term.x;
  }
  differentiate_coordinate_row(system(), data, derivatives, weights, multipliers(0), 0, out);
  // What the weights add: w' = −p'' d x', with x' the change of x in each direction.
  const Eigen::RowVectorXd x_q = d.transpose() * terms.kinematic_matrix;
  const Eigen::RowVectorXd rate_q = d.transpose() * derivatives.rate_q;
  const double x_acceleration = d.dot(derivatives.coordinate_acceleration);
  out.velocity_q.row(0) -= point.p[2] * point.rate * x_q;
  out.residual_q.row(0) -=
    (point.p[2] * x_acceleration + point.p[3] * point.rate * point.rate) * x_q +
    2.0 * point.p[2] * point.rate * rate_q;
  out.residual_u.row(0) -= 2.0 * point.p[2] * point.rate * x_q;
  out.force_q -= multipliers(0) * point.p[2] * x_q.transpose() * x_q;
  return true;
}

ConstraintDescription PolynomialCoupling::description()
{
  ConstraintDescription description;
  description.type = "polynomial_coupling";
  description.python_name = "PolynomialCoupling";
  description.text =
    "A sum of coordinates is a polynomial of another sum x: a cam, a tendon, a linkage by its "
    "measured curve.";
  description.equation = "Σ c q = p₀ + p₁ x + p₂ x² + p₃ x³ + p₄ x⁴, x = Σ d q";
  description.rows = "`coupling` (position)";
  description.keys = {
    describe_key("terms", KeyKind::kNumbers, "the coefficients c, none of them 0"),
    describe_key("of", KeyKind::kNumbers, "the coefficients d of x, none of them 0")};
  for (std::size_t k = 0; k < kPowers.size(); ++k)
  {
    description.keys.push_back(
      describe_key(kPowers[k], KeyKind::kNumber, "coefficient of x^" + std::to_string(k))
        .with_default(0.0));
  }
  description.make = [](const ConstraintArguments & given)
  {
    std::array<double, 5> coefficients;
    std::transform(
      kPowers.begin(), kPowers.end(), coefficients.begin(),
      [&](const char * power) { return given.keys.number(power); });
    return std::make_shared<const PolynomialCoupling>(
      given.name, given.system, coupling_terms(given.keys.numbers("terms")),
      coupling_terms(given.keys.numbers("of")), coefficients);
  };
  return description;
}

}  // namespace constrained_dynamics
