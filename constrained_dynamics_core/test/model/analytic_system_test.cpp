// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/analytic_system.hpp"

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <Eigen/LU>

#include "support/allocation_counter.hpp"
#include "support/realtime_exemption.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Rounding of some dozens of operations on numbers of size 1 to 100.
constexpr double kRounding = 1e-12;

VectorXd vector(std::initializer_list<double> values)
{
  VectorXd result(static_cast<Eigen::Index>(values.size()));
  Eigen::Index i = 0;
  for (const double value : values)
  {
    result(i++) = value;
  }
  return result;
}

/// All terms at one state; a failure fails the test.
std::unique_ptr<SystemData> terms_at(
  const System & system, double time, const VectorXd & q, const VectorXd & u)
{
  std::unique_ptr<SystemData> data = system.make_data();
  EXPECT_EQ(to_string(system.update_kinematics(time, q, u, *data)), std::string("ok"));
  EXPECT_EQ(to_string(system.update_dynamics(*data)), std::string("ok"));
  return data;
}

void expect_near(const MatrixXd & actual, const MatrixXd & expected, double tolerance)
{
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.cols(), expected.cols());
  if (actual.size() == 0)
  {
    return;
  }
  EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), tolerance) << "actual\n"
                                                                  << actual << "\nexpected\n"
                                                                  << expected;
}

void expect_same_terms(const SystemData & a, const SystemData & b, double tolerance)
{
  expect_near(a.terms.kinematic_matrix, b.terms.kinematic_matrix, tolerance);
  expect_near(a.terms.kinematic_drift, b.terms.kinematic_drift, tolerance);
  expect_near(a.terms.rates, b.terms.rates, tolerance);
  expect_near(a.terms.acceleration_bias, b.terms.acceleration_bias, tolerance);
  expect_near(a.terms.mass_matrix, b.terms.mass_matrix, tolerance);
  expect_near(a.terms.force, b.terms.force, tolerance);
  expect_near(a.terms.input_matrix, b.terms.input_matrix, tolerance);
}

