// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/integrability.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"

namespace constrained_dynamics
{

// Readable failures.
void PrintTo(Answer answer, std::ostream * out) { *out << to_string(answer); }

namespace
{

using Eigen::VectorXd;

/// Names of the rows, and their formulas.
struct Rows
{
  RowLevel level = RowLevel::kVelocity;
  std::vector<std::string> formulas;
};

std::shared_ptr<const AnalyticSystem> particle(
  const std::vector<std::string> & coordinates, const std::vector<NamedFormula> & speeds = {})
{
  AnalyticDescription d;
  d.coordinates = coordinates;
  for (const std::string & name : coordinates)
  {
    d.kinetic += (d.kinetic.empty() ? "" : " + ") + ("d" + name + "^2/2");
  }
  d.speeds = speeds;
  return make_analytic_system(d);
}

ConstraintSet set_of(std::shared_ptr<const System> system, const std::vector<Rows> & groups)
{
  std::vector<std::shared_ptr<const Constraint>> constraints;
  for (const Rows & group : groups)
  {
    constraints.push_back(std::make_shared<FormulaConstraint>(
      "c" + std::to_string(constraints.size()), *system, group.level, group.formulas));
  }
  return ConstraintSet(std::move(system), std::move(constraints));
}

IntegrabilityReport analyse(
  const std::vector<std::string> & coordinates, const std::vector<Rows> & groups,
  const PositionProjection & project = {}, const std::vector<NamedFormula> & speeds = {})
{
  const ConstraintSet set = set_of(particle(coordinates, speeds), groups);
  VectorXd q(static_cast<Eigen::Index>(coordinates.size()));
  for (Eigen::Index i = 0; i < q.size(); ++i)
  {
    q(i) = 0.9 + 0.25 * static_cast<double>(i);
  }
  return analyse_integrability(set, 0.7, q, project);
}

/// A velocity row over x, y, z and t; alone, the row and the set must agree.
RowIntegrability analyse_row(const std::string & row)
{
  const IntegrabilityReport report = analyse({"x", "y", "z"}, {{RowLevel::kVelocity, {row}}});
  EXPECT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows.front().integrable_alone, report.integrable) << row;
  return report.rows.front();
}

struct Case
{
  const char * row;
  Answer exact;
  Answer integrable;
  const char * factor;  // empty: none
};

TEST(Integrability, when_pfaffian_rows_of_the_lecture_notes_expect_known_answers)
{
  const Case cases[] = {
    {"dy - z*dx", Answer::kNo, Answer::kNo, ""},
    {"2*x*dx + 2*y*dy", Answer::kYes, Answer::kYes, "1"},
    {"sin(z)*dx - cos(z)*dy", Answer::kNo, Answer::kNo, ""},
    {"y*z*dx + x*z*dy + x*y*dz", Answer::kYes, Answer::kYes, "1"},
    {"dx + z*dz", Answer::kYes, Answer::kYes, "1"},
    {"y*exp(x)*dx + exp(x)*dy + y*dz", Answer::kNo, Answer::kNo, ""},
  };
  for (const Case & c : cases)
  {
    SCOPED_TRACE(c.row);
    const RowIntegrability row = analyse_row(c.row);
    EXPECT_EQ(row.linear, Answer::kYes);
    EXPECT_EQ(row.homogeneous, Answer::kYes);
    EXPECT_EQ(row.exact, c.exact);
    EXPECT_EQ(row.integrable_alone, c.integrable);
    EXPECT_EQ(row.integrating_factor.value_or(""), c.factor);
    EXPECT_EQ(row.reason, "");
  }
}

TEST(Integrability, when_row_has_an_integrating_factor_expect_it_found)
{
  const Case cases[] = {
    {"-y*dx + x*dy", Answer::kNo, Answer::kYes, "1/x^2"},
    {"x^2*dx + x^2*y*dy", Answer::kNo, Answer::kYes, "1/x^2"},
    {"y*dx + dy", Answer::kNo, Answer::kYes, "1/y"},
    {"(1 + y*x)*dx + x^2*dy", Answer::kNo, Answer::kYes, "1/x"},
    {"dx*exp(-3*y)*cos(z) + dz*exp(-3*y)", Answer::kNo, Answer::kYes, "exp(3*y)/cos(z)"},
    {"exp(-3*y)*dx + exp(-3*y)*2*z*dz", Answer::kNo, Answer::kYes, "exp(3*y)"},
    {"sin(z)^2*(dx + y*dy)", Answer::kNo, Answer::kYes, "1/sin(z)^2"},
    {"sqrt(x)*z^3*(dx + dy)", Answer::kNo, Answer::kYes, "1/(abs(x)^(1/2)*z^3)"},
    {"(x^2 + y^2)*(dx + dy + dz)", Answer::kNo, Answer::kYes, "1/(x^2 + y^2)"},
    {"exp(-0.7312*x*z)*(dy + y*dz)", Answer::kNo, Answer::kYes, "exp(0.7312*x*z)/y"},
  };
  for (const Case & c : cases)
  {
    SCOPED_TRACE(c.row);
    const RowIntegrability row = analyse_row(c.row);
    EXPECT_EQ(row.exact, c.exact);
    EXPECT_EQ(row.integrable_alone, c.integrable);
    EXPECT_EQ(row.integrating_factor.value_or(""), c.factor);
    if (!row.integrating_factor)
    {
      continue;
    }
    // The factor is a formula, and it makes the row exact.
    EXPECT_EQ(analyse_row("(" + *row.integrating_factor + ")*(" + c.row + ")").exact, Answer::kYes);
  }
}

TEST(Integrability, when_factor_is_not_in_the_library_expect_none_but_integrable)
{
  const RowIntegrability row = analyse_row("exp(sin(x*y) + z^3)*(dx + dz)");
  EXPECT_EQ(row.exact, Answer::kNo);
  EXPECT_EQ(row.integrable_alone, Answer::kYes);
  EXPECT_FALSE(row.integrating_factor.has_value());
}

TEST(Integrability, when_rows_are_rheonomic_expect_time_as_a_coordinate)
{
  RowIntegrability row = analyse_row("dx - cos(t)");
  EXPECT_EQ(row.homogeneous, Answer::kNo);
  EXPECT_EQ(row.exact, Answer::kYes);
  row = analyse_row("t*dx + x");
  EXPECT_EQ(row.exact, Answer::kYes);
  row = analyse_row("t*dx + 2*x");
  EXPECT_EQ(row.exact, Answer::kNo);
  EXPECT_EQ(row.integrable_alone, Answer::kYes);
  EXPECT_TRUE(row.integrating_factor.has_value());
  row = analyse_row("dx + x");
  EXPECT_EQ(row.exact, Answer::kNo);
  EXPECT_EQ(row.integrable_alone, Answer::kYes);
  EXPECT_EQ(row.integrating_factor.value_or(""), "1/x");
  // A knife edge that is turned in time.
  row = analyse_row("sin(t)*dx - cos(t)*dy");
  EXPECT_EQ(row.homogeneous, Answer::kYes);
  EXPECT_EQ(row.exact, Answer::kNo);
  EXPECT_EQ(row.integrable_alone, Answer::kNo);
  // A constant speed across y.
  row = analyse_row("dx - y");
  EXPECT_EQ(row.integrable_alone, Answer::kNo);
}

TEST(Integrability, when_rows_are_nonlinear_expect_not_exact_and_integrability_unknown)
{
  const IntegrabilityReport report =
    analyse({"x", "y", "z"}, {{RowLevel::kVelocity, {"dx^2 + dy^2 - dz^2", "x*dx + y*dy"}}});
  EXPECT_EQ(report.rows[0].linear, Answer::kNo);
  EXPECT_EQ(report.rows[0].exact, Answer::kNo);
  EXPECT_EQ(report.rows[0].integrable_alone, Answer::kUnknown);
  EXPECT_NE(report.rows[0].reason.find("nonlinear"), std::string::npos);
  EXPECT_EQ(report.rows[1].exact, Answer::kYes);
  EXPECT_EQ(report.integrable, Answer::kUnknown);
  EXPECT_NE(report.reason.find("c0/"), std::string::npos);
  EXPECT_EQ(report.rank, -1);
  EXPECT_EQ(analyse_row("abs(dx) - abs(dy)").linear, Answer::kNo);
  EXPECT_EQ(analyse_row("sqrt(dx^2 + dy^2) - dz").linear, Answer::kNo);
}

TEST(Integrability, when_rows_are_accelerations_expect_unknown)
{
  const IntegrabilityReport report =
    analyse({"x", "y"}, {{RowLevel::kAcceleration, {"ddx - ddy"}}});
  EXPECT_EQ(report.rows[0].linear, Answer::kUnknown);
  EXPECT_EQ(report.integrable, Answer::kUnknown);
  EXPECT_NE(report.reason.find("acceleration"), std::string::npos);
}

TEST(Integrability, when_another_row_closes_the_bracket_expect_integrable_set)
{
  const IntegrabilityReport alone =
    analyse({"x", "y", "z"}, {{RowLevel::kVelocity, {"dy - z*dx"}}});
  EXPECT_EQ(alone.integrable, Answer::kNo);
  EXPECT_EQ(alone.rank, 1);
  EXPECT_EQ(alone.bracket_growth, 1);
  const IntegrabilityReport velocity =
    analyse({"x", "y", "z"}, {{RowLevel::kVelocity, {"dy - z*dx", "dz"}}});
  EXPECT_EQ(velocity.rows[0].integrable_alone, Answer::kNo);
  EXPECT_EQ(velocity.integrable, Answer::kYes);
  EXPECT_EQ(velocity.rank, 2);
  EXPECT_EQ(velocity.bracket_growth, 0);
  // Held by a position row: z = x²; also without a projection.
  for (const bool with_projection : {true, false})
  {
    PositionProjection project;
    if (with_projection)
    {
      project = [](double, VectorXd & q)
      {
        q(2) = q(0) * q(0);
        return true;
      };
    }
    const IntegrabilityReport position = analyse(
      {"x", "y", "z"}, {{RowLevel::kVelocity, {"dy - z*dx"}}, {RowLevel::kPosition, {"z - x^2"}}},
      project);
    EXPECT_EQ(position.rows[0].integrable_alone, Answer::kNo);
    EXPECT_EQ(position.rows[1].exact, Answer::kYes);
    EXPECT_EQ(position.integrable, Answer::kYes);
  }
}

TEST(Integrability, when_set_is_integrable_only_on_the_position_manifold_expect_yes_there)
{
  // On z = 0 the knife edge's angle is fixed; elsewhere w turns it.
  const std::vector<Rows> groups = {
    {RowLevel::kVelocity, {"sin(z*w)*dx - cos(z*w)*dy"}}, {RowLevel::kPosition, {"z"}}};
  const IntegrabilityReport on = analyse(
    {"x", "y", "z", "w"}, groups,
    [](double, VectorXd & q)
    {
      q(2) = 0.0;
      return true;
    });
  EXPECT_EQ(on.integrable, Answer::kYes);
  const IntegrabilityReport off = analyse({"x", "y", "z", "w"}, groups);
  EXPECT_EQ(off.integrable, Answer::kNo);
}

TEST(Integrability, when_disk_rolls_expect_nonholonomic_and_with_held_heading_holonomic)
{
  const std::vector<std::string> rolling = {"dx - 0.5*cos(h)*ds", "dy - 0.5*sin(h)*ds"};
  const IntegrabilityReport disk = analyse({"x", "y", "h", "s"}, {{RowLevel::kVelocity, rolling}});
  EXPECT_EQ(disk.integrable, Answer::kNo);
  EXPECT_EQ(disk.rank, 2);
  EXPECT_EQ(disk.bracket_growth, 1);  // (2, 3, 4): the second bracket brings the rest
  const IntegrabilityReport straight = analyse(
    {"x", "y", "h", "s"}, {{RowLevel::kVelocity, rolling}, {RowLevel::kPosition, {"h - 0.4"}}},
    [](double, VectorXd & q)
    {
      q(2) = 0.4;
      return true;
    });
  EXPECT_EQ(straight.integrable, Answer::kYes);
  EXPECT_EQ(straight.rank, 3);
}

TEST(Integrability, when_appell_hamel_linear_set_expect_nonholonomic)
{
  const IntegrabilityReport report = analyse(
    {"theta", "phi", "x", "y", "z"},
    {{RowLevel::kVelocity,
      {"dx + 5*dtheta*sin(theta) - dphi*cos(theta)", "dy - 5*dtheta*cos(theta) - dphi*sin(theta)"}},
     {RowLevel::kPosition, {"z + 0.5*phi - 30"}}},
    [](double, VectorXd & q)
    {
      q(4) = 30.0 - 0.5 * q(1);
      return true;
    });
  EXPECT_EQ(report.integrable, Answer::kNo);
  EXPECT_EQ(report.rank, 3);
  for (const int row : {0, 1})
  {
    EXPECT_EQ(report.rows[static_cast<std::size_t>(row)].exact, Answer::kNo);
    EXPECT_EQ(report.rows[static_cast<std::size_t>(row)].integrable_alone, Answer::kNo);
  }
}

TEST(Integrability, when_rows_are_redundant_expect_same_answer)
{
  const IntegrabilityReport report = analyse(
    {"x", "y", "z"},
    {{RowLevel::kVelocity, {"x*dx + y*dy", "2*x*dx + 2*y*dy", "dz + x*dx + y*dy"}}});
  EXPECT_EQ(report.integrable, Answer::kYes);
  EXPECT_EQ(report.rank, 2);
  const IntegrabilityReport knife =
    analyse({"x", "y", "z"}, {{RowLevel::kVelocity, {"dy - z*dx", "2*dy - 2*z*dx"}}});
  EXPECT_EQ(knife.integrable, Answer::kNo);
  EXPECT_EQ(knife.rank, 1);
  EXPECT_EQ(knife.bracket_growth, 1);
}

TEST(Integrability, when_speeds_are_chosen_expect_answers_of_the_rates)
{
  const std::vector<NamedFormula> speeds = {
    {"u1", "dr"}, {"u2", "r*dtheta*sin(phi) + 0.3*t"}, {"u3", "-r*dphi"}};
  const auto row = [&](const std::string & formula) {
    return analyse({"r", "theta", "phi"}, {{RowLevel::kVelocity, {formula}}}, {}, speeds).rows[0];
  };
  // d(r φ) = φ dr + r dφ, thesis example 2.1.
  RowIntegrability result = row("phi*u1 - u3");
  EXPECT_EQ(result.exact, Answer::kYes);
  EXPECT_EQ(result.homogeneous, Answer::kYes);
  result = row("phi*dr + r*dphi");
  EXPECT_EQ(result.exact, Answer::kYes);
  // u2 = 0.3 t is θ̇ = 0, which has a factor.
  result = row("u2 - 0.3*t");
  EXPECT_EQ(result.homogeneous, Answer::kYes);
  EXPECT_EQ(result.exact, Answer::kNo);
  EXPECT_EQ(result.integrable_alone, Answer::kYes);
  EXPECT_EQ(result.integrating_factor.value_or(""), "1/(r*sin(phi))");
  result = row("u2");
  EXPECT_EQ(result.homogeneous, Answer::kNo);
  EXPECT_EQ(result.integrable_alone, Answer::kNo);
  result = row("u1 - theta*u3");
  EXPECT_EQ(result.integrable_alone, Answer::kNo);
}

/// Attitude of a body by a unit quaternion (x y z w), speeds: angular velocity in body axes.
std::shared_ptr<const AnalyticSystem> attitude()
{
  AnalyticFunctions f;
  f.coordinates = {"qx", "qy", "qz", "qw"};
  f.speeds = {"wx", "wy", "wz"};
  f.rates = [](const auto &, const auto * q, const auto * w, auto * qdot)
  {
    qdot[0] = 0.5 * (q[3] * w[0] - q[2] * w[1] + q[1] * w[2]);
    qdot[1] = 0.5 * (q[2] * w[0] + q[3] * w[1] - q[0] * w[2]);
    qdot[2] = 0.5 * (q[0] * w[1] - q[1] * w[0] + q[3] * w[2]);
    qdot[3] = -0.5 * (q[0] * w[0] + q[1] * w[1] + q[2] * w[2]);
  };
  f.mass_matrix = [](double, const ConstVectorRef &, MatrixRef out) { out.setIdentity(); };
  f.normalise = [](VectorRef q) { q /= q.norm(); };
  f.neutral_coordinates = VectorXd::Unit(4, 3);
  return make_analytic_system(f);
}

TEST(Integrability, when_coordinates_are_a_quaternion_expect_frobenius_on_rotations)
{
  const auto system = attitude();
  VectorXd q(4);
  q << 0.3, -0.2, 0.1, 0.9;
  q.normalize();
  // No turning about one body axis: the brackets of the other two turn about it.
  IntegrabilityReport report =
    analyse_integrability(set_of(system, {{RowLevel::kVelocity, {"wz"}}}), 0.0, q);
  EXPECT_EQ(report.rows[0].exact, Answer::kNo);
  EXPECT_EQ(report.integrable, Answer::kNo);
  EXPECT_EQ(report.bracket_growth, 1);
  // Turning about one axis only: a circle.
  report = analyse_integrability(set_of(system, {{RowLevel::kVelocity, {"wx", "wy"}}}), 0.0, q);
  EXPECT_EQ(report.integrable, Answer::kYes);
  EXPECT_EQ(report.rank, 2);
  // The height of a body axis, R33 = 1 − 2 (qx² + qy²), at velocity level: exact.
  report = analyse_integrability(
    set_of(
      system, {{RowLevel::kVelocity, {"qx*(qw*wx - qz*wy + qy*wz) + qy*(qz*wx + qw*wy - qx*wz)"}}}),
    0.0, q);
  EXPECT_EQ(report.rows[0].exact, Answer::kYes);
  EXPECT_EQ(report.integrable, Answer::kYes);
}

TEST(Integrability, when_slopes_are_small_expect_still_the_right_answer)
{
  EXPECT_EQ(analyse_row("dy - 0.001*z*dx").integrable_alone, Answer::kNo);
  EXPECT_EQ(analyse_row("1000*dy - 3*z*dx").integrable_alone, Answer::kNo);
  EXPECT_EQ(analyse_row("1e6*y*dx + 1e6*x*dy").exact, Answer::kYes);
  EXPECT_EQ(analyse_row("1e-9*y*dx + 1e-9*x*dy").exact, Answer::kYes);
  EXPECT_EQ(analyse_row("1e-9*dy - 1e-9*z*dx").integrable_alone, Answer::kNo);
  // A slope of 1e-9 cannot be distinguished from zero: the answer is not "no".
  EXPECT_NE(analyse_row("dy - 1e-9*z*dx").exact, Answer::kNo);
  EXPECT_EQ(analyse_row("cos(12*x)*sin(9*y)*12*dx + sin(12*x)*cos(9*y)*9*dy").exact, Answer::kYes);
}

TEST(Integrability, when_there_are_no_rows_expect_integrable)
{
  const IntegrabilityReport report = analyse({"x", "y"}, {});
  EXPECT_EQ(report.integrable, Answer::kYes);
  EXPECT_EQ(report.rank, 0);
  EXPECT_TRUE(report.rows.empty());
}

TEST(Integrability, when_nothing_can_be_evaluated_expect_unknown)
{
  const IntegrabilityReport report =
    analyse({"x", "y"}, {{RowLevel::kVelocity, {"log(-1 - x^2)*dx + dy"}}});
  EXPECT_EQ(report.integrable, Answer::kUnknown);
  EXPECT_FALSE(report.reason.empty());
  EXPECT_NE(report.rows[0].exact, Answer::kYes);
  EXPECT_FALSE(report.rows[0].reason.empty());
  const IntegrabilityReport unprojectable = analyse(
    {"x", "y"}, {{RowLevel::kVelocity, {"dx + dy"}}, {RowLevel::kPosition, {"x - y"}}},
    [](double, VectorXd &) { return false; });
  EXPECT_EQ(unprojectable.integrable, Answer::kUnknown);
}

TEST(Integrability, when_arguments_are_wrong_expect_refusal)
{
  const ConstraintSet set = set_of(particle({"x", "y"}), {{RowLevel::kVelocity, {"dx + dy"}}});
  const VectorXd q = VectorXd::Ones(2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(analyse_integrability(set, 0.0, VectorXd::Ones(3)), std::invalid_argument);
  EXPECT_THROW(analyse_integrability(set, nan, q), std::invalid_argument);
  EXPECT_THROW(analyse_integrability(set, 0.0, VectorXd::Constant(2, nan)), std::invalid_argument);
  IntegrabilityOptions options;
  options.points = 3;
  EXPECT_THROW(analyse_integrability(set, 0.0, q, {}, options), std::invalid_argument);
  options = {};
  options.spread = nan;
  EXPECT_THROW(analyse_integrability(set, 0.0, q, {}, options), std::invalid_argument);
}

TEST(Integrability, when_seed_changes_expect_same_answers)
{
  const ConstraintSet set =
    set_of(particle({"x", "y", "z"}), {{RowLevel::kVelocity, {"-y*dx + x*dy", "dz - x*dx"}}});
  VectorXd q(3);
  q << 1.0, 1.2, 0.3;
  for (std::uint32_t seed = 1; seed <= 25; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    IntegrabilityOptions options;
    options.seed = seed;
    const IntegrabilityReport report = analyse_integrability(set, 0.0, q, {}, options);
    EXPECT_EQ(report.integrable, Answer::kYes);
    EXPECT_EQ(report.rows[0].exact, Answer::kNo);
    EXPECT_EQ(report.rows[0].integrating_factor.value_or(""), "1/x^2");
    EXPECT_EQ(report.rows[1].exact, Answer::kYes);
  }
}

}  // namespace
}  // namespace constrained_dynamics
