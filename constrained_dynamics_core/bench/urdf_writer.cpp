// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "urdf_writer.hpp"

#include <limits>

namespace constrained_dynamics::bench
{

namespace
{

std::string triple(const Eigen::Vector3d & v)
{
  std::ostringstream stream;
  stream.precision(std::numeric_limits<double>::max_digits10);
  stream << v.x() << ' ' << v.y() << ' ' << v.z();
  return stream.str();
}

}  // namespace

LinkInertia rod(double length, double mass)
{
  constexpr double kRadius = 0.02;  // some peers refuse a moment of inertia of 0
  const double across = mass * length * length / 12.0;
  return {
    mass, Eigen::Vector3d(length / 2.0, 0.0, 0.0),
    Eigen::Vector3d(mass * kRadius * kRadius / 2.0, across, across)};
}

UrdfWriter::UrdfWriter(const std::string & root)
{
  stream_.precision(std::numeric_limits<double>::max_digits10);
  stream_ << "<?xml version=\"1.0\"?>\n<robot name=\"bench\">\n<link name=\"" << root << "\"/>\n";
}

UrdfWriter::UrdfWriter(const std::string & root, const LinkInertia & inertia)
{
  stream_.precision(std::numeric_limits<double>::max_digits10);
  stream_ << "<?xml version=\"1.0\"?>\n<robot name=\"bench\">\n";
  add_link(root, inertia);
}

void UrdfWriter::add_link(const std::string & name, const LinkInertia & inertia)
{
  stream_ << "<link name=\"" << name << "\"><inertial><origin xyz=\"" << triple(inertia.com)
          << "\"/><mass value=\"" << inertia.mass << "\"/><inertia ixx=\"" << inertia.moments.x()
          << "\" ixy=\"0\" ixz=\"0\" iyy=\"" << inertia.moments.y() << "\" iyz=\"0\" izz=\""
          << inertia.moments.z() << "\"/></inertial></link>\n";
}

void UrdfWriter::add_revolute(
  const std::string & name, const std::string & parent, const Eigen::Vector3d & origin,
  const Eigen::Vector3d & axis, const LinkInertia & inertia)
{
  add_link(name, inertia);
  // Revolute, not continuous: one coordinate for every peer. The limits are out of the way.
  stream_ << "<joint name=\"" << name << "_joint\" type=\"revolute\"><parent link=\"" << parent
          << "\"/><child link=\"" << name << "\"/><origin xyz=\"" << triple(origin)
          << "\"/><axis xyz=\"" << triple(axis)
          << "\"/><limit lower=\"-100\" upper=\"100\" effort=\"1000\" velocity=\"100\"/></joint>\n";
}

std::string UrdfWriter::text() const { return stream_.str() + "</robot>\n"; }

}  // namespace constrained_dynamics::bench