/// The message of the std::invalid_argument that building throws; empty where it throws none.
std::string refusal(const AnalyticDescription & description)
{
  try
  {
    make_analytic_system(description);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return {};
}

void expect_refusal(const AnalyticDescription & description, const std::vector<std::string> & parts)
{
  const std::string message = refusal(description);
  ASSERT_FALSE(message.empty()) << "not refused; expected a message about " << parts.front();
  for (const std::string & part : parts)
  {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  }
}

AnalyticDescription pendulum()
{
  AnalyticDescription d;
  d.coordinates = {"theta"};
  d.parameters = {{"m", 2.0}, {"l", 0.7}, {"g", 9.81}};
  d.kinetic = "m/2*l^2*dtheta^2";
  d.potential = "-m*g*l*cos(theta)";
  return d;
}

/// Thesis example 2.1: a particle in spherical coordinates, speeds along the local axes.
AnalyticDescription spherical()
{
  AnalyticDescription d;
  d.coordinates = {"r", "theta", "phi"};
  d.parameters = {{"m", 1.3}};
  d.kinetic = "m/2*(dr^2 + r^2*dphi^2 + (r*sin(phi)*dtheta)^2)";
  d.speeds = {{"u1", "dr"}, {"u2", "r*dtheta*sin(phi)"}, {"u3", "-r*dphi"}};
  d.regular_coordinates = vector({1.0, 0.0, 1.0});
  return d;
}

VectorXd spherical_force(const VectorXd & q, const VectorXd & u)
{
  const double r = q(0);
  const double cot = std::cos(q(2)) / std::sin(q(2));
  return 1.3 * vector(
                 {(u(1) * u(1) + u(2) * u(2)) / r, (-u(0) * u(1) + u(1) * u(2) * cot) / r,
                  (-u(0) * u(2) - u(1) * u(1) * cot) / r});
}

TEST(AnalyticSystem, when_pendulum_expect_textbook_terms_and_energies)
{
  const auto system = make_analytic_system(pendulum());
  EXPECT_EQ(system->speed_names(), std::vector<std::string>{"dtheta"});
  const auto data = terms_at(*system, 0.0, vector({0.4}), vector({1.5}));
  expect_near(data->terms.mass_matrix, vector({2.0 * 0.49}), kRounding);
  expect_near(data->terms.force, vector({-2.0 * 9.81 * 0.7 * std::sin(0.4)}), kRounding);
  expect_near(data->terms.rates, vector({1.5}), 0.0);
  expect_near(data->terms.acceleration_bias, vector({0.0}), 0.0);
  EXPECT_NEAR(system->kinetic_energy(*data), 0.5 * 2.0 * 0.49 * 2.25, kRounding);
  EXPECT_NEAR(system->potential_energy(*data), -2.0 * 9.81 * 0.7 * std::cos(0.4), kRounding);
}

TEST(AnalyticSystem, when_double_pendulum_expect_hand_derived_terms)
{
  AnalyticDescription d;
  d.coordinates = {"a", "b"};
  d.parameters = {{"m1", 1.2}, {"m2", 0.7}, {"l1", 0.9}, {"l2", 1.1}, {"g", 9.81}, {"c", 0.3}};
  d.definitions = {{"vx", "l1*da*cos(a) + l2*db*cos(b)"}, {"vy", "l1*da*sin(a) + l2*db*sin(b)"}};
  d.kinetic = "m1/2*l1^2*da^2 + m2/2*(vx^2 + vy^2)";
  d.potential = "-(m1 + m2)*g*l1*cos(a) - m2*g*l2*cos(b)";
  d.force = {{"a", "-c*da"}, {"b", "-c*(db - da)"}, {"da", "c*(db - da)"}};
  d.inputs = {{"motor", {{"a", "1"}, {"b", "-1"}}}};
  const auto system = make_analytic_system(d);
  const VectorXd q = vector({0.5, -1.1});
  const VectorXd u = vector({1.7, -0.6});
  const auto data = terms_at(*system, 0.0, q, u);
  const double h = 0.7 * 0.9 * 1.1;
  MatrixXd mass(2, 2);
  mass << 1.9 * 0.81, h * std::cos(1.6), h * std::cos(1.6), 0.7 * 1.21;
  VectorXd force(2);
  force << -h * std::sin(1.6) * u(1) * u(1) - 1.9 * 9.81 * 0.9 * std::sin(0.5) - 0.3 * u(0) +
             0.3 * (u(1) - u(0)),
    h * std::sin(1.6) * u(0) * u(0) - 0.7 * 9.81 * 1.1 * std::sin(-1.1) - 0.3 * (u(1) - u(0));
  expect_near(data->terms.mass_matrix, mass, kRounding);
  expect_near(data->terms.force, force, kRounding);
  expect_near(data->terms.input_matrix, vector({1.0, -1.0}), 0.0);
}

TEST(AnalyticSystem, when_quasi_speeds_of_thesis_2_1_expect_scaled_identity)
{
  AnalyticDescription d = spherical();
  d.force = {{"u2", "0.4"}, {"phi", "2*r"}};
  const auto system = make_analytic_system(d);
  const VectorXd q = vector({1.4, 0.3, 0.8});
  const VectorXd u = vector({0.5, -0.9, 1.2});
  const auto data = terms_at(*system, 0.0, q, u);
  expect_near(data->terms.mass_matrix, 1.3 * MatrixXd::Identity(3, 3), kRounding);
  // 2 r on φ̇ = −u3/r is a force of −2 conjugate to u3.
  expect_near(data->terms.force, spherical_force(q, u) + vector({0.0, 0.4, -2.0}), kRounding);
  MatrixXd c = MatrixXd::Zero(3, 3);
  c.diagonal() << 1.0, 1.0 / (1.4 * std::sin(0.8)), -1.0 / 1.4;
  expect_near(data->terms.kinematic_matrix, c, kRounding);
  expect_near(data->terms.rates, c * u, kRounding);
}

TEST(AnalyticSystem, when_quasi_speeds_expect_energy_of_the_rates_and_free_motion_straight)
{
  const auto system = make_analytic_system(spherical());
  const VectorXd q = vector({1.4, 0.3, 0.8});
  const VectorXd qdot = vector({0.2, -0.7, 0.9});
  VectorXd u = VectorXd::Zero(3);
  ASSERT_EQ(system->speeds_from_rates(0.0, q, qdot, u), Status::kOk);
  expect_near(u, vector({0.2, -0.7 * 1.4 * std::sin(0.8), -0.9 * 1.4}), kRounding);
  const auto data = terms_at(*system, 0.0, q, u);
  expect_near(data->terms.rates, qdot, kRounding);
  EXPECT_NEAR(system->kinetic_energy(*data), 0.5 * 1.3 * u.squaredNorm(), kRounding);
  // Cartesian acceleration of the free particle: zero.
  const VectorXd qddot =
    data->terms.kinematic_matrix * (data->terms.force / 1.3) + data->terms.acceleration_bias;
  const auto height = [&](double t)
  {
    const VectorXd at = q + t * qdot + 0.5 * t * t * qddot;
    return at(0) * std::cos(at(2));
  };
  const double h = 1e-3;
  EXPECT_NEAR((height(h) - 2.0 * height(0.0) + height(-h)) / (h * h), 0.0, 1e-5);
}

TEST(AnalyticSystem, when_appell_hamel_expect_mass_matrix_199)
{
  AnalyticDescription d;
  d.coordinates = {"theta", "phi", "x", "y", "z"};
  d.parameters = {{"rho", 5.0}, {"m", 1.0}, {"M", 5.0}, {"I", 1.0}, {"g", 9.81}};
  d.kinetic =
    "I/2*(dtheta^2 + dphi^2) + m/2*(dx^2 + dy^2 + dz^2)\n"
    "+ M/2*((dx + rho*dtheta*sin(theta))^2 + (dy - rho*dtheta*cos(theta))^2)";
  d.potential = "m*g*z";
  const auto system = make_analytic_system(d);
  const double theta = 0.7;
  const double s = 25.0 * std::sin(theta);
  const double c = 25.0 * std::cos(theta);
  const VectorXd u = vector({0.6, 1.0, -0.2, 0.4, 0.9});
  const auto data = terms_at(*system, 0.0, vector({theta, 0.1, 0.2, 0.3, 30.0}), u);
  MatrixXd mass(5, 5);
  mass << 126.0, 0.0, s, -c, 0.0,  //
    0.0, 1.0, 0.0, 0.0, 0.0,       //
    s, 0.0, 6.0, 0.0, 0.0,         //
    -c, 0.0, 0.0, 6.0, 0.0,        //
    0.0, 0.0, 0.0, 0.0, 1.0;
  expect_near(data->terms.mass_matrix, mass, 1e-13 * 126.0);
  // (200): only the circling of M enters, and gravity on m.
  expect_near(data->terms.force, vector({0.0, 0.0, -c * 0.36, -s * 0.36, -9.81}), 1e-12);
}

TEST(AnalyticSystem, when_support_moves_expect_its_inertial_force)
{
  AnalyticDescription d;
  d.coordinates = {"theta"};
  d.parameters = {{"m", 1.5}, {"l", 0.8}, {"g", 9.81}, {"A", 0.2}, {"w", 3.0}};
  d.kinetic = "m/2*((A*w*cos(w*t) + l*dtheta*cos(theta))^2 + (l*dtheta*sin(theta))^2)";
  d.potential = "-m*g*l*cos(theta)";
  const auto system = make_analytic_system(d);
  const double t = 0.35;
  const double theta = 0.9;
  const auto data = terms_at(*system, t, vector({theta}), vector({-1.1}));
  expect_near(data->terms.mass_matrix, vector({1.5 * 0.64}), kRounding);
  const double inertial = 1.5 * 0.8 * 0.2 * 9.0 * std::sin(3.0 * t) * std::cos(theta);
  expect_near(
    data->terms.force, vector({-1.5 * 9.81 * 0.8 * std::sin(theta) + inertial}), kRounding);
}

TEST(AnalyticSystem, when_columns_of_the_mass_matrix_come_together_expect_those_that_come_alone)
{
  // Rates share evaluations where speeds are rates; in another order they come one by one.
  AnalyticDescription d;
  d.coordinates = {"a", "b", "c", "e", "f"};
  d.kinetic =
    "(1 + a^2)/2*da^2 + sin(b)*da*db + 2*db^2 + exp(c)*dc^2 + (e*de - df)^2 + 3*de^2*(2 + t) + "
    "a*dc";
  const auto together = make_analytic_system(d);
  d.speeds = {{"u1", "df"}, {"u2", "db"}, {"u3", "da"}, {"u4", "dc"}, {"u5", "de"}};
  const auto alone = make_analytic_system(d);
  const VectorXd q = vector({0.4, -0.7, 0.2, 1.3, -0.5});
  const VectorXd u = vector({0.3, 1.7, -0.9, 0.6, -1.1});
  const Eigen::PermutationMatrix<5> order(Eigen::Matrix<int, 5, 1>(4, 1, 0, 2, 3));
  const auto a = terms_at(*together, 0.3, q, u);
  const auto b = terms_at(*alone, 0.3, q, order.transpose() * u);
  expect_near(
    b->terms.mass_matrix, order.transpose() * a->terms.mass_matrix * order, kRounding * 10.0);
  expect_near(b->terms.force, order.transpose() * a->terms.force, kRounding * 10.0);
  EXPECT_EQ(a->terms.mass_matrix(0, 2), 0.0);
  EXPECT_NEAR(a->terms.mass_matrix(3, 4), -2.0 * 1.3, 1e-12);
}

TEST(AnalyticSystem, when_force_has_acceleration_expect_virtual_mass)
{
  AnalyticDescription d;
  d.coordinates = {"x"};
  d.kinetic = "dx^2";
  d.force = {{"x", "-3*ddx - 5*dx"}};
  const auto rates = terms_at(*make_analytic_system(d), 0.0, vector({1.2}), vector({0.5}));
  expect_near(rates->terms.mass_matrix, vector({5.0}), kRounding);
  expect_near(rates->terms.force, vector({-2.5}), kRounding);
  // u = exp(x) ẋ: the same motion, seen through another speed.
  d.speeds = {{"u", "exp(x)*dx"}};
  const double e = std::exp(1.2);
  const auto speeds = terms_at(*make_analytic_system(d), 0.0, vector({1.2}), vector({0.5 * e}));
  const double udot = speeds->terms.force(0) / speeds->terms.mass_matrix(0, 0);
  EXPECT_NEAR(udot, e * (-2.5 / 5.0 + 0.25), kRounding);
  // The same force, conjugate to u.
  d.force = {{"u", "(-3*ddx - 5*dx)*exp(-x)"}};
  const auto kane = terms_at(*make_analytic_system(d), 0.0, vector({1.2}), vector({0.5 * e}));
  expect_same_terms(*kane, *speeds, kRounding);
}

TEST(AnalyticSystem, when_force_couples_accelerations_expect_unsymmetric_mass_matrix)
{
  AnalyticDescription d;
  d.coordinates = {"x", "y"};
  d.kinetic = "dx^2/2 + dy^2/2";
  d.force = {{"x", "-0.5*ddy*y"}};
  const auto data = terms_at(*make_analytic_system(d), 0.0, vector({0.0, 2.0}), vector({1.0, 0.0}));
  MatrixXd mass(2, 2);
  mass << 1.0, 1.0, 0.0, 1.0;
  expect_near(data->terms.mass_matrix, mass, kRounding);
}

/// A system with everything: full mass matrix of (q, t), gyroscopic terms, affine rheonomic speeds.
AnalyticDescription general(std::mt19937 & random)
{
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  AnalyticDescription d;
  d.coordinates = {"x", "y", "z"};
  for (int i = 0; i < 20; ++i)
  {
    d.parameters.emplace_back("c" + std::to_string(i), uniform(random));
  }
  d.definitions = {
    {"v1", "dx*(2 + c0*sin(y + t)) + c1*dy*z + c2*cos(t)"},
    {"v2", "dy*(2 + c3*x^2) + c4*dz*exp(c5*x) + c6*x*t"},
    {"v3", "dz*(1.5 + c7*cos(z*y)) + c8*dx"}};
  d.kinetic = "v1^2/2 + 0.7*v2^2 + 0.9*v3^2 + c9*x*dy + c10*x*y";
  d.potential = "c11*x^2*y + c12*cos(z - t) + c13*z";
  d.speeds = {
    {"u1", "dx*(2 + c14*sin(z)) + c15*dy + c16*t*x"},
    {"u2", "dy*exp(c17*x*t) + sin(t)"},
    {"u3", "2*dz + c18*y*dx"}};
  d.force = {{"x", "c19*dy*u1 - dx"}, {"u3", "c2*dx + c3*z"}, {"y", "x - c5*u2"}};
  return d;
}

TEST(AnalyticSystem, when_random_system_expect_lagrange_by_finite_differences)
{
  for (unsigned seed = 1; seed <= 12; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    const AnalyticDescription d = general(random);
    const auto system = make_analytic_system(d);
    // T and V by their values alone: through a system whose speeds are the rates.
    AnalyticDescription energies = d;
    energies.speeds.clear();
    energies.force.clear();
    const auto plain = make_analytic_system(energies);
    const auto scratch = plain->make_data();
    const auto lagrangian = [&](double t, const VectorXd & q, const VectorXd & qdot)
    {
      EXPECT_EQ(plain->update_kinematics(t, q, qdot, *scratch), Status::kOk);
      EXPECT_EQ(plain->update_dynamics(*scratch), Status::kOk);
      return plain->kinetic_energy(*scratch) - plain->potential_energy(*scratch);
    };
    const double t0 = 0.3 + uniform(random);
    const VectorXd q0 = VectorXd::NullaryExpr(3, [&] { return uniform(random); });
    const VectorXd u = VectorXd::NullaryExpr(3, [&] { return 2.0 * uniform(random); });
    const VectorXd udot = VectorXd::NullaryExpr(3, [&] { return 2.0 * uniform(random); });
    const auto data = terms_at(*system, t0, q0, u);
    const SystemTerms & terms = data->terms;
    const VectorXd qdot = terms.rates;
    const VectorXd qddot = terms.kinematic_matrix * udot + terms.acceleration_bias;
    // Derivative of f at 0, fourth order.
    const auto slope = [](const std::function<double(double)> & f, double h)
    { return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h); };
    VectorXd left(3);
    for (Eigen::Index i = 0; i < 3; ++i)
    {
      const VectorXd e = VectorXd::Unit(3, i);
      const auto momentum = [&](double s)
      {
        const VectorXd q = q0 + s * qdot + 0.5 * s * s * qddot;
        const VectorXd v = qdot + s * qddot;
        return slope([&](double h) { return lagrangian(t0 + s, q, v + h * e); }, 0.1);
      };
      left(i) = slope(momentum, 2e-3) -
                slope([&](double h) { return lagrangian(t0, q0 + h * e, qdot); }, 2e-3);
    }
    const auto c = [&](std::size_t i) { return d.parameters[i].second; };
    left(0) -= c(19) * qdot(1) * u(0) - qdot(0);
    left(1) -= q0(0) - c(5) * u(1);
    VectorXd expected = terms.kinematic_matrix.transpose() * left;
    expected(2) -= c(2) * qdot(0) + c(3) * q0(2);
    // Error of the differences: h⁴/30 = 5e-13 times fifth derivatives, which reach 1e4 where the
    // rates reach 10; rounding 1e-11.
    expect_near(terms.mass_matrix * udot - terms.force, expected, 5e-8);
    EXPECT_EQ(terms.mass_matrix, terms.mass_matrix.transpose());
    // q̈0 by the speeds themselves: u is constant along the curve with u̇ = 0.
    const auto speeds = [&](double s)
    {
      VectorXd at = VectorXd::Zero(3);
      EXPECT_EQ(
        system->speeds_from_rates(
          t0 + s, q0 + s * qdot + 0.5 * s * s * terms.acceleration_bias,
          qdot + s * terms.acceleration_bias, at),
        Status::kOk);
      return at;
    };
    const double h = 1e-3;
    expect_near(speeds(0.0), u, kRounding * 10.0);
    expect_near((speeds(h) - speeds(-h)) / (2.0 * h), VectorXd::Zero(3), 1e-4);
  }
}

