// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// What a broadcaster says about the forces that sensors can tell, with a force/torque sensor.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Geometry>

#include <constrained_dynamics_msgs/msg/force_observability.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <std_srvs/srv/trigger.hpp>

#include "arm_loop.hpp"
#include "constrained_dynamics_controllers/constraint_force_broadcaster.hpp"
#include "controller_harness.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics_controllers::test
{

using constrained_dynamics::Scenario;
using constrained_dynamics::Status;
using constrained_dynamics_msgs::msg::ForceObservability;
using controller_interface::return_type;
using geometry_msgs::msg::WrenchStamped;
using std_srvs::srv::Trigger;
using ::testing::HasSubstr;

namespace
{

using Broadcaster = Harness<ConstraintForceBroadcaster>;

/// A four-bar whose loop is a spatial hinge: efforts cannot tell all of its forces.
struct Hinge
{
  explicit Hinge(const Parameters & parameters)
  : scenario(Scenario::load(config_file("scenarios/four_bar_hinge.yaml"))),
    simulation(scenario.make_simulation()),
    harness(
      parameters +
      Parameters{{"scenario", config_file("scenarios/four_bar_hinge.yaml")}, {"publish_rate", 0.0}})
  {
    EXPECT_TRUE(harness.configure());
    harness.assign();
    measure();
    EXPECT_TRUE(harness.activate());
  }
  void measure()
  {
    EXPECT_TRUE(has_output(simulation->evaluate()));
    harness.measure(scenario.system(), simulation->state());
    const std::vector<std::string> & inputs = scenario.system().input_names();
    for (std::size_t i = 0; i < inputs.size(); ++i)
    {
      harness.set_state(inputs[i] + "/effort", simulation->inputs()(static_cast<Eigen::Index>(i)));
    }
    const Eigen::VectorXd reading = wrench();
    std::size_t k = 0;
    for (const char * part : kWrenchParts)
    {
      harness.set_state(
        std::string("wrist/") + part, reading(static_cast<Eigen::Index>(k++)) + offset);
    }
  }
  /// What a sensor at the tip of the coupler reads of the loop.
  Eigen::VectorXd wrench() const
  {
    constrained_dynamics::FrameKinematics frame;
    const auto & workspace = simulation->workspace();
    const auto & system = scenario.system();
    system.frame_kinematics(workspace.system_data(), system.frame_index("coupler_tip"), frame);
    const auto & on_a = workspace.solution().wrenches[0].on_a;
    Eigen::VectorXd result(6);
    result.head<3>() = frame.rotation.transpose() * on_a.force;
    result.tail<3>() =
      frame.rotation.transpose() * (on_a.torque + (on_a.point - frame.position).cross(on_a.force));
    return result;
  }
  void cycle()
  {
    measure();
    EXPECT_EQ(harness.update(), return_type::OK);
    EXPECT_TRUE(has_output(simulation->step()));
  }
  ForceObservability heard()
  {
    const auto node = std::make_shared<rclcpp::Node>("listener");
    Listener<ForceObservability> listener(node, "controller/observability");
    EXPECT_TRUE(harness.spin_until(
      [&]
      {
        cycle();
        return listener.count > 2 && listener.last.sequence > 2;
      },
      node));
    return listener.last;
  }

  Scenario scenario;
  std::unique_ptr<constrained_dynamics::Simulation> simulation;
  Broadcaster harness;
  double offset = 0.0;  // of each channel of the sensor
};

Parameters with_sensor()
{
  return {
    {"certificate.rate", 1000.0},
    {"sensor.name", "wrist"},
    {"sensor.frame", "coupler_tip"},
    {"sensor.force_noise", 0.2},
    {"sensor.tare_time", 0.02}};
}

std::map<std::string, bool> observable(const ForceObservability & message)
{
  std::map<std::string, bool> result;
  for (std::size_t i = 0; i < message.names.size(); ++i)
  {
    result[message.names[i]] = message.observable[i];
    EXPECT_EQ(std::isinf(message.variance[i]), !message.observable[i]) << message.names[i];
  }
  return result;
}

}  // namespace

TEST(ForceCertificate, when_there_are_efforts_alone_expect_forces_in_the_plane)
{
  Hinge hinge(Parameters{{"certificate.rate", 1000.0}});
  const ForceObservability message = hinge.heard();
  EXPECT_EQ(message.status, "ok");
  EXPECT_EQ(message.rank, 2u);
  EXPECT_EQ(message.nominal_rank, 2u);
  const std::map<std::string, bool> seen = observable(message);
  EXPECT_TRUE(seen.at("loop/x"));
  EXPECT_TRUE(seen.at("loop/z"));
  EXPECT_FALSE(seen.at("loop/y"));
}

TEST(ForceCertificate, when_there_is_a_sensor_expect_all_forces_with_its_variance)
{
  Hinge hinge(with_sensor());
  const ForceObservability message = hinge.heard();
  EXPECT_EQ(message.status, "ok");
  for (const auto & [name, seen] : observable(message))
  {
    EXPECT_TRUE(seen) << name;
  }
  for (std::size_t i = 0; i < message.names.size(); ++i)
  {
    if (message.names[i] == "loop/y")
    {
      EXPECT_NEAR(message.variance[i], 0.2 * 0.2, 1e-6);
    }
  }
}

TEST(ForceCertificate, when_the_sensor_is_tared_expect_no_offset)
{
  Hinge hinge(with_sensor());
  const auto node = std::make_shared<rclcpp::Node>("listener");
  Listener<WrenchStamped> listener(node, "controller/sensor_wrench");
  const auto client = node->create_client<Trigger>("controller/tare");
  hinge.offset = 3.0;
  ASSERT_TRUE(hinge.harness.spin_until([&] { return client->service_is_ready(); }, node));
  auto future = client->async_send_request(std::make_shared<Trigger::Request>());
  // Nothing may touch the tool meanwhile: the sensor shows its offset alone.
  const auto read_offset = [&]
  {
    hinge.measure();
    for (const char * part : kWrenchParts)
    {
      hinge.harness.set_state(std::string("wrist/") + part, hinge.offset);
    }
    EXPECT_EQ(hinge.harness.update(), return_type::OK);
  };
  ASSERT_TRUE(hinge.harness.spin_until(
    [&]
    {
      read_offset();
      return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    },
    node));
  EXPECT_TRUE(future.get()->success);
  for (int i = 0; i < 30; ++i)
  {
    read_offset();
  }
  const int before = listener.count;
  ASSERT_TRUE(hinge.harness.spin_until(
    [&]
    {
      read_offset();
      return listener.count > before + 20;
    },
    node));
  EXPECT_EQ(listener.last.header.frame_id, "coupler_tip");
  EXPECT_NEAR(listener.last.wrench.force.x, 0.0, 1e-9);
  EXPECT_NEAR(listener.last.wrench.torque.z, 0.0, 1e-9);
}

TEST(ForceCertificate, when_the_sensor_has_no_values_expect_a_status_and_forces_all_the_same)
{
  Hinge hinge(with_sensor());
  hinge.offset = kNan;
  const ForceObservability message = hinge.heard();
  EXPECT_EQ(message.status, "non_finite_input");
  EXPECT_TRUE(has_output(hinge.simulation->evaluate()));
  EXPECT_NEAR(
    hinge.harness.exported_state("controller/loop/multiplier.x"),
    hinge.simulation->workspace().solution().multipliers(0), 1.0);  // a step of 1 ms later
}

TEST(ForceCertificate, when_parameters_are_wrong_expect_refusal_with_names)
{
  const auto refusal = [](const Parameters & parameters)
  {
    testing::internal::CaptureStderr();
    {
      Broadcaster harness(
        parameters + Parameters{{"scenario", config_file("scenarios/four_bar_hinge.yaml")}});
      EXPECT_FALSE(harness.configure());
    }
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(
    refusal({{"sensor.name", "wrist"}, {"sensor.frame", "elbow"}}),
    testing::AllOf(HasSubstr("'sensor.' of 'wrist'"), HasSubstr("elbow")));
  EXPECT_THAT(
    refusal(
      {{"certificate.rate", 10.0}, {"certificate.frames", std::vector<std::string>{"elbow"}}}),
    HasSubstr("elbow"));
  EXPECT_THAT(
    refusal({{"certificate.rate", 10.0}, {"certificate.effort_noise", std::vector<double>{-0.5}}}),
    HasSubstr("certificate.effort_noise"));
  EXPECT_THAT(refusal({{"sensor.tool_mass", -1.0}}), HasSubstr("tool_mass"));
}

TEST(ForceCertificate, when_running_expect_no_allocation_and_no_lock_in_update)
{
  using constrained_dynamics::test::allocation_count;
  using constrained_dynamics::test::lock_count;
  Hinge hinge(with_sensor());
  long allocations = 0;
  long locks = 0;
  for (int i = 0; i < 2000; ++i)
  {
    hinge.offset = i % 50 == 7 ? kNan : 0.0;
    hinge.measure();
    const rclcpp::Time now = hinge.harness.controller->get_node()->now();
    const rclcpp::Duration period = rclcpp::Duration::from_seconds(0.001);
    const long before = allocation_count();
    const long locks_before = lock_count();
    (void)hinge.harness.controller->update(now, period);
    allocations += allocation_count() - before;
    locks += lock_count() - locks_before;
    ASSERT_TRUE(has_output(hinge.simulation->step()));
  }
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
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
