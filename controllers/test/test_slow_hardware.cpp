// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <constrained_dynamics_msgs/msg/servo_state.hpp>
#include <controller_manager/controller_manager.hpp>
#include <rclcpp/rclcpp.hpp>
#include <realtime_tools/realtime_helpers.hpp>

// A real controller manager at 1000 Hz with the simulated hardware at its own rate.

namespace
{

using constrained_dynamics_msgs::msg::ServoState;
using std::chrono::steady_clock;

const std::string kScenario = std::string(CONFIG_FOLDER) + "/systems/four_bar.yaml";

/// @param rate attribute of the hardware. @param limit of the crank, an element.
std::string description(const std::string & rate, const std::string & limit)
{
  std::ifstream file(std::string(CONFIG_FOLDER) + "/robots/four_bar.urdf");
  std::stringstream text;
  text << file.rdbuf();
  std::string urdf = text.str();
  const std::size_t crank = urdf.find("</joint>", urdf.find("<joint name=\"crank\""));
  urdf.insert(crank, limit);
  const std::string passive =
    R"(<state_interface name="position"/><state_interface name="velocity"/></joint>)";
  const std::string control =
    "<ros2_control name=\"linkage\" type=\"system\"" + rate +
    "><hardware><plugin>constrained_dynamics_ros/ConstrainedSystem</plugin>"
    "<param name=\"scenario\">" +
    kScenario +
    "</param>"
    "<param name=\"wait_for_controller\">true</param></hardware>"
    "<joint name=\"crank\"><command_interface name=\"effort\"/>" +
    passive + "<joint name=\"coupler\">" + passive + "<joint name=\"rocker\">" + passive +
    "</ros2_control>";
  return urdf.insert(urdf.rfind("</robot>"), control);
}

/// Runs a servo controller for some seconds of wall time.
struct ServoRun
{
  explicit ServoRun(const std::string & rate, const std::string & limit = "")
  {
    const std::string file = testing::TempDir() + "/slow_hardware.yaml";
    std::ofstream(file) << "servo:\n  ros__parameters:\n    scenario: " << kScenario
                        << "\n    joints: [crank]\n    passive_joints: [coupler, rocker]\n"
                           "    publish_rate: 0.0\n    smooth_start: 0.2\n"
                           "    effort_limits: [1000.0]\n";
    rclcpp::NodeOptions options = controller_manager::get_cm_node_options();
    // Limits are enforced by default in Kilted, but not in Jazzy.
    options.parameter_overrides({{"update_rate", 1000}, {"enforce_command_limits", true}});
    const auto executor = std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
    controller_manager::ControllerManager manager(
      executor, description(rate, limit), true, "test_controller_manager", "", options);
    manager.set_parameter({"servo.params_file", std::vector<std::string>{file}});
    const auto controller = manager.load_controller(
      "servo", "constrained_dynamics_controllers/ServoConstraintController");
    is_configured =
      controller && manager.configure_controller("servo") == controller_interface::return_type::OK;
    if (!is_configured)
    {
      return;
    }
    const auto node = std::make_shared<rclcpp::Node>("listener");
    const auto subscription = node->create_subscription<ServoState>(
      "servo/servo_state", rclcpp::QoS(1000),
      [this](const ServoState::ConstSharedPtr message) { take(*message); });
    rclcpp::executors::SingleThreadedExecutor listener;
    listener.add_node(node);
    std::thread listening([&] { listener.spin(); });
    std::thread([&] { cycle(manager); }).join();
    listener.cancel();
    listening.join();
  }

