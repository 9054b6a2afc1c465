// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#include "constrained_dynamics/simulation/limits.hpp"

#include <algorithm>
#include <cmath>

#include "constrained_dynamics/constraints/joint_position.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

namespace
{

/// The limits of each coordinate; none for systems without descriptions.
const std::vector<RigidBodySystem::Limits> & limits_of(const System & system)
{
  static const std::vector<RigidBodySystem::Limits> none;
  const RigidBodySystem * robot = system.underlying().as_robot();
  return robot != nullptr ? robot->limits() : none;
}

}  // namespace

const char * to_string(LimitMode mode) noexcept
{
  switch (mode)
  {
    case LimitMode::kReport:
      return "report";
    case LimitMode::kStop:
      return "stop";
    case LimitMode::kIgnore:
      return "ignore";
  }
  return "unknown";
}

const char * to_string(LimitKind kind) noexcept
{
  switch (kind)
  {
    case LimitKind::kLower:
      return "lower";
    case LimitKind::kUpper:
      return "upper";
    case LimitKind::kVelocity:
      return "velocity";
  }
  return "unknown";
}

LimitWatch::LimitWatch(const System & system)
{
  const std::vector<RigidBodySystem::Limits> & limits = limits_of(system);
  for (std::size_t i = 0; i < limits.size(); ++i)
  {
    const std::vector<int> speeds = system.speeds_of_coordinate(static_cast<int>(i));
    const auto add = [&](LimitKind kind, double limit)
    {
      if (std::isfinite(limit) && speeds.size() == 1)
      {
        ExceededLimit watched;
        watched.coordinate = static_cast<int>(i);
        watched.kind = kind;
        watched.limit = limit;
        watched_.push_back({watched, speeds[0], false});
      }
    };
    add(LimitKind::kLower, limits[i].lower);
    add(LimitKind::kUpper, limits[i].upper);
    if (limits[i].velocity > 0.0)  // 0 in a description: not stated
    {
      add(LimitKind::kVelocity, limits[i].velocity);
    }
  }
}

void LimitWatch::start()
{
  for (Watched & watched : watched_)
  {
    watched.is_exceeded = false;
  }
}

void LimitWatch::look(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
  CD_NONBLOCKING
{
  // Relative: beyond this is not what fixed steps leave of a stop.
  constexpr double kRounding = 1e-6;
  for (Watched & watched : watched_)
  {
    ExceededLimit & limit = watched.limit;
    const double value =
      limit.kind == LimitKind::kVelocity ? u(watched.speed) : q(limit.coordinate);
    const auto beyond = [&](double of)
    {
      return limit.kind == LimitKind::kLower   ? limit.limit - of
             : limit.kind == LimitKind::kUpper ? of - limit.limit
                                               : std::abs(of) - limit.limit;
    };
    if (!(beyond(value) > kRounding * std::max(1.0, std::abs(limit.limit))))
    {
      continue;
    }
    if (!watched.is_exceeded)
    {
      limit.first_time = time;
    }
    if (!watched.is_exceeded || beyond(value) > beyond(limit.value))
    {
      limit.value = value;
    }
    watched.is_exceeded = true;
  }
}

std::vector<ExceededLimit> LimitWatch::exceeded() const
{
  std::vector<ExceededLimit> result;
  for (const Watched & watched : watched_)
  {
    if (watched.is_exceeded)
    {
      result.push_back(watched.limit);
    }
  }
  return result;
}

void add_limit_stops(
  const System & system, double restitution,
  std::vector<std::shared_ptr<const Constraint>> & constraints, std::vector<Contact> & contacts)
{
  const std::vector<RigidBodySystem::Limits> & limits = limits_of(system);
  const std::vector<int> & driven = system.driven_speeds();
  for (std::size_t i = 0; i < limits.size(); ++i)
  {
    const auto coordinate = static_cast<int>(i);
    const std::string & name = system.coordinate_names()[i];
    const std::vector<int> speeds = system.speeds_of_coordinate(coordinate);
    if (speeds.size() == 1 && std::find(driven.begin(), driven.end(), speeds[0]) != driven.end())
    {
      continue;
    }
    const auto add = [&](const char * which, double limit, double side)
    {
      if (!std::isfinite(limit))
      {
        return;
      }
      Contact contact;
      contact.constraint = static_cast<int>(constraints.size());
      contact.side = side;
      contact.restitution = restitution;
      contacts.push_back(contact);
      constraints.push_back(std::make_shared<JointPosition>(
        name + "_" + which + "_stop", system, std::vector<CoordinateValue>{{name, limit}}));
    };
    add("lower", limits[i].lower, -1.0);
    add("upper", limits[i].upper, 1.0);
  }
}

}  // namespace constrained_dynamics
