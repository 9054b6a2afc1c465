// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The epicyclic gear train of Nada and Bashiri: seven bodies in velocities and angular velocities
// and in rates of Euler parameters, and a robot in joint angles.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/formulations/coordinate_partition.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using testing::HasSubstr;

constexpr double kArmRadius = 0.15;  // of the pins [m]
const std::vector<std::string> kBodies = {"ring",    "sun",      "arm",    "carrier1",
                                          "planet1", "carrier2", "planet2"};

/// Angles of sun, arm, planet 1 and planet 2 in the world, and the speed of the arm, which
/// determines all others.
struct Motion
{
  double sun, arm, planet1, planet2, arm_speed;

  double angle(const std::string & body) const
  {
    if (body == "ring") return 0.0;
    return body == "sun" ? sun : body == "planet1" ? planet1 : body == "planet2" ? planet2 : arm;
  }
  double speed(const std::string & body) const
  {
    if (body == "ring") return 0.0;
    const bool is_planet = body.rfind("planet", 0) == 0;
    return arm_speed * (body == "sun" ? 150.0 / 23.0 : is_planet ? -75.0 / 52.0 : 1.0);
  }
  /// Side of the arm on which the centre of a body is; 0: on the axis.
  static double side(const std::string & body)
  {
    return body.back() == '1' ? 1.0 : body.back() == '2' ? -1.0 : 0.0;
  }
};

Motion random_motion(std::mt19937 & generator)
{
  std::uniform_real_distribution<double> angle(-10.0, 10.0);
  Motion motion{};
  for (double * one : {&motion.sun, &motion.arm, &motion.planet1, &motion.planet2})
  {
    *one = angle(generator);
  }
  motion.arm_speed = angle(generator);
  return motion;
}

/// A state by the names of coordinates and speeds, so that all three systems can be asked.
State state_of(const System & system, const Motion & motion)
{
  std::map<std::string, double> values;
  for (const std::string & body : kBodies)
  {
    const double half = 0.5 * motion.angle(body);
    const double speed = motion.speed(body);
    const double radius = Motion::side(body) * kArmRadius;
    const double c = std::cos(motion.arm);
    const double s = std::sin(motion.arm);
    const Eigen::Vector2d velocity = radius * motion.arm_speed * Eigen::Vector2d(-s, c);
    values[body + "_x"] = radius * c;
    values[body + "_y"] = radius * s;
    values[body + "_qz"] = values[body + "_e3"] = std::sin(half);
    values[body + "_qw"] = values[body + "_e0"] = std::cos(half);
    // Speeds of bodies are in axes of the body, rates are not.
    const Eigen::Vector2d own = Eigen::Rotation2Dd(-motion.angle(body)) * velocity;
    values[body + "_vx"] = own.x();
    values[body + "_vy"] = own.y();
    values[body + "_wz"] = speed;
    values["d" + body + "_x"] = velocity.x();
    values["d" + body + "_y"] = velocity.y();
    values["d" + body + "_e3"] = 0.5 * speed * std::cos(half);
    values["d" + body + "_e0"] = -0.5 * speed * std::sin(half);
  }
  // The robot's planets turn relative to the arm.
  values["sun"] = motion.sun;
  values["arm"] = motion.arm;
  values["dsun"] = motion.speed("sun");
  values["darm"] = motion.arm_speed;
  for (const std::string planet : {"planet1", "planet2"})
  {
    values[planet] = motion.angle(planet) - motion.arm;
    values["d" + planet] = motion.speed(planet) - motion.arm_speed;
  }
  State state;
  state.q = Eigen::VectorXd::NullaryExpr(
    system.coordinate_count(),
    [&](Eigen::Index i) { return values[system.coordinate_names()[static_cast<std::size_t>(i)]]; });
  state.u = Eigen::VectorXd::NullaryExpr(
    system.speed_count(),
    [&](Eigen::Index i) { return values[system.speed_names()[static_cast<std::size_t>(i)]]; });
  return state;
}

