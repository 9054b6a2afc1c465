// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Servo-constraints as runs of scenario files: the thesis' examples of chapter 7 against
// data/reference. Robots: servo_robots_test.cpp.
//
// Tolerances of the thesis' systems as in thesis_systems_test.cpp: states 1e-9, a thousand times
// the tolerance of the integrator; accelerations and torques 1e-8.

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "servo/servo_run.hpp"
#include "support/dense_algebra.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Names = std::vector<std::string>;

constexpr double kState = 1e-9;
constexpr double kTorque = 1e-8;

// ---- thesis 7.1 --------------------------------------------------------------------------------

const Names kAngles = {"theta1", "theta2"};
const Names kRates = {"dtheta1", "dtheta2"};

Scenario energy_scenario(const YAML::Node & reference, const Names & more = {})
{
  const YAML::Node start = reference["ic"];
  const bool ideal = reference["case"].as<std::string>().find("ideal") != std::string::npos;
  return load_scenario(
    "thesis_7_1",
    set_parameters(reference["params"]) + accurately() +
      Names{
        std::string("servo_law.metric=") + (ideal ? "ideal" : "moore_penrose"),
        set_initial(kAngles, to_vector(start["theta"]), "u", kRates, to_vector(start["u"]))} +
      more);
}

/// E_f + (E(0) − E_f) exp(Θ t).
double desired_energy(const YAML::Node & reference, double time)
{
  const double goal = reference["params"]["E_f"].as<double>();
  const double start = reference["series"][0]["E"].as<double>();
  return goal + (start - goal) * std::exp(reference["params"]["Theta"].as<double>() * time);
}

TEST(Thesis71, when_energy_is_driven_expect_reference_motion_torques_and_energy)
{
  const YAML::Node cases = load_reference("thesis_7_1")["cases"];
  ASSERT_EQ(cases.size(), 4U);
  for (const YAML::Node & reference : cases)
  {
    SCOPED_TRACE(reference["case"].as<std::string>());
    const YAML::Node series = reference["series"];
    const std::vector<Snapshot> shots = run_to(energy_scenario(reference), times_of(series));
    for (std::size_t i = 0; i < shots.size(); ++i)
    {
      SCOPED_TRACE(shots[i].time);
      expect_close(shots[i].q, to_vector(series[i]["theta"]), kState, "theta");
      expect_close(shots[i].u, to_vector(series[i]["u"]), kState, "u");
      expect_close(shots[i].acceleration, to_vector(series[i]["udot"]), kTorque, "udot");
      const Eigen::Vector2d torque(shots[i].observed("torque1"), shots[i].observed("torque2"));
      expect_close(torque, to_vector(series[i]["tau"]), kTorque, "tau");
      expect_close(
        shots[i].observed("E"), desired_energy(reference, shots[i].time), 1e-10, "energy");
    }
  }
}

TEST(Thesis71, when_the_energy_has_settled_expect_torques_that_vanish)
{
  for (const char * metric : {"ideal", "moore_penrose"})
  {
    SCOPED_TRACE(metric);
    const ServoRun run = record_servo(
      load_scenario("thesis_7_1", {std::string("servo_law.metric=") + metric}), 30.0, 0.25);
    const double first = run.samples.front().inputs.norm();
    EXPECT_GT(first, 0.1);
    // Torques go as (E − E_f)/|u|, and |u| is small for moments only.
    for (const ServoSample & sample : run.samples)
    {
      if (sample.time > 20.0)
      {
        EXPECT_LT(sample.inputs.norm(), 1e-5 * first) << sample.time;
      }
    }
    EXPECT_NEAR(run.observe(run.samples.back(), "E"), 1.0, 1e-9);
  }
}

TEST(Thesis71, when_y_is_random_expect_the_same_energy_on_another_motion)
{
  const YAML::Node reference =
    find_item(load_reference("thesis_7_1")["cases"], "case", "A_moore_penrose");
  std::mt19937 generator(71);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 4; ++i)
  {
    const Eigen::Vector2d y(normal(generator), normal(generator));
    SCOPED_TRACE("seed 71, draw " + std::to_string(i));
    // y along the rows does nothing, across them it drives at constant energy: keep it short, the
    // motion may come close to rest.
    const ServoRun run = record_servo(
      energy_scenario(reference), 0.5, 0.05,
      [&](ServoWorkspace & servo) { servo.external_null_vector() = 0.3 * y; },
      [&](const ServoWorkspace & servo)
      {
        const ServoResult & result = servo.result();
        EXPECT_LT((result.particular + result.null_part - result.inputs).norm(), 1e-14);
        // S null_part = 0, S = ∂E/∂u Q⁻¹ G.
        EXPECT_LT(
          std::abs(servo.rows().jacobian.row(0).dot(VectorXd(solve_definite(
            servo.dynamics().terms().mass_matrix,
            servo.dynamics().terms().input_matrix * result.null_part)))),
          1e-13);
      });
    EXPECT_EQ(run.counts.singular, 0);
    for (const ServoSample & sample : run.samples)
    {
      expect_close(
        run.observe(sample, "E"), desired_energy(reference, sample.time), 1e-10, "energy");
    }
    const VectorXd quiet = to_vector(find_item(reference["series"], "t", "0.5")["theta"]);
    EXPECT_GT((run.samples.back().q - quiet).norm(), 1e-3);
  }
}

