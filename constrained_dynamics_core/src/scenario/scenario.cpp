// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/dynamics/assembly.hpp"
#include "constrained_dynamics/constraints/stabilisation.hpp"
#include "scenario/scenario_contacts.hpp"
#include "scenario/scenario_formulation.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_servo_law.hpp"
#include "scenario/scenario_servo_start.hpp"
#include "scenario/scenario_signals.hpp"
#include "scenario/scenario_system.hpp"
#include "scenario/scenario_tree.hpp"

namespace constrained_dynamics
{

struct Scenario::Impl
{
  std::string name;
  std::string description;
  std::vector<std::pair<std::string, double>> parameters;
  std::vector<std::shared_ptr<const Constraint>> constraints;
  std::vector<bool> active;
  std::shared_ptr<const Dynamics> dynamics;
  std::shared_ptr<const ContactSet> contacts;
  std::vector<ScheduledChange> changes;
  State initial;
  RunSettings run;
  std::vector<std::string> warnings;
  std::shared_ptr<const SignalProgram> input_signals;  // null: none
  std::vector<int> wrenches;
  std::optional<ScenarioServo> servo;
  std::vector<std::string> observable_names;
  SignalProgram observables;
};

namespace
{

std::string format(double value)
{
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.6g", value);
  return buffer;
}

// ---- stabilisation, options, run
// -----------------------------------------------------------------

Stabilisation read_stabilisation(const ScenarioReader & reader, double step)
{
  const std::vector<std::string> gains = {"velocity_gain", "position_gain", "nonholonomic_gain"};
  reader.allow_keys(
    {"kind", "keep", "velocity_gain", "position_gain", "nonholonomic_gain", "follow_step"});
  const auto kind = reader.find("kind");
  const std::string word = kind ? kind->choice({"projection", "baumgarte", "none"}) : "projection";
  if (word != "baumgarte")
  {
    for (const auto & [key, value] : reader.entries())
    {
      if (key != "kind" && key != "keep")
      {
        value.fail("allowed with kind: baumgarte only");
      }
    }
  }
  if (const auto keep = reader.find("keep"))
  {
    if (word != "projection")
    {
      keep->fail("allowed with kind: projection only");
    }
    if (keep->choice({"nothing", "independent"}) == "independent")
    {
      return Stabilisation::projection_of_dependent();
    }
  }
  if (word != "baumgarte")
  {
    return word == "none" ? Stabilisation::none() : Stabilisation::projection();
  }
  const bool has_gains = std::any_of(
    gains.begin(), gains.end(), [&](const std::string & key) { return reader.has(key); });
  const auto follow_step = reader.find("follow_step");
  if (has_gains == follow_step.has_value())
  {
    reader.fail_here(
      "allowed: either gains (velocity_gain, position_gain, nonholonomic_gain) or follow_step");
  }
  const auto gain = [&](const std::string & key)
  { return reader.has(key) ? read_gain(reader.at(key)) : Gain(0.0); };
  try
  {
    return follow_step ? Stabilisation::baumgarte_for_step(step, follow_step->number())
                       : Stabilisation::baumgarte(gain(gains[0]), gain(gains[1]), gain(gains[2]));
  }
  catch (const ScenarioError &)
  {
    throw;
  }
  catch (const std::exception & error)
  {
    reader.fail_here(error.what());
  }
}

DynamicsOptions read_options(const ScenarioReader & reader)
{
  reader.allow_keys(
    {"characteristic_length", "singular_tolerance", "redundancy_tolerance", "consistency_tolerance",
     "partition_limit"});
  DynamicsOptions options;
  const auto fraction = [&](const std::string & key, double & value)
  {
    value = reader.positive_or(key, value);
    if (!(value < 1.0))
    {
      reader.at(key).fail("allowed: a number between 0 and 1");
    }
  };
  options.characteristic_length =
    reader.positive_or("characteristic_length", options.characteristic_length);
  fraction("singular_tolerance", options.rank.singular_tolerance);
  fraction("redundancy_tolerance", options.rank.redundancy_tolerance);
  fraction("consistency_tolerance", options.rank.consistency_tolerance);
  options.rank.partition_limit =
    reader.positive_or("partition_limit", options.rank.partition_limit);
  if (!(options.rank.partition_limit > 1.0))
  {
    reader.at("partition_limit").fail("allowed: a number above 1");
  }
  return options;
}

/// `limits`: a word, or a map with the word as `kind`.
LimitMode read_limit_mode(const ScenarioReader & reader)
{
  const bool is_map = reader.node().is_map();
  if (is_map)
  {
    reader.allow_keys({"kind", "restitution"});
  }
  const std::string word =
    (is_map ? reader.at("kind") : reader).choice({"report", "stop", "ignore"});
  if (is_map && word != "stop" && reader.has("restitution"))
  {
    reader.at("restitution").fail("allowed with kind: stop only");
  }
  return word == "stop"     ? LimitMode::kStop
         : word == "ignore" ? LimitMode::kIgnore
                            : LimitMode::kReport;
}

/// Restitution of the stops that `run.limits` makes.
double read_stop_restitution(const ScenarioReader & root)
{
  const auto run = root.find("run");
  const auto limits = run ? run->find("limits") : run;
  if (!limits || !limits->node().is_map() || !limits->has("restitution"))
  {
    return 0.0;
  }
  const ScenarioReader restitution = limits->at("restitution");
  const double value = restitution.number();
  if (!(value >= 0.0 && value <= 1.0))
  {
    restitution.fail("allowed: 0 to 1");
  }
  return value;
}

RunSettings read_run(const ScenarioReader & reader, double time)
{
  constexpr double kOutputs = 1000.0;
  constexpr double kMostOutputs = 1e7;
  reader.allow_keys(
    {"until", "step", "integrator", "output_interval", "absolute_tolerance", "relative_tolerance",
     "largest_step", "error_tolerance", "limits"});
  RunSettings run;
  run.until = reader.number_or("until", time + 10.0);
  if (!(run.until >= time))
  {
    reader.at("until").fail("allowed: not before initial.time, which is " + format(time));
  }
  SimulationOptions & options = run.integration;
  options.step = reader.positive_or("step", options.step);
  options.absolute_tolerance = reader.positive_or("absolute_tolerance", options.absolute_tolerance);
  options.relative_tolerance = reader.positive_or("relative_tolerance", options.relative_tolerance);
  options.largest_step = reader.positive_or("largest_step", options.largest_step);
  options.error_tolerance = reader.positive_or("error_tolerance", options.error_tolerance);
  if (const auto limits = reader.find("limits"))
  {
    run.limits = read_limit_mode(*limits);
  }
  options.watch_limits = run.limits != LimitMode::kIgnore;
  if (const auto integrator = reader.find("integrator"))
  {
    const std::array<Integrator, 3> all = {
      Integrator::kRk4, Integrator::kKuttaMerson, Integrator::kDopri5};
    std::vector<std::string> names;
    for (const Integrator one : all)
    {
      names.emplace_back(to_string(one));
    }
    const std::string name = integrator->choice(names);
    options.integrator =
      all[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  }
  const double length = run.until - time;
  const bool adaptive = options.integrator == Integrator::kDopri5;
  // A thousandth of the run, on the grid of steps; rounding must not add a step.
  const double interval =
    adaptive ? length / kOutputs
             : options.step * std::max(1.0, std::ceil(length / options.step / kOutputs - 1e-9));
  run.output_interval =
    reader.positive_or("output_interval", interval > 0.0 ? interval : options.step);
  if (!(length / run.output_interval <= kMostOutputs))
  {
    reader.fail_here(
      "the output interval " + format(run.output_interval) + " s gives more than " +
      format(kMostOutputs) + " outputs until " + format(run.until) + " s; allowed: fewer");
  }
  return run;
}

// ---- initial state
// -------------------------------------------------------------------------------

/// Names of the coordinates or speeds of a joint of several degrees of freedom.
std::vector<int> find_group(
  const std::vector<std::string> & names, const std::string & joint,
  const std::vector<std::vector<std::string>> & suffixes)
{
  for (const std::vector<std::string> & group : suffixes)
  {
    std::vector<int> indices;
    for (const std::string & suffix : group)
    {
      const auto found = std::find(names.begin(), names.end(), joint + "_" + suffix);
      if (found != names.end())
      {
        indices.push_back(static_cast<int>(found - names.begin()));
      }
    }
    if (indices.size() == group.size())
    {
      return indices;
    }
  }
  return {};
}

std::vector<int> find_coordinates(const System & system, const std::string & name)
{
  const std::vector<std::string> & names = system.coordinate_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end())
  {
    return {static_cast<int>(found - names.begin())};
  }
  return find_group(
    names, name,
    {{"x", "y", "z", "qx", "qy", "qz", "qw"}, {"x", "y", "theta"}, {"qx", "qy", "qz", "qw"}});
}

std::vector<int> find_speeds(const System & system, const std::string & name, bool joints)
{
  const std::vector<std::string> & names = system.speed_names();
  for (const std::string & candidate : {name, "d" + name})
  {
    const auto found = std::find(names.begin(), names.end(), candidate);
    if (found != names.end() && (joints || candidate == name))
    {
      return {static_cast<int>(found - names.begin())};
    }
  }
  return find_group(
    names, name, {{"vx", "vy", "vz", "wx", "wy", "wz"}, {"vx", "vy", "wz"}, {"wx", "wy", "wz"}});
}

/// Reads the section `initial` and assembles.
class InitialState
{
public:
  InitialState(
    const ScenarioReader & reader, const ScenarioSystem & system, const Dynamics & dynamics,
    Workspace & workspace)
  : reader_(reader),
    scene_(system),
    system_(*system.system),
    dynamics_(dynamics),
    workspace_(workspace)
  {
    state_.q = system_.neutral_coordinates();
    state_.u.setZero(system_.speed_count());
    q_given_.assign(static_cast<std::size_t>(system_.coordinate_count()), false);
    u_given_.assign(static_cast<std::size_t>(system_.speed_count()), false);
  }

