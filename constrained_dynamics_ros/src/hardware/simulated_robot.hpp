// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <Eigen/Core>

#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics/scenario/simulated_plant.hpp>
#include <constrained_dynamics/simulation/sensor_model.hpp>
#include <hardware_interface/hardware_info.hpp>

#include "constrained_dynamics_ros/constrained_system.hpp"
#include "hardware/hardware_parameters.hpp"
#include "hardware/interfaces.hpp"

namespace constrained_dynamics_ros::simulated
{

/// A simulated plant with its sensors behind a table of interfaces.
struct SimulatedRobot
{
  /// @throw std::invalid_argument naming what the tag says wrongly, and what is allowed.
  void build(const hardware_interface::HardwareInfo & info);
  void choose_options(const constrained_dynamics::Scenario & scenario, unsigned rate);
  std::unique_ptr<constrained_dynamics::SensorModel> make_sensors() const;
  double noise(Quantity quantity) const;
  /// Of the sensors [s]: that of the parameters, else that of the profile.
  double delay() const noexcept;

  void collect() noexcept;
  void publish() noexcept;
  /// What a sensor of the effort of a joint shows. @param readings of the inputs.
  double effort(const Joint & joint, const Eigen::VectorXd & readings) const noexcept;
  void set_mode(Joint & joint, unsigned commands) noexcept;
  Joint * find_joint(const std::string & interface, unsigned & command);
  bool is_running() const noexcept;

  HardwareParameters parameters;
  constrained_dynamics::SimulatedPlantOptions options;
  std::unique_ptr<constrained_dynamics::SimulatedPlant> plant;
  InterfaceTable interfaces;
  Eigen::VectorXd values;  // of the channels
  std::unique_ptr<constrained_dynamics::SensorModel> sensor_model;
  std::atomic<bool> is_active{false};
  ConstrainedSystem::Counts counts;
};

}  // namespace constrained_dynamics_ros::simulated
