// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Bajodah's thesis, examples 2.1, 2.2, 3.1, 4.1, 4.2: scenario files against data/reference.
//
// Tolerances. One-shots: 1e-11 relative, rounding of a small linear system. States of runs: 1e-9,
// a thousand times the tolerance of the integrator. Accelerations and forces: states times
// Lipschitz constants of about 10, hence 1e-8.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Names = std::vector<std::string>;

constexpr double kOneShot = 1e-11;
constexpr double kState = 1e-9;
constexpr double kForce = 1e-8;

std::string label(const YAML::Node & point) { return "at " + point["t"].as<std::string>() + " s"; }

// ---- examples 2.1 and 4.2: particle on r phi = c ------------------------------------------------

const Names kSpherical = {"r", "theta", "phi"};
const Names kThreeSpeeds = {"u1", "u2", "u3"};

std::vector<Snapshot> expect_thesis_2_1(const YAML::Node & reference, const Names & overrides)
{
  const Scenario scenario = load_scenario(
    "thesis_2_1", accurately() + overrides +
                    Names{set_initial(
                      kSpherical, to_vector(reference["ic"]["q"]), "rates", kSpherical,
                      to_vector(reference["ic"]["qd"]))});
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(scenario, times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_close(shots[i].q, to_vector(series[i]["q"]), kState, "q");
    expect_close(shots[i].u, to_vector(series[i]["u"]), kState, "u");
    expect_close(shots[i].acceleration, to_vector(series[i]["udot"]), kForce, "udot");
    expect_close(shots[i].constraint_force, to_vector(series[i]["Fc"]), kForce, "Fc");
    expect_workless(shots[i]);
    // Projection ends at four roundings of the largest coordinate, here theta, times the row's
    // size.
    const double rounding =
      1e-15 * std::hypot(shots[i].q(2), 1.0) * std::max(1.0, shots[i].q.cwiseAbs().maxCoeff());
    EXPECT_LE(std::abs(shots[i].row_position(0)), rounding);
    EXPECT_LE(std::abs(shots[i].row_velocity(0)), rounding);
    // (283): the force is normal to the surface.
    const double phi = shots[i].q(2);
    expect_close(
      shots[i].constraint_force,
      shots[i].observed("normal_force") * Eigen::Vector3d(phi, 0.0, -1.0) / std::hypot(phi, 1.0),
      1e-13, "normal force");
  }
  return shots;
}

TEST(Thesis21, when_solved_at_random_states_expect_reference_accelerations_and_forces)
{
  for (const YAML::Node & shot : load_reference("thesis_2_1")["oneshots"])
  {
    SCOPED_TRACE(shot["name"].as<std::string>());
    // The states do not hold the row; its acceleration form is enforced nevertheless.
    const Snapshot solved = solve_raw(
      "thesis_2_1",
      set_all("", {"F_r", "F_theta", "F_phi"}, to_vector(shot["F"])) +
        Names{
          set("m", shot["m"].as<double>()),
          set_initial(kSpherical, to_vector(shot["q"]), "u", kThreeSpeeds, to_vector(shot["u"]))});
    EXPECT_EQ(solved.status, Status::kOk);
    EXPECT_EQ(solved.rank, 1);
    expect_relative(solved.acceleration, to_vector(shot["udot"]), kOneShot, "udot");
    expect_relative(solved.constraint_force, to_vector(shot["Fc"]), kOneShot, "Fc");
  }
}

TEST(Thesis21, when_constant_forces_act_expect_reference_motion)
{
  const YAML::Node reference = find_item(load_reference("thesis_2_1")["cases"], "case", "A");
  expect_thesis_2_1(reference, set_parameters(reference["params"]) + Names{"g=0"});
}

