// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/constraint_force_broadcaster.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include <constrained_dynamics_msgs/msg/constraint_forces.hpp>

#include "controller_harness.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics_controllers::test
{

using constrained_dynamics::Scenario;
using constrained_dynamics::Status;
using constrained_dynamics_msgs::msg::ConstraintForces;
using controller_interface::return_type;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace
{

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Broadcaster = Harness<ConstraintForceBroadcaster>;

/// The four-bar linkage, driven by its own law, with a broadcaster beside it.
class WatchedLinkage
{
public:
  explicit WatchedLinkage(Parameters parameters = {})
  : scenario(Scenario::load(config_file("scenarios/four_bar_inverse.yaml"))),
    simulation(scenario.make_simulation()),
    harness(with_scenario(std::move(parameters)))
  {
    EXPECT_TRUE(harness.configure());
    harness.assign();
    measure();
    EXPECT_TRUE(harness.activate());
  }

  void measure()
  {
    EXPECT_EQ(simulation->evaluate(), Status::kOk);
    harness.measure(scenario.system(), simulation->state());
    harness.set_state("crank/effort", simulation->inputs()(0));
  }
  double force(const char * row) const
  {
    return harness.exported_state(std::string("controller/loop/multiplier.") + row);
  }
  /// What the simulation has at its state.
  const Eigen::VectorXd & multipliers() const
  {
    return simulation->workspace().solution().multipliers;
  }

  Scenario scenario;
  std::unique_ptr<constrained_dynamics::Simulation> simulation;
  Broadcaster harness;

private:
  static Parameters with_scenario(Parameters parameters)
  {
    parameters.emplace_back("scenario", config_file("scenarios/four_bar_inverse.yaml"));
    return parameters;
  }
};

}  // namespace

TEST(ConstraintForceBroadcaster, when_there_are_no_constraints_expect_refusal_with_the_parameters)
{
  const std::string robot = read_text(config_file("robots/four_bar.urdf"));
  for (const Parameters & parameters :
       {Parameters{}, Parameters{{"joints", std::vector<std::string>{"crank"}}}})
  {
    testing::internal::CaptureStderr();
    {
      Broadcaster harness(parameters, robot);
      EXPECT_TRUE(harness.initialised);
      EXPECT_FALSE(harness.configure());
    }
    EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::AllOf(
        HasSubstr("there are no constraints"), HasSubstr("'scenario'"),
        HasSubstr("constraints.<name>.<key>")));
  }
}

TEST(ConstraintForceBroadcaster, when_the_loop_is_open_expect_activation_refused_if_asked_for)
{
  const Scenario scenario = Scenario::load(config_file("scenarios/four_bar_inverse.yaml"));
  for (const bool refuses : {true, false})
  {
    testing::internal::CaptureStderr();
    {
      Broadcaster harness(Parameters{
        {"scenario", config_file("scenarios/four_bar_inverse.yaml")},
        {"passive_joints", std::vector<std::string>{"coupler", "rocker"}},
        {"violated_start", refuses ? "refuse" : "warn"}});
      ASSERT_TRUE(harness.configure());
      harness.assign();
      constrained_dynamics::State open = scenario.initial();
      open.q(1) += 0.3;
      harness.measure(scenario.system(), open);
      EXPECT_EQ(harness.activate(), !refuses);
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("violates constraint loop/"));
  }
}

TEST(ConstraintForceBroadcaster, when_efforts_are_measured_expect_the_forces_of_the_core)
{
  WatchedLinkage linkage;
  EXPECT_THAT(linkage.harness.controller->command_interface_configuration().names, IsEmpty());
  EXPECT_THAT(linkage.harness.references, IsEmpty());
  double largest = 0.0;
  for (int i = 0; i < 2000; ++i)
  {
    linkage.measure();
    ASSERT_EQ(linkage.harness.update(), return_type::OK);
    ASSERT_NEAR(linkage.force("x"), linkage.multipliers()(0), 1e-6);
    ASSERT_NEAR(linkage.force("z"), linkage.multipliers()(1), 1e-6);
    largest = std::max(largest, std::abs(linkage.force("x")));
    ASSERT_EQ(linkage.simulation->step(), Status::kOk);
  }
  EXPECT_GT(largest, 10.0);
}

