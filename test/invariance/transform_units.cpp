// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "mechanism.hpp"
#include "transformation.hpp"
#include "units.hpp"

namespace invariance
{

namespace
{

bool is_prismatic(const Mechanism & mechanism, const std::string & joint)
{
  for (const Link & link : mechanism.links)
  {
    if (link.joint == joint)
    {
      return link.prismatic;
    }
  }
  return false;
}

void convert(Inertia & inertia, const Units & units)
{
  inertia.mass *= units.mass;
  inertia.com *= units.length;
  inertia.about_com *= units.inertia();
}

Lengths lengths_of(const Mechanism & mechanism)
{
  Lengths result;
  for (const Robot & robot : mechanism.robots)
  {
    for (const char * axis : {"x", "y", "z"})
    {
      result.coordinates.insert(robot.name + "_" + axis);
      result.speeds.insert(robot.name + "_v" + axis);
    }
  }
  for (const Link & link : mechanism.links)
  {
    if (link.prismatic)
    {
      result.coordinates.insert(link.joint);
      result.speeds.insert("d" + link.joint);
    }
  }
  return result;
}

void convert_constraint(YAML::Node constraint, const Mechanism & mechanism, const Units & units)
{
  for (const char * key : {"offset", "length"})
  {
    if (constraint[key] && !constraint["terms"])
    {
      constraint[key] = text(constraint[key].as<double>() * units.length);
    }
  }
  // Sums of angles and lengths are kept as angles.
  for (auto term : constraint["terms"])
  {
    if (is_prismatic(mechanism, term.first.as<std::string>()))
    {
      term.second = text(term.second.as<double>() / units.length);
    }
  }
}

Mechanism converted(const Mechanism & mechanism, const Units & units)
{
  Mechanism result = mechanism;
  result.gravity *= units.length / (units.time * units.time);
  result.characteristic_length *= units.length;
  for (Robot & robot : result.robots)
  {
    robot.pose.xyz *= units.length;
    robot.position.head<2>() *= units.length;
    robot.position.z() *= robot.base == Base::kPlanar ? 1.0 : units.length;
    convert(robot.inertia, units);
  }
  for (Link & link : result.links)
  {
    link.origin.xyz *= units.length;
    convert(link.inertia, units);
    const double effort = link.prismatic ? units.force() : units.torque();
    const double way = link.prismatic ? units.length : 1.0;
    link.q *= way;
    link.rest *= way;
    link.input *= effort;
    link.stiffness *= effort / way;
    link.damping *= effort / way * units.time;
  }
  for (Frame & frame : result.frames)
  {
    frame.pose.xyz *= units.length;
  }
  for (YAML::Node & constraint : result.constraints)
  {
    convert_constraint(constraint, mechanism, units);
  }
  const Lengths lengths = lengths_of(mechanism);
  const std::vector<std::string> names = mechanism.speeds();
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    result.u(static_cast<Eigen::Index>(i)) *=
      (lengths.speeds.count(names[i]) > 0 ? units.length : 1.0) / units.time;
  }
  return result;
}

std::optional<Changed> change_units(const Case & original, Random & random)
{
  if (!original.mechanism || !original.mechanism->formula_rows.empty())
  {
    return std::nullopt;
  }
  const Units units = random_units(random);
  auto mechanism = std::make_shared<Mechanism>(converted(*original.mechanism, units));
  Changed result = rewritten(original, mechanism);
  convert_run(result.changed.scenario, units);
  const Lengths lengths = lengths_of(*original.mechanism);
  result.undo = [lengths, units](Result & r) { convert_back(r, lengths, units); };
  result.detail = text(units);
  return result;
}

}  // namespace

Units random_units(Random & random)
{
  Units units;
  units.length = random.chance(0.6) ? 1e3 : 1.0;
  units.mass = random.chance(0.6) ? 1e3 : 1.0;
  units.time = random.chance(0.6) ? 1e3 : 1.0;
  return units;
}

std::string text(const Units & units)
{
  return "length, mass, time times " + text(units.length) + " " + text(units.mass) + " " +
         text(units.time);
}

void convert_back(Result & r, const Lengths & lengths, const Units & units)
{
  const auto way = [&](const std::string & speed)
  { return lengths.speeds.count(speed) > 0 ? units.length : 1.0; };
  const auto divide = [](Named & values, const auto & unit)
  {
    for (std::size_t i = 0; i < values.names.size(); ++i)
    {
      values.values(static_cast<Eigen::Index>(i)) /= unit(values.names[i]);
    }
  };
  divide(r.u, [&](const std::string & name) { return way(name) / units.time; });
  divide(r.udot, [&](const std::string & name) { return way(name) / (units.time * units.time); });
  divide(r.force, [&](const std::string & name) { return units.torque() / way(name); });
  divide(
    r.q, [&](const std::string & name)
    { return lengths.coordinates.count(name) > 0 ? units.length : 1.0; });
  divide(
    r.multipliers,
    [&](const std::string & row)
    {
      const std::string label = row.substr(row.rfind('/') + 1);
      return label == "rx" || label == "ry" || label == "rz" || label == "coupling" ? units.torque()
                                                                                    : units.force();
    });
  for (ConstraintWrench & wrench : r.wrenches)
  {
    wrench.point /= units.length;
    wrench.force /= units.force();
    wrench.torque /= units.torque();
  }
}

void convert_run(YAML::Node scenario, const Units & units)
{
  for (const char * key : {"until", "step"})
  {
    YAML::Node value = scenario["run"][key];
    if (value)
    {
      value = text(value.as<double>() * units.time);
    }
  }
}

std::vector<Transformation> unit_transformations()
{
  return {
    {"units", "generated trees (robot files: below); units of formulas are not known",
     "each quantity by its unit",
     [](const Case & c, const Result &, Random & random) { return change_units(c, random); }},
  };
}

}  // namespace invariance
