// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Robots with loops and tools: N-four-bar, Bricard, four-bar, slider-crank, Panda with a cutter,
// against the public benchmarks' numbers, exact reductions, equivalent minimal systems and
// invariants. Every run prints what it measured.

#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/recorded_run.hpp"

namespace constrained_dynamics::test
{
namespace
{

// Drift of RK4 at 1 kHz with projection.
constexpr double kDrift = 1e-12;
// Power of constraints, see RecordedRun: machine precision times the condition of the rows, of some
// hundred.
constexpr double kWorkless = 1e-12;

void expect_completed(const RecordedRun & run)
{
  EXPECT_TRUE(run.result.completed) << to_string(run.result.status) << " at " << run.result.time;
  EXPECT_EQ(run.result.inconsistent_evaluations, 0);
}

void expect_on_manifold(const RecordedRun & run)
{
  expect_completed(run);
  EXPECT_LE(run.position_violation, kDrift);
  EXPECT_LE(run.velocity_violation, kDrift);
}

// ---- N-four-bar, benchmark 2 -------------------------------------------------------------------

struct CrankPoint
{
  double time;
  double angle;
  double rate;
  double x;
  double y;
};

void expect_crank(const RecordedRun & run, const std::vector<CrankPoint> & points, double tolerance)
{
  for (const CrankPoint & point : points)
  {
    SCOPED_TRACE("t = " + std::to_string(point.time));
    const Sample & sample = run.at(point.time);
    ASSERT_NEAR(sample.time, point.time, 1e-9);
    std::cout << "  t = " << point.time << ": error of phi "
              << run.observe(sample, "phi") - point.angle << ", of B0 "
              << run.observe(sample, "B0x") - point.x << ", "
              << run.observe(sample, "B0y") - point.y << std::endl;
    EXPECT_NEAR(run.observe(sample, "phi"), point.angle, tolerance);
    EXPECT_NEAR(sample.u(0), point.rate, 10 * tolerance);
    EXPECT_NEAR(run.observe(sample, "B0x"), point.x, tolerance);
    EXPECT_NEAR(run.observe(sample, "B0y"), point.y, tolerance);
  }
}

const std::vector<CrankPoint> kOneLoop = {
  {1.0, 3.4053529879371, 6.8755919485933, -0.26071267518365, -0.96541643915907},
  {10.0, 31.914741297738, 1.9669347194403, 0.47838505776097, 0.87815017879121}};
const std::vector<CrankPoint> kTwoLoops = {
  {1.0, 3.3378708031051, 6.8073852408694, -0.19502030194944, -0.98079920566217},
  {2.0, 6.3410333613123, 1.0189645914385, 0.057815795768011, 0.99832726786346},
  {4.0, 12.684259593514, 1.0765111800855, 0.11761610237681, 0.99305913845133},
  {5.0, 16.654353486653, 6.1050675535196, -0.81131046100511, -0.58461554534898},
  {10.0, 31.750597186986, 1.5066421808418, 0.32845811154082, 0.9445185381786}};
const std::vector<CrankPoint> kFortyLoops = {
  {1.0, 3.2572069249098, 6.7148148807236, -0.11535688063211, -0.99332411130045},
  {5.0, 16.278626196935, 6.4600011807575, -0.54019005067553, -0.84154305246444},
  {10.0, 31.597433743986, 1.1676221087517, 0.18051222668673, 0.98357274058231}};

// All cranks stay parallel: the branch that the benchmark asks for.
void expect_parallel(const Scenario & scenario, const RecordedRun & run, double tolerance)
{
  double worst = 0.0;
  for (const Sample & sample : run.samples)
  {
    for (int i = 0; i < scenario.system().coordinate_count(); ++i)
    {
      const std::string & name = scenario.system().coordinate_names()[static_cast<std::size_t>(i)];
      const double sign = name.find("crank") != std::string::npos ? 1.0 : -1.0;
      worst = std::max(worst, std::abs(sample.q(i) - sign * sample.q(0)));
    }
  }
  std::cout << "  cranks parallel within " << worst << " rad" << std::endl;
  EXPECT_LE(worst, tolerance);
}

TEST(NFourBar, when_one_loop_passes_its_singular_positions_expect_exact_motion)
{
  const Scenario scenario = repository_scenario("n_four_bar");
  const RecordedRun run = record(scenario, 10.0, 0.05);
  expect_on_manifold(run);
  expect_crank(run, kOneLoop, 1e-9);
  expect_parallel(scenario, run, 1e-9);
  EXPECT_LE(run.energy_change, 1e-9);
  EXPECT_LE(run.constraint_power, kWorkless);
}

TEST(NFourBar, when_two_loops_pass_their_singular_positions_expect_exact_motion)
{
  const Scenario scenario = repository_scenario("n_four_bar", {"N=2"});
  const RecordedRun run = record(scenario, 10.0, 0.05);
  expect_on_manifold(run);
  expect_crank(run, kTwoLoops, 1e-6);
  expect_parallel(scenario, run, 1e-6);
  EXPECT_LE(run.energy_change, 1e-6);
}

TEST(NFourBar, when_forty_loops_pass_their_singular_positions_expect_exact_motion)
{
  const std::string step = is_campaign() ? "run.step=0.0005" : "run.step=0.002";
  const Scenario scenario = repository_scenario("n_four_bar", {"N=40", step});
  const RecordedRun run = record(scenario, 10.0, 0.2);
  EXPECT_EQ(scenario.system().speed_count(), 81);
  EXPECT_EQ(scenario.dynamics()->constraints().row_count(), 80);
  expect_on_manifold(run);
  expect_crank(run, kFortyLoops, 1e-4);
  expect_parallel(scenario, run, 1e-4);
}

TEST(NFourBar, when_a_step_ends_in_a_singular_position_expect_a_status_and_the_same_branch)
{
  // The cranks of two loops are horizontal at this time (exact reduction), the end of a step here.
  constexpr double kSingularTime = 0.7143555292929604;
  for (const int steps : {350, 701, 1400})
  {
    std::ostringstream step;
    step.precision(17);
    step << "run.step=" << kSingularTime / steps;
    const Scenario scenario = repository_scenario("n_four_bar", {"N=2", step.str()});
    const RecordedRun run = record(scenario, 10.0, 0.05);
    expect_on_manifold(run);
    EXPECT_GE(run.result.singular_evaluations, 1);
    // The end of the run is no multiple of this step: the last, shorter step reaches it.
    expect_crank(run, {kTwoLoops.back()}, 1e-8);
    expect_parallel(scenario, run, 1e-8);
  }
}

TEST(NFourBar, when_adaptive_expect_the_singular_positions_passed_too)
{
  const Scenario scenario = repository_scenario("n_four_bar", {"N=2", "run.integrator=dopri5"});
  const RecordedRun run = record(scenario, 10.0, 0.05);
  expect_on_manifold(run);
  expect_crank(run, kTwoLoops, 1e-6);
}

TEST(NFourBar, when_tolerances_are_tight_expect_the_singular_positions_passed_too)
{
  const Scenario scenario = repository_scenario(
    "n_four_bar",
    {"run.integrator=dopri5", "run.absolute_tolerance=1e-12", "run.relative_tolerance=1e-12"});
  const RecordedRun run = record(scenario, 10.0, 0.05);
  expect_on_manifold(run);
  expect_crank(run, kOneLoop, 1e-8);
  expect_parallel(scenario, run, 1e-9);
}

// Many loops: the condition of their rows grows with their number, and adaptive steps come closest
// to singular positions. Against the exact reduction, integrated in small steps.
TEST(NFourBar, when_many_loops_are_adaptive_expect_the_singular_positions_passed_too)
{
  const int loops = is_campaign() ? 40 : 20;
  constexpr double kUntil = 3.0;
  const Scenario scenario =
    repository_scenario("n_four_bar", {"N=" + std::to_string(loops), "run.integrator=dopri5"});
  const RecordedRun run = record(scenario, kUntil, 0.1);
  expect_on_manifold(run);
  expect_parallel(scenario, run, 1e-6);
  const double kappa = (0.5 * (loops + 1) + loops) / ((loops + 1) / 3.0 + loops);
  const auto slope = [&](const Eigen::Vector2d & x)
  { return Eigen::Vector2d(x(1), 9.81 * kappa * std::sin(x(0))); };
  Eigen::Vector2d exact(0.0, 1.0);
  constexpr double kStep = 1e-4;
  for (int i = 0; i < std::lround(kUntil / kStep); ++i)
  {
    const Eigen::Vector2d k1 = slope(exact);
    const Eigen::Vector2d k2 = slope(exact + 0.5 * kStep * k1);
    const Eigen::Vector2d k3 = slope(exact + 0.5 * kStep * k2);
    const Eigen::Vector2d k4 = slope(exact + kStep * k3);
    exact += kStep / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }
  EXPECT_NEAR(run.samples.back().q(0), exact(0), 1e-6);
  EXPECT_NEAR(run.samples.back().u(0), exact(1), 1e-5);
}

TEST(NFourBar, when_cranks_are_horizontal_expect_singular_with_bounded_output)
{
  const Scenario scenario = repository_scenario("n_four_bar", {"N=2"});
  Workspace workspace = Workspace::unanalysed(*scenario.dynamics());
  const RankReport report = workspace.reset(scenario.initial());
  EXPECT_EQ(report.nominal_rank, 4);
  EXPECT_EQ(report.degrees_of_freedom, 1);
  State state = scenario.initial();
  for (int i = 0; i < state.q.size(); ++i)
  {
    const std::string & name = scenario.system().coordinate_names()[static_cast<std::size_t>(i)];
    const double sign = name.find("crank") != std::string::npos ? 1.0 : -1.0;
    state.q(i) = sign * M_PI / 2;
    state.u(i) = sign * 5.0;
  }
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(scenario.system().input_count());
  const Status status = scenario.dynamics()->solve(0.0, state.q, state.u, inputs, workspace);
  EXPECT_EQ(status, Status::kSingular);
  EXPECT_EQ(workspace.solution().rank, 2);
  // Accelerations of rods of 1 m at 5 rad/s under gravity: some tens of rad/s².
  EXPECT_LE(workspace.solution().acceleration.cwiseAbs().maxCoeff(), 200.0);
  EXPECT_LE(workspace.solution().multipliers.cwiseAbs().maxCoeff(), 1000.0);
}

// ---- Bricard, benchmark 4 ----------------------------------------------------------------------

struct BricardPoint
{
  double time;
  Eigen::Vector3d p3;
  double q1;
};

void expect_bricard(const std::string & section, const std::vector<BricardPoint> & points)
{
  const Scenario scenario = repository_scenario("bricard", {"section=" + section});
  const RecordedRun run = record(scenario, 10.0, 0.05);
  expect_on_manifold(run);
  EXPECT_EQ(run.result.singular_evaluations, 0);
  EXPECT_LE(run.energy_change, 1e-10);
  EXPECT_LE(run.constraint_power, kWorkless);
  for (const Sample & sample : run.samples)
  {
    ASSERT_EQ(sample.rank, 4);
  }
  // The table's own accuracy: its two steps agree to 1e-10, printed with 10 digits.
  constexpr double kTable = 5e-10;
  for (const BricardPoint & point : points)
  {
    SCOPED_TRACE("t = " + std::to_string(point.time));
    const Sample & sample = run.at(point.time);
    const Eigen::Vector3d p3(
      run.observe(sample, "P3x"), run.observe(sample, "P3y"), run.observe(sample, "P3z"));
    std::cout << "  t = " << point.time << ": error of P3 " << (p3 - point.p3).norm() << ", of q1 "
              << std::abs(sample.q(0)) - point.q1 << std::endl;
    EXPECT_LE((p3 - point.p3).cwiseAbs().maxCoeff(), kTable);
    EXPECT_NEAR(std::abs(sample.q(0)), point.q1, kTable);
  }
}

TEST(Bricard, when_rods_are_slender_expect_table)
{
  expect_bricard(
    "0", {{1.0, {0.5086647602, -1.6498270632, 0.1390353307}, 1.0371631131},
          {2.0, {-0.9698920038, -1.2194551409, 0.7564645796}, 2.8955832920},
          {3.0, {-0.9663411779, -1.2306615510, 0.7427360735}, 2.8814028966},
          {10.0, {0.9999997294, -1.0007353899, 0.9992643397}, 0.0007356604}});
}

TEST(Bricard, when_rods_are_square_expect_table)
{
  expect_bricard(
    "0.1", {{1.0, {0.5105014612, -1.6491675994, 0.1401231146}, 1.0350284595},
            {2.0, {-0.9693403448, -1.2212468950, 0.7542780108}, 2.8933282060},
            {3.0, {-0.9671998000, -1.2280202147, 0.7459831762}, 2.8847616045},
            {10.0, {0.9999999638, -1.0002690127, 0.9997309511}, 0.0002690489}});
}

TEST(Bricard, when_analysed_expect_one_redundant_row_and_one_freedom)
{
  const Scenario scenario = repository_scenario("bricard");
  Workspace workspace = Workspace::unanalysed(*scenario.dynamics());
  const RankReport report = workspace.reset(scenario.initial());
  EXPECT_EQ(report.row_count, 5);
  EXPECT_EQ(report.nominal_rank, 4);
  EXPECT_EQ(report.rank_here, 4);
  EXPECT_EQ(report.degrees_of_freedom, 1);
  EXPECT_EQ(report.dependencies.size(), 1u);
}

// ---- four-bar and slider-crank -----------------------------------------------------------------

TEST(FourBar, when_crank_is_prescribed_expect_torque_of_inverse_dynamics)
{
  const RecordedRun run = record(repository_scenario("four_bar_driven"), 3.0, 0.5);
  expect_on_manifold(run);
  const std::vector<std::pair<double, double>> table = {
    {0.0, 66.0116666667},
    {0.5, 24.7597562669},
    {1.0, -16.8751538593},
    {2.0, -36.1141425254},
    {3.0, 64.217648137}};
  for (const auto & [time, torque] : table)
  {
    SCOPED_TRACE("t = " + std::to_string(time));
    std::cout << "  t = " << time << ": error of the torque "
              << run.observe(time, "torque") - torque << " N m" << std::endl;
    EXPECT_NEAR(run.observe(time, "torque"), torque, 1e-9 * std::max(1.0, std::abs(torque)));
  }
}

TEST(FourBar, when_closed_by_a_spatial_hinge_expect_motion_and_force_of_two_rows)
{
  const RecordedRun plane = record(repository_scenario("four_bar"), 10.0, 0.05);
  const RecordedRun hinge = record(repository_scenario("four_bar_hinge"), 10.0, 0.05);
  expect_on_manifold(plane);
  expect_on_manifold(hinge);
  EXPECT_LE(plane.energy_change, 1e-8);
  EXPECT_LE(plane.constraint_power, kWorkless);
  EXPECT_EQ(hinge.samples.front().rank, 2);
  ASSERT_EQ(plane.samples.size(), hinge.samples.size());
  for (std::size_t i = 0; i < plane.samples.size(); ++i)
  {
    const Sample & a = plane.samples[i];
    const Sample & b = hinge.samples[i];
    ASSERT_LE((a.q - b.q).cwiseAbs().maxCoeff(), 1e-8);
    ASSERT_LE((a.constraint_force - b.constraint_force).cwiseAbs().maxCoeff(), 1e-8);
    // Rows x y z rx rz: those out of the plane carry nothing.
    ASSERT_NEAR(a.multipliers(0), b.multipliers(0), 1e-8);
    ASSERT_NEAR(a.multipliers(1), b.multipliers(2), 1e-8);
    ASSERT_NEAR(b.multipliers(1), 0.0, 1e-10);
    ASSERT_NEAR(b.multipliers(3), 0.0, 1e-10);
    ASSERT_NEAR(b.multipliers(4), 0.0, 1e-10);
  }
}

TEST(SliderCrank, when_loop_is_closed_by_rows_expect_motion_of_the_minimal_twin)
{
  const RecordedRun loop =
    record(repository_scenario("slider_crank", {"run.step=0.0001"}), 5.0, 0.05);
  const RecordedRun twin =
    record(repository_scenario("slider_crank_minimal", {"run.step=0.0001"}), 5.0, 0.05);
  expect_on_manifold(loop);
  EXPECT_LE(loop.constraint_power, kWorkless);
  ASSERT_EQ(loop.samples.size(), twin.samples.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < loop.samples.size(); ++i)
  {
    const Sample & a = loop.samples[i];
    const Sample & b = twin.samples[i];
    const double size = std::max(1.0, std::abs(b.q(0)));
    worst = std::max(worst, std::abs(a.q(0) - b.q(0)) / size);
    worst = std::max(worst, std::abs(a.q(2) - twin.observe(b, "slider")));
    EXPECT_NEAR(a.energy, b.energy, 1e-8);
  }
  std::cout << "  difference " << worst << std::endl;
  EXPECT_LE(worst, 1e-9);
}

TEST(SliderCrank, when_at_one_state_expect_acceleration_of_the_minimal_twin)
{
  const Scenario loop = repository_scenario("slider_crank");
  const Scenario twin = repository_scenario("slider_crank_minimal");
  const RecordedRun a = record(loop, 0.0, 1.0);
  const RecordedRun b = record(twin, 0.0, 1.0);
  EXPECT_NEAR(
    a.samples[0].acceleration(0), b.samples[0].acceleration(0),
    1e-11 * std::abs(b.samples[0].acceleration(0)));
}

// ---- redundant sets ----------------------------------------------------------------------------

/// The scenario with every constraint given several times.
Scenario with_copies(const std::string & name, int copies)
{
  std::ifstream file(scenario_path(name));
  std::stringstream content;
  content << file.rdbuf();
  std::string text = content.str();
  // Observables name rows that get other names here; they are the last section.
  text.erase(text.find("\nobserve:") + 1);
  const std::string item = "\n  - {name: ";
  std::size_t at = text.find("\nconstraints:");
  while ((at = text.find(item, at)) != std::string::npos)
  {
    const std::size_t begin = at + item.size();
    const std::size_t end = text.find(',', begin);
    // Braces need quotes inside a flow map.
    text.insert(end, "_${copy}\", repeat: {copy: [1, " + std::to_string(copies) + "]}");
    text.insert(begin, "\"");
    at = end;
  }
  return Scenario::from_text(text, {}, std::string(CD_CONFIG) + "/scenarios");
}

void expect_same_with_copies(const std::string & name, double until)
{
  const RecordedRun once = record(repository_scenario(name), until, 0.1);
  for (const int copies : {2, 3, 5, 10})
  {
    SCOPED_TRACE(std::to_string(copies) + " copies");
    const Scenario scenario = with_copies(name, copies);
    const int rows = static_cast<int>(once.samples[0].multipliers.size());
    ASSERT_EQ(scenario.dynamics()->constraints().row_count(), copies * rows);
    const RecordedRun run = record(scenario, until, 0.1);
    expect_on_manifold(run);
    ASSERT_EQ(run.samples.size(), once.samples.size());
    double motion = 0.0;
    double force = 0.0;
    double split = 0.0;
    for (std::size_t i = 0; i < run.samples.size(); ++i)
    {
      const Sample & a = run.samples[i];
      const Sample & b = once.samples[i];
      EXPECT_EQ(a.rank, b.rank);
      motion = std::max(motion, (a.q - b.q).cwiseAbs().maxCoeff());
      motion = std::max(motion, (a.acceleration - b.acceleration).cwiseAbs().maxCoeff());
      force = std::max(force, (a.constraint_force - b.constraint_force).cwiseAbs().maxCoeff());
      // The least norm shares evenly; copies of a constraint follow each other.
      const Eigen::Index constraints = scenario.dynamics()->constraints().size() / copies;
      const Eigen::Index each = rows / constraints;
      for (Eigen::Index k = 0; k < a.multipliers.size(); ++k)
      {
        const Eigen::Index original = k / (each * copies) * each + k % each;
        split = std::max(
          split,
          std::abs(a.multipliers(k) - b.multipliers(original) / static_cast<double>(copies)));
      }
    }
    std::cout << "  " << copies << " copies: motion " << motion << ", force " << force << ", split "
              << split << std::endl;
    EXPECT_LE(motion, 1e-8);
    EXPECT_LE(force, 1e-8);
    EXPECT_LE(split, 1e-8);
  }
}

TEST(RedundantSet, when_loop_is_given_several_times_expect_independent_set)
{
  expect_same_with_copies("four_bar", 2.0);
}

TEST(RedundantSet, when_panda_constraints_are_given_several_times_expect_independent_set)
{
  if (std::string(CD_EXAMPLE_ROBOT_DATA).empty())
  {
    GTEST_SKIP() << "example-robot-data was not found";
  }
  expect_same_with_copies("panda_cutter", 1.0);
}

// ---- Panda with a cutter -----------------------------------------------------------------------

/// Largest difference between the change of energy and the work of the motors, by Simpson's rule
/// over all steps [J].
double energy_balance(const std::string & step_text)
{
  const Scenario scenario = repository_scenario("panda_cutter", {"run.step=" + step_text});
  const double step = scenario.run().integration.step;
  const RecordedRun run = record(scenario, scenario.run().until, step);
  const auto power = [&](std::size_t i) { return run.samples[i].inputs.dot(run.samples[i].u); };
  double work = 0.0;
  double worst = 0.0;
  for (std::size_t i = 2; i < run.samples.size(); i += 2)
  {
    work += step / 3.0 * (power(i - 2) + 4.0 * power(i - 1) + power(i));
    worst = std::max(worst, std::abs(run.samples[i].energy - run.samples[0].energy - work));
  }
  std::cout << "  step " << step << " s: work " << work << " J, largest difference to the energy "
            << worst << " J" << std::endl;
  return worst;
}

TEST(PandaCutter, when_step_is_halved_expect_energy_to_converge_to_work_of_the_motors)
{
  if (std::string(CD_EXAMPLE_ROBOT_DATA).empty())
  {
    GTEST_SKIP() << "example-robot-data was not found";
  }
  // What is left is the error of RK4, of order 4: the constraints and the projection bring no
  // energy.
  const double coarse = energy_balance("0.001");
  const double fine = energy_balance("0.0005");
  EXPECT_LE(fine, 1e-9);
  EXPECT_GT(coarse / fine, 12.0);
  EXPECT_LT(coarse / fine, 20.0);
}

TEST(PandaCutter, when_it_cuts_expect_no_drift_and_plausible_forces)
{
  if (std::string(CD_EXAMPLE_ROBOT_DATA).empty())
  {
    GTEST_SKIP() << "example-robot-data was not found";
  }
  const Scenario scenario = repository_scenario("panda_cutter");
  ASSERT_EQ(scenario.system().speed_count(), 7);
  ASSERT_EQ(scenario.dynamics()->constraints().row_count(), 2);
  const double step = scenario.run().integration.step;
  EXPECT_DOUBLE_EQ(step, 1e-3);
  const RecordedRun run = record(scenario, scenario.run().until, step);
  expect_on_manifold(run);
  EXPECT_EQ(run.result.singular_evaluations, 0);
  EXPECT_LE(run.constraint_power, kWorkless);

  // The wall pushes all the time with tens of newtons, and the blade is dragged sideways.
  double push = 0.0;
  double drag = 0.0;
  for (const Sample & sample : run.samples)
  {
    EXPECT_GE(run.observe(sample, "wall_push"), 0.0);
    push = std::max(push, run.observe(sample, "wall_push"));
    drag = std::max(drag, std::abs(run.observe(sample, "sideways_force")));
  }
  EXPECT_GT(push, 10.0);
  EXPECT_LT(push, 100.0);
  EXPECT_GT(drag, 5.0);
  EXPECT_LT(drag, 50.0);
  // It gets from one side to the other.
  EXPECT_LT(run.observe(run.samples.front(), "tip_y"), -0.2);
  EXPECT_GT(run.observe(run.samples.back(), "tip_y"), 0.2);
}

}  // namespace
}  // namespace constrained_dynamics::test