  State read(bool assemble)
  {
    state_.time = reader_.number_or("time", 0.0);
    tolerance_ = reader_.positive_or("tolerance", 1e-9);
    if (const auto q = reader_.find("q"))
    {
      read_values(
        *q, system_.coordinate_names(), state_.q, q_given_,
        [&](const std::string & name) { return find_coordinates(system_, name); });
    }
    check_quaternions();
    if (const auto u = reader_.find("u"))
    {
      read_values(
        *u, system_.speed_names(), state_.u, u_given_,
        [&](const std::string & name) { return find_speeds(system_, name, true); });
      const auto end = u_given_.begin() + wrapped_speed_count();
      if (reader_.has("rates") && std::find(u_given_.begin(), end, true) != end)
      {
        u->fail_here("allowed: either u or rates; control states by u all the same");
      }
    }
    q_held_ = q_given_;
    u_held_ = u_given_;
    read_solve();
    if (assemble)
    {
      settle(true);
    }
    read_rates();
    if (assemble)
    {
      settle(false);
    }
    return state_;
  }

private:
  /// Speeds without those that are controls.
  int wrapped_speed_count() const
  {
    return scene_.textbook != nullptr ? scene_.textbook->speed_count() : system_.speed_count();
  }

  template <class Find>
  void read_values(
    const ScenarioReader & map, const std::vector<std::string> & names, Eigen::VectorXd & values,
    std::vector<bool> & given, const Find & find)
  {
    for (const auto & [name, value] : map.entries())
    {
      const std::vector<int> indices = find(name);
      if (indices.empty())
      {
        value.fail_here("no such name" + suggest(name, names));
      }
      const bool is_list = value.node().is_list();
      if ((indices.size() > 1 || is_list) && (!is_list || value.items().size() != indices.size()))
      {
        value.fail(
          "allowed: " + (indices.size() > 1
                           ? "a list of " + std::to_string(indices.size()) + " numbers"
                           : std::string("a number")));
      }
      for (std::size_t k = 0; k < indices.size(); ++k)
      {
        const auto index = static_cast<std::size_t>(indices[k]);
        if (given[index])
        {
          value.fail_here("'" + names[index] + "' is given twice");
        }
        given[index] = true;
        values(indices[k]) = is_list ? value.items()[k].number() : value.number();
      }
    }
  }

