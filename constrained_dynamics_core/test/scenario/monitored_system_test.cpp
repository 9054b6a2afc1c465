// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/monitored_system.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace constrained_dynamics
{

namespace
{

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr JointReadings::Time kStart = 1794844827000000000;  // [ns] on the clock of the stamps
constexpr JointReadings::Time kMillisecond = 1000000;

std::string path(const std::string & name)
{
  return std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml";
}

/// A simulation of a scenario, and messages about it.
class Robot
{
public:
  explicit Robot(const std::string & name)
  : scenario_(Scenario::load(path(name))), simulation(scenario_.make_simulation())
  {
    run(0.3);
  }

  void run(double duration)
  {
    const double until = simulation->state().time + duration;
    EXPECT_TRUE(simulation->run(until, duration, [](const auto &) { return true; }).completed);
    EXPECT_TRUE(has_output(simulation->evaluate()));
  }

  JointReadings::Time now() const { return kStart + std::llround(1e9 * simulation->state().time); }

  /// Of some coordinates; empty: all.
  JointSample message(const std::vector<std::string> & names = {}) const
  {
    const auto & system = simulation->dynamics().system();
    JointSample out;
    out.time = now();
    out.name = names.empty() ? system.coordinate_names() : names;
    for (const std::string & name : out.name)
    {
      const int i = system.coordinate_index(name);
      out.position.push_back(simulation->state().q(i));
      out.velocity.push_back(simulation->workspace().terms().rates(i));
    }
    return out;
  }

  /// With the efforts of the inputs.
  JointSample message_with_effort(const std::vector<std::string> & names = {}) const
  {
    JointSample out = message(names);
    const auto & inputs = simulation->dynamics().system().input_names();
    for (const std::string & name : out.name)
    {
      const auto found = std::find(inputs.begin(), inputs.end(), name);
      out.effort.push_back(
        found == inputs.end() ? 0.0 : simulation->inputs()(found - inputs.begin()));
    }
    return out;
  }

private:
  Scenario scenario_;

public:
  std::unique_ptr<Simulation> simulation;
};

MonitoredSystem monitor(const std::string & name, const MonitoredSystem::Options & options = {})
{
  ScenarioLoadOptions load;
  load.assemble = false;
  return MonitoredSystem(Scenario::load(path(name), {}, load), options);
}

TEST(MonitoredSystem, when_only_the_crank_is_measured_expect_the_whole_four_bar)
{
  Robot robot("four_bar");
  MonitoredSystem::Options options;
  options.without_effort = InputSource::kZero;
  MonitoredSystem monitored = monitor("four_bar", options);
  ASSERT_THAT(monitored.readings().add(robot.message({"crank"}), robot.now()), IsEmpty());
  ASSERT_THAT(monitored.update(robot.now()), IsEmpty());
  EXPECT_THAT(monitored.completed_names(), ElementsAre("coupler", "rocker"));
  for (int i = 0; i < 20; ++i)
  {
    robot.run(0.01);
    ASSERT_THAT(monitored.readings().add(robot.message({"crank"}), robot.now()), IsEmpty());
    ASSERT_THAT(monitored.update(robot.now()), IsEmpty());
    const auto & expected = robot.simulation->state();
    ASSERT_LT((monitored.state().q - expected.q).norm(), 1e-8);
    ASSERT_LT((monitored.state().u - expected.u).norm(), 1e-7);
    const auto & solution = robot.simulation->workspace().solution();
    ASSERT_LT(
      (monitored.workspace().solution().multipliers - solution.multipliers).norm(),
      1e-6 * (1.0 + solution.multipliers.norm()));
    ASSERT_LT((monitored.rates() - robot.simulation->workspace().terms().rates).norm(), 1e-7);
  }
  EXPECT_EQ(monitored.workspace().solution().rank, 2);
  EXPECT_THAT(monitored.worst_violation(1e-6, 1e-6), IsEmpty());
}

TEST(MonitoredSystem, when_efforts_are_measured_expect_the_forces_of_the_driven_robot)
{
  Robot robot("mobile_arm");
  MonitoredSystem monitored = monitor("mobile_arm");
  ASSERT_THAT(monitored.readings().add(robot.message_with_effort(), robot.now()), IsEmpty());
  ASSERT_THAT(monitored.update(robot.now()), IsEmpty());
  EXPECT_TRUE(monitored.has_measured_effort());
  const auto & solution = robot.simulation->workspace().solution();
  EXPECT_GT(solution.multipliers.norm(), 1e-3);
  EXPECT_LT(
    (monitored.workspace().solution().multipliers - solution.multipliers).norm(),
    1e-6 * (1.0 + solution.multipliers.norm()));
  // The speeds of the base are not the rates of its coordinates.
  EXPECT_LT((monitored.state().u - robot.simulation->state().u).norm(), 1e-7);
}

TEST(MonitoredSystem, when_static_expect_accelerations_of_nought)
{
  Robot robot("four_bar");
  MonitoredSystem monitored = monitor("four_bar");
  ASSERT_THAT(monitored.readings().add(robot.message(), robot.now()), IsEmpty());
  ASSERT_THAT(monitored.update(robot.now()), IsEmpty());
  EXPECT_FALSE(monitored.has_measured_effort());
  EXPECT_LT(monitored.workspace().solution().acceleration.norm(), 1e-8);
}

TEST(MonitoredSystem, when_inverse_dynamics_expect_the_measured_acceleration)
{
  Robot robot("four_bar");
  MonitoredSystem::Options options;
  options.without_effort = InputSource::kInverseDynamics;
  options.acceleration_filter = 0.0;
  MonitoredSystem monitored = monitor("four_bar", options);
  for (int i = 0; i < 3; ++i)
  {
    robot.run(0.001);
    ASSERT_THAT(monitored.readings().add(robot.message(), robot.now()), IsEmpty());
    ASSERT_THAT(monitored.update(robot.now()), IsEmpty());
  }
  // Differences over a millisecond of a smooth motion.
  const Eigen::VectorXd & expected = robot.simulation->workspace().solution().acceleration;
  EXPECT_LT(
    (monitored.workspace().solution().acceleration - expected).norm(),
    0.05 * (0.1 + expected.norm()));
}

TEST(MonitoredSystem, when_a_loop_is_opened_expect_refusal_while_joints_hang_on_it)
{
  Robot robot("four_bar");
  MonitoredSystem partial = monitor("four_bar");
  ASSERT_THAT(partial.readings().add(robot.message({"crank"}), robot.now()), IsEmpty());
  ASSERT_THAT(partial.update(robot.now()), IsEmpty());
  EXPECT_THAT(partial.set_active("loop", false), HasSubstr("coupler"));
  EXPECT_TRUE(partial.workspace().is_active(0));
  EXPECT_THAT(partial.update(robot.now()), IsEmpty());

  MonitoredSystem whole = monitor("four_bar");
  ASSERT_THAT(whole.readings().add(robot.message(), robot.now()), IsEmpty());
  ASSERT_THAT(whole.update(robot.now()), IsEmpty());
  EXPECT_THAT(whole.set_active("loop", false), IsEmpty());
  EXPECT_THAT(whole.update(robot.now()), IsEmpty());
  EXPECT_EQ(whole.workspace().solution().multipliers.norm(), 0.0);
  EXPECT_THAT(whole.set_active("loops", false), HasSubstr("loop"));
}

TEST(MonitoredSystem, when_sensors_contradict_the_loop_expect_the_violation)
{
  Robot robot("four_bar");
  MonitoredSystem monitored = monitor("four_bar");
  JointSample message = robot.message();
  message.position[0] += 0.02;
  ASSERT_THAT(monitored.readings().add(message, robot.now()), IsEmpty());
  ASSERT_THAT(monitored.update(robot.now()), IsEmpty());
  EXPECT_THAT(monitored.worst_violation(1e-3, 1e3), HasSubstr("loop/"));
}

TEST(MonitoredSystem, when_nothing_determines_a_joint_expect_its_name)
{
  Robot robot("mobile_arm");
  MonitoredSystem monitored = monitor("mobile_arm");
  const std::string joint = robot.simulation->dynamics().system().coordinate_names().back();
  ASSERT_THAT(monitored.readings().add(robot.message({joint}), robot.now()), IsEmpty());
  EXPECT_THAT(monitored.update(robot.now()), HasSubstr("darm_1"));
}

TEST(MonitoredSystem, when_values_get_old_expect_the_joint_that_is_missing)
{
  Robot robot("four_bar");
  MonitoredSystem monitored = monitor("four_bar");
  EXPECT_THAT(monitored.update(robot.now()), HasSubstr("no joint states"));
  ASSERT_THAT(monitored.readings().add(robot.message(), robot.now()), IsEmpty());
  EXPECT_THAT(monitored.update(robot.now() + 400 * kMillisecond), IsEmpty());
  EXPECT_THAT(monitored.update(robot.now() + 600 * kMillisecond), HasSubstr("'crank'"));
}

// ---- messages
// ------------------------------------------------------------------------------------

TEST(JointReadings, when_messages_are_wrong_expect_a_reason_and_nothing_taken)
{
  Robot robot("four_bar");
  JointReadings readings(robot.simulation->dynamics().system(), 0.5);
  const JointReadings::Time now = robot.now();
  EXPECT_THAT(readings.add(JointSample(), now), HasSubstr("0 names"));
  JointSample sizes = robot.message();
  sizes.position.pop_back();
  EXPECT_THAT(readings.add(sizes, now), HasSubstr("3 names, 2 positions"));
  EXPECT_THAT(readings.add(robot.message(), now + 600 * kMillisecond), HasSubstr("old; allowed"));
  EXPECT_THAT(readings.add(robot.message(), now - 600 * kMillisecond), HasSubstr("ahead; allowed"));
  JointSample many;
  many.name.assign(JointReadings::kMostNames + 1, "crank");
  EXPECT_THAT(readings.add(many, now), HasSubstr("allowed: 1 to 10000"));
  EXPECT_FALSE(readings.has_values());
  EXPECT_EQ(readings.refused_count(), 5);
  EXPECT_EQ(readings.count(), 0);
}

TEST(JointReadings, when_values_are_not_finite_expect_them_counted_and_left_out)
{
  Robot robot("four_bar");
  JointReadings readings(robot.simulation->dynamics().system(), 0.5);
  for (const double bad : {kNaN, std::numeric_limits<double>::infinity()})
  {
    JointSample message = robot.message();
    message.position[0] = bad;
    message.velocity[1] = bad;
    EXPECT_THAT(readings.add(message, robot.now()), IsEmpty());
  }
  EXPECT_THAT(readings.measured_coordinates(), ElementsAre(false, false, true));
  EXPECT_EQ(readings.bad_value_count(), 4);
}

TEST(JointReadings, when_names_are_unknown_expect_a_few_of_them_kept)
{
  Robot robot("four_bar");
  JointReadings readings(robot.simulation->dynamics().system(), 0.5);
  JointSample message;
  for (int i = 0; i < 100; ++i)
  {
    message.name.push_back("joint" + std::to_string(i));
    message.position.push_back(0.0);
  }
  EXPECT_THAT(readings.add(message, robot.now()), IsEmpty());  // without a stamp: of now
  EXPECT_EQ(readings.unknown_names().size(), JointReadings::kMostUnknown);
  EXPECT_FALSE(readings.has_values());
}

TEST(JointReadings, when_velocities_are_missing_expect_differences_of_positions)
{
  Robot robot("four_bar");
  JointReadings readings(robot.simulation->dynamics().system(), 0.5);
  Eigen::VectorXd q = Eigen::VectorXd::Zero(3);
  Eigen::VectorXd u = Eigen::VectorXd::Constant(3, 7.0);
  JointSample message = robot.message();
  message.velocity.clear();
  EXPECT_THAT(readings.add(message, robot.now()), IsEmpty());
  EXPECT_THAT(readings.read(robot.now(), q, u), IsEmpty());
  EXPECT_EQ(u.norm(), 0.0);  // nothing to compare with
  robot.run(0.001);
  message = robot.message();
  message.velocity.clear();
  EXPECT_THAT(readings.add(message, robot.now()), IsEmpty());
  EXPECT_THAT(readings.read(robot.now(), q, u), IsEmpty());
  EXPECT_LT((u - robot.simulation->state().u).norm(), 0.02);
}

TEST(JointReadings, when_messages_overtake_each_other_expect_the_newest)
{
  Robot robot("four_bar");
  JointReadings readings(robot.simulation->dynamics().system(), 0.5);
  const JointSample early = robot.message();
  robot.run(0.01);
  EXPECT_THAT(readings.add(robot.message(), robot.now()), IsEmpty());
  EXPECT_THAT(readings.add(early, robot.now()), IsEmpty());
  Eigen::VectorXd q = Eigen::VectorXd::Zero(3);
  Eigen::VectorXd u = Eigen::VectorXd::Zero(3);
  EXPECT_THAT(readings.read(robot.now(), q, u), IsEmpty());
  EXPECT_EQ(q, robot.simulation->state().q);
}

}  // namespace

}  // namespace constrained_dynamics
