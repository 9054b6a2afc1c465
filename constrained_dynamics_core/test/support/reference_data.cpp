// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "support/reference_data.hpp"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

namespace constrained_dynamics::test
{

YAML::Node load_reference(const std::string & name)
{
  return YAML::LoadFile(std::string(CD_TEST_DATA) + "/reference/" + name + ".json");
}

YAML::Node find_item(const YAML::Node & list, const std::string & key, const std::string & value)
{
  for (const YAML::Node & item : list)
  {
    if (item[key] && item[key].as<std::string>() == value)
    {
      return item;
    }
  }
  throw std::invalid_argument("the reference has no item with " + key + " " + value);
}

Eigen::VectorXd to_vector(const YAML::Node & list)
{
  Eigen::VectorXd values(static_cast<Eigen::Index>(list.size()));
  for (std::size_t i = 0; i < list.size(); ++i)
  {
    values(static_cast<Eigen::Index>(i)) = list[i].as<double>();
  }
  return values;
}

std::string set(const std::string & path, double value)
{
  std::ostringstream text;
  text.precision(17);
  text << path << "=" << value;
  return text.str();
}

std::vector<std::string> set_all(
  const std::string & prefix, const std::vector<std::string> & names,
  const Eigen::VectorXd & values)
{
  std::vector<std::string> overrides;
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    overrides.push_back(set(prefix + names[i], values(static_cast<Eigen::Index>(i))));
  }
  return overrides;
}

std::string set_initial(
  const std::vector<std::string> & coordinates, const Eigen::VectorXd & q, const std::string & key,
  const std::vector<std::string> & speeds, const Eigen::VectorXd & u, double time)
{
  std::ostringstream text;
  text.precision(17);
  const auto write_map = [&](const std::vector<std::string> & names, const Eigen::VectorXd & values)
  {
    for (std::size_t i = 0; i < names.size(); ++i)
    {
      text << (i == 0 ? "{" : ", ") << names[i] << ": " << values(static_cast<Eigen::Index>(i));
    }
    text << "}";
  };
  text << "initial={time: " << time << ", q: ";
  write_map(coordinates, q);
  text << ", " << key << ": ";
  write_map(speeds, u);
  text << "}";
  return text.str();
}

std::vector<std::string> set_parameters(const YAML::Node & parameters)
{
  std::vector<std::string> overrides;
  for (const auto & entry : parameters)
  {
    double value = 0.0;
    if (entry.second.IsScalar() && YAML::convert<double>::decode(entry.second, value))
    {
      overrides.push_back(set(entry.first.as<std::string>(), value));
    }
  }
  return overrides;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string> & b)
{
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<std::string> accurately()
{
  return {"run.integrator=dopri5", "run.absolute_tolerance=1e-12", "run.relative_tolerance=1e-12"};
}

Scenario load_scenario(
  const std::string & name, const std::vector<std::string> & overrides, bool assemble)
{
  ScenarioLoadOptions options;
  options.assemble = assemble;
  return Scenario::load(
    std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml", overrides, options);
}

double Snapshot::observed(const std::string & name) const
{
  for (std::size_t i = 0; i < observable_names.size(); ++i)
  {
    if (observable_names[i] == name)
    {
      return observables(static_cast<Eigen::Index>(i));
    }
  }
  throw std::invalid_argument("nothing observed is called " + name);
}

namespace
{

Snapshot take(const Scenario & scenario, const Simulation & simulation, Status status)
{
  const Workspace & workspace = simulation.workspace();
  const Terms terms = workspace.terms();
  const Solution & solution = workspace.solution();
  const Rows & rows = workspace.rows();
  Snapshot shot;
  shot.status = status;
  shot.time = simulation.state().time;
  shot.q = simulation.state().q;
  shot.u = simulation.state().u;
  shot.rates = terms.rates;
  shot.rate_derivatives = terms.kinematic_matrix * solution.acceleration + terms.acceleration_bias;
  shot.acceleration = solution.acceleration;
  shot.constraint_force = solution.constraint_force;
  shot.multipliers = solution.multipliers;
  shot.row_position = rows.position;
  shot.row_velocity = rows.velocity;
  shot.kinetic = simulation.kinetic_energy();
  shot.energy = shot.kinetic + simulation.potential_energy();
  shot.power = solution.multipliers.dot(rows.jacobian * shot.u);
  for (Eigen::Index i = 0; i < rows.jacobian.rows(); ++i)
  {
    shot.power_size +=
      std::abs(solution.multipliers(i)) * rows.jacobian.row(i).norm() * shot.u.norm();
  }
  shot.rank = solution.rank;
  shot.observable_names = scenario.observable_names();
  shot.observables.setZero(static_cast<Eigen::Index>(shot.observable_names.size()));
  if (!shot.observable_names.empty())
  {
    EXPECT_EQ(scenario.observe(workspace, simulation.inputs(), shot.observables), Status::kOk);
  }
  return shot;
}

}  // namespace

Snapshot solve_raw(const std::string & scenario_name, const std::vector<std::string> & overrides)
{
  const Scenario scenario = load_scenario(scenario_name, overrides, false);
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const Status status = simulation->evaluate();
  return take(scenario, *simulation, status);
}

std::vector<Snapshot> run_to(const Scenario & scenario, const std::vector<double> & times)
{
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  std::vector<Snapshot> shots;
  for (const double time : times)
  {
    const RunResult result = simulation->run(time, 1e9, [](const Simulation &) { return true; });
    EXPECT_TRUE(result.completed) << to_string(result.status) << " at " << result.time << " s";
    EXPECT_EQ(result.singular_evaluations, 0) << "until " << time << " s";
    EXPECT_EQ(result.inconsistent_evaluations, 0) << "until " << time << " s";
    EXPECT_EQ(result.time, time);
    const Status status = simulation->evaluate();
    EXPECT_EQ(status, Status::kOk) << to_string(status) << " at " << time << " s";
    shots.push_back(take(scenario, *simulation, status));
  }
  return shots;
}

std::vector<double> times_of(const YAML::Node & series)
{
  std::vector<double> times;
  for (const YAML::Node & point : series)
  {
    times.push_back(point["t"].as<double>());
  }
  return times;
}

void expect_close(
  const Eigen::VectorXd & actual, const Eigen::VectorXd & expected, double tolerance,
  const std::string & what)
{
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (Eigen::Index i = 0; i < expected.size(); ++i)
  {
    expect_close(actual(i), expected(i), tolerance, what + "[" + std::to_string(i) + "]");
  }
}

void expect_close(double actual, double expected, double tolerance, const std::string & what)
{
  const double difference = std::abs(actual - expected);
  EXPECT_LE(difference, tolerance * std::max(1.0, std::abs(expected)))
    << what << " is " << actual << ", expected " << expected;
}

void expect_relative(
  const Eigen::VectorXd & actual, const Eigen::VectorXd & expected, double tolerance,
  const std::string & what)
{
  ASSERT_EQ(actual.size(), expected.size()) << what;
  EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), tolerance * expected.cwiseAbs().maxCoeff())
    << what << " is " << actual.transpose() << ", expected " << expected.transpose();
}

void expect_workless(const Snapshot & snapshot)
{
  // The speeds hold the rows to 1e-14 or so after projection.
  EXPECT_LE(std::abs(snapshot.power), 1e-12 * snapshot.power_size + 1e-15)
    << "power " << snapshot.power << " W at " << snapshot.time << " s";
}

bool is_campaign()
{
  const char * value = std::getenv("CD_CAMPAIGN");
  return value != nullptr && std::string(value) == "1";
}

}  // namespace constrained_dynamics::test