/// A scenario with a formulation of choice, solved at any motion.
class Train
{
public:
  explicit Train(const std::string & name, const std::vector<std::string> & overrides = {})
  : scenario(load_scenario(name, overrides)), workspace(*scenario.dynamics(), scenario.initial())
  {
    report = workspace.rank_report();
    law_ = scenario.make_input_law();
    inputs_.setZero(scenario.system().input_count());
  }

  Status solve(const Motion & motion)
  {
    const Dynamics & dynamics = *scenario.dynamics();
    const State state = state_of(scenario.system(), motion);
    Status status = dynamics.evaluate_rows(0.0, state.q, state.u, workspace);
    EXPECT_EQ(status, Status::kOk);
    if (law_)
    {
      EXPECT_EQ(
        law_->evaluate(dynamics.system(), workspace.change_system_data(), inputs_), Status::kOk);
    }
    EXPECT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
    return dynamics.solve(inputs_, workspace);
  }

  /// Accelerations [rad/s²] of sun, arm and both planets in the world.
  Eigen::Vector4d angular_accelerations() const
  {
    const auto of = [&](const std::string & body)
    {
      const System & system = scenario.system();
      const Eigen::VectorXd & udot = workspace.solution().acceleration;
      const auto speed = [&](const std::string & name)
      {
        const auto & names = system.speed_names();
        return std::find(names.begin(), names.end(), name) - names.begin();
      };
      const auto coordinate = [&](const std::string & name)
      {
        const auto & names = system.coordinate_names();
        const auto i = std::find(names.begin(), names.end(), name) - names.begin();
        return workspace.terms().coordinates(i);
      };
      if (scenario.name() == "gear_train") return udot(speed(body + "_wz"));
      if (scenario.name() == "gear_train_robot")
      {
        const bool is_planet = body.rfind("planet", 0) == 0;
        return udot(speed("d" + body)) + (is_planet ? udot(speed("darm")) : 0.0);
      }
      // ω̇_z = 2 (e0 ë3 − e3 ë0) for a rotation about z.
      return 2.0 * (coordinate(body + "_e0") * udot(speed("d" + body + "_e3")) -
                    coordinate(body + "_e3") * udot(speed("d" + body + "_e0")));
    };
    return {of("sun"), of("arm"), of("planet1"), of("planet2")};
  }

  Eigen::Vector3d gear_multipliers() const { return workspace.solution().multipliers.tail<3>(); }

  Scenario scenario;
  Workspace workspace;
  RankReport report;

private:
  std::shared_ptr<InputLaw> law_;
  Eigen::VectorXd inputs_;
};

const YAML::Node & reference()
{
  static const YAML::Node root = load_reference("gear_train");
  static const YAML::Node paper = find_item(root["cases"], "case", "paper");
  return paper;
}

// ---- motion ------------------------------------------------------------------------------------

/// Runs a scenario to the times of the reference and compares speeds, energy, Euler parameters.
void expect_reference_motion(
  const std::string & name, const std::vector<std::string> & overrides, double tolerance)
{
  const Scenario scenario = load_scenario(name, overrides);
  const std::vector<double> times = times_of(reference()["series"]);
  const std::vector<Snapshot> shots = run_to(scenario, times);
  const std::vector<std::string> & coordinates = scenario.system().coordinate_names();
  for (std::size_t i = 0; i < times.size(); ++i)
  {
    const YAML::Node point = reference()["series"][i];
    const std::string when = name + " at " + std::to_string(times[i]) + " s: ";
    const Eigen::Vector4d speeds(
      shots[i].observed("sun_speed"), shots[i].observed("arm_speed"),
      shots[i].observed("planet1_speed"), shots[i].observed("planet2_speed"));
    expect_close(speeds, to_vector(point["omega_2_3_5_7"]), tolerance, when + "speeds");
    expect_close(
      shots[i].kinetic, point["kinetic_energy"].as<double>(), tolerance, when + "energy");
    expect_close(
      shots[i].multipliers.tail(3), to_vector(reference()["multipliers"]), tolerance,
      when + "gear forces");
    for (const auto & body : point["euler_parameters"])
    {
      const auto value = [&](const std::string & suffix)
      {
        const std::string wanted = body.first.as<std::string>() + suffix;
        const auto found = std::find(coordinates.begin(), coordinates.end(), wanted);
        return found == coordinates.end() ? std::nan("") : shots[i].q(found - coordinates.begin());
      };
      const bool quaternion = std::isfinite(value("_qw"));
      if (!quaternion && !std::isfinite(value("_e0")))
      {
        continue;  // joint angles
      }
      const Eigen::Vector4d parameters =
        quaternion ? Eigen::Vector4d(value("_qw"), value("_qx"), value("_qy"), value("_qz"))
                   : Eigen::Vector4d(value("_e0"), value("_e1"), value("_e2"), value("_e3"));
      expect_close(
        parameters, to_vector(body.second), 10.0 * tolerance,
        when + "Euler parameters of " + body.first.as<std::string>());
    }
  }
}

