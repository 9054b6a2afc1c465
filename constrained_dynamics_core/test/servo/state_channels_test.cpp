// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/state_channels.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/force_observer.hpp"
#include "support/plant.hpp"

namespace constrained_dynamics
{

using testing::ElementsAre;
using testing::HasSubstr;

namespace
{

std::string refusal(const System & system, const std::vector<std::string> & joints)
{
  try
  {
    (void)StateChannels(system, joints, false);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(StateChannels, when_joints_and_efforts_are_measured_expect_names_and_places)
{
  const Scenario scenario = Scenario::load(CD_TEST_DATA "/arm_on_wall.yaml");
  const StateChannels channels(scenario.system(), {"joint_3", "joint_1"}, true);
  EXPECT_THAT(
    channels.names(),
    ElementsAre(
      "joint_3/position", "joint_3/velocity", "joint_1/position", "joint_1/velocity",
      "joint_1/effort", "joint_2/effort", "joint_3/effort", "joint_4/effort"));
  EXPECT_THAT(channels.measured_coordinates(), ElementsAre(true, false, true, false));
  Eigen::VectorXd q = Eigen::VectorXd::Zero(4), u = q, effort = q;
  for (std::size_t i = 0; i < channels.names().size(); ++i)
  {
    channels.write(i, static_cast<double>(i + 1), q, u, effort);
  }
  EXPECT_EQ(q, Eigen::Vector4d(3.0, 0.0, 1.0, 0.0));
  EXPECT_EQ(u, Eigen::Vector4d(4.0, 0.0, 2.0, 0.0));
  EXPECT_EQ(effort, Eigen::Vector4d(5.0, 6.0, 7.0, 8.0));
  const StateChannels named(scenario.system(), {"joint_3"}, true, {"angle", "speed", "torque"});
  EXPECT_THAT(
    named.names(), ElementsAre(
                     "joint_3/angle", "joint_3/speed", "joint_1/torque", "joint_2/torque",
                     "joint_3/torque", "joint_4/torque"));
}

TEST(StateChannels, when_names_are_wrong_expect_them_in_the_message)
{
  const Scenario scenario = Scenario::load(CD_TEST_DATA "/arm_on_wall.yaml");
  EXPECT_THAT(refusal(scenario.system(), {"elbow"}), HasSubstr("'elbow' is unknown"));
  EXPECT_THAT(refusal(scenario.system(), {"joint_1", "joint_1"}), HasSubstr("given twice"));
}

TEST(ForceObserver, when_efforts_are_measured_or_not_expect_the_force_on_the_wall)
{
  const Scenario scenario = Scenario::load(CD_TEST_DATA "/arm_on_wall.yaml");
  test::Plant plant(scenario);
  plant.inputs() << 0.5, 9.0, 3.0, 0.2;
  const std::vector<bool> all(4, true);
  ForceObserver measured(scenario.dynamics(), all, all, 0.0);
  ForceObserver found(scenario.dynamics(), all, all, 0.0);
  measured.start(plant.state());
  found.start(plant.state());
  for (int i = 0; i < 20; ++i)
  {
    ASSERT_TRUE(has_output(plant.step()));
    ASSERT_EQ(plant.simulation().evaluate(), Status::kOk);
    const Eigen::VectorXd & q = plant.state().q;
    const Eigen::VectorXd & u = plant.state().u;
    ASSERT_EQ(measured.update(1e-3, q, u, &plant.inputs()), Status::kOk);
    ASSERT_EQ(found.update(1e-3, q, u, nullptr), Status::kOk);
  }
  const double force = plant.simulation().workspace().solution().multipliers(0);
  EXPECT_GT(std::abs(force), 0.1);
  EXPECT_NEAR(measured.workspace().solution().multipliers(0), force, 1e-9 * std::abs(force));
  // The motion along the wall tells the efforts, not how hard they push: the smallest push.
  EXPECT_TRUE(found.effort().allFinite());
  const Eigen::VectorXd & motion = plant.simulation().workspace().solution().acceleration;
  EXPECT_LT((found.workspace().solution().acceleration - motion).norm(), 1e-2 * motion.norm());
}

TEST(ForceObserver, when_a_value_is_not_finite_expect_that_status_and_the_last_state)
{
  const Scenario scenario = Scenario::load(CD_TEST_DATA "/arm_on_wall.yaml");
  const std::vector<bool> all(4, true);
  ForceObserver observer(scenario.dynamics(), all, all, 0.0);
  observer.start(scenario.initial());
  Eigen::VectorXd q = scenario.initial().q;
  q(1) = std::nan("");
  EXPECT_EQ(observer.update(1e-3, q, scenario.initial().u, nullptr), Status::kNonFiniteInput);
  EXPECT_EQ(observer.q(), scenario.initial().q);
}

}  // namespace constrained_dynamics