TEST(ConstraintForceBroadcaster, when_efforts_come_from_the_model_expect_nearly_the_same_forces)
{
  WatchedLinkage linkage(Parameters{{"effort", "model"}, {"acceleration_filter", 0.0}});
  double worst = 0.0;
  double largest = 0.0;
  for (int i = 0; i < 2000; ++i)
  {
    linkage.measure();
    ASSERT_EQ(linkage.harness.update(), return_type::OK);
    if (i > 1)
    {
      worst = std::max(worst, std::abs(linkage.force("x") - linkage.multipliers()(0)));
      largest = std::max(largest, std::abs(linkage.multipliers()(0)));
    }
    ASSERT_EQ(linkage.simulation->step(), Status::kOk);
  }
  // Accelerations are differences over a millisecond, half a millisecond old.
  std::cout << "forces within " << worst << " N of " << largest << " N" << std::endl;
  EXPECT_LT(worst, 0.05);
}

TEST(ConstraintForceBroadcaster, when_a_state_is_not_finite_expect_status_and_last_forces)
{
  WatchedLinkage linkage(Parameters{{"publish_rate", 0.0}});
  const auto node = std::make_shared<rclcpp::Node>("listener");
  ConstraintForces last;
  const auto subscription = node->create_subscription<ConstraintForces>(
    "controller/constraint_forces", rclcpp::SystemDefaultsQoS(),
    [&](const ConstraintForces::ConstSharedPtr message) { last = *message; });
  ASSERT_EQ(linkage.harness.update(), return_type::OK);
  const double force = linkage.force("x");
  for (const char * name : {"crank/position", "crank/velocity", "crank/effort"})
  {
    for (const double bad : {kNan, HUGE_VAL})
    {
      linkage.measure();
      linkage.harness.set_state(name, bad);
      const auto told = [&]
      {
        EXPECT_EQ(linkage.harness.update(), return_type::OK);
        return last.status == "non_finite_input";
      };
      EXPECT_TRUE(linkage.harness.spin_until(told, node)) << name;
      EXPECT_EQ(linkage.force("x"), force);
      linkage.measure();
      const auto well = [&]
      {
        EXPECT_EQ(linkage.harness.update(), return_type::OK);
        return last.status == "ok";
      };
      EXPECT_TRUE(linkage.harness.spin_until(well, node)) << name;
    }
  }
}

TEST(ConstraintForceBroadcaster, when_parameters_are_wrong_expect_refusal_with_their_names)
{
  for (const auto & [parameter, name] : std::vector<std::pair<rclcpp::Parameter, const char *>>{
         {{"effort", "guessed"}, "effort"},
         {{"acceleration_filter", kNan}, "acceleration_filter"},
         {{"publish_rate", HUGE_VAL}, "publish_rate"}})
  {
    testing::internal::CaptureStderr();
    {
      Broadcaster harness({parameter});
      EXPECT_FALSE(harness.initialised) << name;
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(name));
  }
}

TEST(ConstraintForceBroadcaster, when_running_expect_no_allocation_and_no_lock_in_update)
{
  using constrained_dynamics::test::allocation_count;
  using constrained_dynamics::test::lock_count;
  for (const char * effort : {"measured", "model"})
  {
    WatchedLinkage linkage(Parameters{
      {"effort", effort},
      {"publish_rate", 0.0},
      {"wrench_topics", true},
      {"markers.rate", 1000.0}});
    long allocations = 0;
    long locks = 0;
    for (int i = 0; i < 5000; ++i)
    {
      linkage.measure();
      if (i % 50 == 7)
      {
        linkage.harness.set_state("crank/velocity", kNan);
      }
      const rclcpp::Time now = linkage.harness.controller->get_node()->now();
      const rclcpp::Duration period = rclcpp::Duration::from_seconds(0.001);
      const long before = allocation_count();
      const long locks_before = lock_count();
      (void)linkage.harness.controller->update(now, period);
      allocations += allocation_count() - before;
      locks += lock_count() - locks_before;
      ASSERT_EQ(linkage.simulation->step(), Status::kOk);
    }
    EXPECT_EQ(allocations, 0) << effort;
    EXPECT_EQ(locks, 0) << effort;
  }
}

}  // namespace constrained_dynamics_controllers::test

int main(int argc, char ** argv)
{
  testing::InitGoogleMock(&argc, argv);
  rclcpp::init(argc, argv);
  const int result = RUN_ALL_TESTS();
  rclcpp::shutdown();
  return result;
}