TEST(GearTrain, when_run_for_15_s_expect_the_exact_motion)
{
  expect_reference_motion("gear_train_robot", accurately(), 1e-10);
  expect_reference_motion(
    "gear_train",
    {"run.integrator=dopri5", "run.absolute_tolerance=1e-11", "run.relative_tolerance=1e-11"},
    1e-9);
}

TEST(GearTrainEuler, when_run_by_full_coordinates_and_both_partitionings_expect_the_exact_motion)
{
  // Up to the error of RK4 at 5 ms with the sun at 22.5 rad/s.
  for (const char * formulation :
       {"coordinate_partition_full", "coordinate_partition", "coordinate_partition_selected"})
  {
    SCOPED_TRACE(formulation);
    expect_reference_motion("gear_train_euler", {std::string("formulation=") + formulation}, 2e-6);
  }
}

TEST(GearTrain, when_solved_at_any_motion_expect_accelerations_forces_and_ratios_of_the_paper)
{
  std::mt19937 generator(31);
  std::cout << "seed 31\n";
  std::vector<std::unique_ptr<Train>> trains;
  for (const char * name : {"gear_train_robot", "gear_train", "gear_train_euler"})
  {
    trains.push_back(std::make_unique<Train>(name));
  }
  const Eigen::Vector4d alpha = to_vector(reference()["alpha_2_3_5_7"]);
  const Eigen::Vector3d multipliers = to_vector(reference()["multipliers"]);
  EXPECT_NEAR(alpha(1), 0.2303214230, 1e-10);
  for (int i = 0; i < 50; ++i)
  {
    const Motion motion = random_motion(generator);
    for (const std::unique_ptr<Train> & train : trains)
    {
      const std::string & name = train->scenario.name();
      ASSERT_EQ(train->solve(motion), Status::kOk) << name;
      const Rows & rows = train->workspace.rows();
      EXPECT_LE(rows.velocity.cwiseAbs().maxCoeff(), 1e-11) << name;
      EXPECT_LE(name == "gear_train_robot" ? 0.0 : rows.position.cwiseAbs().maxCoeff(), 1e-14)
        << name;
      const Eigen::Vector4d found = train->angular_accelerations();
      EXPECT_LE((found - alpha).cwiseAbs().maxCoeff(), 1e-11) << name << found.transpose();
      EXPECT_NEAR(found(0) / found(1), 150.0 / 23.0, 1e-10);
      EXPECT_NEAR(found(2) / found(1), -75.0 / 52.0, 1e-10);
      // Gear forces of the twins are the same: the rows are.
      EXPECT_LE((train->gear_multipliers() - multipliers).cwiseAbs().maxCoeff(), 1e-13) << name;
    }
  }
}

