#include "constrained_dynamics_ros/constrained_system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <rclcpp/logging.hpp>

#include "constrained_dynamics_ros/scenario_parameters.hpp"
#include "hardware/hardware_parameters.hpp"
#include "hardware/measurement.hpp"
#include "hardware/plant.hpp"

namespace constrained_dynamics_ros
{

using constrained_dynamics::Status;
using constrained_dynamics::System;
using hardware_interface::CallbackReturn;
using hardware_interface::CommandInterface;
using hardware_interface::ComponentInfo;
using hardware_interface::InterfaceInfo;
using hardware_interface::return_type;
using hardware_interface::StateInterface;

namespace
{

constexpr int kThrottle = 1000;  // [ms]

/// Commands of a joint, as bits.
enum Command : unsigned
{
  kNone = 0,
  kPosition = 1,
  kVelocity = 2,
  kEffort = 4,
};
constexpr std::array<std::pair<const char *, Command>, 3> kCommands = {
  {{hardware_interface::HW_IF_POSITION, kPosition},
   {hardware_interface::HW_IF_VELOCITY, kVelocity},
   {hardware_interface::HW_IF_EFFORT, kEffort}}};

/// What a state interface shows.
enum class Quantity
{
  kPosition,
  kVelocity,
  kAcceleration,
  kEffort,      // of a joint
  kForce,       // of a constraint on its body A
  kTorque,      // likewise
  kMultiplier,  // of a row
};

struct Channel
{
  std::string name;
  Quantity quantity;
  int index;  // of a coordinate, speed, joint, pair of wrenches or row
  int axis = 0;
  StateInterface::SharedPtr handle;
};

struct Joint
{
  std::string name;
  int coordinate = -1;
  int speed = -1;
  int input = -1;  // −1: no command of effort
  int drive = -1;  // −1: none of position or velocity
  unsigned claimed = kNone;
  unsigned next = kNone;                                // from the next switch on
  std::array<CommandInterface::SharedPtr, 3> commands;  // as kCommands; null: not declared
};

std::string join(const std::vector<std::string> & names)
{
  std::string result;
  for (const std::string & name : names)
  {
    result += (result.empty() ? "" : ", ") + name;
  }
  return result.empty() ? "none" : result;
}

int find(const std::vector<std::string> & names, const std::string & name)
{
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/// Names of coordinates whose rate is a speed: what may be a joint of the <ros2_control> tag.
std::vector<std::string> simple_coordinates(const System & system)
{
  std::vector<std::string> names;
  for (const std::string & name : system.coordinate_names())
  {
    if (find(system.speed_names(), "d" + name) >= 0)
    {
      names.push_back(name);
    }
  }
  return names;
}

/// The initial values of the tag, as keys of a scenario.
void add_initial_values(const std::vector<ComponentInfo> & joints, ParameterMap & keys)
{
  std::string q;
  std::string u;
  for (const ComponentInfo & joint : joints)
  {
    for (const InterfaceInfo & state : joint.state_interfaces)
    {
      const bool is_position = state.name == hardware_interface::HW_IF_POSITION;
      if (
        state.initial_value.empty() ||
        (!is_position && state.name != hardware_interface::HW_IF_VELOCITY))
      {
        continue;
      }
      (is_position ? q : u) += "\"" + joint.name + "\": \"" + state.initial_value + "\", ";
    }
  }
  if (!q.empty())
  {
    keys["initial.q"] = rclcpp::ParameterValue("{" + q + "}");
  }
  if (!u.empty())
  {
    keys["initial.u"] = rclcpp::ParameterValue("{" + u + "}");
  }
}

}  // namespace

// ---- what it is made of ------------------------------------------------------------------------

struct ConstrainedSystem::Impl
{
  void build(const hardware_interface::HardwareInfo & info);
  void add_joint(const ComponentInfo & info, std::vector<std::string> & driven);
  void add_sensor(const ComponentInfo & info);
  void add_unlisted();
  std::unique_ptr<Measurement> make_measurement() const;
  double noise(Quantity quantity) const;