  void check_quaternions() const
  {
    if (scene_.robot == nullptr)
    {
      return;
    }
    const std::string last = "_qw";
    for (const std::string & name : system_.coordinate_names())
    {
      if (
        name.size() <= last.size() ||
        name.compare(name.size() - last.size(), last.size(), last) != 0)
      {
        continue;
      }
      const std::string joint = name.substr(0, name.size() - last.size());
      const std::vector<int> parts =
        find_group(system_.coordinate_names(), joint, {{"qx", "qy", "qz", "qw"}});
      int count = 0;
      double square = 0.0;
      for (const int part : parts)
      {
        count += q_given_[static_cast<std::size_t>(part)] ? 1 : 0;
        square += state_.q(part) * state_.q(part);
      }
      if (count != 0 && count != static_cast<int>(parts.size()))
      {
        reader_.at("q").fail_here(
          "the quaternion of '" + joint + "' is incomplete; allowed: all four of " + joint +
          "_qx, _qy, _qz, _qw or none");
      }
      if (!parts.empty() && !(square > 1e-6))
      {
        reader_.at("q").fail_here("the quaternion of '" + joint + "' has length 0");
      }
    }
  }

  void read_solve()
  {
    const auto solve = reader_.find("solve");
    if (!solve)
    {
      return;
    }
    if (!solve->node().is_list())
    {
      if (
        !solve->node().is_scalar() || (solve->node().text != "all" && solve->node().text != "none"))
      {
        solve->fail("allowed: a list of coordinates, speeds or joints, all, none");
      }
      holds_all_ = solve->node().text == "none";
      frees_all_ = !holds_all_;
      q_held_.assign(q_held_.size(), holds_all_);
      u_held_.assign(u_held_.size(), holds_all_);
      return;
    }
    for (const ScenarioReader & item : solve->items())
    {
      const std::string name = item.name();
      const std::vector<int> coordinates = find_coordinates(system_, name);
      const std::vector<int> speeds = find_speeds(system_, name, scene_.robot != nullptr);
      if (coordinates.empty() && speeds.empty())
      {
        std::vector<std::string> names = system_.coordinate_names();
        names.insert(names.end(), system_.speed_names().begin(), system_.speed_names().end());
        item.fail("no such coordinate, speed or joint" + suggest(name, names));
      }
      for (const int i : coordinates)
      {
        q_held_[static_cast<std::size_t>(i)] = false;
      }
      for (const int i : speeds)
      {
        u_held_[static_cast<std::size_t>(i)] = false;
        u_freed_.insert(i);
      }
    }
  }