TEST(Thesis21, when_gravity_acts_expect_reference_motion_energy_and_angular_momentum)
{
  const YAML::Node reference = find_item(load_reference("thesis_2_1")["cases"], "case", "G");
  const std::vector<Snapshot> shots = expect_thesis_2_1(
    reference, set_parameters(reference["params"]) + Names{"F_r=0", "F_theta=0", "F_phi=0"});
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    expect_close(shots[i].energy, reference["series"][i]["energy"].as<double>(), kState, "energy");
    expect_close(shots[i].observed("Lz"), reference["series"][i]["Lz"].as<double>(), kState, "Lz");
  }
}

TEST(Thesis21, when_file_is_unchanged_expect_case_A)
{
  const YAML::Node reference = find_item(load_reference("thesis_2_1")["cases"], "case", "A");
  const Scenario scenario = load_scenario("thesis_2_1");
  expect_close(scenario.initial().q, to_vector(reference["ic"]["q"]), 0.0, "q");
  expect_close(scenario.initial().u, to_vector(reference["series"][0]["u"]), 1e-15, "u");
}

// ---- example 2.2: dy = z dx + alpha(t) ----------------------------------------------------------

const Names kCartesian = {"x", "y", "z"};

TEST(Thesis22, when_solved_at_random_states_expect_reference_accelerations_and_forces)
{
  for (const YAML::Node & shot : load_reference("thesis_2_2")["oneshots"])
  {
    SCOPED_TRACE(shot["name"].as<std::string>());
    ASSERT_EQ(shot["alpha"].as<std::string>(), "0.5*sin(2 t)");
    const Snapshot solved = solve_raw(
      "thesis_2_2", set_all("", {"F_x", "F_y", "F_z"}, to_vector(shot["F_xyz"])) +
                      Names{
                        set("m", shot["m"].as<double>()),
                        set_initial(
                          kCartesian, to_vector(shot["q_xyz"]), "u", kThreeSpeeds,
                          to_vector(shot["u"]), shot["t"].as<double>())});
    EXPECT_EQ(solved.status, Status::kOk);
    expect_relative(solved.acceleration, to_vector(shot["udot"]), kOneShot, "udot");
    expect_relative(solved.constraint_force, to_vector(shot["Fc"]), kOneShot, "Fc");
  }
}

TEST(Thesis22, when_run_expect_reference_motion_and_power_of_the_moving_row)
{
  const YAML::Node reference = find_item(load_reference("thesis_2_2")["cases"], "case", "A");
  const Scenario scenario = load_scenario("thesis_2_2", accurately());
  const Eigen::VectorXd force = to_vector(reference["params"]["F"]);
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(scenario, times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_close(shots[i].q, to_vector(series[i]["q_xyz"]), kState, "q");
    expect_close(shots[i].u, to_vector(series[i]["u"]), kState, "u");
    expect_close(shots[i].acceleration, to_vector(series[i]["udot"]), kForce, "udot");
    expect_close(shots[i].constraint_force, to_vector(series[i]["Fc"]), kForce, "Fc");
    // z is free of the row.
    EXPECT_NEAR(shots[i].acceleration(1), force(2), 1e-15);
    // A u = alpha(t) on the manifold: a rheonomic row does work.
    const double alpha = 0.5 * std::sin(2.0 * shots[i].time);
    expect_close(shots[i].power, shots[i].multipliers(0) * alpha, 1e-13, "power");
    expect_close(shots[i].observed("constraint_power"), shots[i].power, 1e-13, "observed power");
  }
}

// ---- example 3.1: Appell-Hamel mechanism --------------------------------------------------------

const Names kAppellHamel = {"theta", "phi", "x", "y", "z"};

class Thesis31 : public ::testing::TestWithParam<const char *>
{
protected:
  bool is_linear() const { return std::string(GetParam()) == "linear"; }
  std::string scenario() const { return std::string("thesis_3_1_") + GetParam(); }
};

