// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Benchmarks as textbook systems: Blajer's rolling disk and the rolling coin, the IFToMM pendulum,
// Andrews' squeezer, Chaplygin's sleigh, particles with nonlinear nonholonomic rows.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Names = std::vector<std::string>;

constexpr double kPi = 3.14159265358979323846;

std::string label(const YAML::Node & point) { return "at " + point["t"].as<std::string>() + " s"; }

std::string label(double time) { return "at " + std::to_string(time) + " s"; }

// ---- Blajer's rolling disk ----------------------------------------------------------------------

const Names kDisk = {"xP", "yP", "zP", "phi", "theta", "psi"};

void expect_disk(const Snapshot & shot, const YAML::Node & point, double state, double force)
{
  expect_close(shot.q, to_vector(point["x"]), state, "x");
  expect_close(shot.rates, to_vector(point["xdot"]), state, "xdot");
  expect_close(shot.u, to_vector(point["v"]), state, "v");
  expect_close(shot.rate_derivatives, to_vector(point["xddot"]), force, "xddot");
  expect_close(shot.acceleration, to_vector(point["vdot"]), force, "vdot");
  expect_close(shot.multipliers, to_vector(point["lam_xi_eta_zeta"]), force, "lambda");
  expect_close(
    shot.observed("force_normal"), point["normal_force"].as<double>(), force, "normal force");
  expect_close(shot.energy, point["energy"].as<double>(), state, "energy");
  const Eigen::Vector3d centre(
    shot.observed("x_centre"), shot.observed("y_centre"), shot.observed("z_centre"));
  expect_close(centre, to_vector(point["G"]), state, "centre");
  // The contact force in space, from its components along xi, eta, zeta.
  const double phi = shot.q(3), theta = shot.q(4);
  const Eigen::Vector3d xi(std::cos(phi), std::sin(phi), 0.0);
  const Eigen::Vector3d eta(
    -std::sin(phi) * std::sin(theta), std::cos(phi) * std::sin(theta), std::cos(theta));
  const Eigen::Vector3d contact =
    shot.multipliers(0) * xi + shot.multipliers(1) * eta + shot.multipliers(2) * xi.cross(eta);
  expect_close(contact, to_vector(point["contact_force_inertial"]), force, "contact force");
  expect_workless(shot);
}

TEST(BlajerDisk, when_solved_at_random_states_expect_reference_accelerations_and_reactions)
{
  for (const YAML::Node & shot : load_reference("blajer_disk")["oneshots"])
  {
    SCOPED_TRACE(shot["name"].as<std::string>());
    const Snapshot solved = solve_raw(
      "blajer_disk",
      set_parameters(shot["params"]) +
        Names{set_initial(kDisk, to_vector(shot["x"]), "rates", kDisk, to_vector(shot["xdot"]))});
    EXPECT_EQ(solved.status, Status::kOk);
    EXPECT_EQ(solved.rank, 3);
    expect_relative(solved.acceleration, to_vector(shot["vdot"]), 1e-11, "vdot");
    expect_relative(solved.rate_derivatives, to_vector(shot["xddot"]), 1e-11, "xddot");
    expect_relative(solved.multipliers, to_vector(shot["lam_xi_eta_zeta"]), 1e-11, "lambda");
    expect_disk(solved, shot, 1e-13, 1e-10);
  }
}

TEST(BlajerDisk, when_rolling_freely_expect_reference_motion_and_reactions)
{
  const YAML::Node reference = find_item(load_reference("blajer_disk")["cases"], "case", "A");
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(
    load_scenario("blajer_disk", accurately() + set_parameters(reference["params"])),
    times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_disk(shots[i], series[i], 1e-9, 1e-8);
  }
}

TEST(BlajerDisk, when_condition_of_steady_rolling_holds_expect_a_circle)
{
  const YAML::Node reference = find_item(load_reference("blajer_disk")["cases"], "case", "steady1");
  const YAML::Node parameters = reference["params"];
  const double phi_rate = parameters["phidot"].as<double>();
  const double psi_rate = parameters["psidot"].as<double>();
  const double theta = parameters["theta"].as<double>();
  const double m = 1.0, r = 0.5, J = 0.0625, g = 9.81;
  const double s = std::sin(theta), c = std::cos(theta);
  EXPECT_NEAR(
    (m * r * r + J) * phi_rate * phi_rate * s * c +
      (m * r * r + 2.0 * J) * phi_rate * psi_rate * c + m * g * r * s,
    0.0, 1e-14);
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(
    load_scenario(
      "blajer_disk", accurately() +
                       Names{
                         set("theta0", theta), set("phi_rate", phi_rate), "theta_rate=0",
                         set("psi_rate", psi_rate)}),
    times_of(series));
  const double radius = parameters["contact_circle_radius"].as<double>();
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_disk(shots[i], series[i], 1e-9, 1e-8);
    EXPECT_NEAR(shots[i].q(4), theta, 1e-9);
    // The contact point starts at the origin heading along x; the centre of its circle is on y.
    const double side = psi_rate / phi_rate > 0.0 ? -radius : radius;
    EXPECT_NEAR(std::hypot(shots[i].q(0), shots[i].q(1) - side), radius, 1e-9);
  }
}

