// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/reference_interfaces.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include <hardware_interface/types/hardware_interface_type_values.hpp>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::RowLevel;
using constrained_dynamics::ServoConstraint;
using constrained_dynamics::ServoReference;
using hardware_interface::CommandInterface;

namespace
{

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double read_value(const CommandInterface & interface) noexcept
{
  try
  {
    return interface.get_optional<double>().value_or(kNothing);
  }
  catch (...)
  {
    return kNothing;
  }
}

/// Quaternions count as a whole.
bool is_quaternion(const ServoReference & reference, Eigen::Index index)
{
  return reference.position.size() == 7 && reference.velocity.size() == 6 && index >= 3;
}

}  // namespace

ReferenceInterfaces::ReferenceInterfaces(
  const constrained_dynamics::ServoLaw & law, const std::string & controller, bool with_velocity)
{
  for (std::size_t i = 0; i < law.tasks().size(); ++i)
  {
    const ServoConstraint & task = *law.tasks()[i].constraint;
    const int index = static_cast<int>(i);
    const std::string prefix = controller + "/" + task.name();
    const std::vector<std::string> values = task.value_names();
    const std::vector<std::string> rates = task.rate_names();
    const auto is_velocity_row = [&](std::size_t k)
    { return !task.has_pose_reference() && task.rows()[k].level == RowLevel::kVelocity; };
    for (std::size_t k = 0; k < values.size(); ++k)
    {
      if (!is_velocity_row(k))
      {
        add({Kind::kPosition, index, static_cast<Eigen::Index>(k)}, prefix, values[k]);
      }
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(task.velocity_size()); ++k)
    {
      if (with_velocity || is_velocity_row(k))
      {
        add(
          {Kind::kVelocity, index, static_cast<Eigen::Index>(k)}, prefix + "/" + rates[k],
          hardware_interface::HW_IF_VELOCITY);
      }
    }
    next_.push_back(task.make_reference());
  }
  const std::vector<std::string> & inputs = law.passive().system().input_names();
  for (std::size_t i = 0; i < inputs.size(); ++i)
  {
    add(
      {Kind::kNullSpace, -1, static_cast<Eigen::Index>(i)}, controller + "/null_space/" + inputs[i],
      hardware_interface::HW_IF_EFFORT);
  }
  given_.assign(next_.size(), false);
  was_given_ = given_;
}

void ReferenceInterfaces::add(
  const Entry & entry, const std::string & prefix, const std::string & name)
{
  hardware_interface::InterfaceInfo info;
  info.name = name;
  info.data_type = "double";
  interfaces_.push_back(
    std::make_shared<CommandInterface>(hardware_interface::InterfaceDescription(prefix, info)));
  entries_.push_back(entry);
}

void ReferenceInterfaces::clear() noexcept
{
  for (const CommandInterface::SharedPtr & interface : interfaces_)
  {
    (void)interface->set_value(kNothing);
  }
  was_given_.assign(was_given_.size(), false);
}

void ReferenceInterfaces::give(constrained_dynamics::ServoRuntime & runtime) noexcept
{
  if (!runtime.is_started())
  {
    return;
  }
  for (std::size_t i = 0; i < next_.size(); ++i)
  {
    given_[i] = false;
    if (!was_given_[i])
    {
      next_[i].position = runtime.servo().reference(static_cast<int>(i)).position;
    }
    next_[i].velocity.setZero();
    next_[i].acceleration.setZero();
  }
  for (std::size_t i = 0; i < entries_.size(); ++i)
  {
    const Entry & entry = entries_[i];
    const double value = read_value(*interfaces_[i]);
    if (!std::isfinite(value))
    {
      continue;
    }
    if (entry.kind == Kind::kNullSpace)
    {
      runtime.give_null_space(static_cast<int>(entry.index), value, false);
      continue;
    }
    const std::size_t task = static_cast<std::size_t>(entry.task);
    ServoReference & next = next_[task];
    if (entry.kind == Kind::kVelocity)
    {
      next.velocity(entry.index) = value;
    }
    else if (is_quaternion(next, entry.index))
    {
      // The four of them are entries in a row: taken at the first one, if all say something.
      if (entry.index == 3)
      {
        Eigen::Vector4d quaternion;
        for (std::size_t k = 0; k < 4; ++k)
        {
          quaternion(static_cast<Eigen::Index>(k)) = read_value(*interfaces_[i + k]);
        }
        if (!quaternion.allFinite() || !(quaternion.norm() > 1e-6))
        {
          continue;
        }
        next.position.segment<4>(3) = quaternion;
      }
    }
    else
    {
      next.position(entry.index) = value;
    }
    given_[task] = true;
  }
  for (std::size_t i = 0; i < next_.size(); ++i)
  {
    const int task = static_cast<int>(i);
    if (given_[i])
    {
      given_[i] = runtime.give_reference(task, next_[i], false);
    }
    else if (was_given_[i])
    {
      runtime.release_reference(task);
    }
  }
  was_given_.swap(given_);
}

}  // namespace constrained_dynamics_controllers