TEST_P(Thesis31, when_solved_at_random_states_expect_reference_accelerations_and_forces)
{
  const std::string set_name = is_linear() ? "LC" : "NC";
  for (const YAML::Node & shot : load_reference("thesis_3_1")["oneshots"])
  {
    SCOPED_TRACE(shot["name"].as<std::string>());
    const Snapshot solved = solve_raw(
      scenario(), set_parameters(shot["params"]) + Names{set_initial(
                                                     kAppellHamel, to_vector(shot["q"]), "rates",
                                                     kAppellHamel, to_vector(shot["u"]))});
    EXPECT_EQ(solved.status, Status::kOk);
    EXPECT_EQ(solved.rank, 3);
    expect_relative(solved.acceleration, to_vector(shot["udot_" + set_name]), kOneShot, "udot");
    expect_relative(solved.constraint_force, to_vector(shot["Fc_" + set_name]), kOneShot, "Fc");
  }
}

TEST_P(Thesis31, when_run_expect_reference_motion_of_either_constraint_set)
{
  const YAML::Node reference = find_item(load_reference("thesis_3_1")["cases"], "case", "A_LC");
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots =
    run_to(load_scenario(scenario(), accurately()), times_of(series));
  const double a = 1.0, b = 0.5, rho = 5.0, m = 1.0, M = 5.0, I = 1.0, g = 9.81;
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    const Snapshot & shot = shots[i];
    expect_close(shot.q, to_vector(series[i]["q"]), kState, "q");
    expect_close(shot.u, to_vector(series[i]["u"]), kState, "u");
    expect_close(shot.acceleration, to_vector(series[i]["udot"]), kForce, "udot");
    expect_close(shot.constraint_force, to_vector(series[i]["Fc"]), kForce, "Fc");
    expect_close(shot.energy, series[i]["energy"].as<double>(), kState, "energy");
    expect_workless(shot);
    // The two equations that are left when the constraints are eliminated.
    const double theta_rate = shot.u(0), phi_rate = shot.u(1);
    expect_close(
      (I + m * rho * rho) * shot.acceleration(0), -m * rho * a * theta_rate * phi_rate, 1e-11,
      "equation of theta");
    expect_close(
      (I + (M + m) * a * a + m * b * b) * shot.acceleration(1),
      m * g * b + m * a * rho * theta_rate * theta_rate, 1e-11, "equation of phi");
  }
}

TEST_P(Thesis31, when_run_expect_features_of_figures_3_to_9)
{
  const std::vector<double> times = {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 20.0};
  const std::vector<Snapshot> shots = run_to(load_scenario(scenario(), accurately()), times);
  const double limit = 2.0279576856;
  for (std::size_t i = 1; i <= 10; ++i)
  {
    SCOPED_TRACE("at " + std::to_string(times[i]) + " s");
    EXPECT_GT(shots[i].q(0), shots[i - 1].q(0));  // theta rises to its limit
    EXPECT_LT(shots[i].q(0), limit);
    EXPECT_LT(shots[i].u(0), shots[i - 1].u(0));  // dtheta decays
    EXPECT_GT(shots[i].u(1), shots[i - 1].u(1));  // dphi grows
    EXPECT_LT(shots[i].q(4), shots[i - 1].q(4));  // the weight falls
  }
  EXPECT_GT(shots[5].q(0), 0.98 * limit);
  EXPECT_NEAR(shots[11].q(0), limit, 1e-9);
  EXPECT_NEAR(shots[10].u(0), 4.9e-5, 0.05e-5);
  EXPECT_NEAR(shots[10].u(1), 8.6287, 5e-5);
  EXPECT_NEAR(shots[10].q(4), 4.18, 5e-3);
  // The track becomes a straight line along theta.
  const double dx = shots[10].q(2) - shots[9].q(2);
  const double dy = shots[10].q(3) - shots[9].q(3);
  EXPECT_NEAR(std::atan2(dy, dx), limit, 1e-4);
}

