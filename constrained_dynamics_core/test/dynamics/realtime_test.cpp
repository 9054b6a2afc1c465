// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The real-time rule on every example: no allocation and no lock in a cycle, for any status, and
// only finite outputs.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "support/allocation_counter.hpp"
#include "support/robot_data.hpp"

namespace constrained_dynamics
{
namespace
{

int cycle_count() { return std::getenv("CD_CAMPAIGN") != nullptr ? 1000000 : 300; }

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

class RealTimeRule : public testing::TestWithParam<std::string>
{
};

/// Counts what happens in `action` and expects nothing.
template <typename Action>
void expect_quiet(const Action & action)
{
  const long allocations = test::allocation_count();
  const long locks = test::lock_count();
  action();
  ASSERT_EQ(test::allocation_count() - allocations, 0);
  ASSERT_EQ(test::lock_count() - locks, 0);
}

TEST_P(RealTimeRule, when_cycling_through_good_and_bad_states_expect_silence_and_finite_outputs)
{
  if (test::lacks_robot(GetParam()))
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = Scenario::load(CD_CONFIG "/scenarios/" + GetParam() + ".yaml");
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const Dynamics & dynamics = *scenario.dynamics();
  Workspace & workspace = simulation->workspace();
  simulation->start(scenario.initial());
  const State good = scenario.initial();
  const std::shared_ptr<InputLaw> law = scenario.make_input_law();
  Eigen::VectorXd inputs = Eigen::VectorXd::Zero(scenario.system().input_count());
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const double bad[] = {
    std::numeric_limits<double>::quiet_NaN(),
    std::numeric_limits<double>::infinity(),
    -std::numeric_limits<double>::infinity(),
    1e308,
    -1e308,
    std::numeric_limits<double>::denorm_min()};
  Workspace beside(dynamics, good);  // of projections
  Eigen::VectorXd q = good.q;
  Eigen::VectorXd u = good.u;
  const Eigen::Index size = q.size() + u.size() + inputs.size();
  std::set<Status> seen;
  for (int cycle = 0; cycle < cycle_count(); ++cycle)
  {
    q = good.q;
    u = good.u;
    inputs.setZero();
    // A regular state, one beside the manifold, one with a number that cannot be used.
    const double spread = cycle % 3 == 1 ? 0.3 : 0.0;
    for (Eigen::Index i = 0; i < q.size(); ++i)
    {
      q(i) += spread * normal(random);
    }
    for (Eigen::Index i = 0; i < u.size(); ++i)
    {
      u(i) += spread * normal(random);
    }
    bool must_refuse = false;
    if (cycle % 3 == 2)
    {
      const Eigen::Index k = (cycle / 18) % size;
      const double value = bad[(cycle / 3) % 6];
      must_refuse = !std::isfinite(value);
      (k < q.size()              ? q(k)
       : k < q.size() + u.size() ? u(k - q.size())
                                 : inputs(k - q.size() - u.size())) = value;
    }
    const Eigen::VectorXd before = workspace.solution().acceleration;
    Status status = Status::kOk;
    expect_quiet(
      [&]
      {
        status = dynamics.solve(good.time, q, u, inputs, workspace);
        Status projected = dynamics.project_position(good.time, q, beside);
        projected = worse(projected, dynamics.project_velocity(good.time, q, u, beside));
        static_cast<void>(projected);
      });
    if (HasFatalFailure())
    {
      FAIL() << "cycle " << cycle << ", status " << to_string(status);
    }
    seen.insert(status);
    ASSERT_TRUE(!must_refuse || !has_output(status)) << "cycle " << cycle;
    const Solution & solution = workspace.solution();
    if (!has_output(status))
    {
      // Of the last state, or of none where the workspace has left it.
      ASSERT_TRUE(solution.acceleration == before || solution.acceleration.array().isNaN().all())
        << "an output was touched in cycle " << cycle;
      continue;
    }
    ASSERT_TRUE(
      solution.acceleration.allFinite() && solution.multipliers.allFinite() &&
      solution.constraint_force.allFinite() && std::isfinite(solution.condition));
    for (const WrenchPair & wrench : solution.wrenches)
    {
      ASSERT_TRUE(
        wrench.on_a.force.allFinite() && wrench.on_a.torque.allFinite() &&
        wrench.on_b.force.allFinite() && wrench.on_b.torque.allFinite());
    }
  }
  EXPECT_TRUE(seen.count(Status::kOk) == 1);
  EXPECT_TRUE(seen.count(Status::kNonFiniteInput) == 1);

  // Steps with the scenario's own inputs.
  simulation->start(good);
  for (int i = 0; i < 20; ++i)
  {
    expect_quiet(
      [&]
      {
        const Status status = simulation->step();
        EXPECT_TRUE(has_output(status)) << to_string(status);
      });
  }
  expect_quiet(
    [&]
    {
      const Status status = dynamics.evaluate_rows(good.time, good.q, good.u, workspace);
      EXPECT_EQ(status, Status::kOk);
      EXPECT_EQ(
        law ? law->evaluate(scenario.system(), workspace.change_system_data(), inputs)
            : Status::kOk,
        Status::kOk);
    });
}

// ---- constraints that come and go: impacts, sticking and slipping, switches, impulses, failures

const char * const kBox = R"(
parameters: {a: 0.3, b: 0.2, c: 0.1, m: 2.0}
system:
  bodies: [{name: box, mass: m, inertia: [m/3*(b^2 + c^2), m/3*(a^2 + c^2), m/3*(a^2 + b^2)]}]
  frames:
    - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: "corner${i}${j}${k}", parent: box,
       pose: {xyz: ["(2*${i} - 1)*a", "(2*${j} - 1)*b", "(2*${k} - 1)*c"]}}
constraints:
  - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: "hit${i}${j}${k}", type: contact,
     frame_a: "corner${i}${j}${k}", friction: {coefficient: 0.5, static: 0.6}, restitution: 0.3}
  - {name: hold, type: frame_coincidence, frame_a: box, rows: [x], active: false}
