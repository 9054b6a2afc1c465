// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <rcutils/logging.h>
#include <hardware_interface/component_parser.hpp>
#include <hardware_interface/resource_manager.hpp>
#include <lifecycle_msgs/msg/state.hpp>
#include <rclcpp/rclcpp.hpp>

#include "constrained_dynamics_ros/constrained_system.hpp"

namespace constrained_dynamics_ros::test
{

/// One joint of a <ros2_control> tag.
struct JointTag
{
  std::string name;
  std::vector<std::string> commands;
  std::vector<std::string> states = {"position", "velocity"};
  std::map<std::string, std::string> initial;  ///< state interface → value
};

/// A <ros2_control> tag.
struct Tag
{
  std::map<std::string, std::string> parameters;
  std::vector<JointTag> joints;
  std::string more;  ///< XML: sensors, gpios

  std::string text() const
  {
    std::string xml =
      "<ros2_control name=\"robot\" type=\"system\"><hardware>"
      "<plugin>constrained_dynamics_ros/ConstrainedSystem</plugin>";
    for (const auto & [name, value] : parameters)
    {
      xml += "<param name=\"" + name + "\">" + value + "</param>";
    }
    xml += "</hardware>";
    for (const JointTag & joint : joints)
    {
      xml += "<joint name=\"" + joint.name + "\">";
      for (const std::string & command : joint.commands)
      {
        xml += "<command_interface name=\"" + command + "\"/>";
      }
      for (const std::string & state : joint.states)
      {
        const auto value = joint.initial.find(state);
        xml += "<state_interface name=\"" + state + "\">";
        if (value != joint.initial.end())
        {
          xml += "<param name=\"initial_value\">" + value->second + "</param>";
        }
        xml += "</state_interface>";
      }
      xml += "</joint>";
    }
    return xml + more + "</ros2_control>";
  }
};

/// The URDF of a file of config/robots with a tag.
inline std::string robot(const std::string & file, const Tag & tag)
{
  std::ifstream stream(std::string(CD_CONFIG_DIR) + "/robots/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  std::string urdf = text.str();
  return urdf.insert(urdf.rfind("</robot>"), tag.text());
}

inline std::string scenario(const std::string & name)
{
  return std::string(CD_CONFIG_DIR) + "/scenarios/" + name;
}

/// Keeps what is logged while it lives.
class LogCapture
{
public:
  LogCapture() : before_(rcutils_logging_get_output_handler())
  {
    text().clear();
    rcutils_logging_set_output_handler(&LogCapture::keep);
  }
  ~LogCapture() { rcutils_logging_set_output_handler(before_); }
  static std::string & text()
  {
    static std::string all;
    return all;
  }

private:
  static void keep(
    const rcutils_log_location_t *, int, const char *, rcutils_time_point_value_t,
    const char * format, va_list * arguments)
  {
    char line[4096];
    std::vsnprintf(line, sizeof(line), format, *arguments);
    text() += std::string(line) + "\n";
  }
  rcutils_logging_output_handler_t before_;
};

/// A ConstrainedSystem in a ResourceManager, as a controller manager has it.
class Bench
{
public:
  static constexpr unsigned kRate = 500;

  explicit Bench(const std::string & urdf, bool activate = true)
  : clock_(std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME)),
    manager_(clock_, rclcpp::get_logger("resource_manager"))
  {
    auto component = std::make_unique<ConstrainedSystem>();
    system_ = component.get();
    hardware_interface::HardwareComponentParams params;
    params.hardware_info = hardware_interface::parse_control_resources_from_urdf(urdf).at(0);
    params.hardware_info.rw_rate = kRate;
    params.clock = clock_;
    params.logger = rclcpp::get_logger("hardware");
    manager_.import_component(std::move(component), params);
    set_state(lifecycle_msgs::msg::State::PRIMARY_STATE_INACTIVE);
    if (activate)
    {
      set_state(lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE);
    }
  }

  bool set_state(std::uint8_t id)
  {
    const std::map<std::uint8_t, std::string> names = {
      {lifecycle_msgs::msg::State::PRIMARY_STATE_UNCONFIGURED, "unconfigured"},
      {lifecycle_msgs::msg::State::PRIMARY_STATE_INACTIVE, "inactive"},
      {lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE, "active"},
      {lifecycle_msgs::msg::State::PRIMARY_STATE_FINALIZED, "finalized"}};
    rclcpp_lifecycle::State state(id, names.at(id));
    return manager_.set_component_state("robot", state) == hardware_interface::return_type::OK;
  }
  std::uint8_t state_id() { return manager_.get_components_status().at("robot").state.id(); }

  /// Claims commands, as controllers that are activated do. False if it was refused.
  bool claim(const std::vector<std::string> & start, const std::vector<std::string> & stop = {})
  {
    return manager_.prepare_command_mode_switch(start, stop) &&
           manager_.perform_command_mode_switch(start, stop);
  }
  void command(const std::string & name, double value)
  {
    auto handle = manager_.claim_command_interface(name);
    if (!handle.set_value(value))
    {
      throw std::runtime_error("command " + name);
    }
  }
  double state(const std::string & name)
  {
    return manager_.claim_state_interface(name).get_optional().value();
  }
  bool has_state(const std::string & name) { return manager_.state_interface_exists(name); }

  /// One cycle of 1/kRate seconds. False if the hardware failed.
  bool cycle(double period = 1.0 / kRate)
  {
    const rclcpp::Time time = clock_->now();
    const rclcpp::Duration duration = rclcpp::Duration::from_seconds(period);
    const bool read = manager_.read(time, duration).result == hardware_interface::return_type::OK;
    const bool wrote = manager_.write(time, duration).result == hardware_interface::return_type::OK;
    return read && wrote;
  }
  bool run(double seconds)
  {
    bool good = true;
    for (long i = 0; i < std::lround(seconds * kRate); ++i)
    {
      good = cycle() && good;
    }
    return good;
  }

  ConstrainedSystem & system() { return *system_; }
  hardware_interface::ResourceManager & manager() { return manager_; }

private:
  rclcpp::Clock::SharedPtr clock_;
  hardware_interface::ResourceManager manager_;
  ConstrainedSystem * system_ = nullptr;
};

/// Starts and ends ROS around the tests of a program.
class RosEnvironment : public testing::Environment
{
public:
  void SetUp() override { rclcpp::init(0, nullptr); }
  void TearDown() override { rclcpp::shutdown(); }
};

}  // namespace constrained_dynamics_ros::test
