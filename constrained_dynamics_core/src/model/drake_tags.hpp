// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <string>

#include "model/robot_tree.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics
{

/// The node of a body that a tag names; −1: the world. It throws for an unknown body.
using NodeOfBody = std::function<int(const std::string & name, const std::string & where)>;

/// Reads the tags of Drake right below a `<robot>` or `<model>`: `drake:ball_constraint` is a
/// constraint. Forces between bodies (bushings, springs) are not applied, with a warning. Joints
/// that Drake alone knows are refused. Others say nothing about the motion.
/// @param attributes whether values are attributes, as in URDF, or texts, as in SDF.
void read_drake_tags(
  const XmlReader & xml, const tinyxml2::XMLElement & model, bool attributes,
  const NodeOfBody & node_of, RobotTree & tree);

}  // namespace constrained_dynamics