  void collect() noexcept;
  void publish() noexcept;
  double effort(const Joint & joint) const noexcept;
  void set_mode(Joint & joint, unsigned commands) noexcept;
  Joint * find_joint(const std::string & interface, unsigned & command);
  bool is_running() const noexcept;

  HardwareParameters parameters;
  PlantOptions options;
  std::unique_ptr<Plant> plant;
  std::vector<Joint> joints;
  std::vector<Channel> channels;
  std::vector<std::size_t> unlisted;  // channels that no tag declares
  Eigen::VectorXd values;             // of the channels
  std::unique_ptr<Measurement> measurement;
  std::atomic<bool> is_active{false};
  Counts counts;
};

void ConstrainedSystem::Impl::build(const hardware_interface::HardwareInfo & info)
{
  parameters = read_hardware_parameters(info.hardware_parameters);
  ScenarioSource source;
  source.file = parameters.scenario;
  source.robot_description = info.original_xml;
  source.parameters = parameters.scenario_keys;
  source.without_controls = true;
  add_initial_values(info.joints, source.parameters);
  const constrained_dynamics::Scenario scenario = load_scenario(source);

  options.step = parameters.step > 0.0 ? parameters.step : scenario.run().integration.step;
  options.largest_period = parameters.largest_period;
  options.drive_bandwidth = parameters.drive_bandwidth;
  const double period = info.rw_rate > 0 ? 1.0 / info.rw_rate : options.step;
  if (parameters.step > period * (1.0 + 1e-9))
  {
    throw std::invalid_argument(
      "hardware parameter 'step': '" + std::to_string(parameters.step) +
      "'; allowed: at most the period of the cycle, " + std::to_string(period));
  }
  options.step = std::min(options.step, period);

  // Joints and sensors are looked up in the scenario's own system, which the plant shares.
  plant = std::make_unique<Plant>(scenario, std::vector<std::string>{}, options);
  std::vector<std::string> driven;
  for (const ComponentInfo & joint : info.joints)
  {
    add_joint(joint, driven);
  }
  for (const ComponentInfo & sensor : info.sensors)
  {
    add_sensor(sensor);
  }
  if (!info.gpios.empty())
  {
    throw std::invalid_argument(
      "gpio '" + info.gpios.front().name + "' is not simulated; allowed: joints and sensors");
  }
  add_unlisted();
  if (!driven.empty())
  {
    plant = std::make_unique<Plant>(scenario, driven, options);
  }
  values.setZero(static_cast<Eigen::Index>(channels.size()));
  measurement = make_measurement();
}

void ConstrainedSystem::Impl::add_joint(
  const ComponentInfo & info, std::vector<std::string> & driven)
{
  const System & system = plant->system();
  Joint joint;
  joint.name = info.name;
  joint.coordinate = find(system.coordinate_names(), info.name);
  joint.speed = find(system.speed_names(), "d" + info.name);
  if (joint.coordinate < 0 || joint.speed < 0)
  {
    throw std::invalid_argument(
      "joint '" + info.name + "' of the <ros2_control> tag is no joint of the simulated system; " +
      "allowed: " + join(simple_coordinates(system)));
  }
  const int index = static_cast<int>(joints.size());
  for (const InterfaceInfo & state : info.state_interfaces)
  {
    const std::string name = info.name + "/" + state.name;
    if (state.name == hardware_interface::HW_IF_POSITION)
    {
      channels.push_back({name, Quantity::kPosition, joint.coordinate, 0, nullptr});
    }
    else if (state.name == hardware_interface::HW_IF_VELOCITY)
    {
      channels.push_back({name, Quantity::kVelocity, joint.speed, 0, nullptr});
    }
    else if (state.name == hardware_interface::HW_IF_ACCELERATION)
    {
      channels.push_back({name, Quantity::kAcceleration, joint.speed, 0, nullptr});
    }
    else if (state.name == hardware_interface::HW_IF_EFFORT)
    {
      channels.push_back({name, Quantity::kEffort, index, 0, nullptr});
    }
    else
    {
      throw std::invalid_argument(
        "state interface '" + name + "'; allowed: position, velocity, acceleration, effort");
    }
  }
  for (const InterfaceInfo & command : info.command_interfaces)
  {
    const std::string name = info.name + "/" + command.name;
    if (command.name == hardware_interface::HW_IF_EFFORT)
    {
      joint.input = find(system.input_names(), info.name);
      if (joint.input < 0)
      {
        throw std::invalid_argument(
          "command interface '" + name + "': the scenario has no input '" + info.name +
          "' (system.actuated); allowed: " + join(system.input_names()));
      }
    }
    else if (
      command.name == hardware_interface::HW_IF_POSITION ||
      command.name == hardware_interface::HW_IF_VELOCITY)
    {
      if (joint.drive < 0)
      {
        joint.drive = static_cast<int>(driven.size());
        driven.push_back(info.name);
      }
    }
    else
    {
      throw std::invalid_argument(
        "command interface '" + name + "'; allowed: position, velocity, effort");
    }
  }
  joints.push_back(std::move(joint));
}

void ConstrainedSystem::Impl::add_sensor(const ComponentInfo & info)
{
  const constrained_dynamics::ConstraintSet & constraints =
    plant->scenario().dynamics()->constraints();
  std::vector<std::string> names;
  for (int i = 0; i < constraints.size(); ++i)
  {
    names.push_back(constraints[i].name());
  }
  const int constraint = find(names, info.name);
  if (constraint < 0)
  {
    throw std::invalid_argument(
      "sensor '" + info.name + "' of the <ros2_control> tag has the name of no constraint; " +
      "allowed: " + join(names));
  }
  std::vector<std::string> allowed;
  std::vector<Channel> possible;
  const std::array<const char *, 3> axes = {"x", "y", "z"};
  if (!constraints[constraint].wrench_bodies().empty())
  {
    const int pair = constraints.wrench_offset(constraint);
    for (int axis = 0; axis < 3; ++axis)
    {
      const std::string letter = axes[static_cast<std::size_t>(axis)];
      possible.push_back({"force." + letter, Quantity::kForce, pair, axis, nullptr});
      possible.push_back({"torque." + letter, Quantity::kTorque, pair, axis, nullptr});
    }
  }
  for (int row = 0; row < constraints[constraint].row_count(); ++row)
  {
    possible.push_back(
      {"multiplier." + constraints[constraint].rows()[static_cast<std::size_t>(row)].label,
       Quantity::kMultiplier, constraints.row_offset(constraint) + row, 0, nullptr});
  }
  for (const Channel & channel : possible)
  {
    allowed.push_back(channel.name);
  }
  for (const InterfaceInfo & state : info.state_interfaces)
  {
    const int found = find(allowed, state.name);
    if (found < 0)
    {
      throw std::invalid_argument(
        "state interface '" + info.name + "/" + state.name + "'; allowed: " + join(allowed));
    }
    channels.push_back(possible[static_cast<std::size_t>(found)]);
    channels.back().name = info.name + "/" + state.name;
  }
}

/// Coordinates and speeds of bases and free bodies, which no tag can declare.
void ConstrainedSystem::Impl::add_unlisted()
{
  const System & system = plant->system();
  const auto is_declared = [&](const std::string & name)
  {
    return std::any_of(
      joints.begin(), joints.end(), [&](const Joint & joint) { return joint.name == name; });
  };
  const auto is_joint = [&](int coordinate)
  {
    return system.has_joint(coordinate) ||
           is_declared(system.coordinate_names()[static_cast<std::size_t>(coordinate)]);
  };
  const auto add = [&](const std::string & name, Quantity quantity, int index)
  {
    unlisted.push_back(channels.size());
    channels.push_back({name, quantity, index, 0, nullptr});
  };
  for (int i = 0; i < system.coordinate_count(); ++i)
  {
    if (!is_joint(i))
    {
      add(
        system.coordinate_names()[static_cast<std::size_t>(i)] + "/position", Quantity::kPosition,
        i);
    }
  }
  for (int i = 0; i < system.speed_count(); ++i)
  {
    const std::string & name = system.speed_names()[static_cast<std::size_t>(i)];
    const int coordinate =
      name.front() == 'd' ? find(system.coordinate_names(), name.substr(1)) : -1;
    if (coordinate < 0 || !is_joint(coordinate))
    {
      add((coordinate < 0 ? name : name.substr(1)) + "/velocity", Quantity::kVelocity, i);
    }
  }
}

double ConstrainedSystem::Impl::noise(Quantity quantity) const
{
  switch (quantity)
  {
    case Quantity::kPosition:
      return parameters.noise_position;
    case Quantity::kVelocity:
      return parameters.noise_velocity;
    case Quantity::kEffort:
      return parameters.noise_effort;
    default:
      return 0.0;
  }
}

std::unique_ptr<Measurement> ConstrainedSystem::Impl::make_measurement() const
{
  MeasurementOptions sensors;
  sensors.deviation.resize(static_cast<Eigen::Index>(channels.size()));
  for (std::size_t i = 0; i < channels.size(); ++i)
  {
    sensors.deviation(static_cast<Eigen::Index>(i)) = noise(channels[i].quantity);
  }
  sensors.delay = parameters.delay;
  sensors.step = options.step;
  sensors.dropout_probability = parameters.dropout_probability;
  sensors.dropout_windows = parameters.dropout_windows;
  sensors.freezes = parameters.freezes;
  sensors.seed = parameters.seed;
  return std::make_unique<Measurement>(
    static_cast<Eigen::Index>(channels.size()), std::move(sensors));
}

// ---- what runs in the cycle --------------------------------------------------------------------

double ConstrainedSystem::Impl::effort(const Joint & joint) const noexcept
{
  const double by_command = joint.input < 0 ? 0.0 : plant->simulation().inputs()(joint.input);
  const auto drive = static_cast<std::size_t>(std::max(joint.drive, 0));
  return joint.drive >= 0 && plant->is_driven(drive) ? plant->drive_effort(drive) : by_command;
}

/// The true values of all channels.
void ConstrainedSystem::Impl::collect() noexcept
{
  const constrained_dynamics::State & state = plant->simulation().state();
  const constrained_dynamics::Solution & solution = plant->simulation().workspace().solution();
  for (std::size_t i = 0; i < channels.size(); ++i)
  {
    const Channel & channel = channels[i];
    const auto index = static_cast<std::size_t>(channel.index);
    double & value = values(static_cast<Eigen::Index>(i));
    switch (channel.quantity)
    {
      case Quantity::kPosition:
        value = state.q(channel.index);
        break;
      case Quantity::kVelocity:
        value = state.u(channel.index);
        break;
      case Quantity::kAcceleration:
        value = solution.acceleration(channel.index);
        break;
      case Quantity::kEffort:
        value = effort(joints[index]);
        break;
      case Quantity::kForce:
        value = solution.wrenches[index].on_a.force(channel.axis);
        break;
      case Quantity::kTorque:
        value = solution.wrenches[index].on_a.torque(channel.axis);
        break;
      case Quantity::kMultiplier:
        value = solution.multipliers(channel.index);
        break;
    }
  }
}

void ConstrainedSystem::Impl::publish() noexcept
{
  const Eigen::VectorXd & reading = measurement->read(plant->simulation().state().time);
  for (std::size_t i = 0; i < channels.size(); ++i)
  {
    if (!channels[i].handle->set_value(reading(static_cast<Eigen::Index>(i))))
    {
      ++counts.missed_values;
    }
  }
}

/// Where nothing is commanded, joints that can be driven by effort are free, others hold.
void ConstrainedSystem::Impl::set_mode(Joint & joint, unsigned commands) noexcept
{
  joint.claimed = commands;
  if (joint.input >= 0 && (commands & kEffort) == 0)
  {
    plant->efforts()(joint.input) = 0.0;
  }
  if (joint.drive < 0)
  {
    return;
  }
  const auto drive = static_cast<std::size_t>(joint.drive);
  DriveTarget & target = plant->target(drive);
  target.follows_position = commands == kNone || (commands & kPosition) != 0;
  target.position = plant->simulation().state().q(joint.coordinate);
  target.velocity = 0.0;
  plant->switch_drive(drive, commands == kNone ? joint.input < 0 : (commands & kEffort) == 0);
}

bool ConstrainedSystem::Impl::is_running() const noexcept
{
  if (!is_active)
  {
    return false;
  }
  bool has_commands = false;
  bool is_claimed = false;
  for (const Joint & joint : joints)
  {
    has_commands = has_commands || joint.input >= 0 || joint.drive >= 0;
    is_claimed = is_claimed || joint.claimed != kNone;
  }
  return is_claimed || !has_commands || !parameters.waits_for_controller;
}

/// The joint that a command interface "joint/command" belongs to; null if it is not ours.
Joint * ConstrainedSystem::Impl::find_joint(const std::string & interface, unsigned & command)
{
  for (Joint & joint : joints)
  {
    for (std::size_t i = 0; i < kCommands.size(); ++i)
    {
      if (joint.commands[i] && joint.commands[i]->get_name() == interface)
      {
        command = kCommands[i].second;
        return &joint;
      }
    }
  }
  return nullptr;
}

// ---- the plugin --------------------------------------------------------------------------------

ConstrainedSystem::ConstrainedSystem() : impl_(std::make_unique<Impl>()) {}
ConstrainedSystem::~ConstrainedSystem() = default;

CallbackReturn ConstrainedSystem::on_init(
  const hardware_interface::HardwareComponentInterfaceParams & params)
{
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS)
  {
    return CallbackReturn::ERROR;
  }
  try
  {
    impl_->build(info_);
  }
  catch (const std::exception & error)
  {
    RCLCPP_FATAL(get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  for (const std::string & warning : impl_->plant->scenario().warnings())
  {
    RCLCPP_WARN(get_logger(), "%s", warning.c_str());
  }
  return CallbackReturn::SUCCESS;
}

std::vector<hardware_interface::InterfaceDescription>
ConstrainedSystem::export_unlisted_state_interface_descriptions()
{
  std::vector<hardware_interface::InterfaceDescription> descriptions;
  for (const std::size_t i : impl_->unlisted)
  {
    const std::string & name = impl_->channels[i].name;
    const std::size_t slash = name.rfind('/');
    InterfaceInfo info{};
    info.name = name.substr(slash + 1);
    info.data_type = "double";
    descriptions.emplace_back(name.substr(0, slash), info);
  }
  return descriptions;
}

CallbackReturn ConstrainedSystem::on_configure(const rclcpp_lifecycle::State &)
{
  for (Channel & channel : impl_->channels)
  {
    for (const auto * handles : {&joint_states_, &sensor_states_, &unlisted_states_})
    {
      for (const StateInterface::SharedPtr & handle : *handles)
      {
        channel.handle = handle->get_name() == channel.name ? handle : channel.handle;
      }
    }
    if (!channel.handle)
    {
      RCLCPP_ERROR(get_logger(), "state interface '%s' was not exported", channel.name.c_str());
      return CallbackReturn::ERROR;
    }
  }
  for (Joint & joint : impl_->joints)
  {
    for (const CommandInterface::SharedPtr & handle : joint_commands_)
    {
      for (std::size_t i = 0; i < kCommands.size(); ++i)
      {
        if (handle->get_name() == joint.name + "/" + kCommands[i].first)
        {
          joint.commands[i] = handle;
        }
      }
    }
  }
  try
  {
    impl_->plant->reset();
  }
  catch (const std::invalid_argument & error)
  {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return CallbackReturn::FAILURE;
  }
  impl_->counts = Counts{};
  for (Joint & joint : impl_->joints)
  {
    joint.next = kNone;
    impl_->set_mode(joint, kNone);
  }
  impl_->collect();
  impl_->measurement->reset(impl_->values);
  impl_->publish();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstrainedSystem::on_activate(const rclcpp_lifecycle::State &)
{
  impl_->is_active = true;
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstrainedSystem::on_deactivate(const rclcpp_lifecycle::State &)
{
  impl_->is_active = false;
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstrainedSystem::on_error(const rclcpp_lifecycle::State &)
{
  impl_->is_active = false;
  return CallbackReturn::SUCCESS;
}

return_type ConstrainedSystem::prepare_command_mode_switch(
  const std::vector<std::string> & start, const std::vector<std::string> & stop)
{
  for (Joint & joint : impl_->joints)
  {
    joint.next = joint.claimed;
  }
  unsigned command = kNone;
  for (const std::string & interface : stop)
  {
    if (Joint * joint = impl_->find_joint(interface, command))
    {
      joint->next &= ~command;
    }
  }
  for (const std::string & interface : start)
  {
    if (Joint * joint = impl_->find_joint(interface, command))
    {
      joint->next |= command;
    }
  }
  for (const Joint & joint : impl_->joints)
  {
    if ((joint.next & kEffort) != 0 && joint.next != kEffort)
    {
      RCLCPP_ERROR(
        get_logger(),
        "joint '%s': effort and position or velocity at once; allowed: effort alone, or position, "
        "velocity or both",
        joint.name.c_str());
      return return_type::ERROR;
    }
  }
  return return_type::OK;
}

return_type ConstrainedSystem::perform_command_mode_switch(
  const std::vector<std::string> &, const std::vector<std::string> &)
{
  for (Joint & joint : impl_->joints)
  {
    if (joint.next != joint.claimed)
    {
      impl_->set_mode(joint, joint.next);
    }
  }
  return return_type::OK;
}

return_type ConstrainedSystem::read(const rclcpp::Time &, const rclcpp::Duration & period)
{
  Impl & impl = *impl_;
  Status status = Status::kOk;
  if (impl.is_running())
  {
    status = impl.plant->advance(
      period.seconds(), impl.parameters.delay > 0.0,
      [&impl]() noexcept
      {
        impl.collect();
        impl.measurement->push(impl.values);
      });
  }
  impl.counts.singular_cycles += status == Status::kSingular ? 1 : 0;
  impl.counts.inconsistent_cycles += status == Status::kInconsistent ? 1 : 0;
  impl.publish();
  if (!has_output(status))
  {
    RCLCPP_ERROR_THROTTLE(
      get_logger(), *get_clock(), kThrottle, "the simulation cannot go on at %g s: %s",
      impl.plant->simulation().state().time, to_string(status));
    return return_type::ERROR;
  }
  return return_type::OK;
}

return_type ConstrainedSystem::write(const rclcpp::Time &, const rclcpp::Duration &)
{
  Impl & impl = *impl_;
  for (Joint & joint : impl.joints)
  {
    for (std::size_t i = 0; i < kCommands.size(); ++i)
    {
      const Command command = kCommands[i].second;
      if ((joint.claimed & command) == 0)
      {
        continue;
      }
      const std::optional<double> value = joint.commands[i]->get_optional();
      if (!value)
      {
        ++impl.counts.missed_values;
      }
      else if (!std::isfinite(*value))
      {
        ++impl.counts.bad_commands;
        RCLCPP_WARN_THROTTLE(
          get_logger(), *get_clock(), kThrottle,
          "command '%s' is %g; allowed: finite numbers; the last one is held",
          joint.commands[i]->get_name().c_str(), *value);
      }
      else if (command == kEffort)
      {
        impl.plant->efforts()(joint.input) = *value;
      }
      else
      {
        DriveTarget & target = impl.plant->target(static_cast<std::size_t>(joint.drive));
        (command == kPosition ? target.position : target.velocity) = *value;
      }
    }
  }
  return return_type::OK;
}

ConstrainedSystem::Counts ConstrainedSystem::counts() const
{
  Counts counts = impl_->counts;
  counts.cut_periods = static_cast<std::uint64_t>(impl_->plant->cut_count());
  return counts;
}

}  // namespace constrained_dynamics_ros

#include <pluginlib/class_list_macros.hpp>

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_ros::ConstrainedSystem, hardware_interface::SystemInterface)