/// The spherical particle in C++ functions, kinematics still to be given.
AnalyticFunctions spherical_functions()
{
  AnalyticFunctions f;
  f.coordinates = {"r", "theta", "phi"};
  f.speeds = {"u1", "u2", "u3"};
  f.mass_matrix = [](double, const ConstVectorRef &, MatrixRef out)
  {
    out.setZero();
    out.diagonal().setConstant(1.3);
  };
  f.force = [](double, const ConstVectorRef & q, const ConstVectorRef & u, VectorRef out)
  {
    const double r = q(0);
    const double cot = std::cos(q(2)) / std::sin(q(2));
    out(0) = 1.3 * (u(1) * u(1) + u(2) * u(2)) / r;
    out(1) = 1.3 * (-u(0) * u(1) + u(1) * u(2) * cot) / r;
    out(2) = 1.3 * (-u(0) * u(2) - u(1) * u(1) * cot) / r;
  };
  f.inputs = {"push"};
  f.input_matrix = [](double, const ConstVectorRef & q, const ConstVectorRef &, MatrixRef out)
  {
    out.setZero();
    out(1, 0) = q(0);
  };
  f.neutral_coordinates = vector({1.0, 0.0, 1.0});
  return f;
}

const auto spherical_rates = [](const auto &, const auto * q, const auto * u, auto * qdot)
{
  using std::sin;
  qdot[0] = u[0];
  qdot[1] = u[1] / (q[0] * sin(q[2]));
  qdot[2] = -u[2] / q[0];
};

