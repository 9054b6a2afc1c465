#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "commands.hpp"
#include "constrained_dynamics/integrability.hpp"
#include "output.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

struct Report
{
  cd::RankReport rank;
  cd::IntegrabilityReport integrability;
  std::string integrability_problem;  // why there is none
};

/// Analyses the active constraints alone, with a dynamics of their own.
Report analyse(const cd::Scenario & scenario)
{
  Report report;
  cd::Workspace workspace(*scenario.dynamics());
  scenario.switch_constraints(workspace);
  report.rank = scenario.dynamics()->analyse(scenario.initial(), workspace);

  cd::DynamicsOptions options = scenario.dynamics()->options();
  options.stabilisation = cd::Stabilisation::projection();
  const auto active = std::make_shared<const cd::Dynamics>(scenario.active_constraints(), options);
  cd::Workspace active_workspace(*active);
  active->analyse(scenario.initial(), active_workspace);
  const auto project = [&](double time, Eigen::VectorXd & q)
  { return cd::has_output(active->project_position(time, q, active_workspace)); };
  try
  {
    report.integrability = cd::analyse_integrability(
      active->constraints(), scenario.initial().time, scenario.initial().q, project);
  }
  catch (const std::invalid_argument & error)
  {
    report.integrability_problem = error.what();
  }
  return report;
}

const cd::RowIntegrability * find_row(const Report & report, const std::string & name)
{
  for (const cd::RowIntegrability & row : report.integrability.rows)
  {
    if (row.name == name)
    {
      return &row;
    }
  }
  return nullptr;
}

std::string describe(const cd::Scenario & scenario, const Report & report)
{
  const cd::System & system = scenario.system();
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  std::ostringstream text;
  text << scenario.name() << ": valid\n"
       << "coordinates " << system.coordinate_count() << ", speeds " << system.speed_count()
       << ", inputs " << system.input_count() << ", constraints " << set.size() << "\n"
       << "degrees of freedom " << report.rank.degrees_of_freedom << ": " << system.speed_count()
       << " speeds, " << report.rank.row_count << " active rows of rank "
       << report.rank.nominal_rank;
  if (report.rank.rank_here != report.rank.nominal_rank)
  {
    text << " (" << report.rank.rank_here << " at the initial state, which is singular)";
  }
  text << ", condition " << format(report.rank.condition, 3) << "\n";
  for (const cd::RankReport::Dependency & dependency : report.rank.dependencies)
  {
    text << "redundant: " << cdyn::describe(set, dependency) << "\n";
  }
  for (int row = 0; row < set.row_count(); ++row)
  {
    const std::string name = set.row_name(row);
    text << "row " << name << ": " << cd::to_string(set.row(row).level);
    const cd::RowIntegrability * answer = find_row(report, name);
    if (scenario.contacts()->manages(set.constraint_of_row(row)))
    {
      text << ", comes and goes";
    }
    else if (!scenario.is_active(set.constraint_of_row(row)))
    {
      text << ", not active";
    }
    else if (answer != nullptr && set.row(row).level == cd::RowLevel::kVelocity)
    {
      text << ", linear " << cd::to_string(answer->linear) << ", exact "
           << cd::to_string(answer->exact) << ", integrable alone "
           << cd::to_string(answer->integrable_alone);
      if (answer->integrating_factor)
      {
        text << ", integrating factor " << *answer->integrating_factor;
      }
      if (!answer->reason.empty())
      {
        text << " (" << answer->reason << ")";
      }
    }
    text << "\n";
  }
  if (set.row_count() > 0)
  {
    text << "integrable (holonomic) as a set: " << cd::to_string(report.integrability.integrable);
    const std::string & why = report.integrability_problem.empty() ? report.integrability.reason
                                                                   : report.integrability_problem;
    text << (why.empty() ? "" : ": " + why) << "\n";
  }
  for (const std::string & warning : scenario.warnings())
  {
    text << "warning: " << warning << "\n";
  }
  return text.str();
}

std::string to_json(const cd::Scenario & scenario, const Report & report)
{
  const cd::System & system = scenario.system();
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  cd::JsonWriter json;
  json.begin_object()
    .entry("scenario", scenario.name())
    .entry("valid", true)
    .entry("coordinates", system.coordinate_names())
    .entry("speeds", system.speed_names())
    .entry("inputs", system.input_names())
    .entry("frames", system.frame_names())
    .entry("row_count", report.rank.row_count)
    .entry("rank", report.rank.rank_here)
    .entry("nominal_rank", report.rank.nominal_rank)
    .entry("degrees_of_freedom", report.rank.degrees_of_freedom)
    .entry("condition", report.rank.condition);
  write_dependencies(json, set, report.rank);
  json.key("rows").begin_object();
  for (int row = 0; row < set.row_count(); ++row)
  {
    const std::string name = set.row_name(row);
    json.key(name)
      .begin_object()
      .entry("level", cd::to_string(set.row(row).level))
      .entry("active", scenario.is_active(set.constraint_of_row(row)))
      .entry("comes_and_goes", scenario.contacts()->manages(set.constraint_of_row(row)));
    const cd::RowIntegrability * answer = find_row(report, name);
    if (answer != nullptr)
    {
      json.entry("linear", cd::to_string(answer->linear))
        .entry("homogeneous", cd::to_string(answer->homogeneous))
        .entry("exact", cd::to_string(answer->exact))
        .entry("integrable_alone", cd::to_string(answer->integrable_alone));
      if (answer->integrating_factor)
      {
        json.entry("integrating_factor", *answer->integrating_factor);
      }
      else
      {
        json.null_entry("integrating_factor");
      }
      json.entry("reason", answer->reason);
    }
    json.end_object();
  }
  json.end_object();
  json.entry("integrable", cd::to_string(report.integrability.integrable))
    .entry(
      "integrable_reason", report.integrability_problem.empty() ? report.integrability.reason
                                                                : report.integrability_problem)
    .entry("warnings", scenario.warnings())
    .end_object();
  return json.text();
}

}  // namespace

int check(const ScenarioArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides);
  OutputFile file(arguments.json, "--json", path);
  const Report report = analyse(scenario);
  if (arguments.json != "-")
  {
    write_out(describe(scenario, report));
  }
  if (file.is_open())
  {
    file.write(to_json(scenario, report));
    file.close();
  }
  return kSuccess;
}

}  // namespace cdyn
