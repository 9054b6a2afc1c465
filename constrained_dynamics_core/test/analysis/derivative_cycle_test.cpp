// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The real-time rule for `differentiate` on every example: no allocation and no lock for any
// status, finite outputs, and none that is touched by a failure. Rows given as formulas allocate.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"
#include "support/robot_data.hpp"

namespace constrained_dynamics
{
namespace
{

std::vector<std::string> example_names()
{
  std::vector<std::string> names;
  for (const auto & entry : std::filesystem::directory_iterator(CD_CONFIG "/scenarios"))
  {
    if (entry.path().extension() == ".yaml")
    {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool has_formula_rows(const ConstraintSet & set)
{
  for (int i = 0; i < set.size(); ++i)
  {
    if (set[i].type() == "formula")
    {
      return true;
    }
  }
  return false;
}

class DerivativeCycle : public testing::TestWithParam<std::string>
{
};

TEST_P(DerivativeCycle, when_cycling_through_good_and_bad_states_expect_silence_and_the_same_result)
{
  if (test::lacks_robot(GetParam()))
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = Scenario::load(CD_CONFIG "/scenarios/" + GetParam() + ".yaml");
  const Dynamics & dynamics = *scenario.dynamics();
  const State good = scenario.initial();
  Workspace workspace = Workspace::unanalysed(dynamics);
  scenario.switch_constraints(workspace);
  workspace.reset(good);
  DerivativeWorkspace derivatives(dynamics);
  const bool allocates = has_formula_rows(dynamics.constraints());
  const double bad[] = {
    std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308,
    std::numeric_limits<double>::denorm_min()};
  Eigen::VectorXd q = good.q;
  Eigen::VectorXd u = good.u;
  Eigen::VectorXd inputs = Eigen::VectorXd::Zero(scenario.system().input_count());
  const Eigen::Index size = q.size() + u.size() + inputs.size();
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::set<Status> seen;
  for (int cycle = 0; cycle < 60; ++cycle)
  {
    q = good.q;
    u = good.u;
    inputs.setZero();
    // A regular state, one beside the manifold, one with a number that cannot be used.
    const double spread = cycle % 3 == 1 ? 0.2 : 0.0;
    q = q.unaryExpr([&](double x) { return x + spread * normal(random); }).eval();
    u = u.unaryExpr([&](double x) { return x + spread * normal(random); }).eval();
    if (cycle % 3 == 2)
    {
      const Eigen::Index k = (cycle * 7) % size;
      (k < q.size()              ? q(k)
       : k < q.size() + u.size() ? u(k - q.size())
                                 : inputs(k - q.size() - u.size())) = bad[(cycle / 3) % 4];
    }
    const Eigen::MatrixXd before = derivatives.derivatives().acceleration_q;
    const long allocations = test::allocation_count();
    const long locks = test::lock_count();
    const Status status = differentiate(dynamics, good.time, q, u, inputs, workspace, derivatives);
    ASSERT_TRUE(allocates || test::allocation_count() == allocations)
      << "cycle " << cycle << ", " << to_string(status);
    ASSERT_EQ(test::lock_count() - locks, 0) << "cycle " << cycle;
    seen.insert(status);
    const SolutionDerivatives & d = derivatives.derivatives();
    if (!has_output(status))
    {
      ASSERT_EQ(d.acceleration_q, before) << "an output was touched in cycle " << cycle;
      continue;
    }
    ASSERT_TRUE(
      d.acceleration_q.allFinite() && d.acceleration_u.allFinite() && d.multipliers_q.allFinite() &&
      d.multipliers_u.allFinite() && d.constraint_force_q.allFinite());
  }
  EXPECT_EQ(seen.count(Status::kOk), 1u);
  EXPECT_EQ(seen.count(Status::kNonFiniteInput), 1u);

  // The function that allocates gives the same.
  ASSERT_TRUE(
    has_output(differentiate(dynamics, good.time, good.q, good.u, inputs, workspace, derivatives)));
  SolutionDerivatives single;
  ASSERT_TRUE(
    has_output(differentiate(dynamics, good.time, good.q, good.u, inputs, workspace, single)));
  const double scale = 1.0 + single.acceleration_q.cwiseAbs().maxCoeff();
  EXPECT_LE(
    (single.acceleration_q - derivatives.derivatives().acceleration_q).cwiseAbs().maxCoeff(),
    1e-10 * scale);
}

INSTANTIATE_TEST_SUITE_P(
  Examples, DerivativeCycle, testing::ValuesIn(example_names()),
  [](const auto & example) { return example.param; });

TEST(DerivativeWorkspace, when_made_for_another_system_expect_size_mismatch)
{
  const Scenario four_bar = Scenario::load(CD_CONFIG "/scenarios/four_bar.yaml");
  const Scenario coin = Scenario::load(CD_CONFIG "/scenarios/rolling_coin.yaml");
  Workspace workspace(*four_bar.dynamics(), four_bar.initial());
  DerivativeWorkspace derivatives(*coin.dynamics());
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(four_bar.system().input_count());
  EXPECT_EQ(
    differentiate(
      *four_bar.dynamics(), 0.0, four_bar.initial().q, four_bar.initial().u, inputs, workspace,
      derivatives),
    Status::kSizeMismatch);
}

}  // namespace
}  // namespace constrained_dynamics