  /// Speeds from rates: u = W q̇ + w0. W comes column by column, since u is affine in the rates.
  void read_rates()
  {
    const auto rates = reader_.find("rates");
    if (!rates)
    {
      return;
    }
    if (scene_.textbook == nullptr)
    {
      rates->fail_here("allowed for textbook systems; robots have u");
    }
    const Eigen::Index nq = system_.coordinate_count();
    const Eigen::Index n = wrapped_speed_count();
    Eigen::VectorXd values = Eigen::VectorXd::Zero(nq);
    std::vector<bool> given(static_cast<std::size_t>(nq), false);
    read_values(
      *rates, system_.coordinate_names(), values, given,
      [&](const std::string & name) { return find_coordinates(system_, name); });
    const auto speeds = [&](const Eigen::VectorXd & qdot)
    {
      Eigen::VectorXd u = Eigen::VectorXd::Zero(n);
      const Status status = scene_.textbook->speeds_from_rates(state_.time, state_.q, qdot, u);
      if (status != Status::kOk)
      {
        rates->fail_here(
          std::string("the speeds cannot be computed here: status ") + to_string(status));
      }
      return u;
    };
    state_.u.head(n) = speeds(values);
    const Eigen::VectorXd at_rest = speeds(Eigen::VectorXd::Zero(nq));
    Eigen::VectorXi is_open = Eigen::VectorXi::Zero(n);  // depends on a rate that is not given
    for (Eigen::Index k = 0; k < nq; ++k)
    {
      if (!given[static_cast<std::size_t>(k)])
      {
        const Eigen::VectorXd column = speeds(Eigen::VectorXd::Unit(nq, k)) - at_rest;
        for (Eigen::Index i = 0; i < n; ++i)
        {
          is_open(i) += std::abs(column(i)) > 1e-14 * column.cwiseAbs().maxCoeff() ? 1 : 0;
        }
      }
    }
    for (Eigen::Index i = 0; i < n; ++i)
    {
      const bool freed = frees_all_ || u_freed_.count(static_cast<int>(i)) > 0;
      u_held_[static_cast<std::size_t>(i)] = holds_all_ || (!freed && is_open(i) == 0);
    }
  }

  AssemblyResult assemble(bool position)
  {
    try
    {
      return position
               ? assemble_position(dynamics_, state_.time, state_.q, q_held_, workspace_)
               : assemble_velocity(dynamics_, state_.time, state_.q, state_.u, u_held_, workspace_);
    }
    catch (const std::exception & error)
    {
      reader_.fail_here(error.what());
    }
  }

