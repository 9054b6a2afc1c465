// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "constrained_dynamics/scenario/monitored_system.hpp"
#include "constrained_dynamics/scenario/simulated_plant.hpp"
#include "constrained_dynamics/servo/force_observer.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

namespace
{

constexpr double kStep = 1e-3;

Scenario arm(const std::string & profile)
{
  std::vector<std::string> overrides;
  if (!profile.empty())
  {
    overrides.push_back(
      "system.profile=" + std::string(CD_TEST_DATA) + "/profiles/" + profile + ".yaml");
  }
  return Scenario::load(CD_TEST_DATA "/arm_on_wall.yaml", overrides);
}

/// A plant whose efforts are commanded; those of the scenario's tasks are not.
struct Plant
{
  explicit Plant(const std::string & profile, const std::vector<std::string> & driven = {})
  : plant(arm(profile), driven, SimulatedPlantOptions())
  {
  }

  void run(double time)
  {
    ASSERT_EQ(plant.advance(time, true, [] {}), Status::kOk);
  }
  const State & state() const { return plant.simulation().state(); }
  double wall() const { return plant.simulation().workspace().solution().multipliers(0); }
  /// g(q) at the state.
  Eigen::VectorXd weight() const
  {
    Eigen::VectorXd all(4);
    const SystemData & data = plant.simulation().workspace().system_data();
    plant.system().as_robot()->gravity_torque(data, all);
    return all;
  }

  SimulatedPlant plant;
};

}  // namespace

TEST(SimulatedDrives, when_drives_add_gravity_expect_an_arm_that_zero_commands_hold)
{
  Plant holds("arm_adds_gravity");
  const Eigen::VectorXd start = holds.state().q;
  holds.run(0.5);
  // At rest the weight is balanced to round-off: 500 steps of 1e-16·30 N m over 0.1 kg m².
  EXPECT_LT((holds.state().q - start).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_NEAR(holds.wall(), 0.0, 1e-9);
  Plant falls("arm_adds_nothing");
  falls.run(0.1);
  EXPECT_GT((falls.state().q - start).cwiseAbs().maxCoeff(), 1e-2);
}

// The commands of a law with the right profile give its force; those made for drives that add
// nothing are off by g(q) on drives that add it.
TEST(SimulatedDrives, when_the_profile_of_a_law_is_wrong_expect_an_error_of_gravity)
{
  const Eigen::Vector4d effort(1.0, -20.0, -8.0, 0.5);
  Plant model("");
  model.plant.efforts() = effort;
  model.run(kStep);
  for (const std::string law : {"arm_adds_gravity", "arm_adds_nothing"})
  {
    Plant drives("arm_adds_gravity");
    const Scenario known = arm(law);
    DriveConversion conversion(*known.profile(), known.system());
    const SystemData & data = drives.plant.simulation().workspace().system_data();
    Eigen::VectorXd command(4);
    ASSERT_EQ(conversion.rest_command(data, effort, 0.0, command), Status::kOk);
    EXPECT_EQ(command, effort + conversion.offset());
    const Eigen::VectorXd weight = drives.weight();
    drives.plant.efforts() = command;
    drives.run(kStep);
    // In a step from rest the weight and viscous friction change by 1e-3 of their sizes.
    const Eigen::VectorXd error = drives.plant.simulation().inputs() - effort;
    const Eigen::VectorXd expected =
      law == "arm_adds_gravity" ? Eigen::VectorXd::Zero(4) : Eigen::VectorXd(weight);
    EXPECT_LT((error - expected).cwiseAbs().maxCoeff(), 0.05) << law;
    EXPECT_EQ(std::abs(drives.wall() - model.wall()) < 0.5, law == "arm_adds_gravity") << law;
  }
}

TEST(SimulatedDrives, when_sensors_leave_gravity_out_expect_the_forces_of_the_plant)
{
  for (const std::string profile : {"", "arm_adds_gravity", "arm_adds_nothing"})
  {
    Plant plant(profile);
    const Scenario scenario = arm(profile);
    plant.plant.efforts() << 1.0, -2.0, -3.0, 0.5;
    plant.run(0.05);
    const Eigen::VectorXd tau = plant.plant.simulation().inputs();
    const Eigen::VectorXd reading = plant.plant.effort_readings();
    const Eigen::VectorXd lacking =
      profile == "arm_adds_gravity" ? plant.weight() : Eigen::VectorXd::Zero(4);
    EXPECT_LT((reading + lacking - tau).cwiseAbs().maxCoeff(), 1e-12) << profile;

    const std::vector<bool> all(4, true);
    ForceObserver observer(scenario.dynamics(), all, all, 0.0, scenario.profile());
    observer.start(plant.state());
    const long before = allocation_count();
    const Status status = observer.update(kStep, plant.state().q, plant.state().u, &reading);
    EXPECT_EQ(allocation_count(), before);
    ASSERT_EQ(status, Status::kOk);
    EXPECT_LT((observer.effort() - tau).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_NEAR(observer.workspace().solution().multipliers(0), plant.wall(), 1e-9) << profile;

    MonitoredSystem monitor(scenario, {});
    JointSample sample;
    sample.time = 1000000000;
    sample.name = {"joint_1", "joint_2", "joint_3", "joint_4"};
    for (Eigen::Index i = 0; i < 4; ++i)
    {
      sample.position.push_back(plant.state().q(i));
      sample.velocity.push_back(plant.state().u(i));
      sample.effort.push_back(reading(i));
    }
    ASSERT_EQ(monitor.readings().add(sample, sample.time), "");
    ASSERT_EQ(monitor.update(sample.time), "");
    EXPECT_NEAR(monitor.workspace().solution().multipliers(0), plant.wall(), 1e-9) << profile;
  }
}

TEST(SimulatedDrives, when_a_joint_follows_positions_expect_the_reading_of_what_holds_it)
{
  Plant held("arm_adds_gravity", {"joint_2", "joint_3"});
  for (const std::size_t k : {0U, 1U})
  {
    held.plant.target(k).position = held.state().q(static_cast<Eigen::Index>(k) + 1);
    held.plant.target(k).follows_position = true;
    held.plant.switch_drive(k, true);
  }
  held.run(0.2);
  // Joints hold their weight, which the sensor does not show.
  EXPECT_LT(held.plant.effort_readings().cwiseAbs().maxCoeff(), 1e-6);
}

TEST(SimulatedDrives, when_a_profile_does_not_say_what_efforts_contain_expect_refusal)
{
  const Scenario scenario = arm("arm_adds_nothing");
  RobotProfile profile = *scenario.profile();
  EXPECT_NO_THROW(profile.require_command_terms());
  profile.command_adds.reset();
  profile.effort_contains.reset();
  EXPECT_THROW(profile.require_command_terms(), std::invalid_argument);
  EXPECT_THROW(profile.require_effort_contents(), std::invalid_argument);
  EXPECT_EQ(arm("").profile(), nullptr);
}

}  // namespace constrained_dynamics::test