initial:
  q: {box: [0, 0, 0.6, 0.1, 0.2, 0.3, 0.9273618495495704]}
  u: {box: [1, 0.3, 0, 2, 1, -1]}
)";
const char * const kLaws = R"(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, potential: 9.81*y + 20*x^2}
constraints:
  - {name: floor, type: formula, level: position, rows: [y], unilateral: {side: above,
     force: {stiffness: 1.0e3, damping: 1.0e2, exponent: 1.5, damping_exponent: 1.5}, friction: {rows: slip, coefficient: 0.4}}}
  - {name: slip, type: formula, level: velocity, rows: [dx]}
  - {name: wall, type: formula, level: position, rows: [x - 0.1], unilateral: {law: {kind: kelvin_voigt, stiffness: 400, damping: 10}}}
  - {name: rub, type: formula, level: velocity, rows: [dy], friction: {bound: 0.5, dahl_stiffness: 1.0e3, coordinate: y}}
  - {name: hold, type: formula, level: velocity, rows: [dx], active: false}
initial: {q: {y: 0.3}, u: {dx: 1}}
)";

class ContactCycle : public testing::TestWithParam<std::string>
{
};

TEST_P(ContactCycle, when_modes_change_expect_silence_and_finite_states)
{
  if (test::lacks_robot(GetParam()))
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  std::vector<std::string> overrides = {"run.integrator=rk4", "run.step=0.001"};
  const bool is_paradox = GetParam() == "painleve_rod";
  if (is_paradox)
  {
    overrides.push_back("mu=2");
  }
  const Scenario scenario =
    GetParam() == "box" ? Scenario::from_text(kBox, overrides)
    : GetParam() == "laws"
      ? Scenario::from_text(kLaws, overrides)
      : Scenario::load(CD_CONFIG "/scenarios/" + GetParam() + ".yaml", overrides);
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const ConstraintSet & set = scenario.dynamics()->constraints();
  const int count = set.size();
  const bool has_hold = count > 0 && set[count - 1].name() == "hold";
  const bool is_pushed = GetParam() != "rimless_wheel";  // its hub has next to no inertia
  Eigen::VectorXd impulse = Eigen::VectorXd::Zero(scenario.system().speed_count());
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::set<Status> seen;
  for (int i = 0; i < 2500; ++i)
  {
    for (Eigen::Index k = 0; k < impulse.size(); ++k)
    {
      impulse(k) = 1e-2 * normal(random);
    }
    Status status = Status::kOk;
    expect_quiet(
      [&]
      {
        status = simulation->step();
        if (is_pushed && i % 100 == 99)
        {
          status = worse(status, simulation->apply_impulse(impulse));
        }
        if (has_hold && i % 250 == 200)
        {
          status = worse(status, simulation->switch_constraint(count - 1, i % 500 == 200));
        }
      });
    if (HasFatalFailure())
    {
      FAIL() << "cycle " << i << ", status " << to_string(status);
    }
    seen.insert(status);
    ASSERT_TRUE(simulation->state().q.allFinite() && simulation->state().u.allFinite());
    ASSERT_TRUE(has_output(status) || is_paradox) << "cycle " << i << ": " << to_string(status);
  }
  EXPECT_EQ(seen.count(Status::kNoUniqueSolution) == 1, is_paradox);
  EXPECT_TRUE(is_paradox || simulation->events().size() > 5U) << simulation->events().size();
}