TEST(GearTrain, when_rows_are_analysed_expect_no_redundancy_until_a_fourth_mesh_is_stated)
{
  const std::map<std::string, int> rows = {
    {"gear_train", 41}, {"gear_train_euler", 48}, {"gear_train_robot", 3}};
  for (const auto & [name, count] : rows)
  {
    const Train train(name);
    EXPECT_EQ(train.report.row_count, count) << name;
    EXPECT_EQ(train.report.nominal_rank, count) << name;
    EXPECT_EQ(train.report.degrees_of_freedom, 1) << name;
    EXPECT_TRUE(train.report.dependencies.empty()) << name;
  }
  const std::string mesh =
    "constraints.gears.rows.ring_planet2=T1*ring_wz - (T2 + T5)*arm_wz - T5*planet2_wz";
  for (const std::string name : {"gear_train", "gear_train_euler"})
  {
    Train train(name, {mesh});
    ASSERT_EQ(train.report.dependencies.size(), 1U) << name;
    EXPECT_EQ(train.report.row_count - train.report.nominal_rank, 1) << name;
    const RankReport::Dependency & dependency = train.report.dependencies.front();
    ASSERT_EQ(dependency.others.size(), 3U) << name;
    EXPECT_GE(dependency.row, train.report.row_count - 4) << name;
    for (std::size_t i = 0; i < 3; ++i)
    {
      EXPECT_GE(dependency.others[i], train.report.row_count - 4) << name;
      EXPECT_NEAR(std::abs(dependency.coefficients[i]), 1.0, 1e-9) << name;
    }
    // With all four meshes the planets share the load: each carries the same.
    ASSERT_EQ(train.solve({0.1, 0.2, 0.3, 0.4, 1.0}), Status::kOk);
    const Eigen::Vector4d lambda = train.workspace.solution().multipliers.tail<4>();
    EXPECT_NEAR(lambda(0), lambda(2), 1e-12) << name;
    EXPECT_NEAR(lambda(1), lambda(3), 1e-12) << name;
    EXPECT_NEAR(train.angular_accelerations()(1), 0.2303214230, 1e-10) << name;
  }
}

// ---- inertia -----------------------------------------------------------------------------------

TEST(GearTrainEuler, when_the_mass_matrix_is_not_extended_expect_some_formulations_to_refuse)
{
  const Motion motion = {0.3, -1.1, 2.2, 0.7, 1.5};
  Train plain("gear_train_euler");
  ASSERT_EQ(plain.solve(motion), Status::kOk);
  for (const double extension : {0.0, 1.0})
  {
    for (const std::string & id : formulation_names())
    {
      Train train("gear_train_euler", {"formulation=" + id, set("extension", extension)});
      const bool needs_root =
        id == "canonical_inversion" || id == "udwadia_kalaba" || id == "projection";
      const Status status = train.solve(motion);
      if (needs_root && extension == 0.0)
      {
        EXPECT_EQ(status, Status::kSingularInertia) << id;
        continue;
      }
      ASSERT_EQ(status, Status::kOk) << id;
      EXPECT_NEAR(train.angular_accelerations()(1), 0.2303214230, 1e-10) << id;
      // An inertia of the length of Euler parameters changes nothing.
      const Solution & solution = train.workspace.solution();
      expect_close(
        solution.acceleration, plain.workspace.solution().acceleration, 1e-11, id + " u̇");
      expect_close(solution.multipliers, plain.workspace.solution().multipliers, 1e-10, id + " λ");
    }
  }
  const Eigen::MatrixXd & Q = plain.workspace.terms().mass_matrix;
  const Eigen::VectorXd eigenvalues = test::symmetric_eigenvalues(Q);
  // One direction a body is not seen: the length of its Euler parameters.
  EXPECT_LE(eigenvalues(6), 1e-15);
  EXPECT_GE(eigenvalues(7), 1e-3);
}