TEST(Thesis31AtRest, when_quadratic_row_has_no_gradient_expect_singular_and_the_linear_set_fine)
{
  const Names rest = {"initial.rates={theta: 0, phi: 0, x: 0, y: 0, z: 0}"};
  const Snapshot quadratic = solve_raw("thesis_3_1_nonlinear", rest);
  EXPECT_EQ(quadratic.status, Status::kSingular);
  EXPECT_EQ(quadratic.rank, 2);
  EXPECT_TRUE(quadratic.acceleration.allFinite());
  EXPECT_LE(quadratic.acceleration.norm(), 9.81);
  const Snapshot linear = solve_raw("thesis_3_1_linear", rest);
  EXPECT_EQ(linear.status, Status::kOk);
  EXPECT_EQ(linear.rank, 3);
  // (I + (M + m) a^2 + m b^2) ddphi = m g b
  EXPECT_NEAR(linear.acceleration(1), 9.81 * 0.5 / 7.25, 1e-15);
}

INSTANTIATE_TEST_SUITE_P(
  ConstraintSets, Thesis31, ::testing::Values("linear", "nonlinear"),
  [](const ::testing::TestParamInfo<const char *> & set) { return std::string(set.param); });

// ---- example 4.1: particle with a spring on an ellipse ------------------------------------------

const Names kTrack = {"xbar", "y"};

TEST(Thesis41, when_solved_at_random_states_expect_reference_accelerations_and_forces)
{
  for (const YAML::Node & shot : load_reference("thesis_4_1")["oneshots"])
  {
    SCOPED_TRACE(shot["name"].as<std::string>());
    const Snapshot solved = solve_raw(
      "thesis_4_1", set_parameters(shot["params"]) + Names{set_initial(
                                                       kTrack, to_vector(shot["q_xbar_y"]), "rates",
                                                       kTrack, to_vector(shot["u"]))});
    EXPECT_EQ(solved.status, Status::kOk);
    expect_relative(solved.acceleration, to_vector(shot["udot"]), kOneShot, "udot");
    expect_relative(solved.constraint_force, to_vector(shot["Fc"]), kOneShot, "Fc");
  }
}

TEST(Thesis41, when_swinging_over_the_top_expect_reference_motion_and_force)
{
  const YAML::Node reference = find_item(load_reference("thesis_4_1")["cases"], "case", "A");
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(
    load_scenario("thesis_4_1", accurately() + set_parameters(reference["params"])),
    times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_close(shots[i].q, to_vector(series[i]["q_xbar_y"]), kState, "q");
    expect_close(shots[i].u, to_vector(series[i]["u"]), kState, "u");
    expect_close(shots[i].acceleration, to_vector(series[i]["udot"]), kForce, "udot");
    expect_close(shots[i].constraint_force, to_vector(series[i]["Fc"]), kForce, "Fc");
    expect_close(
      shots[i].observed("normal_force"), series[i]["Fc_normal"].as<double>(), kForce, "normal");
    expect_close(shots[i].energy, series[i]["energy"].as<double>(), kState, "energy");
    expect_workless(shots[i]);
  }
}

/// The particle on the ellipse in one coordinate s, xbar = A cos s, y = B sin s, by classical
/// Runge-Kutta in extended precision: independent of rows and partitions.
struct EllipseByAngle
{
  using Real = long double;
  Real m = 1, K = 10, x0 = 0.5L, A = 2, B = 1;
  Real s = 0, s_rate = 0;

  Real acceleration(Real angle, Real rate) const
  {
    const Real c = std::cos(angle), d = std::sin(angle);
    const Real size = A * A * d * d + B * B * c * c;
    // (m/2) size s'^2 + (K/2) ((A c + x0)^2 + (B d)^2)
    const Real slope = K * (-(A * c + x0) * A * d + B * B * d * c);
    return (-slope / m - (A * A - B * B) * d * c * rate * rate) / size;
  }
  void advance(Real duration, int steps)
  {
    const Real h = duration / steps;
    for (int i = 0; i < steps; ++i)
    {
      const Real a1 = s_rate, b1 = acceleration(s, s_rate);
      const Real a2 = s_rate + h / 2 * b1, b2 = acceleration(s + h / 2 * a1, a2);
      const Real a3 = s_rate + h / 2 * b2, b3 = acceleration(s + h / 2 * a2, a3);
      const Real a4 = s_rate + h * b3, b4 = acceleration(s + h * a3, a4);
      s += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
      s_rate += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4);
    }
  }
};

