// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/scenario/setup_check.hpp"

/// @file
/// Parts of check_setup.

namespace constrained_dynamics
{

/// Collects findings.
class SetupReport
{
public:
  void error(const std::string & thing, const std::string & message)
  {
    findings_.push_back({SetupFinding::Severity::kError, thing, message});
  }
  void warning(const std::string & thing, const std::string & message)
  {
    findings_.push_back({SetupFinding::Severity::kWarning, thing, message});
  }
  void note(const std::string & thing, const std::string & message)
  {
    findings_.push_back({SetupFinding::Severity::kNote, thing, message});
  }
  std::vector<SetupFinding> take() { return std::move(findings_); }

private:
  std::vector<SetupFinding> findings_;
};

/// What a robot description says about joints and their interfaces.
struct DescribedJoints
{
  struct Interfaces
  {
    std::set<std::string> commands;
    std::set<std::string> states;
  };

  std::vector<std::string> movable;              ///< joints of the robot that can move
  std::map<std::string, double> effort_limits;   ///< of joints that have one [N m, N]
  std::map<std::string, Interfaces> interfaces;  ///< of joints in <ros2_control> tags
  bool has_tag = false;
};

/// Reads joints and <ros2_control> tags. What is wrong goes into the report.
DescribedJoints read_described_joints(const std::string & description, SetupReport & report);

/// One controller of the parameter file.
struct ConfiguredController
{
  std::string name;
  std::string kind;     ///< class of its plugin, without the package
  TextTree parameters;  ///< nested; dots in names are levels
};

/// The controllers of this project in the parameter file. What is wrong goes into the report.
std::vector<ConfiguredController> read_configured_controllers(
  const SetupFiles & files, SetupReport & report);

/// The texts of a list, or of a single value; none where the key is missing.
std::vector<std::string> texts_of(const TextTree & parameters, const std::string & key);

/// Names joined by commas; "none".
std::string join_names(const std::vector<std::string> & names);

}  // namespace constrained_dynamics
