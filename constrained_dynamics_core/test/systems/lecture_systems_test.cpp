// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Lecture notes on constraints: the rod pendulum in dependent coordinates, and the exactness test
// (eqs. 3 to 5).

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "constrained_dynamics/analysis/integrability.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Names = std::vector<std::string>;

std::string label(const YAML::Node & point) { return "at " + point["t"].as<std::string>() + " s"; }

TEST(LecturePendulum, when_run_in_three_coordinates_expect_reference_motion_and_pin_force)
{
  const YAML::Node reference = find_item(load_reference("lecture_notes")["cases"], "case", "A");
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots = run_to(
    load_scenario("lecture_pendulum", accurately() + set_parameters(reference["params"])),
    times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    expect_close(shots[i].q, to_vector(series[i]["q"]), 1e-9, "q");
    expect_close(shots[i].u, to_vector(series[i]["qd"]), 1e-9, "u");
    expect_close(shots[i].acceleration, to_vector(series[i]["qdd"]), 1e-8, "udot");
    expect_close(shots[i].multipliers, to_vector(series[i]["lam"]), 1e-8, "lambda");
    expect_close(shots[i].constraint_force, to_vector(series[i]["Fc"]), 1e-8, "Fc");
    expect_close(shots[i].energy, series[i]["energy"].as<double>(), 1e-9, "energy");
    expect_workless(shots[i]);
  }
}

TEST(LecturePendulum, when_run_in_two_coordinates_expect_the_same_motion)
{
  const YAML::Node reference = find_item(load_reference("lecture_notes")["cases"], "case", "A");
  const YAML::Node series = reference["series"];
  const std::vector<Snapshot> shots =
    run_to(load_scenario("lecture_pendulum_two", accurately()), times_of(series));
  for (std::size_t i = 0; i < shots.size(); ++i)
  {
    SCOPED_TRACE(label(series[i]));
    const Eigen::VectorXd q = to_vector(series[i]["q"]);
    const Eigen::VectorXd qd = to_vector(series[i]["qd"]);
    const Eigen::VectorXd qdd = to_vector(series[i]["qdd"]);
    expect_close(shots[i].q, q.head(2), 1e-9, "q");
    expect_close(shots[i].u, qd.head(2), 1e-9, "u");
    expect_close(shots[i].acceleration, qdd.head(2), 1e-8, "udot");
    expect_close(shots[i].observed("theta"), q(2), 1e-9, "theta");
    expect_close(shots[i].energy, series[i]["energy"].as<double>(), 1e-9, "energy");
    expect_workless(shots[i]);
    // The row's force is radial: what the pin does along the rod, m (g cos + L/2 dtheta^2), less
    // what the rotation of the rod takes.
    const Eigen::VectorXd radial = q.head(2) / q.head(2).norm();
    expect_close(
      shots[i].constraint_force, (radial.dot(to_vector(series[i]["lam"])) * radial).eval(), 1e-8,
      "Fc");
  }
}

TEST(LecturePendulum, when_rows_are_evaluated_expect_the_coefficients_of_the_notes)
{
  const Scenario scenario = load_scenario("lecture_pendulum", {"L=1.4", "theta0=0.6"});
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  Eigen::MatrixXd expected(2, 3);
  expected << 1.0, 0.0, -0.7 * std::cos(0.6), 0.0, 1.0, 0.7 * std::sin(0.6);
  EXPECT_LE((simulation->workspace().rows().jacobian - expected).cwiseAbs().maxCoeff(), 1e-15);
}

IntegrabilityReport analyse(const Scenario & scenario)
{
  return analyse_integrability(
    scenario.active_constraints(), scenario.initial().time, scenario.initial().q);
}

IntegrabilityReport analyse_form(const std::string & row)
{
  return analyse(load_scenario("lecture_exactness", {"constraints.form.rows=[\"" + row + "\"]"}));
}

TEST(LectureExactness, when_pfaffian_forms_are_tested_expect_answers_of_the_reference)
{
  for (const YAML::Node & shot : load_reference("lecture_notes")["oneshots"])
  {
    SCOPED_TRACE(shot["description"].as<std::string>());
    std::string row;
    for (std::size_t i = 0; i < 3; ++i)
    {
      std::string coefficient = shot["form"][i].as<std::string>();
      row += (i == 0 ? "(" : " + (") + coefficient + ")*d" + shot["variables"][i].as<std::string>();
    }
    const IntegrabilityReport report = analyse_form(row);
    ASSERT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.rows[0].linear, Answer::kYes);
    EXPECT_EQ(report.rows[0].homogeneous, Answer::kYes);
    EXPECT_EQ(report.rows[0].exact, shot["exact"].as<bool>() ? Answer::kYes : Answer::kNo);
    const Answer integrable = shot["integrable"].as<bool>() ? Answer::kYes : Answer::kNo;
    EXPECT_EQ(report.rows[0].integrable_alone, integrable);
    EXPECT_EQ(report.integrable, integrable);
  }
}

TEST(LectureExactness, when_integrating_factor_exists_expect_it_found)
{
  const IntegrabilityReport report = analyse_form("y*dx - x*dy");
  EXPECT_EQ(report.rows.at(0).exact, Answer::kNo);
  EXPECT_EQ(report.rows.at(0).integrable_alone, Answer::kYes);
  EXPECT_EQ(report.integrable, Answer::kYes);
  EXPECT_TRUE(report.rows.at(0).integrating_factor.has_value());
}

TEST(LectureExactness, when_row_is_rheonomic_expect_time_as_one_more_coordinate)
{
  // (4): a_0 = -2 t is the time derivative of -t^2; with a_0 = -2 t x and a_1 = 1 it is not.
  const IntegrabilityReport exact = analyse_form("dx - 2*t");
  EXPECT_EQ(exact.rows.at(0).exact, Answer::kYes);
  EXPECT_EQ(exact.rows.at(0).homogeneous, Answer::kNo);
  EXPECT_EQ(exact.integrable, Answer::kYes);
  const IntegrabilityReport factor = analyse_form("dx - 2*t*x");
  EXPECT_EQ(factor.rows.at(0).exact, Answer::kNo);
  EXPECT_EQ(factor.integrable, Answer::kYes);
}

TEST(LectureExactness, when_textbook_systems_are_tested_expect_holonomic_or_not)
{
  EXPECT_EQ(analyse(load_scenario("thesis_2_2")).integrable, Answer::kNo);
  EXPECT_EQ(analyse(load_scenario("thesis_3_1_linear")).integrable, Answer::kNo);
  EXPECT_EQ(analyse(load_scenario("chaplygin_sleigh")).integrable, Answer::kNo);
  // A row nonlinear in u has no one-form.
  EXPECT_EQ(analyse(load_scenario("constant_speed_particle")).integrable, Answer::kUnknown);
  const IntegrabilityReport disk = analyse(load_scenario("blajer_disk"));
  EXPECT_EQ(disk.integrable, Answer::kNo);
}

TEST(LectureExactness, when_disk_rows_are_combined_expect_height_to_be_integrable)
{
  // Blajer's third rolling row is integrable with the second: together they say dzP = 0.
  const Names only_height = {
    "constraints.rolling.rows={height: \"v2*cos(theta) + (v3 - r*v4)*sin(theta)\"}", "observe={}",
    "formulation=auto"};
  const IntegrabilityReport report = analyse(load_scenario("blajer_disk", only_height));
  EXPECT_EQ(report.integrable, Answer::kYes);
}

}  // namespace
}  // namespace constrained_dynamics::test