  /// Changes what is not held until the rows hold.
  void settle(bool position)
  {
    Eigen::VectorXd & x = position ? state_.q : state_.u;
    const std::vector<bool> & held = position ? q_held_ : u_held_;
    const Eigen::VectorXd given = x;
    AssemblyResult result = assemble(position);
    // The start may be a dead point, where no small change helps (x² + y² = 1 at y = 0 for given
    // x); then other starts are tried, in a fixed order.
    constexpr int kOtherStarts = 24;
    const Eigen::VectorXd first = x;
    for (int k = 0; k < kOtherStarts && !(result.residual <= tolerance_); ++k)
    {
      x = given;
      for (std::size_t i = 0; i < held.size(); ++i)
      {
        if (!held[i])
        {
          // Golden-ratio sequence: spread over (−1, 1), another for each coordinate.
          const double place =
            std::fmod(0.618033988749895 * (k + 1) * static_cast<double>(i + 1), 1.0);
          x(static_cast<Eigen::Index>(i)) += (1 + k / 8) * (2.0 * place - 1.0);
        }
      }
      try
      {
        const AssemblyResult other = assemble(position);
        result = other.residual <= tolerance_ ? other : result;
      }
      catch (const ScenarioError &)
      {
        continue;  // rows have no value there
      }
    }
    if (!(result.residual <= tolerance_))
    {
      x = first;
    }
    if (!(result.residual <= tolerance_))
    {
      const std::vector<std::string> & names =
        position ? system_.coordinate_names() : system_.speed_names();
      std::string free;
      for (std::size_t i = 0; i < held.size(); ++i)
      {
        if (!held[i])
        {
          free += (free.empty() ? "" : ", ") + names[i];
        }
      }
      reader_.fail_here(
        std::string("the initial ") + (position ? "coordinates" : "speeds") +
        " violate the constraints: row " + result.worst_row + " has the residual " +
        format(result.residual) + "; allowed: at most " + format(tolerance_) +
        (free.empty() ? "; nothing was free to change (see 'solve')"
                      : "; free to change: " + free));
    }
  }

