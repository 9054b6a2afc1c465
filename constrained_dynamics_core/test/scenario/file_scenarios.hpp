// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

/// @file
/// What the tests of constraints in robot descriptions share.

namespace constrained_dynamics::test
{

/// The solution of a scenario at its initial state.
struct Solved
{
  explicit Solved(const Scenario & scenario) : workspace(*scenario.dynamics(), scenario.initial())
  {
    scenario.switch_constraints(workspace);
    const State & state = scenario.initial();
    const Eigen::VectorXd inputs =
      Eigen::VectorXd::Zero(scenario.dynamics()->system().input_count());
    status = scenario.dynamics()->solve(state.time, state.q, state.u, inputs, workspace);
  }
  const Solution & solution() const { return workspace.solution(); }

  Workspace workspace;
  Status status;
};

inline Scenario scenario_of(const std::string & text) { return Scenario::from_text(text, {}, "."); }

/// A scenario around an MJCF document. @param rest further lines.
inline Scenario mjcf_scenario(
  const std::string & document, const std::string & keys, const std::string & rest)
{
  return scenario_of(
    "name: loops\nsystem:\n  mjcf: \"" + document + "\"\n" + keys + "\n" + rest + "\n");
}

/// Both have the same accelerations, multipliers up to their order, and wrenches.
inline void expect_same(const Scenario & file, const Scenario & hand, double tolerance)
{
  const Solved a(file);
  const Solved b(hand);
  ASSERT_EQ(a.status, Status::kOk);
  ASSERT_EQ(b.status, Status::kOk);
  const double size = b.solution().acceleration.norm();
  EXPECT_GT(size, 0.1);
  EXPECT_LE((a.solution().acceleration - b.solution().acceleration).norm(), tolerance * size);
  EXPECT_LE(
    (a.solution().constraint_force - b.solution().constraint_force).norm(),
    tolerance * b.solution().constraint_force.norm());
  ASSERT_LE(b.solution().wrenches.size(), a.solution().wrenches.size());
  for (std::size_t i = 0; i < b.solution().wrenches.size(); ++i)
  {
    const Wrench & left = a.solution().wrenches[i].on_a;
    const Wrench & right = b.solution().wrenches[i].on_a;
    const double scale = right.force.norm() + right.torque.norm();
    EXPECT_GT(scale, 1e-3);
    EXPECT_LE((left.force - right.force).norm(), tolerance * scale);
    EXPECT_LE((left.torque - right.torque).norm(), tolerance * scale);
  }
  // Loop forces do no work: λᵀ A u = 0 on the manifold.
  const Eigen::VectorXd & u = file.initial().u;
  EXPECT_GT(u.norm(), 0.1);
  EXPECT_LE(
    std::abs(a.solution().constraint_force.dot(u)),
    1e-9 * a.solution().constraint_force.norm() * u.norm());
}

/// A link of an SDF with a mass at its origin.
inline std::string sdf_link(const std::string & name, const std::string & pose, double mass = 1.0)
{
  std::ostringstream text;
  text
    << "<link name='" << name << "'><pose>" << pose << "</pose><inertial><mass>" << mass
    << "</mass><inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></inertial></link>";
  return text.str();
}

inline std::string sdf_joint(
  const std::string & name, const std::string & type, const std::string & parent,
  const std::string & child, const std::string & rest = "<axis><xyz>0 1 0</xyz></axis>")
{
  return "<joint name='" + name + "' type='" + type + "'><parent>" + parent + "</parent><child>" +
         child + "</child>" + rest + "</joint>";
}

inline std::string sdf_model(const std::string & parts)
{
  return "<sdf version='1.10'><model name='m'>" + parts + "</model></sdf>";
}

inline Scenario sdf_scenario(
  const std::string & document, const std::string & keys, const std::string & rest)
{
  return scenario_of(
    "name: loops\nsystem:\n  sdf: \"" + document + "\"\n" + keys + "\n" + rest + "\n");
}

/// A folder with files of its own.
class Folder
{
public:
  explicit Folder(const std::string & name) : path(std::filesystem::path(CD_TEST_OUTPUT) / name)
  {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  std::string write(const std::string & name, const std::string & text) const
  {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return (path / name).string();
  }

  std::filesystem::path path;
};

}  // namespace constrained_dynamics::test