TEST(Thesis41, when_going_round_through_y_zero_expect_motion_of_the_angle)
{
  // Partition u_I = dxbar of the thesis is singular at y = 0 (eps infinite); ours changes over.
  const Scenario scenario = load_scenario("thesis_4_1", accurately() + Names{"speed=8"});
  const std::vector<double> times = {0.25, 0.5, 1.0, 2.0, 4.0, 8.0};
  const std::vector<Snapshot> shots = run_to(scenario, times);
  EllipseByAngle twin;
  twin.s = std::acos(0.25L);
  twin.s_rate = -8.0L / (2.0L * std::sin(twin.s));
  double before = 0.0;
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE("at " + std::to_string(times[i]) + " s");
    // 50 us a step: (h ω)^4 is 1e-14 or so.
    twin.advance(times[i] - before, static_cast<int>(std::lround((times[i] - before) / 5e-5)));
    before = times[i];
    const double s = static_cast<double>(twin.s), rate = static_cast<double>(twin.s_rate);
    expect_close(shots[i].q, Eigen::Vector2d(2.0 * std::cos(s), std::sin(s)), kState, "q");
    expect_close(
      shots[i].u, Eigen::Vector2d(-2.0 * std::sin(s) * rate, std::cos(s) * rate), 2.0 * kState,
      "u");
    expect_close(shots[i].energy, shots[0].energy, kState, "energy");
    expect_workless(shots[i]);
  }
  EXPECT_LT(twin.s, -10.0L) << "several revolutions";
}

TEST(Thesis41, when_state_lies_exactly_at_y_zero_expect_finite_force_of_curvature)
{
  // At the end of the long axis, moving with dy = v: centripetal acceleration v^2 A/B^2.
  const double v = 3.0;
  const Snapshot solved =
    solve_raw("thesis_4_1", {"initial={q: {xbar: 2, y: 0}, rates: {xbar: 0, y: 3}}"});
  EXPECT_EQ(solved.status, Status::kOk);
  EXPECT_EQ(solved.rank, 1);
  expect_close(solved.acceleration, Eigen::Vector2d(-v * v * 2.0, 0.0), 1e-14, "udot");
  expect_close(solved.constraint_force, Eigen::Vector2d(-v * v * 2.0 + 25.0, 0.0), 1e-14, "Fc");
}

TEST(Thesis41, when_springs_and_track_vary_expect_both_forms_of_the_thesis)
{
  // (253): u_I = dxbar with eps = a xbar/(b y); (269): the same through dy. Both equal our
  // solution.
  const double m = 1.3, K = 7.0, a = 0.8, b = 2.1, x0 = 0.4, xbar = 0.6, y = -0.7, u1 = 0.9;
  const double u2 = -a * xbar / (b * y) * u1;
  const double c = a * xbar * xbar + b * y * y;
  const Snapshot solved = solve_raw(
    "thesis_4_1",
    set_all(
      "", {"m", "K", "a", "b", "c", "x0"}, (Eigen::VectorXd(6) << m, K, a, b, c, x0).finished()) +
      Names{
        set_initial(kTrack, Eigen::Vector2d(xbar, y), "rates", kTrack, Eigen::Vector2d(u1, u2))});
  const double epsilon = a * xbar / (b * y);
  const double beta = -(a * u1 * u1 + b * u2 * u2) / (b * y);  // du2 = -eps du1 + beta
  const double p1 = -K * (xbar + x0), p2 = -K * y;
  const double acceleration_1 =
    (p1 - epsilon * p2 + m * epsilon * beta) / (m * (1.0 + epsilon * epsilon));
  const Eigen::Vector2d expected(acceleration_1, -epsilon * acceleration_1 + beta);
  expect_relative(solved.acceleration, expected, 1e-14, "udot");
  expect_relative(solved.constraint_force, m * expected - Eigen::Vector2d(p1, p2), 1e-14, "Fc");
}

}  // namespace
}  // namespace constrained_dynamics::test
