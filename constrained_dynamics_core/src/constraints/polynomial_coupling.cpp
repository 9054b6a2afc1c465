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
    joint_pairs(system, coordinates_of(name, system, terms, of)),
    system.coordinate_count() + 2 * system.speed_count()),
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
  const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const
{
  const SystemTerms & terms = data.terms;
  const Point point = evaluate_polynomial(terms);
  const Eigen::Index nq = system().coordinate_count();
  const Eigen::Index n = system().speed_count();
  auto force = scratch.buffer.head(nq);
  auto x_q = scratch.buffer.segment(nq, n);         // the change of x in each direction
  auto rate_q = scratch.buffer.segment(nq + n, n);  // that of its rate
  force.setZero();
  x_q.setZero();
  rate_q.setZero();
  double x_acceleration = 0.0;
  for (const Term & term : terms_)
  {
    differentiate_coordinate_term(
      derivatives, term.coordinate, term.y - point.p[1] * term.x, multipliers(0), 0, out, force);
    x_q += term.x * terms.kinematic_matrix.row(term.coordinate).transpose();
    rate_q += term.x * derivatives.rate_q.row(term.coordinate).transpose();
    x_acceleration += term.x * derivatives.coordinate_acceleration(term.coordinate);
  }
  system().add_coordinate_force_derivatives(data, force, out.force_q);
  // What the weights y − p' d add: they change by −p'' d x'.
  const double curve = point.p[2] * point.rate;
  out.velocity_q.row(0) -= curve * x_q.transpose();
  out.residual_q.row(0) -=
    (point.p[2] * x_acceleration + point.p[3] * point.rate * point.rate) * x_q.transpose() +
    2.0 * curve * rate_q.transpose();
  out.residual_u.row(0) -= 2.0 * curve * x_q.transpose();
  out.force_q.noalias() -= (multipliers(0) * point.p[2]) * x_q * x_q.transpose();
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
