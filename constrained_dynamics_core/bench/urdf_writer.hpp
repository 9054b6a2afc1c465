// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <sstream>
#include <string>

#include <Eigen/Core>

namespace constrained_dynamics::bench
{

/// Mass, centre of mass and principal inertia of a link, in the link's frame.
struct LinkInertia
{
  double mass = 1.0;                                         ///< [kg]
  Eigen::Vector3d com = Eigen::Vector3d::Zero();             ///< [m]
  Eigen::Vector3d moments = Eigen::Vector3d::Constant(0.1);  ///< about com, link axes [kg m²]
};

/// A thin rod along x from the link's origin.
LinkInertia rod(double length, double mass);

/// Writes a URDF document link by link. The joint of link `a` is called `a_joint`.
class UrdfWriter
{
public:
  /// The document starts with a root link: massless unless an inertia is given.
  explicit UrdfWriter(const std::string & root);
  UrdfWriter(const std::string & root, const LinkInertia & inertia);

  /// A link that turns about `axis` through `origin` of its parent.
  void add_revolute(
    const std::string & name, const std::string & parent, const Eigen::Vector3d & origin,
    const Eigen::Vector3d & axis, const LinkInertia & inertia);

  /// The whole document.
  std::string text() const;

private:
  void add_link(const std::string & name, const LinkInertia & inertia);

  std::ostringstream stream_;
};

}  // namespace constrained_dynamics::bench