  void cycle(controller_manager::ControllerManager & manager)
  {
    auto switching = std::async(
      std::launch::async,
      [&]
      {
        return manager.switch_controller(
          {"servo"}, {}, controller_manager_msgs::srv::SwitchController::Request::STRICT, true,
          rclcpp::Duration::from_seconds(5.0));
      });
    // As ros2_control_node does: where it is permitted, a busy machine does not make cycles late.
    realtime_tools::configure_sched_fifo(50);
    auto next = steady_clock::now();
    rclcpp::Time last = manager.get_trigger_clock()->now();
    for (int i = 0; i < 4000; ++i)
    {
      next += std::chrono::milliseconds(1);
      std::this_thread::sleep_until(next);
      const rclcpp::Time now = manager.get_trigger_clock()->now();
      const rclcpp::Duration period = now - last;
      last = now;
      manager.read(now, period);
      EXPECT_EQ(manager.update(now, period), controller_interface::return_type::OK);
      manager.write(now, period);
    }
    is_switched = switching.get() == controller_interface::return_type::OK;
  }

  void take(const ServoState & message)
  {
    changes += message.mode != last_mode ? 1 : 0;
    last_mode = message.mode;
    ++modes[message.mode];
    const bool is_cut = message.requested[0] != message.granted[0];
    cuts += is_cut ? 1 : 0;
    hidden_cuts += is_cut && message.status == "ok" ? 1 : 0;
    largest_granted = std::max(largest_granted, std::abs(message.granted[0]));
    if (!message.tasks.empty() && message.sequence > 1500)
    {
      largest_error = std::max(largest_error, std::abs(message.tasks[0].error[0]));
    }
    ++count;
  }

  bool is_configured = false;
  bool is_switched = false;
  int count = 0;
  int changes = 0;
  std::string last_mode;
  std::map<std::string, int> modes;  // how many messages have each
  double largest_error = 0.0;
  int cuts = 0;         // messages with commands that were not granted
  int hidden_cuts = 0;  // of these, with status ok
  double largest_granted = 0.0;
};

}  // namespace

TEST(SlowHardware, when_hardware_is_read_at_a_tenth_of_the_rate_expect_no_fallback)
{
  for (const std::string rate : {"", " rw_rate=\"100\""})
  {
    const ServoRun run(rate);
    ASSERT_TRUE(run.is_configured);
    ASSERT_TRUE(run.is_switched);
    std::cout << "hardware" << rate << ": " << run.count << " messages, largest error "
              << run.largest_error << " rad, " << run.changes << " changes of mode:";
    for (const auto & [mode, times] : run.modes)
    {
      std::cout << " " << mode << " " << times;
    }
    std::cout << std::endl;
    EXPECT_GT(run.count, 500);
    EXPECT_EQ(run.modes.count("fallback"), 0u);
    // On a machine that is too busy for 1000 Hz, commands are held in late cycles.
    const auto held = run.modes.find("hold");
    if (held == run.modes.end() || held->second <= 5)
    {
      EXPECT_LT(run.largest_error, 0.05);
    }
    EXPECT_EQ(run.cuts, 0);
  }
}

TEST(Limiter, when_the_controller_manager_cuts_commands_expect_status_limited_and_what_was_granted)
{
  const ServoRun run("", "<limit effort=\"1.5\" velocity=\"50\"/>");
  ASSERT_TRUE(run.is_configured);
  ASSERT_TRUE(run.is_switched);
  std::cout << run.cuts << " commands cut, " << run.hidden_cuts
            << " with status ok, largest granted " << run.largest_granted << " N m" << std::endl;
  EXPECT_GT(run.cuts, 100);
  EXPECT_EQ(run.hidden_cuts, 0);
  EXPECT_NEAR(run.largest_granted, 1.5, 1e-6);
}

TEST(SlowHardware, when_gains_are_too_high_for_its_rate_expect_refusal)
{
  testing::internal::CaptureStderr();
  bool is_configured = true;
  {
    const ServoRun run(" rw_rate=\"20\"");
    is_configured = run.is_configured;
  }
  EXPECT_FALSE(is_configured);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("diverges at 20 Hz"));
}

int main(int argc, char ** argv)
{
  testing::InitGoogleMock(&argc, argv);
  rclcpp::init(argc, argv);
  const int result = RUN_ALL_TESTS();
  rclcpp::shutdown();
  return result;
}