TEST(Thesis71, when_the_motion_stalls_expect_status_singular_and_bounded_torques)
{
  // Errata T32: K → 0 at t = 0.0633.
  const Names start = {
    "initial.q.theta1=1", "initial.q.theta2=1", "initial.u.dtheta1=0.5", "initial.u.dtheta2=1"};
  for (const char * metric : {"ideal", "moore_penrose"})
  {
    SCOPED_TRACE(metric);
    const Scenario scenario = load_scenario(
      "thesis_7_1",
      start +
        Names{std::string("servo_law.metric=") + metric, "run.integrator=rk4", "run.step=5.0e-6"});
    MatrixXd Q, G, first_Q;
    double kinetic = 0.0;
    double largest = 0.0;
    long singular = 0;
    const double epsilon = scenario.servo_law()->options().singular_tolerance;
    const ServoRun run = record_servo(
      scenario, 0.0645, 1e-5, nullptr,
      [&](const ServoWorkspace & servo)
      {
        Q = servo.dynamics().terms().mass_matrix;
        G = servo.dynamics().terms().input_matrix;
        const VectorXd & tau = servo.result().inputs;
        const VectorXd & u = servo.dynamics().terms().speeds;
        if (kinetic == 0.0)
        {
          kinetic = 0.5 * u.dot(Q * u);
          first_Q = Q;
        }
        // S W has the norm √(2K) in the metric H = Gᵀ Q⁻¹ G, and |Gᵀ u| in that of the torques.
        const VectorXd effect = G * tau;
        const double effort = std::string(metric) == "ideal"
                                ? std::sqrt(effect.dot(VectorXd(solve_definite(Q, effect))))
                                : tau.norm();
        largest = std::max(largest, effort);
        singular += servo.result().damped ? 1 : 0;
        if (!servo.result().damped)
        {
          EXPECT_LT(std::abs(servo.result().residual(0)), 1e-9);
        }
      });
    const Eigen::Vector2d u0(0.5, 1.0);
    const double usual =
      std::string(metric) == "ideal" ? std::sqrt(2.0 * kinetic) : (G.transpose() * u0).norm();
    const double desired = std::abs(run.samples.front().error(0));
    std::cout << metric << ": " << run.counts.singular << " of " << run.counts.evaluations
              << " evaluations singular, largest effort " << largest << std::endl;
    EXPECT_GT(run.counts.singular, 0);
    EXPECT_LE(largest, 1.3 / epsilon * desired / usual);
    EXPECT_GT(largest, 10.0);
  }
}

/// The rows (497) to (502).
const char * const kPair =
  "servo=[{name: energy, type: formula, level: velocity, rows: {E: kinetic + height - E_f}, "
  "first_order_gain: Theta}, {name: trajectory, type: formula, level: position, rows: {psi: "
  "R*cos(theta1) + L*sin(theta2)}, velocity_gain: -2, position_gain: -1}]";

TEST(Thesis71, when_the_pair_of_rows_is_regular_expect_one_solution_that_has_both_motions)
{
  // Errata T34. Both errors are known functions of time, whatever the motion is.
  const Names start = {
    "E_f=6", "initial.q.theta1=0.4", "initial.q.theta2=0.1", "initial.u.dtheta1=3",
    "initial.u.dtheta2=-1"};
  const ServoRun run =
    record_servo(load_scenario("thesis_7_1", accurately() + start + Names{kPair}), 0.3, 0.01);
  const ServoSample & first = run.samples.front();
  const double e0 = first.error(1);
  const double rate0 = -0.5 * std::sin(0.4) * 3.0 + 1.5 * std::cos(0.1) * -1.0;
  EXPECT_EQ(run.counts.singular, 0);
  EXPECT_EQ(run.counts.inconsistent, 0);
  for (const ServoSample & sample : run.samples)
  {
    SCOPED_TRACE(sample.time);
    const double t = sample.time;
    expect_close(sample.error(0), first.error(0) * std::exp(-t), 1e-9, "energy");
    expect_close(sample.error(1), (e0 + (rate0 + e0) * t) * std::exp(-t), 1e-9, "trajectory");
    EXPECT_EQ(sample.status, Status::kOk);
  }
}

