// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Multipliers that are given (friction of sliding contacts, forces of compliant ones) act in the
// derivatives as they act in the solution.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "analysis/derivative_checks.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/function_constraint.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::MatrixXd;

Scenario load(const std::string & name)
{
  return Scenario::load(std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml");
}

/// A four-bar linkage closed in some rows, with one more constraint that is switched off and pushes
/// with given multipliers of −7.
Case with_pushing(
  const Scenario & scenario, const std::vector<std::string> & rows,
  const std::shared_ptr<const Constraint> & pushing)
{
  const auto loop = std::make_shared<FrameCoincidence>(
    "loop", scenario.system(), "coupler_tip", "rocker_tip", rows);
  const std::shared_ptr<const System> system = scenario.dynamics()->constraints().shared_system();
  Case at = make_case(
    std::make_shared<const Dynamics>(ConstraintSet(system, {loop, pushing})), scenario.initial());
  at.workspace->set_active(1, false);
  at.workspace->reset(at.state);
  at.workspace->given_multipliers().tail(pushing->row_count()).setConstant(-7.0);
  return at;
}

SolutionDerivatives derivatives(const Case & at)
{
  SolutionDerivatives d;
  EXPECT_EQ(
    differentiate(*at.dynamics, at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace, d),
    Status::kOk);
  return d;
}

TEST(GivenMultipliers, when_a_plane_pushes_with_given_force_expect_central_differences)
{
  const Scenario scenario = load("four_bar");
  const auto plane = std::make_shared<PointOnPlane>(
    "plane", scenario.system(), "coupler_tip", "world", Eigen::Vector3d(1.0, 0.5, 2.0), 0.1);
  // Without and with redundant rows among the active ones, whose λ is unique along the manifold.
  const std::vector<std::vector<std::string>> writings = {{"x", "z"}, {"x", "y", "z", "rx", "rz"}};
  for (const std::vector<std::string> & rows : writings)
  {
    const bool redundant = rows.size() > 2;
    const std::string name = std::to_string(rows.size()) + " rows";
    Case at = with_pushing(scenario, rows, plane);
    Random random(5);
    ASSERT_TRUE(shake(random, 0.2, 0.5, at)) << name;
    expect_differences(at, redundant, name);
    // The push itself does change with the state, so that its derivative matters here.
    const MatrixXd pushed = derivatives(at).acceleration_q;
    at.workspace->given_multipliers().setZero();
    EXPECT_GT((pushed - derivatives(at).acceleration_q).norm(), 0.1) << name;
  }
}

TEST(GivenMultipliers, when_the_pushing_row_has_no_derivatives_expect_central_differences)
{
  const Scenario scenario = load("four_bar");
  const auto curve = [](const auto &, const auto * q, const auto *, auto * out)
  {
    using std::sin;
    out[0] = q[0] * q[1] - 0.3 * sin(q[2]);
  };
  Case at = with_pushing(
    scenario, {"x", "z"},
    make_function_constraint("curve", scenario.system(), RowLevel::kPosition, 1, curve));
  Random random(6);
  ASSERT_TRUE(shake(random, 0.2, 0.5, at));
  expect_differences(at, false, "function");
  const SolutionDerivatives d = derivatives(at);
  EXPECT_TRUE(d.constraint_is_analytic.front());
  EXPECT_FALSE(d.constraint_is_analytic.back());
  // Rows that are switched off have no derivatives, only their force has.
  EXPECT_TRUE((d.velocity_q.bottomRows(1).array() == 0.0).all());
}

// Redundant rows share their load as close to given multipliers as possible, and so do derivatives.
TEST(GivenMultipliers, when_redundant_rows_have_given_multipliers_expect_central_differences)
{
  const Scenario scenario = load("bricard");
  Case at = make_case(scenario.dynamics(), scenario.initial());
  at.workspace->reset(at.state);
  Random random(8);
  ASSERT_TRUE(shake(random, 0.1, 0.5, at));
  at.workspace->given_multipliers() = random.vector(at.dynamics->constraints().row_count(), 5.0);
  expect_differences(at, true, "bricard");
}

}  // namespace
}  // namespace constrained_dynamics::test
