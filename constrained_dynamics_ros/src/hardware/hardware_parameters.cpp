// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "hardware/hardware_parameters.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>

#include <constrained_dynamics/scenario/text_tree.hpp>
#include <hardware_interface/lexical_casts.hpp>

namespace constrained_dynamics_ros::simulated
{

namespace
{

[[noreturn]] void refuse(
  const std::string & name, const std::string & value, const std::string & allowed)
{
  throw std::invalid_argument(
    "hardware parameter '" + name + "': '" + value + "'; allowed: " + allowed);
}

double read_number(
  const std::string & name, const std::string & text, double smallest, bool may_be_smallest,
  double largest = std::numeric_limits<double>::max())
{
  double value = std::numeric_limits<double>::quiet_NaN();
  try
  {
    value = hardware_interface::stod(text);
  }
  catch (const std::invalid_argument &)
  {
    // refused below
  }
  if (!(value >= smallest && value <= largest) || (value == smallest && !may_be_smallest))
  {
    std::string allowed = "a finite number ";
    allowed += may_be_smallest ? "from " : "above ";
    allowed += std::to_string(smallest);
    if (largest < std::numeric_limits<double>::max())
    {
      allowed += " to " + std::to_string(largest);
    }
    refuse(name, text, allowed);
  }
  return value;
}

bool read_choice(
  const std::string & name, const std::string & text, const std::string & yes,
  const std::string & no)
{
  if (text != yes && text != no)
  {
    refuse(name, text, yes + ", " + no);
  }
  return text == yes;
}

std::uint64_t read_seed(const std::string & name, const std::string & text)
{
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
  {
    refuse(name, text, "a whole number of at most 18 digits");
  }
  return std::stoull(text);
}

/// A probability, or a list of windows [begin, end].
void read_dropout(const std::string & name, const std::string & text, HardwareParameters & out)
{
  const char * const allowed = "a probability from 0 to 1, or a list of windows [[begin, end], …]";
  if (text.find('[') == std::string::npos)
  {
    out.dropout_probability = read_number(name, text, 0.0, true, 1.0);
    return;
  }
  const constrained_dynamics::TextTree windows =
    constrained_dynamics::read_yaml(text, "hardware parameter '" + name + "'");
  if (!windows.is_list())
  {
    refuse(name, text, allowed);
  }
  for (const constrained_dynamics::TextTree & window : windows.children)
  {
    if (!window.is_list() || window.children.size() != 2)
    {
      refuse(name, text, allowed);
    }
    const double least = std::numeric_limits<double>::lowest();
    const double begin = read_number(name, window.children[0].text, least, true);
    const double end = read_number(name, window.children[1].text, least, true);
    if (!(begin < end))
    {
      refuse(name, text, "windows with begin < end");
    }
    out.dropout_windows.emplace_back(begin, end);
  }
}

}  // namespace

HardwareParameters read_hardware_parameters(
  const std::unordered_map<std::string, std::string> & parameters)
{
  using Text = const std::string &;
  HardwareParameters out;
  const std::map<std::string, std::function<void(Text, Text)>> readers = {
    {"scenario", [&](Text, Text text) { out.scenario = text; }},
    {"profile", [&](Text, Text text) { out.profile = text; }},
    {"step", [&](Text name, Text text) { out.step = read_number(name, text, 0.0, false); }},
    {"largest_period",
     [&](Text name, Text text) { out.largest_period = read_number(name, text, 0.0, false); }},
    {"drive_bandwidth",
     [&](Text name, Text text) { out.drive_bandwidth = read_number(name, text, 0.0, false); }},
    {"noise.position",
     [&](Text name, Text text) { out.noise_position = read_number(name, text, 0.0, true); }},
    {"noise.velocity",
     [&](Text name, Text text) { out.noise_velocity = read_number(name, text, 0.0, true); }},
    {"noise.effort",
     [&](Text name, Text text) { out.noise_effort = read_number(name, text, 0.0, true); }},
    {"delay", [&](Text name, Text text) { out.delay = read_number(name, text, 0.0, true); }},
    {"dropout", [&](Text name, Text text) { read_dropout(name, text, out); }},
    {"dropout_values",
     [&](Text name, Text text) { out.freezes = read_choice(name, text, "frozen", "nan"); }},
    {"seed", [&](Text name, Text text) { out.seed = read_seed(name, text); }},
    {"status_publish_rate", [](Text, Text) {}},  // read by ros2_control itself
    {"wait_for_controller", [&](Text name, Text text)
     { out.waits_for_controller = read_choice(name, text, "true", "false"); }},
  };
  for (const auto & [name, text] : parameters)
  {
    const auto reader = readers.find(name);
    if (reader != readers.end())
    {
      reader->second(name, text);
    }
    else if (is_scenario_parameter(name))
    {
      out.scenario_keys[name] = rclcpp::ParameterValue(text);
    }
    else
    {
      std::string allowed;
      for (const auto & entry : readers)
      {
        allowed += entry.first + ", ";
      }
      throw std::invalid_argument(
        "hardware parameter '" + name + "' is unknown; allowed: " + allowed +
        "and the sections of scenario files (constraints, system, initial, …)");
    }
  }
  return out;
}

}  // namespace constrained_dynamics_ros::simulated