TEST(Thesis71, when_two_rows_share_one_control_expect_none_with_least_squares_and_names)
{
  const Names rows = {
    "system.inputs={motor1: {theta1: 1}}", "observe={}",
    "servo=[{name: first, type: formula, level: position, rows: {e: theta1 - 0.5}},"
    "{name: second, type: formula, level: position, rows: {e: theta2 + 0.1}}]"};
  for (const char * metric : {"moore_penrose", "ideal"})
  {
    SCOPED_TRACE(metric);
    const bool ideal = std::string(metric) == "ideal";
    const ServoRun run = record_servo(
      load_scenario(
        "thesis_7_1",
        rows + Names{std::string("servo_law.metric=") + metric, "run.integrator=rk4"}),
      0.3, 0.01, nullptr,
      [&](const ServoWorkspace & servo)
      {
        const ServoResult & result = servo.result();
        const Terms terms = servo.dynamics().terms();
        const MatrixXd S = solve_definite(terms.mass_matrix, terms.input_matrix);
        // Rows are θ̈1 and θ̈2: their inertia is Q itself.
        const MatrixXd weight = ideal ? MatrixXd(terms.mass_matrix) : MatrixXd::Identity(2, 2);
        EXPECT_GT(result.residual.norm(), 1e-3);
        EXPECT_LT(
          (S.transpose() * weight * result.residual).norm(), 1e-11 * result.residual.norm());
        EXPECT_EQ(result.solution, ServoSolution::kNone);
        EXPECT_EQ(result.rank, 1);
        EXPECT_EQ(result.null_dimension, 0);
        EXPECT_FALSE(result.damped);
        EXPECT_FALSE(result.ideal);
        // Gauss meets the row that the control acts on alone; the smallest error of both does not.
        EXPECT_EQ(result.relaxed[0], !ideal);
        EXPECT_TRUE(result.relaxed[1]);
      });
    EXPECT_EQ(run.counts.inconsistent, run.counts.evaluations);
    EXPECT_EQ(run.samples.front().status, Status::kInconsistent);
  }
}

// ---- thesis 7.2 --------------------------------------------------------------------------------

TEST(Thesis72, when_one_force_leads_to_a_plane_expect_reference_motion_and_force)
{
  const YAML::Node reference = load_reference("thesis_7_2")["cases"][0];
  const YAML::Node series = reference["series"];
  const YAML::Node start = reference["ic"];
  for (const char * metric : {"moore_penrose", "ideal"})
  {
    SCOPED_TRACE(metric);
    Names parameters;
    for (const char * name : {"m", "c", "F_r", "F_phi", "k"})
    {
      parameters.push_back(set(name, reference["params"][name].as<double>()));
    }
    const std::vector<Snapshot> shots = run_to(
      load_scenario(
        "thesis_7_2", parameters + accurately() +
                        Names{
                          std::string("servo_law.metric=") + metric,
                          set_initial(
                            {"r", "theta", "phi"}, to_vector(start["q"]), "u", {"u1", "u2", "u3"},
                            to_vector(start["u"]))}),
      times_of(series));
    for (std::size_t i = 0; i < shots.size(); ++i)
    {
      SCOPED_TRACE(shots[i].time);
      expect_close(shots[i].q, to_vector(series[i]["q"]), kState, "q");
      expect_close(shots[i].u, to_vector(series[i]["u"]), kState, "u");
      expect_close(shots[i].acceleration, to_vector(series[i]["udot"]), kTorque, "udot");
      expect_close(
        shots[i].observed("F_theta"), series[i]["F_theta"].as<double>(), kTorque, "F_theta");
      expect_close(shots[i].constraint_force, to_vector(series[i]["Fc"]), kTorque, "Fc");
      expect_workless(shots[i]);
      // θ − k = (c0 + c1 t) exp(−t).
      const double c0 = -1.0;
      const double c1 = 0.5 + c0;
      const double t = shots[i].time;
      expect_close(shots[i].q(1), 1.0 + (c0 + c1 * t) * std::exp(-t), 1e-10, "theta");
    }
  }
}

TEST(Thesis72, when_solved_at_random_states_expect_reference_force)
{
  for (const YAML::Node & shot : load_reference("thesis_7_2")["oneshots"])
  {
    SCOPED_TRACE(shot["name"].as<std::string>());
    Names parameters;
    for (const char * name : {"m", "F_r", "F_phi", "k"})
    {
      parameters.push_back(set(name, shot[name].as<double>()));
    }
    const Snapshot solved = solve_raw(
      "thesis_7_2", parameters + Names{set_initial(
                                   {"r", "theta", "phi"}, to_vector(shot["q"]), "u",
                                   {"u1", "u2", "u3"}, to_vector(shot["u"]))});
    EXPECT_EQ(solved.status, Status::kOk);
    EXPECT_NEAR(
      solved.observed("F_theta"), shot["F_theta"].as<double>(),
      1e-11 * (1.0 + std::abs(shot["F_theta"].as<double>())));
    expect_relative(solved.acceleration, to_vector(shot["udot"]), 1e-11, "udot");
    expect_relative(solved.constraint_force, to_vector(shot["Fc"]), 1e-11, "Fc");
  }
}

}  // namespace
}  // namespace constrained_dynamics::test