TEST(BlajerDisk, when_at_rest_upright_expect_weight_along_eta)
{
  const Snapshot solved =
    solve_raw("blajer_disk", {"theta0=0", "phi_rate=0", "theta_rate=0", "psi_rate=0", "m=2"});
  expect_close(solved.multipliers, Eigen::Vector3d(0.0, 2.0 * 9.81, 0.0), 1e-14, "lambda");
  expect_close(solved.acceleration, Eigen::VectorXd::Zero(6), 1e-14, "vdot");
}

TEST(BlajerDisk, when_it_is_the_rolling_coin_expect_benchmark_table)
{
  // t, contact x, y, lean [deg], yaw rate, force along the heading, lateral, normal
  const double table[][8] = {
    {0.0, 0.0, 0.0, 1.0, 31.41592654, 0.0, 0.13689316, 9.80460391},
    {0.1, 0.001407083805, 0.001455183248, 8.4229548959, 32.30838965, -0.22338579, 0.70879414,
     9.76486211},
    {0.2, -0.005307686231, -0.000770728419, 14.5094188777, 34.47000803, 0.08826139, 1.15109278,
     9.90590603},
    {0.5, 0.002004947021, 0.002596923104, 12.5551070036, 33.62255226, -0.18418691, 1.01081815,
     9.83551981}};
  const Scenario scenario = load_scenario(
    "blajer_disk", accurately() + Names{
                                    "r=0.01", "phi0=-pi/2", "theta0=pi/180", "phi_rate=10*pi",
                                    "theta_rate=0", "psi_rate=0"});
  const std::vector<Snapshot> shots = run_to(scenario, {0.0, 0.1, 0.2, 0.5});
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    const double * row = table[i];
    SCOPED_TRACE(label(row[0]));
    // The table's last digits: 12 after the point for positions, 10 for the lean, 8 for the others.
    EXPECT_NEAR(shots[i].q(0), row[1], 1e-12);
    EXPECT_NEAR(shots[i].q(1), row[2], 1e-12);
    EXPECT_NEAR(std::abs(shots[i].q(4)) * 180.0 / kPi, row[3], 1e-9);
    EXPECT_NEAR(shots[i].rates(3), row[4], 1e-8);
    EXPECT_NEAR(shots[i].observed("force_along"), row[5], 1e-8);
    EXPECT_NEAR(shots[i].observed("force_lateral"), row[6], 1e-8);
    EXPECT_NEAR(shots[i].observed("force_normal"), row[7], 1e-8);
    EXPECT_NEAR(shots[i].energy, 0.11044085282225, 1e-13);
  }
}

// ---- IFToMM A01 ---------------------------------------------------------------------------------

TEST(IftommPendulum, when_run_expect_benchmark_table)
{
  // t, x, y, angle, its rate, tension
  const double table[][6] = {
    {1.0, 0.98629175113188, -0.16501085312554, 1.4050273115248, 1.7993090169071, 4.8562694074847},
    {2.0, -0.79356619534332, -0.60848393044379, -0.91664758966324, -3.4552068990593,
     17.907682072961},
    {9.99, -0.31643646991303, -0.94861370457578, -0.32197055568802, 4.3141396458363,
     27.917701325665},
    {10.0, -0.27508746257612, -0.96141920509913, -0.27868067356998, 4.3431606928647,
     28.294567206067}};
  const Scenario scenario = load_scenario("iftomm_pendulum", accurately());
  const std::vector<Snapshot> shots = run_to(scenario, {1.0, 2.0, 9.99, 10.0});
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    const double * row = table[i];
    SCOPED_TRACE(label(row[0]));
    expect_close(shots[i].q, Eigen::Vector2d(row[1], row[2]), 1e-9, "q");
    expect_close(shots[i].observed("angle"), row[3], 1e-9, "angle");
    expect_close(shots[i].observed("angle_rate"), row[4], 1e-9, "angle rate");
    expect_close(shots[i].observed("tension"), row[5], 1e-9, "tension");
    // By energy.
    expect_close(shots[i].observed("tension"), -3.0 * 9.81 * shots[i].q(1), 1e-9, "tension");
    expect_close(shots[i].energy, 0.0, 1e-9, "energy");
    expect_workless(shots[i]);
  }
}