TEST(GearTrainEuler, when_the_extended_equations_are_solved_literally_expect_full_coordinates)
{
  // [N 4-7]: for each body the multiplier of the length of its Euler parameters is an unknown of
  // the extended mass matrix; all other rows border it.
  Train train("gear_train_euler", {"formulation=coordinate_partition_full"});
  ASSERT_EQ(train.solve({0.3, -1.1, 2.2, 0.7, 1.5}), Status::kOk);
  const ConstraintSet & set = train.scenario.dynamics()->constraints();
  const Terms terms = train.workspace.terms();
  const Rows & rows = train.workspace.rows();
  std::vector<Eigen::Index> lengths;
  std::vector<Eigen::Index> others;
  for (int row = 0; row < set.row_count(); ++row)
  {
    const bool is_length = set[set.constraint_of_row(row)].name() == "unit_length";
    (is_length ? lengths : others).push_back(row);
  }
  ASSERT_EQ(lengths.size(), 7U);
  const Eigen::Index n = 49;
  const Eigen::Index extended = n + 7;
  Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(extended + 41, extended + 41);
  Eigen::VectorXd right(extended + 41);
  whole.topLeftCorner(n, n) = terms.mass_matrix;
  right.head(n) = terms.force;
  const auto border = [&](Eigen::Index place, Eigen::Index row)
  {
    whole.row(place).head(n) = rows.jacobian.row(row);
    whole.col(place).head(n) = rows.jacobian.row(row).transpose();
    right(place) = rows.bias(row);
  };
  for (std::size_t i = 0; i < lengths.size(); ++i)
  {
    border(n + static_cast<Eigen::Index>(i), lengths[i]);
  }
  // The extended mass matrix alone is regular, though indefinite.
  const Eigen::MatrixXd mass = whole.topLeftCorner(extended, extended);
  const Eigen::VectorXd eigenvalues = test::symmetric_eigenvalues(mass);
  EXPECT_GE(eigenvalues.cwiseAbs().minCoeff(), 1e-4);
  EXPECT_EQ((eigenvalues.array() < 0.0).count(), 7);
  for (std::size_t i = 0; i < others.size(); ++i)
  {
    border(extended + static_cast<Eigen::Index>(i), others[i]);
  }
  const Eigen::VectorXd solution = test::solve_regular(whole, right);
  const Solution & found = train.workspace.solution();
  EXPECT_LE((solution.head(n) - found.acceleration).cwiseAbs().maxCoeff(), 1e-11);
  for (std::size_t i = 0; i < lengths.size(); ++i)
  {
    EXPECT_NEAR(-solution(n + static_cast<Eigen::Index>(i)), found.multipliers(lengths[i]), 1e-10);
  }
  for (std::size_t i = 0; i < others.size(); ++i)
  {
    EXPECT_NEAR(
      -solution(extended + static_cast<Eigen::Index>(i)), found.multipliers(others[i]), 1e-10);
  }
}

// ---- drift and corrections ---------------------------------------------------------------------

/// Largest |φ| and |ψ| in each third of the run.
std::vector<double> errors_by_third(const Scenario & scenario, double until)
{
  std::vector<double> errors(3, 0.0);
  const auto simulation = scenario.make_simulation();
  const RunResult result = simulation->run(
    until, until / 300.0,
    [&](const Simulation & at)
    {
      const auto third =
        std::min<std::size_t>(2, static_cast<std::size_t>(3.0 * at.state().time / until));
      const Rows & rows = at.workspace().rows();
      errors[third] = std::max(
        {errors[third], rows.position.cwiseAbs().maxCoeff(), rows.velocity.cwiseAbs().maxCoeff()});
      return true;
    });
  EXPECT_TRUE(result.completed) << to_string(result.status);
  return errors;
}

