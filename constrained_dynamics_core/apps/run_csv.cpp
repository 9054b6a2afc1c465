// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "run_csv.hpp"

#include <vector>

#include "output.hpp"
#include "run_report.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

std::string csv_name(const std::string & name)
{
  if (name.find_first_of(",\"\n\r") == std::string::npos)
  {
    return name;
  }
  std::string quoted = "\"";
  for (const char c : name)
  {
    quoted += c;
    if (c == '"')
    {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string csv_header(
  const cd::Scenario & scenario, const RobotReport & robot, const ServoReport & servo)
{
  const cd::System & system = scenario.system();
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  std::string header = "time";
  const auto add = [&](const std::string & name) { header += "," + csv_name(name); };
  const auto add_all = [&](const std::string & prefix, const std::vector<std::string> & names)
  {
    for (const std::string & name : names)
    {
      add(prefix + name);
    }
  };
  add_all("q.", system.coordinate_names());
  add_all("u.", system.speed_names());
  add_all("udot.", system.speed_names());
  add_all("input.", system.input_names());
  for (int row = 0; row < set.row_count(); ++row)
  {
    add("lambda." + set.row_name(row));
  }
  for (int i = 0; i < set.size(); ++i)
  {
    for (std::size_t k = 0; k < set[i].wrench_bodies().size(); ++k)
    {
      const std::string name = wrench_name(set, i, static_cast<int>(k));
      for (const char * quantity : {"force.", "torque."})
      {
        for (const char * axis : {".x", ".y", ".z"})
        {
          add(quantity + name + axis);
        }
      }
    }
  }
  add_all("", robot.column_names());
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level == cd::RowLevel::kPosition)
    {
      add("phi." + set.row_name(row));
    }
  }
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level != cd::RowLevel::kAcceleration)
    {
      add("psi." + set.row_name(row));
    }
  }
  for (const char * name : {"energy.kinetic", "energy.potential", "energy.total", "rank", "status"})
  {
    add(name);
  }
  add_all("observe.", scenario.observable_names());
  add_all("", servo.column_names());
  return header + "\n";
}

std::string csv_line(
  const cd::Scenario & scenario, const cd::Simulation & simulation,
  const Eigen::VectorXd & observed, RobotReport & robot, const ServoReport & servo)
{
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  const cd::Workspace & workspace = simulation.workspace();
  const cd::Solution & solution = workspace.solution();
  std::string line = csv_number(simulation.state().time);
  const auto add = [&](double value) { line += "," + csv_number(value); };
  const auto add_all = [&](const auto & values)
  {
    for (Eigen::Index i = 0; i < values.size(); ++i)
    {
      add(values(i));
    }
  };
  add_all(simulation.state().q);
  add_all(simulation.state().u);
  add_all(solution.acceleration);
  add_all(simulation.inputs());
  add_all(solution.multipliers);
  for (const cd::WrenchPair & wrench : solution.wrenches)
  {
    add_all(wrench.on_a.force);
    add_all(wrench.on_a.torque);
  }
  line += robot.csv_values(workspace);
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level == cd::RowLevel::kPosition)
    {
      add(workspace.rows().position(row));
    }
  }
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level != cd::RowLevel::kAcceleration)
    {
      add(workspace.rows().velocity(row));
    }
  }
  add(simulation.kinetic_energy());
  add(simulation.potential_energy());
  add(simulation.kinetic_energy() + simulation.potential_energy());
  line += "," + std::to_string(solution.rank) + "," + cd::to_string(simulation.last_status());
  add_all(observed);
  return line + servo.csv_values() + "\n";
}

std::string events_csv(const cd::Simulation & simulation)
{
  const cd::ConstraintSet & set = simulation.dynamics().constraints();
  std::string text =
    "time,constraint,kind,impulse,friction_impulse,speed_before,speed_after,energy_change,"
    "restitution_scale\n";
  for (const cd::ContactEvent & event : simulation.events())
  {
    text += csv_number(event.time) + "," + csv_name(owner_of(set, event)) + "," +
            cd::to_string(event.kind);
    for (const double value :
         {event.impulse, event.friction_impulse, event.speed_before, event.speed_after,
          event.energy_change, event.restitution_scale})
    {
      text += "," + csv_number(value);
    }
    text += "\n";
  }
  return text;
}

}  // namespace cdyn