  const ScenarioReader reader_;
  const ScenarioSystem & scene_;
  const System & system_;
  const Dynamics & dynamics_;
  Workspace & workspace_;
  State state_;
  double tolerance_ = 1e-9;
  std::vector<bool> q_given_;
  std::vector<bool> u_given_;
  std::vector<bool> q_held_;
  std::vector<bool> u_held_;
  std::set<int> u_freed_;
  bool holds_all_ = false;
  bool frees_all_ = false;
};

// ---- mimic joints
// --------------------------------------------------------------------------------

/// Couplings for the mimic joints of the descriptions.
void add_mimics(
  const ScenarioSystem & system, std::vector<std::shared_ptr<const Constraint>> & constraints,
  std::vector<bool> & active, std::vector<std::string> & warnings)
{
  const RigidBodySystem & robot = *system.robot;
  const std::vector<std::string> & names = robot.coordinate_names();
  const auto exists = [&](const std::string & name)
  { return std::find(names.begin(), names.end(), name) != names.end(); };
  for (const RigidBodySystem::Mimic & mimic : robot.mimics())
  {
    const std::string name = mimic.joint + "_mimic";
    const bool is_taken = std::any_of(
      constraints.begin(), constraints.end(),
      [&](const auto & constraint) { return constraint->name() == name; });
    if (is_taken || !exists(mimic.joint))
    {
      continue;
    }
    if (!exists(mimic.source))
    {
      warnings.push_back(
        "joint '" + mimic.joint + "' mimics '" + mimic.source + "', which does not move; ignored");
      continue;
    }
    std::vector<CouplingTerm> terms = {{mimic.joint, 1.0}};
    if (mimic.multiplier != 0.0)
    {
      terms.push_back({mimic.source, -mimic.multiplier});
    }
    constraints.push_back(
      std::make_shared<const JointCoupling>(name, *system.system, terms, mimic.offset));
    active.push_back(true);
  }
}

}  // namespace

// ---- scenario
// ------------------------------------------------------------------------------------

namespace
{

std::string read_text(const std::string & path)
{
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
  {
    throw std::invalid_argument(path + ": no such file");
  }
  if (fs::is_directory(status))
  {
    throw std::invalid_argument(path + ": a folder; allowed: a file");
  }
  if (!fs::is_regular_file(status))
  {
    throw std::invalid_argument(path + ": not a regular file");
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > kMaxScenarioSize)
  {
    throw std::invalid_argument(
      path + ": allowed: at most " + std::to_string(kMaxScenarioSize) + " bytes");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || file.bad() || (text.str().empty() && size > 0))
  {
    if (size > 0)
    {
      throw std::invalid_argument(path + ": the file cannot be read");
    }
  }
  return text.str();
}

/// Builds everything from a text.
class ScenarioBuilder
{
public:
  template <class Impl>
  static void build(
    const std::string & text, const std::string & source, const std::filesystem::path & folder,
    const std::vector<std::string> & overrides, const ScenarioLoadOptions & options, Impl & out)
  {
    ScenarioNode raw = parse_scenario(text, source);
    for (const std::string & assignment : overrides)
    {
      apply_override(raw, assignment);
    }
    ScenarioScope scope;
    scope.source = source;
    scope.folder = folder;
    const ScenarioReader unexpanded(raw, "", scope);
    unexpanded.allow_keys(scenario_keys());
    read_names(unexpanded, scope);
    const ScenarioNode expanded = expand_scenario(raw, scope);
    const ScenarioReader root(expanded, "", scope);
    out.name = root.string_or("name", std::filesystem::path(source).stem().string());
    out.description = root.string_or("description", "");
    out.parameters = scope.names.parameters;

    // Sections that are absent read like empty ones.
    ScenarioNode nothing;
    nothing.kind = ScenarioNode::Kind::kMap;
    nothing.line = expanded.line;
    const auto section = [&](const std::string & key)
    {
      const auto found = root.find(key);
      return found ? *found : ScenarioReader(nothing, key, scope);
    };
    const ScenarioReader initial = section("initial");
    initial.allow_keys({"time", "q", "u", "rates", "solve", "servo", "tolerance"});
    out.run = read_run(section("run"), initial.number_or("time", 0.0));
    DynamicsOptions dynamics_options = read_options(section("options"));
    dynamics_options.stabilisation =
      read_stabilisation(section("stabilisation"), out.run.integration.step);

    const ScenarioSystem system = build_system(root.at("system"), initial);
    if (system.robot != nullptr)
    {
      out.warnings = system.robot->warnings();
      if (root.at("system").boolean_or("model_friction", true))
      {
        // The scenario applies it.
        out.warnings.erase(
          std::remove_if(
            out.warnings.begin(), out.warnings.end(),
            [](const std::string & warning)
            { return warning.find("states a dry friction") != std::string::npos; }),
          out.warnings.end());
      }
    }
    const ConstraintSet set = build_rows(root, system, out);
    const std::unique_ptr<const SignalNames> of_state = signal_names(root, set, false);
    const auto formulation = root.find("formulation");
    const std::shared_ptr<const Formulation> solver =
      build_formulation(formulation, {*system.system, *of_state});
    try
    {
      out.dynamics = std::make_shared<const Dynamics>(set, dynamics_options, solver);
    }
    catch (const std::exception & error)
    {
      root.fail_here(error.what());
    }
    build_signals(root, system, *of_state, out);
    out.servo = read_servo(
      root, out.dynamics, system.robot, out.run.integration.integrator == Integrator::kDopri5);

    Workspace workspace = Workspace::unanalysed(*out.dynamics);
    for (std::size_t i = 0; i < out.active.size(); ++i)
    {
      workspace.set_active(static_cast<int>(i), out.active[i]);
    }
    const auto on_servo = initial.find("servo");
    out.initial =
      on_servo && options.assemble
        ? read_initial_on_servo(initial, *on_servo, system, out)
        : InitialState(initial, system, *out.dynamics, workspace).read(options.assemble);
    if (options.assemble)
    {
      check_formulation(formulation, *out.dynamics, out.initial, workspace);
      check_contacts(initial, workspace, out);
    }
  }

private:
  /// The initial state on the rows of servo-constraints as well.
  template <class Impl>
  static State read_initial_on_servo(
    const ScenarioReader & initial, const ScenarioReader & names, const ScenarioSystem & system,
    const Impl & out)
  {
    std::vector<std::shared_ptr<const Constraint>> constraints = out.constraints;
    const auto rows = servo_rows_at_start(names, out.servo, initial.number_or("time", 0.0));
    constraints.insert(constraints.end(), rows.begin(), rows.end());
    DynamicsOptions options = out.dynamics->options();
    options.stabilisation = Stabilisation::projection();
    try
    {
      const Dynamics dynamics(ConstraintSet(system.system, constraints), options);
      Workspace workspace = Workspace::unanalysed(dynamics);
      for (std::size_t i = 0; i < out.active.size(); ++i)
      {
        workspace.set_active(static_cast<int>(i), out.active[i]);
      }
      return InitialState(initial, system, dynamics, workspace).read(true);
    }
    catch (const ScenarioError &)
    {
      throw;
    }
    catch (const std::exception & error)
    {
      names.fail_here(error.what());
    }
  }