TEST(IftommPendulum, when_run_as_the_file_says_expect_acceptance_of_the_library)
{
  const Scenario scenario = load_scenario("iftomm_pendulum");
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  double largest = 0.0;
  const RunResult result = simulation->run(
    scenario.run().until, scenario.run().output_interval,
    [&](const Simulation & now)
    {
      largest = std::max(largest, std::abs(now.kinetic_energy() + now.potential_energy()));
      return true;
    });
  EXPECT_TRUE(result.completed);
  // The library of benchmarks asks for 5e-5 J; rk4 at 1 ms with projection gives far better.
  EXPECT_LT(largest, 1e-8);
}

// ---- Andrews' squeezing mechanism ---------------------------------------------------------------

TEST(Andrews, when_solved_at_the_start_expect_published_accelerations_and_multipliers)
{
  const Snapshot solved = solve_raw("andrews", {});
  EXPECT_EQ(solved.status, Status::kOk);
  EXPECT_EQ(solved.rank, 6);
  Eigen::VectorXd acceleration = Eigen::VectorXd::Zero(7);
  acceleration.head(2) << 14222.4439199541138705911625887, -10666.8329399655854029433719415;
  expect_relative(solved.acceleration, acceleration, 1e-11, "udot");
  Eigen::VectorXd multipliers = Eigen::VectorXd::Zero(6);
  multipliers.head(2) << -98.5668703962410896057654982170, 6.12268834425566265503114393122;
  expect_relative(solved.multipliers, multipliers, 1e-11, "lambda");
}

TEST(Andrews, when_run_expect_reference_motion_and_published_digits)
{
  const YAML::Node reference = find_item(load_reference("andrews")["cases"], "case", "test_set");
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(
    load_scenario("andrews", accurately() + set_parameters(reference["params"])), times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_close(shots[i].q, to_vector(series[i]["q"]), 1e-9, "q");
    expect_close(shots[i].u, to_vector(series[i]["qd"]), 1e-9, "qd");
    expect_relative(shots[i].acceleration, to_vector(series[i]["qdd"]), 1e-8, "qdd");
    expect_relative(shots[i].multipliers, to_vector(series[i]["lam"]), 1e-8, "lambda");
    expect_close(
      shots[i].observed("balance"), series[i]["energy"].as<double>(), 1e-9, "energy balance");
    expect_workless(shots[i]);
  }
  // What the test set prints (PSIDE, 1e-14): good to 1e-9 for positions, 1e-7 for velocities, 5e-6
  // for accelerations and multipliers, whose sign is the other.
  const Eigen::VectorXd published = to_vector(reference["published_t0p03"]);
  const Snapshot & last = shots.back();
  expect_relative(last.q, published.head(7), 1e-9, "published q");
  expect_relative(last.u, published.segment(7, 7), 1e-7, "published qd");
  expect_relative(last.acceleration, published.segment(14, 7), 5e-6, "published qdd");
  expect_relative(last.multipliers, (-published.tail(6)).eval(), 5e-6, "published lambda");
}

// ---- Chaplygin's sleigh -------------------------------------------------------------------------

TEST(ChaplyginSleigh, when_run_expect_reference_motion)
{
  const YAML::Node reference = find_item(load_reference("chaplygin_sleigh")["cases"], "case", "A");
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(
    load_scenario("chaplygin_sleigh", accurately() + set_parameters(reference["params"])),
    times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_close(shots[i].q, to_vector(series[i]["q"]), 1e-9, "q");
    expect_close(shots[i].u, to_vector(series[i]["qd"]), 1e-9, "qd");
    expect_close(shots[i].acceleration, to_vector(series[i]["qdd"]), 1e-8, "qdd");
    expect_close(shots[i].observed("speed"), series[i]["v"].as<double>(), 1e-9, "v");
    expect_close(shots[i].multipliers(0), series[i]["lam"].as<double>(), 1e-8, "lambda");
    expect_close(shots[i].energy, series[i]["energy"].as<double>(), 1e-9, "energy");
    expect_workless(shots[i]);
  }
}

TEST(ChaplyginSleigh, when_inertia_is_that_of_the_benchmark_expect_exact_solution)
{
  // t, v, omega, theta, lambda
  const double table[][5] = {
    {0.5, 0.54477638626957, 1.7252872713952, 0.9519592825815, 0.64820397585348},
    {1.0, 0.86758472707601, 1.1851040131049, 1.6812001007167, 0.70908837363195},
    {2.0, 1.0523308086123, 0.42588597002834, 2.4344719615865, 0.30908477739072}};
  const std::vector<Snapshot> shots =
    run_to(load_scenario("chaplygin_sleigh", accurately() + Names{"I=0.2"}), {0.5, 1.0, 2.0});
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    const double * row = table[i];
    SCOPED_TRACE(label(row[0]));
    expect_close(shots[i].observed("speed"), row[1], 1e-9, "v");
    expect_close(shots[i].u(2), row[2], 1e-9, "omega");
    expect_close(shots[i].q(2), row[3], 1e-9, "theta");
    expect_close(shots[i].observed("lateral_force"), row[4], 1e-9, "lambda");
    const double k = 0.3 * std::sqrt(1.0 / 0.29) * 2.0 * row[0];
    expect_close(shots[i].u(2), 2.0 / std::cosh(k), 1e-9, "omega in closed form");
    expect_close(
      shots[i].observed("speed"), std::sqrt(0.29) * 2.0 * std::tanh(k), 1e-9, "v in closed form");
  }
}

