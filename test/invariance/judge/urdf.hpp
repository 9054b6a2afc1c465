// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <string>

#include "document.hpp"

namespace invariance
{

struct UrdfLink
{
  bool has_inertia = false;
  Placement inertial;  ///< centre of mass and axes of the inertia
  Real mass = 0;
  Rotation inertia = {{zero3(), zero3(), zero3()}};
};

struct UrdfJoint
{
  std::string type;
  std::string parent;
  std::string child;
  Placement origin;
  RealTriple axis = unit3(0);  ///< of length 1
  Real damping = 0;
  Real friction = 0;
  std::string mimic;  ///< joint that it follows; empty: none
  Real multiplier = 1;
  Real offset = 0;
};

struct UrdfRobot
{
  std::string root;
  std::map<std::string, UrdfLink> links;
  std::map<std::string, UrdfJoint> joints;
};

/// @throw std::invalid_argument for text that is no URDF.
UrdfRobot read_urdf(const std::string & text);

}  // namespace invariance