TEST(AnalyticSystem, when_given_by_functions_expect_same_as_by_formulas)
{
  AnalyticDescription d = spherical();
  d.inputs = {{"push", {{"u2", "r"}}}};
  const auto formulas = make_analytic_system(d);

  AnalyticFunctions derived = spherical_functions();
  derived.rates = spherical_rates;
  AnalyticFunctions given = spherical_functions();
  given.kinematic_matrix = [](double, const ConstVectorRef & q, MatrixRef out)
  {
    out.setZero();
    out(0, 0) = 1.0;
    out(1, 1) = 1.0 / (q(0) * std::sin(q(2)));
    out(2, 2) = -1.0 / q(0);
  };
  given.acceleration_bias =
    [](double, const ConstVectorRef & q, const ConstVectorRef & u, VectorRef out)
  {
    const double r = q(0);
    const double s = std::sin(q(2));
    const double phi_rate = -u(2) / r;
    out(0) = 0.0;
    out(1) = -u(1) * (u(0) * s + r * std::cos(q(2)) * phi_rate) / (r * r * s * s);
    out(2) = u(2) * u(0) / (r * r);
  };
  for (const AnalyticFunctions & functions : {derived, given})
  {
    const auto system = make_analytic_system(functions);
    std::mt19937 random(5u);
    std::uniform_real_distribution<double> uniform(0.4, 1.5);
    for (int trial = 0; trial < 10; ++trial)
    {
      const VectorXd q = VectorXd::NullaryExpr(3, [&] { return uniform(random); });
      const VectorXd u = VectorXd::NullaryExpr(3, [&] { return uniform(random) - 1.0; });
      const auto a = terms_at(*formulas, 0.1, q, u);
      const auto b = terms_at(*system, 0.1, q, u);
      expect_same_terms(*a, *b, 1e-11);
      EXPECT_NEAR(formulas->kinetic_energy(*a), system->kinetic_energy(*b), kRounding);
      VectorXd back = VectorXd::Zero(3);
      ASSERT_EQ(system->speeds_from_rates(0.1, q, b->terms.rates, back), Status::kOk);
      expect_near(back, u, 1e-11);
    }
  }
}

