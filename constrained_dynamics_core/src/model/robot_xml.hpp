// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "model/robot_tree.hpp"

namespace constrained_dynamics
{

class XmlReader;

/// Reads a robot description into a tree, checking everything that is read. Pinocchio's parsers are
/// not used: of the documents in test/robots/hostile they accept 41 of 76 URDF and 20 of 24 MJCF
/// files (a mass that is no number, a zero axis, exchanged limits, two parents, loops), so that
/// every value is read here anyway. robot_library_test compares the results with theirs.
///
/// @throw std::invalid_argument starting with the document's name, for: no or several root
/// elements, DTDs, duplicate attributes, numbers that are not numbers (independent of the locale)
/// or not finite, negative masses, damping and friction, zero axes, lower > upper, empty, missing
/// and duplicate names, unknown parents, children and joint types, links with several parents
/// (URDF), several roots, loops without a root, more links or longer chains than the limits allow,
/// and kMaxDocumentBytes.
///
/// Inertia is judged later, when the links that are fixed to each other are one body.
RobotTree read_robot(const RobotDescription & robot, const SizeLimits & limits);

/// The readers of the three formats; `who` starts the messages.
RobotTree read_urdf(const std::string & text, const std::string & who, const SizeLimits & limits);
RobotTree read_mjcf(
  const RobotDescription & robot, const std::string & who, const SizeLimits & limits);
RobotTree read_sdf(
  const RobotDescription & robot, const std::string & who, const SizeLimits & limits);

/// Refuses a link that is deeper than the limits allow.
void check_depth(
  const XmlReader & xml, const SizeLimits & limits, const std::string & link, int depth);

/// "robot 'left' (left.urdf)": how messages name a robot.
std::string describe(const RobotDescription & robot);

/// The contents of a file. @throw std::invalid_argument if it cannot be read or exceeds
/// kMaxDocumentBytes.
std::string read_document_file(const std::string & path);

/// The format of a document by its root element.
/// @throw std::invalid_argument if it is none of the three.
RobotFormat detect_format(const std::string & text, const std::string & source);

}  // namespace constrained_dynamics