TEST(GearTrainEuler, when_not_stabilised_expect_growing_errors_and_bounded_ones_when_partitioned)
{
  const std::vector<std::string> step = {"run.step=0.01"};
  const std::vector<double> full = errors_by_third(
    load_scenario(
      "gear_train_euler",
      step +
        std::vector<std::string>{
          "formulation=coordinate_partition_full", "stabilisation={kind: none}"}),
    15.0);
  std::cout << "full coordinates: " << full[0] << ", " << full[1] << ", " << full[2] << "\n";
  EXPECT_GE(full[1], 10.0 * full[0]);
  EXPECT_GE(full[2], 10.0 * full[1]);
  EXPECT_GE(full[2], 1e-4);
  for (const char * formulation : {"coordinate_partition", "coordinate_partition_selected"})
  {
    for (const char * keep : {"nothing", "independent"})
    {
      const std::vector<double> errors = errors_by_third(
        load_scenario(
          "gear_train_euler", step +
                                std::vector<std::string>{
                                  std::string("formulation=") + formulation,
                                  std::string("stabilisation.keep=") + keep}),
        15.0);
      for (const double error : errors)
      {
        EXPECT_LE(error, 1e-12) << formulation << " keep " << keep;
      }
    }
  }
}

TEST(GearTrain, when_independent_speeds_are_kept_expect_only_dependent_ones_to_change)
{
  Train kept(
    "gear_train", {"formulation={kind: coordinate_partition_selected, independent: [arm_wz]}",
                   "stabilisation={kind: projection, keep: independent}"});
  Train smallest("gear_train");
  const Dynamics & dynamics = *kept.scenario.dynamics();
  const auto & names = kept.scenario.system().speed_names();
  const auto arm = std::find(names.begin(), names.end(), "arm_wz") - names.begin();
  std::mt19937 generator(32);
  std::cout << "seed 32\n";
  std::normal_distribution<double> normal(0.0, 1e-3);
  for (int i = 0; i < 20; ++i)
  {
    const State exact = state_of(kept.scenario.system(), random_motion(generator));
    State off = exact;
    for (Eigen::Index k = 0; k < off.u.size(); ++k)
    {
      off.u(k) += normal(generator);
    }
    Eigen::VectorXd a = off.u;
    Eigen::VectorXd b = off.u;
    ASSERT_EQ(dynamics.project_velocity(0.0, exact.q, a, kept.workspace), Status::kOk);
    ASSERT_EQ(
      smallest.scenario.dynamics()->project_velocity(0.0, exact.q, b, smallest.workspace),
      Status::kOk);
    EXPECT_EQ(a(arm), off.u(arm));
    EXPECT_NE(b(arm), off.u(arm));
    // The arm's speed determines the others.
    Motion motion{};
    motion.arm_speed = off.u(arm);
    for (const std::string body : {"sun", "planet1", "planet2"})
    {
      const auto k = std::find(names.begin(), names.end(), body + "_wz") - names.begin();
      EXPECT_NEAR(a(k), motion.speed(body), 1e-11);
    }
    // Of all corrections the other one is smallest in the norm of Q.
    ASSERT_EQ(
      smallest.scenario.dynamics()->solve(
        0.0, exact.q, exact.u, Eigen::VectorXd::Zero(0), smallest.workspace),
      Status::kOk);
    ASSERT_EQ(smallest.scenario.dynamics()->evaluate_terms(smallest.workspace), Status::kOk);
    const Eigen::MatrixXd & Q = smallest.workspace.terms().mass_matrix;
    EXPECT_GE((a - off.u).dot(Q * (a - off.u)), (b - off.u).dot(Q * (b - off.u)));

    off.q = exact.q;
    for (Eigen::Index k = 0; k < off.q.size(); ++k)
    {
      off.q(k) += normal(generator);
    }
    dynamics.system().normalise(off.q);
    const long before = allocation_count();
    const Status status = dynamics.project_position(0.0, off.q, kept.workspace);
    EXPECT_EQ(allocation_count() - before, 0);
    ASSERT_EQ(status, Status::kOk);
    ASSERT_EQ(
      dynamics.evaluate_rows(
        0.0, off.q, Eigen::VectorXd::Zero(dynamics.system().speed_count()), kept.workspace),
      Status::kOk);
    EXPECT_LE(kept.workspace.rows().position.head(38).cwiseAbs().maxCoeff(), 1e-14);
  }
}