TEST(AnalyticSystem, when_functions_have_rheonomic_rates_expect_drift_and_bias)
{
  AnalyticFunctions f;
  f.coordinates = {"x"};
  f.speeds = {"u"};
  f.rates = [](const auto & t, const auto * q, const auto * u, auto * qdot)
  {
    using std::sin;
    qdot[0] = u[0] * q[0] + sin(t);
  };
  f.mass_matrix = [](double, const ConstVectorRef &, MatrixRef out) { out(0, 0) = 2.0; };
  f.kinetic_energy = [](double, const ConstVectorRef &, const ConstVectorRef & u)
  { return u(0) * u(0) + 1.0; };
  f.potential_energy = [](double, const ConstVectorRef & q) { return 3.0 * q(0); };
  const auto system = make_analytic_system(f);
  const auto data = terms_at(*system, 0.5, vector({2.0}), vector({3.0}));
  const double rate = 6.0 + std::sin(0.5);
  expect_near(data->terms.kinematic_drift, vector({std::sin(0.5)}), kRounding);
  expect_near(data->terms.rates, vector({rate}), kRounding);
  expect_near(data->terms.acceleration_bias, vector({3.0 * rate + std::cos(0.5)}), kRounding);
  expect_near(data->terms.force, vector({0.0}), 0.0);
  EXPECT_NEAR(system->kinetic_energy(*data), 10.0, kRounding);
  EXPECT_NEAR(system->potential_energy(*data), 6.0, kRounding);
}