  /// Refuses a state that is inside a rigid obstacle, and Dahl's law on the wrong coordinate.
  template <class Impl>
  static void check_contacts(
    const ScenarioReader & initial, Workspace & workspace, const Impl & out)
  {
    const double allowed = initial.positive_or("tolerance", 1e-9);
    const State & state = out.initial;
    if (
      (out.contacts->contacts().empty() && out.contacts->frictions().empty()) ||
      out.dynamics->evaluate_rows(state.time, state.q, state.u, workspace) != Status::kOk)
    {
      return;
    }
    const ConstraintSet & set = out.dynamics->constraints();
    for (std::size_t i = 0; i < out.contacts->contacts().size(); ++i)
    {
      const Contact & contact = out.contacts->contacts()[i];
      const double depth =
        contact.side * workspace.rows().position(set.row_offset(contact.constraint)) -
        contact.tolerance;
      if (
        depth > allowed && !out.contacts->is_compliant(static_cast<int>(i)) &&
        contact.stiffness == 0.0)
      {
        initial.fail_here(
          "the initial coordinates are " + format(depth) + " inside contact '" +
          set[contact.constraint].name() + "'; allowed: at most " + format(allowed));
      }
    }
    for (const DryFriction & friction : out.contacts->frictions())
    {
      const int row = set.row_offset(friction.constraint);
      if (
        friction.dahl_stiffness > 0.0 &&
        !(workspace.rows().jacobian.row(row) -
          workspace.terms().kinematic_matrix.row(friction.coordinate))
           .isZero(1e-9))
      {
        initial.fail_here(
          "friction '" + set[friction.constraint].name() + "' has Dahl's law on coordinate '" +
          out.dynamics->system().coordinate_names()[static_cast<std::size_t>(friction.coordinate)] +
          "'; allowed: the coordinate whose rate its row is");
      }
    }
  }

  template <class Impl>
  static ConstraintSet build_rows(
    const ScenarioReader & root, const ScenarioSystem & system, Impl & out)
  {
    ScenarioContacts contacts;
    if (const auto constraints = root.find("constraints"))
    {
      out.constraints = build_constraints(*constraints, *system.system, out.active, contacts);
    }
    try
    {
      if (system.robot != nullptr)
      {
        add_joint_frictions(root.at("system"), system, out.constraints, out.active, contacts);
        add_mimics(system, out.constraints, out.active, out.warnings);
      }
      if (out.run.limits == LimitMode::kStop)
      {
        add_limit_stops(
          *system.system, read_stop_restitution(root), out.constraints, contacts.contacts);
        out.active.resize(out.constraints.size(), false);
      }
      const ConstraintSet set(system.system, out.constraints);
      out.contacts = std::make_shared<const ContactSet>(set, contacts.contacts, contacts.frictions);
      if (const auto events = root.find("events"))
      {
        const auto initial = root.find("initial");
        const double start = initial && initial->has("time") ? initial->at("time").number() : 0.0;
        out.changes = read_events(*events, set, *out.contacts, start);
      }
      return set;
    }
    catch (const ScenarioError &)
    {
      throw;
    }
    catch (const std::exception & error)
    {
      root.fail_here(error.what());
    }
  }

