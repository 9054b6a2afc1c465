// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_initial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "constrained_dynamics/dynamics/assembly.hpp"
#include "scenario/scenario_run.hpp"

namespace constrained_dynamics
{

namespace
{

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
        u->fail_here("allowed: either u or rates (u is always allowed for control states)");
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
      rates->fail_here("allowed only for textbook systems; for robots give u");
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

  /// Changes what is free until the rows are satisfied.
  void settle(bool position)
  {
    Eigen::VectorXd & x = position ? state_.q : state_.u;
    const Eigen::VectorXd given = x;
    // The start may be a dead point, where no small change helps (x² + y² = 1 at y = 0 for given
    // x), or rows may have no value there (the direction between points that coincide). Then other
    // starts are tried, in a fixed order.
    constexpr int kOtherStarts = 24;
    AssemblyResult result;
    result.residual = std::numeric_limits<double>::infinity();
    std::optional<ScenarioError> failure;
    try
    {
      result = assemble(position);
    }
    catch (const ScenarioError & error)
    {
      failure = error;
    }
    const Eigen::VectorXd first = x;
    for (int k = 0; k < kOtherStarts && !(result.residual <= tolerance_); ++k)
    {
      x = given;
      move_start(k, position ? q_held_ : u_held_, x);
      try
      {
        const AssemblyResult other = assemble(position);
        result = other.residual <= tolerance_ ? other : result;
      }
      catch (const ScenarioError &)
      {
        continue;  // the rows have no value there
      }
    }
    if (!(result.residual <= tolerance_))
    {
      if (failure)
      {
        throw *failure;
      }
      x = first;
      refuse(position, result);
    }
  }

  /// Moves what is free to the k-th alternative start: a golden-ratio sequence spread over (−1, 1),
  /// a different one for each coordinate.
  static void move_start(int k, const std::vector<bool> & held, Eigen::VectorXd & x)
  {
    const int distance = 1 + k / 8;  // grows with every eight starts
    for (std::size_t i = 0; i < held.size(); ++i)
    {
      if (!held[i])
      {
        const double place =
          std::fmod(0.618033988749895 * (k + 1) * static_cast<double>(i + 1), 1.0);
        x(static_cast<Eigen::Index>(i)) += distance * (2.0 * place - 1.0);
      }
    }
  }

  [[noreturn]] void refuse(bool position, const AssemblyResult & result) const
  {
    const std::vector<bool> & held = position ? q_held_ : u_held_;
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
      format_number(result.residual) + "; allowed: at most " + format_number(tolerance_) +
      (free.empty() ? "; nothing was free to change (see 'solve')" : "; free to change: " + free));
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

}  // namespace

State read_initial(
  const ScenarioReader & reader, const ScenarioSystem & system, const Dynamics & dynamics,
  Workspace & workspace, bool assemble)
{
  return InitialState(reader, system, dynamics, workspace).read(assemble);
}

}  // namespace constrained_dynamics