TEST(AnalyticSystem, when_user_function_throws_expect_status)
{
  AnalyticFunctions f;
  f.coordinates = {"x"};
  f.mass_matrix = [](double, const ConstVectorRef &, MatrixRef out) { out(0, 0) = 1.0; };
  f.force = [](double, const ConstVectorRef & q, const ConstVectorRef &, VectorRef out)
  {
    if (q(0) > 1.0)
    {
      throw std::runtime_error("out of the table");
    }
    out(0) = 1.0;
  };
  const auto system = make_analytic_system(f);
  EXPECT_EQ(system->speed_names(), std::vector<std::string>{"dx"});
  const auto data = system->make_data();
  ASSERT_EQ(system->update_kinematics(0.0, vector({2.0}), vector({0.0}), *data), Status::kOk);
  {
    const test::RealtimeExemption exemption;
    EXPECT_EQ(system->update_dynamics(*data), Status::kUserFunctionFailed);
  }
  ASSERT_EQ(system->update_kinematics(0.0, vector({0.5}), vector({0.0}), *data), Status::kOk);
  EXPECT_EQ(system->update_dynamics(*data), Status::kOk);
}

TEST(AnalyticSystem, when_functions_do_not_fit_expect_refusal)
{
  const auto refused = [](const std::function<void(AnalyticFunctions &)> & change)
  {
    AnalyticFunctions f = spherical_functions();
    f.rates = spherical_rates;
    change(f);
    EXPECT_THROW(make_analytic_system(f), std::invalid_argument);
  };
  refused([](AnalyticFunctions & f) { f.mass_matrix = nullptr; });
  refused([](AnalyticFunctions & f) { f.input_matrix = nullptr; });
  refused([](AnalyticFunctions & f) { f.inputs.clear(); });
  refused([](AnalyticFunctions & f) { f.coordinates = {"r", "r", "phi"}; });
  refused([](AnalyticFunctions & f) { f.neutral_coordinates = vector({1.0}); });
  refused([](AnalyticFunctions & f)
          { f.neutral_coordinates(0) = std::numeric_limits<double>::quiet_NaN(); });
  refused(
    [](AnalyticFunctions & f)
    {
      f.rates = nullptr;
      f.speeds = {"u1", "u2"};
    });
  refused(
    [](AnalyticFunctions & f)
    {
      f.rates = nullptr;
      f.kinematic_matrix = [](double, const ConstVectorRef &, MatrixRef out) { out.setIdentity(); };
    });
  refused(
    [](AnalyticFunctions & f)
    {
      f.rates = [](const auto &, const auto *, const auto * u, auto * qdot)
      {
        qdot[0] = u[0];
        qdot[1] = u[1] * u[2];
        qdot[2] = u[2];
      };
    });
}

TEST(AnalyticSystem, when_speeds_are_singular_expect_status)
{
  const auto system = make_analytic_system(spherical());
  const auto data = system->make_data();
  const VectorXd u = vector({0.1, 0.2, 0.3});
  const double pi = 3.14159265358979323846;
  for (const VectorXd & q :
       {vector({1.0, 0.0, 0.0}), vector({1.0, 0.0, pi}), vector({0.0, 0.0, 1.0}),
        vector({1.0, 0.0, 1e-13})})
  {
    EXPECT_EQ(system->update_kinematics(0.0, q, u, *data), Status::kSingularKinematics);
  }
  EXPECT_EQ(system->update_kinematics(0.0, vector({1.0, 0.0, 1e-6}), u, *data), Status::kOk);
  EXPECT_EQ(system->update_dynamics(*data), Status::kOk);
}

TEST(AnalyticSystem, when_formula_has_no_value_expect_status)
{
  AnalyticDescription d;
  d.coordinates = {"x"};
  d.kinetic = "dx^2/2";
  d.potential = "-1/x";
  const auto system = make_analytic_system(d);
  const auto data = system->make_data();
  ASSERT_EQ(system->update_kinematics(0.0, vector({0.0}), vector({1.0}), *data), Status::kOk);
  EXPECT_EQ(system->update_dynamics(*data), Status::kNonFiniteResult);
  EXPECT_NE(system->neutral_coordinates()(0), 0.0);
  ASSERT_EQ(
    system->update_kinematics(0.0, system->neutral_coordinates(), vector({1.0}), *data),
    Status::kOk);
  EXPECT_EQ(system->update_dynamics(*data), Status::kOk);
  d.speeds = {{"u", "dx/x"}};
  const auto fast = make_analytic_system(d);
  const auto other = fast->make_data();
  EXPECT_EQ(
    fast->update_kinematics(0.0, vector({0.0}), vector({1.0}), *other), Status::kNonFiniteResult);
}

TEST(AnalyticSystem, when_input_is_bad_expect_status_and_untouched_speeds)
{
  const auto system = make_analytic_system(spherical());
  const auto data = system->make_data();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const VectorXd q = vector({1.0, 0.0, 1.0});
  EXPECT_EQ(
    system->update_kinematics(0.0, vector({nan, 0.0, 1.0}), q, *data), Status::kNonFiniteInput);
  EXPECT_EQ(system->update_kinematics(0.0, vector({1.0}), q, *data), Status::kSizeMismatch);
  VectorXd u = vector({1.0, 2.0, 3.0});
  EXPECT_EQ(system->speeds_from_rates(nan, q, q, u), Status::kNonFiniteInput);
  EXPECT_EQ(system->speeds_from_rates(0.0, q, vector({1.0}), u), Status::kSizeMismatch);
  EXPECT_EQ(u, vector({1.0, 2.0, 3.0}));
}

