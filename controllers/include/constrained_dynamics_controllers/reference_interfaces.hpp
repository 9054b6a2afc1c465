// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <constrained_dynamics/servo/servo_runtime.hpp>
#include <hardware_interface/handle.hpp>

namespace constrained_dynamics_controllers
{

/// References as interfaces that another controller writes:
///     <controller>/<task>/<value>             values, see ServoConstraint::value_names
///     <controller>/<task>/<value>/velocity    their rates, and values of velocity rows
///     <controller>/null_space/<input>/effort  desired efforts in the null space
/// NaN: this value stays as it was. Values of velocity rows have <value>/velocity alone.
class ReferenceInterfaces
{
public:
  /// @param with_velocity whether rates of values are interfaces.
  ReferenceInterfaces(
    const constrained_dynamics::ServoLaw & law, const std::string & controller, bool with_velocity);

  const std::vector<hardware_interface::CommandInterface::SharedPtr> & interfaces() const
  {
    return interfaces_;
  }
  /// Makes all of them NaN. Real-time safe: yes, as below.
  void clear() noexcept;
  /// Gives the runtime what they say.
  void give(constrained_dynamics::ServoRuntime & runtime) noexcept;

private:
  enum class Kind
  {
    kPosition,
    kVelocity,
    kNullSpace,
  };
  struct Entry
  {
    Kind kind;
    int task;
    Eigen::Index index;
  };
  void add(const Entry & entry, const std::string & prefix, const std::string & name);

  std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces_;
  std::vector<Entry> entries_;
  std::vector<constrained_dynamics::ServoReference> next_;
  std::vector<bool> given_;      // of each task, whether an interface says something
  std::vector<bool> was_given_;  // in the last cycle
};

}  // namespace constrained_dynamics_controllers