// ---- nonlinear nonholonomic rows ----------------------------------------------------------------

TEST(ConstantSpeedParticle, when_run_expect_exact_direction_force_and_work)
{
  const double table[][2] = {
    {0.25, 0.67856947798518},
    {0.5, 0.32386400935487},
    {1.0, -0.56832288320208},
    {2.0, -0.98918002913202}};
  const Scenario scenario = load_scenario("constant_speed_particle", accurately() + Names{"m=1.7"});
  const std::vector<Snapshot> shots = run_to(scenario, {0.0, 0.25, 0.5, 1.0, 2.0});
  for (std::size_t i = 1; i < shots.size(); ++i)
  {
    const double * row = table[i - 1];
    SCOPED_TRACE(label(row[0]));
    const Snapshot & shot = shots[i];
    expect_close(shot.observed("sin_psi"), row[1], 1e-9, "sin psi");
    // The speed is kept, to rounding.
    EXPECT_NEAR(shot.u.norm(), 5.0, 1e-14);
    // The force is along the velocity, m g sin psi.
    const Eigen::VectorXd force = 1.7 * 9.81 * shot.u(1) / 5.0 * shot.u / 5.0;
    expect_close(shot.constraint_force, force, 1e-12, "Fc");
    expect_close(shot.observed("drive"), 1.7 * 9.81 * row[1], 1e-8, "drive");
    // It does work: kinetic energy stays, so all that gravity takes comes from the row.
    expect_close(shot.power, 1.7 * 9.81 * shot.u(1), 1e-12, "power");
    EXPECT_GT(std::abs(shot.energy - shots[0].energy), 1.0);
    expect_close(shot.energy - shots[0].energy, 1.7 * 9.81 * shot.q(1), 1e-9, "work");
  }
}

TEST(ConstantSpeedParticle, when_row_is_scaled_expect_the_same_motion)
{
  const Scenario plain = load_scenario("constant_speed_particle", accurately());
  const Scenario scaled = load_scenario(
    "constant_speed_particle",
    accurately() + Names{"constraints.speed.rows=[\"1000*log((dx^2 + dy^2 + 1)/(c^2 + 1))\"]"});
  const Snapshot a = run_to(plain, {2.0}).front();
  const Snapshot b = run_to(scaled, {2.0}).front();
  expect_close(b.q, a.q, 1e-10, "q");
  expect_close(b.u, a.u, 1e-10, "u");
  expect_close(b.constraint_force, a.constraint_force, 1e-9, "Fc");
}

TEST(PerpendicularParticles, when_solved_expect_force_along_the_other_velocity)
{
  const Snapshot solved = solve_raw("perpendicular_particles", {});
  EXPECT_EQ(solved.status, Status::kOk);
  const Eigen::Vector3d v1(1.0, 2.0, 3.0), v2(2.0, -1.0, 0.0), g(0.0, 0.0, -9.81);
  const double lambda = -g.dot(v1 + v2) / (v2.squaredNorm() / 1.0 + v1.squaredNorm() / 2.0);
  EXPECT_NEAR(solved.multipliers(0), lambda, 1e-14);
  Eigen::VectorXd acceleration(6);
  acceleration << g + lambda * v2, g + lambda / 2.0 * v1;
  expect_close(solved.acceleration, acceleration, 1e-14, "udot");
}

TEST(PerpendicularParticles, when_run_expect_each_particle_to_keep_its_energy)
{
  const Scenario scenario = load_scenario("perpendicular_particles", accurately());
  const std::vector<Snapshot> shots = run_to(scenario, {0.0, 0.5, 1.0, 2.0});
  for (const Snapshot & shot : shots)
  {
    SCOPED_TRACE(label(shot.time));
    expect_close(shot.observed("energy_1"), shots[0].observed("energy_1"), 1e-9, "energy of 1");
    expect_close(shot.observed("energy_2"), shots[0].observed("energy_2"), 1e-9, "energy of 2");
    EXPECT_NEAR(shot.u.head<3>().dot(shot.u.tail<3>()), 0.0, 1e-13);
    expect_workless(shot);
  }
  EXPECT_GT(std::abs(shots.back().multipliers(0)), 1e-3);
}

}  // namespace
}  // namespace constrained_dynamics::test