TEST(AnalyticSystem, when_speeds_are_permuted_and_scaled_rates_expect_constant_kinematics)
{
  AnalyticDescription d;
  d.coordinates = {"x", "y"};
  d.kinetic = "(3*dx^2 + 5*dy^2)/2";
  d.speeds = {{"w", "2*dy + 1"}, {"dx", "dx"}};
  d.force = {{"y", "7"}, {"x", "w"}};
  d.inputs = {{"tau", {{"w", "1"}, {"x", "2"}}}};
  const auto system = make_analytic_system(d);
  const auto data = terms_at(*system, 0.0, vector({0.0, 0.0}), vector({4.0, -1.0}));
  expect_near(data->terms.rates, vector({-1.0, 1.5}), kRounding);
  expect_near(data->terms.mass_matrix.diagonal(), vector({1.25, 3.0}), kRounding);
  expect_near(data->terms.force, vector({3.5, 4.0}), kRounding);
  expect_near(data->terms.input_matrix, vector({1.0, 2.0}), kRounding);
  EXPECT_NEAR(system->kinetic_energy(*data), (3.0 + 5.0 * 2.25) / 2.0, kRounding);
}

TEST(AnalyticSystem, when_kinetic_energy_is_singular_expect_semidefinite_mass)
{
  // A turning wheel in Euler parameters: T = 2 I |e0 ė3 − e3 ė0|² about one axis.
  AnalyticDescription d;
  d.coordinates = {"e0", "e3"};
  d.kinetic = "2*(e0*de3 - e3*de0)^2";
  const auto system = make_analytic_system(d);
  const auto data =
    terms_at(*system, 0.0, vector({std::cos(0.3), std::sin(0.3)}), vector({0.0, 0.0}));
  EXPECT_NEAR(data->terms.mass_matrix.determinant(), 0.0, kRounding);
  EXPECT_NEAR(data->terms.mass_matrix.trace(), 4.0, kRounding);
}

TEST(AnalyticSystem, when_speeds_appear_in_definitions_and_kinetic_expect_them_resolved)
{
  AnalyticDescription d = spherical();
  d.definitions = {{"half", "square/2"}, {"square", "u1^2 + u2^2 + u3^2"}};
  EXPECT_FALSE(refusal(d).empty());  // half uses what comes after it
  d.definitions = {{"square", "u1^2 + u2^2 + u3^2"}, {"half", "square/2"}};
  d.kinetic = "m*half";
  const auto system = make_analytic_system(d);
  const VectorXd q = vector({1.4, 0.3, 0.8});
  const VectorXd u = vector({0.5, -0.9, 1.2});
  expect_same_terms(
    *terms_at(*system, 0.0, q, u), *terms_at(*make_analytic_system(spherical()), 0.0, q, u),
    kRounding);
}

TEST(AnalyticSystem, when_description_is_wrong_expect_refusal_that_names_it)
{
  AnalyticDescription d = pendulum();
  d.kinetic.clear();
  expect_refusal(d, {"kinetic"});
  d = pendulum();
  d.kinetic = "m/2*dtheta^4";
  expect_refusal(d, {"kinetic", "rates"});
  d.kinetic = "abs(dtheta)";
  expect_refusal(d, {"kinetic", "rates"});
  d.kinetic = "ddtheta*dtheta";
  expect_refusal(d, {"kinetic", "acceleration"});
  d.kinetic = "m/2*dthet^2";
  expect_refusal(d, {"kinetic", "dthet"});
  d = pendulum();
  d.potential = "theta*dtheta";
  expect_refusal(d, {"potential", "rate"});
  d = pendulum();
  d.speeds = {{"u", "dtheta^2"}};
  expect_refusal(d, {"speed 'u'", "dtheta^2", "affine"});
  d.speeds = {{"u", "3*theta"}};
  expect_refusal(d, {"speeds", "determine"});
  d.speeds = {{"u", "dtheta"}, {"w", "2*dtheta"}};
  expect_refusal(d, {"speeds: 2"});
  d.speeds = {{"dtheta", "2*dtheta"}};
  expect_refusal(d, {"dtheta", "2*dtheta"});
  d.speeds = {{"theta", "dtheta"}};
  expect_refusal(d, {"theta"});
  d.speeds = {{"m", "dtheta"}};
  expect_refusal(d, {"speed 'm'"});
  d.speeds = {{"u", "dtheta + ddtheta"}};
  expect_refusal(d, {"speed 'u'", "acceleration"});
  d = pendulum();
  d.force = {{"theta", "-ddtheta^2"}};
  expect_refusal(d, {"force on 'theta'", "-ddtheta^2", "accelerations"});
  d.force = {{"phi", "1"}};
  expect_refusal(d, {"force", "phi", "theta"});
  d.force = {{"theta", "1 +"}};
  expect_refusal(d, {"force on 'theta'"});
  d = pendulum();
  d.inputs = {{"tau", {{"phi", "1"}}}};
  expect_refusal(d, {"input 'tau'", "phi"});
  d.inputs = {{"tau", {{"theta", "ddtheta"}}}};
  expect_refusal(d, {"input 'tau' on 'theta'", "acceleration"});
  d = pendulum();
  d.parameters.emplace_back("k", std::numeric_limits<double>::infinity());
  expect_refusal(d, {"parameter 'k'"});
  d = pendulum();
  d.parameters.emplace_back("t", 1.0);
  expect_refusal(d, {"parameter 't'"});
  d = pendulum();
  d.definitions = {{"h", "h + 1"}};
  expect_refusal(d, {"definition 'h'"});
  d = pendulum();
  d.coordinates = {"theta", "dtheta"};
  expect_refusal(d, {"dtheta"});
  d.coordinates = {"theta", "theta"};
  expect_refusal(d, {"theta"});
  d.coordinates.clear();
  expect_refusal(d, {"0"});
  d = pendulum();
  d.potential = "sqrt(-1 - theta^2)";
  expect_refusal(d, {"no finite value"});
  d = pendulum();
  d.regular_coordinates = vector({1.0, 2.0});
  expect_refusal(d, {"regular_coordinates", "2"});
}

