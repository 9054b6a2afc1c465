// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Constant objects may be shared: threads with one Workspace each get bitwise the same results as a
// single thread.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/robot_data.hpp"

namespace constrained_dynamics
{
namespace
{

constexpr int kThreads = 4;
constexpr int kCycles = 40;
constexpr int kSteps = 10;

/// Everything that a thread computed, in order.
class Record
{
public:
  void add(double value) { values_.push_back(value); }
  void add(const Eigen::VectorXd & values)
  {
    values_.insert(values_.end(), values.data(), values.data() + values.size());
  }
  void add(Status status) { add(static_cast<double>(static_cast<int>(status))); }
  std::size_t size() const { return values_.size(); }
  /// Bit by bit: no tolerance, and the sign of 0 counts.
  bool operator==(const Record & other) const
  {
    return values_.size() == other.values_.size() &&
           std::memcmp(values_.data(), other.values_.data(), values_.size() * sizeof(double)) == 0;
  }

private:
  std::vector<double> values_;
};

/// Solves and projections at states around the initial one, the same in each call.
Record solve_around(const Scenario & scenario)
{
  const Dynamics & dynamics = *scenario.dynamics();
  Workspace workspace = Workspace::unanalysed(dynamics);
  scenario.switch_constraints(workspace);
  const State & initial = scenario.initial();
  Record record;
  record.add(workspace.reset(initial).condition);
  const Eigen::VectorXd inputs =
    Eigen::VectorXd::LinSpaced(scenario.system().input_count(), -0.5, 1.0);
  for (int cycle = 0; cycle < kCycles; ++cycle)
  {
    Eigen::VectorXd q = initial.q;
    Eigen::VectorXd u = initial.u;
    q += 1e-3 * cycle * Eigen::VectorXd::LinSpaced(q.size(), -1.0, 1.0);
    u += 1e-2 * cycle * Eigen::VectorXd::LinSpaced(u.size(), 1.0, -0.5);
    record.add(dynamics.project_position(initial.time, q, workspace));
    record.add(q);
    record.add(dynamics.project_velocity(initial.time, q, u, workspace));
    record.add(u);
    record.add(dynamics.solve(initial.time, q, u, inputs, workspace));
    record.add(workspace.solution().acceleration);
    record.add(workspace.solution().multipliers);
    record.add(workspace.solution().constraint_force);
  }
  return record;
}

/// Some steps of the scenario's own simulation, made in this thread.
Record simulate(const Scenario & scenario)
{
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  Record record;
  for (int step = 0; step < kSteps; ++step)
  {
    record.add(simulation->step());
    record.add(simulation->state().time);
    record.add(simulation->state().q);
    record.add(simulation->state().u);
  }
  return record;
}

class Threads : public testing::TestWithParam<const char *>
{
};

TEST_P(Threads, when_they_share_what_is_constant_expect_identical_bits)
{
  if (test::lacks_robot(GetParam()))
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario =
    Scenario::load(std::string(CD_CONFIG "/scenarios/") + GetParam() + ".yaml");
  const Record solved = solve_around(scenario);
  const Record simulated = simulate(scenario);
  ASSERT_GT(solved.size(), static_cast<std::size_t>(4 * kCycles));

  std::atomic<int> waiting{kThreads};
  std::atomic<int> same_solved{0};
  std::atomic<int> same_simulated{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
  {
    threads.emplace_back(
      [&, i]
      {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        // Half of them the other way round, so that solves and simulations meet.
        if (i % 2 == 0) same_solved += solve_around(scenario) == solved ? 1 : 0;
        same_simulated += simulate(scenario) == simulated ? 1 : 0;
        if (i % 2 == 1) same_solved += solve_around(scenario) == solved ? 1 : 0;
      });
  }
  for (std::thread & thread : threads) thread.join();
  EXPECT_EQ(same_solved.load(), kThreads);
  EXPECT_EQ(same_simulated.load(), kThreads);
}

// Formulas, bodies, rolling, redundant rows, inputs that are formulas, a robot with a tool.
INSTANTIATE_TEST_SUITE_P(
  Examples, Threads,
  testing::Values(
    "andrews", "bricard", "four_bar", "four_bar_driven", "n_four_bar", "panda_cutter",
    "rolling_coin", "thesis_3_1_nonlinear"),
  [](const auto & param) { return std::string(param.param); });

}  // namespace
}  // namespace constrained_dynamics
