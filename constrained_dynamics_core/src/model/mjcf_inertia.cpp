// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// MJCF: mass and inertia, as given or of geometric primitives.

#include <algorithm>
#include <optional>

#include "model/mjcf_reader.hpp"

namespace constrained_dynamics::mjcf
{

MassProperties MjcfReader::read_mass(const Body & body) const
{
  const std::string where = "body '" + body.name + "'";
  const std::string & from_geom = compiler_.inertia_from_geom;
  MassProperties mass;
  if (from_geom == "true" || (from_geom == "auto" && !body.inertial))
  {
    if (!body.geom_without_mass.empty())
    {
      xml_.fail(
        where + ": its mass would have to come from " + body.geom_without_mass +
        ", which is not read; give it an <inertial>");
    }
    mass = body.geom_mass;
  }
  else if (body.inertial)
  {
    mass = read_inertial(body, where);
  }
  if (mass.mass > 0.0 || compiler_.bound_mass > 0.0)
  {
    mass.mass = std::max(mass.mass, compiler_.bound_mass);
    mass.inertia.diagonal() = mass.inertia.diagonal().cwiseMax(compiler_.bound_inertia);
  }
  return mass;
}

MassProperties MjcfReader::read_inertial(const Body & body, const std::string & where) const
{
  const XMLElement & e = *body.inertial;
  MassProperties mass;
  mass.mass = xml_.not_negative(xml_.number(e, "mass", where), where + ": the mass");
  const Eigen::Isometry3d X = body.inertial_X * read_pose(e, where, "");
  mass.com = X.translation();
  Eigen::Matrix3d I = Eigen::Matrix3d::Zero();
  if (const auto full = xml_.numbers(e, "fullinertia", where))
  {
    if (full->size() != 6)
    {
      xml_.fail(where + ": attribute 'fullinertia' needs 6 numbers");
    }
    const std::vector<double> & x = *full;
    I << x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2];
  }
  else
  {
    I.diagonal() = xml_.vector3(e, "diaginertia", where, Eigen::Vector3d::Zero());
  }
  mass.inertia = X.linear() * I * X.linear().transpose();
  return mass;
}

void MjcfReader::read_geom(
  const XMLElement & e, const Eigen::Isometry3d & X, const std::string & childclass,
  Body & body) const
{
  const std::string where =
    "geom '" + xml_.text(e, "name").value_or("") + "' of body '" + body.name + "'";
  const auto number = [&](const char * name, std::optional<double> fallback)
  { return xml_.number(giver(e, name, childclass), name, where, fallback); };
  const double group = number("group", 0.0);
  const bool has_mass = giver(e, "mass", childclass).Attribute("mass") != nullptr;
  const double given =
    has_mass ? xml_.not_negative(number("mass", 0.0), where + ": the mass") : 0.0;
  const double density = xml_.not_negative(number("density", 1000.0), where + ": the density");
  if (body.name == "world" || !(group >= compiler_.group_low && group <= compiler_.group_high))
  {
    return;
  }
  if (has_mass ? given == 0.0 : density == 0.0)
  {
    return;
  }
  const std::string type =
    xml_.text(giver(e, "type", childclass), "type")
      .value_or(giver(e, "mesh", childclass).Attribute("mesh") ? "mesh" : "sphere");
  if (type == "plane" || type == "hfield")
  {
    return;
  }
  const bool primitive = is_one_of(type, {"sphere", "capsule", "cylinder", "box", "ellipsoid"});
  if (!primitive || xml_.text(e, "shellinertia").value_or("false") == "true")
  {
    body.geom_without_mass = where + " of type " + type;
    return;
  }
  Eigen::Isometry3d X_geom = X * read_pose(e, where, childclass);
  const Eigen::Vector3d size = read_size(e, childclass, where, type, X, X_geom);
  MassProperties shape = unit_density_shape(type, size);
  const double factor = has_mass ? given / shape.mass : density;
  shape.mass *= factor;
  shape.inertia *= factor;
  add_mass(body.geom_mass, X_geom, shape);
}

Eigen::Vector3d MjcfReader::read_size(
  const XMLElement & e, const std::string & childclass, const std::string & where,
  const std::string & type, const Eigen::Isometry3d & X, Eigen::Isometry3d & X_geom) const
{
  std::vector<double> size =
    xml_.numbers(giver(e, "size", childclass), "size", where).value_or(std::vector<double>());
  const auto ends = xml_.numbers(giver(e, "fromto", childclass), "fromto", where);
  if (ends && type != "sphere")
  {
    if (ends->size() != 6 || size.empty())
    {
      xml_.fail(where + ": 'fromto' needs 6 numbers and a 'size'");
    }
    const Eigen::Vector3d a((*ends)[0], (*ends)[1], (*ends)[2]);
    const Eigen::Vector3d b((*ends)[3], (*ends)[4], (*ends)[5]);
    X_geom = X * translation(0.5 * (a + b));
    X_geom.linear() = X.linear() * Eigen::Quaterniond::FromTwoVectors(
                                     Eigen::Vector3d::UnitZ(), xml_.unit(b - a, where))
                                     .toRotationMatrix();
    const double half = 0.5 * (b - a).norm();
    size = type == "box" || type == "ellipsoid" ? std::vector<double>{size[0], size[0], half}
                                                : std::vector<double>{size[0], half};
  }
  const std::size_t needed = type == "sphere" ? 1 : (type == "box" || type == "ellipsoid" ? 3 : 2);
  Eigen::Vector3d result = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < needed; ++i)
  {
    if (i >= size.size() || !(size[i] > 0.0))
    {
      xml_.fail(where + ": a " + type + " needs " + std::to_string(needed) + " sizes above 0");
    }
    result(static_cast<Eigen::Index>(i)) = size[i];
  }
  return result;
}

MassProperties MjcfReader::unit_density_shape(const std::string & type, const Eigen::Vector3d & s)
{
  MassProperties shape;
  if (type == "box" || type == "ellipsoid")
  {
    const bool box = type == "box";
    shape.mass = (box ? 8.0 : 4.0 / 3.0 * kPi) * s.prod();
    const Eigen::Vector3d squares = s.cwiseProduct(s) * shape.mass / (box ? 3.0 : 5.0);
    shape.inertia.diagonal() << squares(1) + squares(2), squares(0) + squares(2),
      squares(0) + squares(1);
    return shape;
  }
  const double r = s(0);
  const double h = s(1);
  const double ball = type == "cylinder" ? 0.0 : 4.0 / 3.0 * kPi * r * r * r;
  const double tube = type == "sphere" ? 0.0 : 2.0 * kPi * r * r * h;
  shape.mass = ball + tube;
  const double across =
    tube * (h * h / 3.0 + r * r / 4.0) + ball * (0.4 * r * r + h * h + 0.75 * h * r);
  shape.inertia.diagonal() << across, across, tube * r * r / 2.0 + ball * 0.4 * r * r;
  return shape;
}

}  // namespace constrained_dynamics::mjcf