INSTANTIATE_TEST_SUITE_P(
  Scenes, ContactCycle,
  testing::Values(
    "bouncing_ball", "box", "laws", "painleve_rod", "rimless_wheel", "rocking_block",
    "sliding_ball", "solo12_drop", "thesis_5_1", "thesis_5_3"),
  [](const auto & scene) { return scene.param; });

TEST_P(RealTimeRule, when_a_servo_law_cycles_through_good_and_bad_states_expect_the_same)
{
  if (test::lacks_robot(GetParam()))
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = Scenario::load(CD_CONFIG "/scenarios/" + GetParam() + ".yaml");
  const std::shared_ptr<const ServoLaw> law = scenario.servo_law();
  if (!law)
  {
    GTEST_SKIP() << "no servo-constraints";
  }
  const State & good = scenario.initial();
  ServoWorkspace servo(*law, good);
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  const double bad[] = {
    std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308,
    -1e308, std::numeric_limits<double>::denorm_min()};
  std::set<Status> seen;
  for (int cycle = 0; cycle < cycle_count(); ++cycle)
  {
    Eigen::VectorXd q = good.q;
    Eigen::VectorXd u = good.u;
    if (cycle % 3 == 1)
    {
      q += 0.1 * Eigen::VectorXd::NullaryExpr(q.size(), [&] { return normal(random); });
      u += 0.1 * Eigen::VectorXd::NullaryExpr(u.size(), [&] { return normal(random); });
    }
    const double value = bad[(cycle / 3) % 5];
    if (cycle % 3 == 2)
    {
      const Eigen::Index k = (cycle / 15) % (q.size() + u.size());
      (k < q.size() ? q(k) : u(k - q.size())) = value;
    }
    const Eigen::VectorXd before = servo.result().inputs;
    Status status = Status::kOk;
    expect_quiet([&] { status = law->evaluate(good.time, q, u, servo); });
    if (HasFatalFailure())
    {
      FAIL() << "cycle " << cycle << ", status " << to_string(status);
    }
    seen.insert(status);
    ASSERT_TRUE(cycle % 3 != 2 || std::isfinite(value) || !has_output(status));
    const ServoResult & result = servo.result();
    ASSERT_TRUE(
      result.inputs.allFinite() && result.residual.allFinite() && result.error.allFinite() &&
      std::isfinite(result.condition))
      << "cycle " << cycle << ", status " << to_string(status);
    ASSERT_TRUE(has_output(status) || result.inputs == before) << "cycle " << cycle;
  }
  EXPECT_TRUE(seen.count(Status::kNonFiniteInput) == 1);
  EXPECT_TRUE(seen.count(Status::kOk) + seen.count(Status::kLimited) >= 1);
}

INSTANTIATE_TEST_SUITE_P(
  Examples, RealTimeRule, testing::ValuesIn(example_names()),
  [](const auto & example) { return example.param; });

}  // namespace
}  // namespace constrained_dynamics