// ---- selecting once ----------------------------------------------------------------------------

CoordinatePartition::Work work_of_run(
  const std::string & scenario, const std::string & formulation, double until, long & evaluations)
{
  const auto simulation = load_scenario(
                            scenario, {"formulation=" + formulation,
                                       "stabilisation={kind: projection, keep: independent}"})
                            .make_simulation();
  const RunResult result = simulation->run(until, 1.0, [](const Simulation &) { return true; });
  EXPECT_TRUE(result.completed);
  evaluations = result.evaluations;
  return CoordinatePartition::work(simulation->workspace().formulation_data());
}

TEST(GearTrain, when_speeds_are_selected_once_expect_hardly_any_search)
{
  long evaluations = 0;
  const auto every = work_of_run("gear_train", "coordinate_partition", 2.0, evaluations);
  EXPECT_GE(every.searches, evaluations);
  const auto named = work_of_run(
    "gear_train", "{kind: coordinate_partition_selected, independent: [arm_wz]}", 15.0,
    evaluations);
  EXPECT_EQ(named.searches, 0);  // ω_z of the arm serves everywhere
  EXPECT_GE(named.kept, evaluations - 100);
  EXPECT_LE(named.pivot_choices, 100);
  // An elimination of 41 dense rows would take 41³/3 multiplications.
  EXPECT_LE(20 * named.multiplications, 41 * 41 * 41 / 3);
  // A rate of one Euler parameter is singular at every half turn; the arm makes four turns and the
  // sun 27, so speeds are chosen again some dozens of times.
  const auto euler = work_of_run(
    "gear_train_euler", "{kind: coordinate_partition_selected, independent: [darm_e3]}", 15.0,
    evaluations);
  std::cout << "Euler parameters: " << euler.searches << " searches, " << euler.pivot_choices
            << " choices of pivots, " << evaluations << " evaluations\n";
  EXPECT_GE(euler.searches, 4);
  EXPECT_LE(euler.searches, 200);
  EXPECT_GE(euler.kept, evaluations - 400);
}

std::string refusal(const std::vector<std::string> & overrides)
{
  try
  {
    load_scenario("gear_train", overrides);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "accepted";
}

TEST(GearTrain, when_keys_make_no_sense_expect_refusals_that_name_them)
{
  const auto select = [](const std::string & independent)
  {
    return refusal(
      {"formulation={kind: coordinate_partition_selected, independent: " + independent + "}"});
  };
  EXPECT_THAT(select("[arm_wzz]"), HasSubstr("did you mean 'arm_wz'"));
  EXPECT_THAT(select("[arm_wz, sun_wz]"), HasSubstr("degrees of freedom, which are 1"));
  EXPECT_THAT(select("[arm_wz, arm_wz]"), HasSubstr("given twice"));
  EXPECT_THAT(select("[]"), HasSubstr("degrees of freedom, which are 1"));
  EXPECT_THAT(select("[ring_wz]"), HasSubstr("determine all others"));
  EXPECT_THAT(select("arm_wz"), HasSubstr("formulation.independent"));
  EXPECT_EQ(select("[planet2_wz]"), "accepted");
  EXPECT_THAT(
    refusal({"formulation={kind: kane_minimal, independent: [arm_wz]}"}),
    HasSubstr("formulation.independent: unknown key"));
  EXPECT_THAT(refusal({"formulation={kind: newton}"}), HasSubstr("formulation.kind"));
  EXPECT_THAT(refusal({"formulation={independent: [arm_wz]}"}), HasSubstr("kind"));
  EXPECT_THAT(
    refusal({"stabilisation={kind: projection, keep: independent}"}), HasSubstr("auto has none"));
  EXPECT_THAT(refusal({"stabilisation={kind: none, keep: independent}"}), HasSubstr("projection"));
  EXPECT_THAT(refusal({"stabilisation={keep: all}"}), HasSubstr("independent"));
}

}  // namespace
}  // namespace constrained_dynamics::test