  template <class Impl>
  static void build_signals(
    const ScenarioReader & root, const ScenarioSystem & system, const SignalNames & of_state,
    Impl & out)
  {
    const std::unique_ptr<const SignalNames> of_solution =
      signal_names(root, out.dynamics->constraints(), true);

    const std::vector<std::string> & input_names = system.system->input_names();
    std::vector<std::string> formulas(input_names.size(), "0");
    const auto inputs = root.find("inputs");
    if (inputs)
    {
      for (const auto & [name, formula] : inputs->entries())
      {
        const auto found = std::find(input_names.begin(), input_names.end(), name);
        if (found == input_names.end())
        {
          formula.fail_here("no such input" + suggest(name, input_names));
        }
        check_formula(of_state, formula, formula.formula());
        formulas[static_cast<std::size_t>(found - input_names.begin())] = formula.formula();
      }
    }
    for (std::size_t i = 0; i < system.wrenches.size(); ++i)
    {
      for (const std::string & formula : system.wrenches[i].formulas)
      {
        try
        {
          of_state.check(formula);
        }
        catch (const std::exception & error)
        {
          system.wrenches[i].reader.fail_here(formula + ": allowed: a formula; " + error.what());
        }
        formulas.push_back(formula);
      }
      out.wrenches.push_back(static_cast<int>(i));
    }
    std::vector<std::string> observed;
    if (const auto observe = root.find("observe"))
    {
      for (const auto & [name, formula] : observe->entries())
      {
        check_formula(*of_solution, formula, formula.formula());
        out.observable_names.push_back(name);
        observed.push_back(formula.formula());
      }
    }
    try
    {
      if (inputs || !system.wrenches.empty())
      {
        out.input_signals = std::make_shared<const SignalProgram>(of_state.compile(formulas));
      }
      out.observables = of_solution->compile(observed);
    }
    catch (const std::exception & error)
    {
      root.fail_here(error.what());
    }
  }
};

}  // namespace

Scenario::Scenario(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Scenario::Scenario(const Scenario &) = default;
Scenario & Scenario::operator=(const Scenario &) = default;
Scenario::Scenario(Scenario &&) noexcept = default;
Scenario & Scenario::operator=(Scenario &&) noexcept = default;
Scenario::~Scenario() = default;

Scenario Scenario::load(
  const std::string & path, const std::vector<std::string> & overrides,
  const ScenarioLoadOptions & options)
{
  auto impl = std::make_shared<Impl>();
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  ScenarioBuilder::build(
    read_text(path), path, folder.empty() ? std::filesystem::path(".") : folder, overrides, options,
    *impl);
  return Scenario(std::move(impl));
}

Scenario Scenario::from_text(
  const std::string & text, const std::vector<std::string> & overrides, const std::string & folder,
  const ScenarioLoadOptions & options)
{
  auto impl = std::make_shared<Impl>();
  ScenarioBuilder::build(text, "scenario", folder, overrides, options, *impl);
  return Scenario(std::move(impl));
}

const std::string & Scenario::name() const { return impl_->name; }
const std::string & Scenario::description() const { return impl_->description; }
const std::vector<std::pair<std::string, double>> & Scenario::parameters() const
{
  return impl_->parameters;
}
const std::shared_ptr<const Dynamics> & Scenario::dynamics() const { return impl_->dynamics; }
const System & Scenario::system() const { return impl_->dynamics->system(); }
const std::shared_ptr<const ContactSet> & Scenario::contacts() const { return impl_->contacts; }
const std::vector<ScheduledChange> & Scenario::scheduled_changes() const { return impl_->changes; }
const State & Scenario::initial() const { return impl_->initial; }
const RunSettings & Scenario::run() const { return impl_->run; }
const std::vector<std::string> & Scenario::warnings() const { return impl_->warnings; }
const std::vector<std::string> & Scenario::observable_names() const
{
  return impl_->observable_names;
}

bool Scenario::is_active(int constraint) const
{
  return impl_->active.at(static_cast<std::size_t>(constraint));
}

void Scenario::switch_constraints(Workspace & workspace) const
{
  for (std::size_t i = 0; i < impl_->active.size(); ++i)
  {
    workspace.set_active(static_cast<int>(i), impl_->active[i]);
  }
}

ConstraintSet Scenario::active_constraints() const
{
  std::vector<std::shared_ptr<const Constraint>> constraints;
  for (std::size_t i = 0; i < impl_->active.size(); ++i)
  {
    if (impl_->active[i])
    {
      constraints.push_back(impl_->constraints[i]);
    }
  }
  return ConstraintSet(impl_->dynamics->constraints().shared_system(), std::move(constraints));
}

std::shared_ptr<const ServoLaw> Scenario::servo_law() const
{
  return impl_->servo ? impl_->servo->law : nullptr;
}

const ServoDrive * Scenario::servo_drive() const
{
  return impl_->servo ? &impl_->servo->drive : nullptr;
}

std::shared_ptr<InputLaw> Scenario::make_input_law() const
{
  std::shared_ptr<InputLaw> formulas;
  if (impl_->input_signals)
  {
    formulas = std::make_shared<FormulaInputLaw>(impl_->input_signals, impl_->wrenches);
  }
  if (!impl_->servo)
  {
    return formulas;
  }
  ServoDrive drive = impl_->servo->drive;
  drive.outside = std::move(formulas);
  auto law = std::make_shared<ServoInputLaw>(impl_->servo->law, std::move(drive));
  switch_constraints(law->servo().dynamics());
  law->start(impl_->initial);
  return law;
}

std::unique_ptr<Simulation> Scenario::make_simulation() const
{
  auto simulation = std::make_unique<Simulation>(
    impl_->dynamics, impl_->run.integration, make_input_law(), impl_->contacts);
  switch_constraints(simulation->workspace());
  simulation->schedule(impl_->changes);
  simulation->start(impl_->initial);
  return simulation;
}

Status Scenario::observe(
  const Workspace & workspace, const Eigen::VectorXd & inputs, Eigen::VectorXd & out) const
{
  if (impl_->observable_names.empty())
  {
    return Status::kOk;
  }
  SignalProgram::Scratch scratch = impl_->observables.make_scratch();
  const Status status =
    impl_->observables.evaluate(workspace.system_data(), &workspace.solution(), &inputs, scratch);
  if (status == Status::kOk)
  {
    out = scratch.values;
  }
  return status;
}

}  // namespace constrained_dynamics
