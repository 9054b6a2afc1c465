// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <sstream>

#include "commands.hpp"
#include "constrained_dynamics/analysis/inertia_check.hpp"
#include "constrained_dynamics/analysis/integrability.hpp"
#include "constrained_dynamics/analysis/underactuation.hpp"
#include "constrained_dynamics/scenario/profile_file.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

struct CheckReport
{
  cd::RankReport rank;
  cd::UnderactuationReport underactuation;
  cd::IntegrabilityReport integrability;
  std::string integrability_problem;  // why there is none
};

/// Analyses the active constraints alone, with a dynamics of their own.
CheckReport analyse(const cd::Scenario & scenario)
{
  CheckReport report;
  cd::Workspace workspace = cd::Workspace::unanalysed(*scenario.dynamics());
  scenario.switch_constraints(workspace);
  report.rank = workspace.reset(scenario.initial());
  report.underactuation =
    cd::analyse_underactuation(*scenario.dynamics(), scenario.initial(), workspace);

  cd::DynamicsOptions options = scenario.dynamics()->options();
  options.stabilisation = cd::Stabilisation::projection();
  const auto active = std::make_shared<const cd::Dynamics>(scenario.active_constraints(), options);
  cd::Workspace active_workspace(*active, scenario.initial());
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

const cd::RowIntegrability * find_row(const CheckReport & report, const std::string & name)
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

/// The largest elements of a row by the names of their columns, the others counted.
std::string largest_elements(
  const Eigen::RowVectorXd & row, const std::vector<std::string> & names, const char * prefix)
{
  constexpr std::size_t kShown = 6;
  std::vector<Eigen::Index> order;
  const double negligible = 1e-9 * row.cwiseAbs().maxCoeff();
  for (Eigen::Index i = 0; i < row.size(); ++i)
  {
    if (std::abs(row(i)) > negligible)
    {
      order.push_back(i);
    }
  }
  std::stable_sort(
    order.begin(), order.end(),
    [&](Eigen::Index a, Eigen::Index b) { return std::abs(row(a)) > std::abs(row(b)); });
  std::string text;
  for (std::size_t k = 0; k < order.size() && k < kShown; ++k)
  {
    text += (k == 0 ? "" : ", ") + std::string(prefix) + names[static_cast<std::size_t>(order[k])] +
            " " + format(row(order[k]), 3);
  }
  return order.size() > kShown ? text + " and " + std::to_string(order.size() - kShown) + " more"
                               : text;
}

/// Refuses a system whose bodies lack inertia.
void check_inertia(const std::string & path, const cd::Scenario & scenario)
{
  cd::Workspace workspace = cd::Workspace::unanalysed(*scenario.dynamics());
  scenario.switch_constraints(workspace);
  const cd::InertiaReport report =
    cd::analyse_inertia(*scenario.dynamics(), scenario.initial(), workspace);
  if (report.finding == cd::InertiaReport::Finding::kPositive)
  {
    return;
  }
  const bool negative = report.finding == cd::InertiaReport::Finding::kNegative;
  const std::vector<std::string> & names = scenario.system().speed_names();
  throw std::invalid_argument(
    path + ": system: the mass matrix is not positive definite " +
    (report.nearby ? "close to" : "at") + " the initial state: the motion " +
    largest_elements(report.motion.transpose(), names, "") + " has the inertia " +
    format(negative ? report.inertia : 0.0, 6) + "; allowed: masses and inertias above 0" +
    (negative ? "" : ", unless constraints prevent the motion"));
}

/// The rows of second order that no input changes.
void describe_underactuation(
  const cd::System & system, const cd::UnderactuationReport & report, std::ostream & text)
{
  const Eigen::Index count = report.motions.rows();
  if (system.input_count() == 0)
  {
    return;
  }
  text << "inputs act on " << report.input_rank << " of " << report.degrees_of_freedom
       << " degrees of freedom";
  if (count == 0)
  {
    text << "\n";
    return;
  }
  text << "; " << count << " second-order row" << (count == 1 ? "" : "s")
       << " W (Q du - P) = 0 that no input influences, at the initial state:\n";
  for (Eigen::Index i = 0; i < count; ++i)
  {
    text << "unactuated " << i + 1 << ": motion "
         << largest_elements(report.motions.row(i), system.speed_names(), "") << "; accelerations "
         << largest_elements(report.inertia.row(i), system.speed_names(), "d") << "; force "
         << format(report.force(i), 3) << "\n";
  }
}

void write_underactuation(
  cd::JsonWriter & json, const cd::System & system, const cd::UnderactuationReport & report)
{
  json.key("underactuation").begin_object().entry("input_rank", report.input_rank);
  json.key("rows").begin_array();
  for (Eigen::Index i = 0; i < report.motions.rows(); ++i)
  {
    json.begin_object()
      .entry("motion", system.speed_names(), report.motions.row(i).transpose())
      .entry("inertia", system.speed_names(), report.inertia.row(i).transpose())
      .entry("force", report.force(i))
      .end_object();
  }
  json.end_array().end_object();
}

std::string describe(const cd::Scenario & scenario, const CheckReport & report)
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
  describe_underactuation(system, report.underactuation, text);
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

std::string to_json(const cd::Scenario & scenario, const CheckReport & report)
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
  write_underactuation(json, system, report.underactuation);
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

/// "gravity, friction"; "nothing"; "not stated".
std::string describe(const std::optional<cd::EffortTerms> & terms)
{
  if (!terms)
  {
    return "not stated";
  }
  std::string text = terms->gravity ? "gravity" : "";
  text += terms->friction ? std::string(text.empty() ? "" : ", ") + "friction" : "";
  text += terms->armature ? std::string(text.empty() ? "" : ", ") + "armature" : "";
  return text.empty() ? "nothing" : text;
}

/// Checks a robot profile instead of a scenario.
int check_profile(const std::string & path, const ScenarioArguments & arguments)
{
  if (!arguments.overrides.empty())
  {
    throw std::invalid_argument(
      path + ": a robot profile; --set is allowed for scenarios only: " + arguments.overrides[0]);
  }
  const cd::RobotProfile profile = cd::load_robot_profile(path);
  OutputFile file(arguments.json, "--json", path);
  if (arguments.json != "-")
  {
    std::ostringstream text;
    text << profile.name << ": valid robot profile\n"
         << "joints " << profile.joints.size() << ", payloads " << profile.payloads.size() << "\n"
         << "command interface " << profile.command_interface << ", the drive adds "
         << describe(profile.command_adds) << "\n"
         << "effort interface " << profile.effort_interface
         << ", contents of a measured effort: " << describe(profile.effort_contains) << "\n";
    write_out(text.str());
  }
  if (file.is_open())
  {
    std::vector<std::string> joints;
    for (const cd::ProfileJoint & joint : profile.joints)
    {
      joints.push_back(joint.name);
    }
    cd::JsonWriter json;
    json.begin_object()
      .entry("profile", profile.name)
      .entry("valid", true)
      .entry("joints", joints)
      .entry("command_adds", describe(profile.command_adds))
      .entry("effort_contains", describe(profile.effort_contains))
      .end_object();
    file.write(json.text());
    file.close();
  }
  return kSuccess;
}

}  // namespace

int check(const ScenarioArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  if (cd::is_robot_profile(path))
  {
    return check_profile(path, arguments);
  }
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides);
  check_inertia(path, scenario);
  OutputFile file(arguments.json, "--json", path);
  const CheckReport report = analyse(scenario);
  if (arguments.json != "-")
  {
    write_report(describe(scenario, report));
  }
  if (file.is_open())
  {
    file.write(to_json(scenario, report));
    file.close();
  }
  return kSuccess;
}

}  // namespace cdyn