TEST(AnalyticSystem, when_domain_is_far_from_zero_expect_regular_coordinates_to_help)
{
  AnalyticDescription d = pendulum();
  d.coordinates = {"theta"};
  d.potential = "sqrt(theta - 123456)*sqrt(123457 - theta)";
  EXPECT_FALSE(refusal(d).empty());
  d.regular_coordinates = vector({123456.5});
  EXPECT_TRUE(refusal(d).empty()) << refusal(d);
  EXPECT_EQ(make_analytic_system(d)->neutral_coordinates(), d.regular_coordinates);
}

TEST(AnalyticSystem, when_threads_share_a_system_expect_equal_results)
{
  std::mt19937 random(3u);
  const auto system = make_analytic_system(general(random));
  const VectorXd q = vector({0.1, -0.4, 0.7});
  const VectorXd u = vector({0.5, -0.9, 1.2});
  const auto expected = terms_at(*system, 0.2, q, u);
  std::atomic<int> different{0};
  const auto work = [&](double offset)
  {
    const auto data = system->make_data();
    for (int i = 0; i < 300; ++i)
    {
      const VectorXd other = q.array() + offset * i * 1e-3;
      bool ok = system->update_kinematics(0.1, other, u, *data) == Status::kOk;
      ok = ok && system->update_dynamics(*data) == Status::kOk;
      ok = ok && system->update_kinematics(0.2, q, u, *data) == Status::kOk;
      ok = ok && system->update_dynamics(*data) == Status::kOk;
      ok = ok && data->terms.force == expected->terms.force;
      ok = ok && data->terms.mass_matrix == expected->terms.mass_matrix;
      different += ok ? 0 : 1;
    }
  };
  std::thread a(work, 1.0);
  std::thread b(work, -1.0);
  a.join();
  b.join();
  EXPECT_EQ(different.load(), 0);
}

TEST(AnalyticSystem, when_evaluated_expect_no_allocation_and_no_lock)
{
  if (!test::counts_allocations())
  {
    GTEST_SKIP() << "a sanitizer has allocators of its own";
  }
  std::mt19937 random(3u);
  AnalyticDescription everything = general(random);
  everything.force.push_back({"x", "-0.1*ddy*sin(z)"});
  everything.inputs = {{"tau", {{"x", "cos(y)"}, {"u2", "1"}}}};
  AnalyticFunctions functions = spherical_functions();
  functions.rates = spherical_rates;
  // A chain of 40 coordinates, so that matrix products leave the size of registers.
  AnalyticDescription chain;
  for (int i = 0; i < 40; ++i)
  {
    const std::string name = "x" + std::to_string(i);
    chain.coordinates.push_back(name);
    chain.kinetic += (i == 0 ? "" : " + ") + ("d" + name + "^2*(2 + sin(x0))");
    chain.speeds.push_back({"u" + std::to_string(i), "d" + name + "*(2 + cos(x1)) + dx0"});
  }
  for (const std::shared_ptr<const AnalyticSystem> & system :
       {make_analytic_system(pendulum()), make_analytic_system(spherical()),
        make_analytic_system(everything), make_analytic_system(functions),
        make_analytic_system(chain)})
  {
    const auto data = system->make_data();
    const VectorXd q = system->neutral_coordinates().array() + 0.3;
    const VectorXd singular = VectorXd::Zero(system->coordinate_count());
    const VectorXd u = VectorXd::Constant(system->speed_count(), 0.4);
    double energy = 0.0;
    const long before = test::allocation_count() + test::lock_count();
    const Status kinematics = system->update_kinematics(0.1, q, u, *data);
    const Status dynamics = system->update_dynamics(*data);
    energy += system->kinetic_energy(*data) + system->potential_energy(*data);
    const Status failed = system->update_kinematics(0.1, singular, u, *data);
    const long after = test::allocation_count() + test::lock_count();
    EXPECT_EQ(after - before, 0);
    EXPECT_EQ(kinematics, Status::kOk);
    EXPECT_EQ(dynamics, Status::kOk);
    EXPECT_TRUE(std::isfinite(energy));
    static_cast<void>(failed);
  }
  const long before = test::allocation_count();
  const std::unique_ptr<SystemData> counted = make_analytic_system(pendulum())->make_data();
  EXPECT_GT(test::allocation_count() - before, 10);  // the counter counts
}

}  // namespace
}  // namespace constrained_dynamics
