// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/multiplier_forces.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace constrained_dynamics
{

namespace
{

using Kind = MultiplierForceTarget::Kind;

constexpr int kWrenchSize = 6;

int count_of(Kind kind, const System & system)
{
  switch (kind)
  {
    case Kind::kCoordinate:
      return system.coordinate_count();
    case Kind::kSpeed:
      return system.speed_count();
    case Kind::kInput:
      return system.input_count();
    case Kind::kFrame:
      return static_cast<int>(system.frame_names().size());
  }
  return 0;
}

const char * name_of(Kind kind)
{
  switch (kind)
  {
    case Kind::kCoordinate:
      return "coordinate";
    case Kind::kSpeed:
      return "speed";
    case Kind::kInput:
      return "input";
    case Kind::kFrame:
      return "frame";
  }
  return "";
}

[[noreturn]] void refuse(const std::string & what)
{
  throw std::invalid_argument("forces that depend on constraint forces: " + what);
}

}  // namespace

MultiplierForces::MultiplierForces(
  std::vector<MultiplierForceTarget> targets, std::vector<int> rows, int scratch_size)
: targets_(std::move(targets)), rows_(std::move(rows)), scratch_size_(scratch_size)
{
}

MultiplierForces::~MultiplierForces() = default;

bool MultiplierForces::has_target(Kind kind) const noexcept CD_NONBLOCKING
{
  return std::any_of(
    targets_.begin(), targets_.end(),
    [kind](const MultiplierForceTarget & target) { return target.kind == kind; });
}

void MultiplierForces::check(const ConstraintSet & constraints) const
{
  const System & system = constraints.system();
  if (!system.driven_speeds().empty())
  {
    refuse("the system has driven speeds; allowed: systems without control states and drives");
  }
  for (const int row : rows_)
  {
    if (row < 0 || row >= constraints.row_count())
    {
      refuse(
        "row " + std::to_string(row) + " does not exist; allowed: 0 to " +
        std::to_string(constraints.row_count() - 1));
    }
  }
  for (const MultiplierForceTarget & target : targets_)
  {
    const int count = count_of(target.kind, system);
    if (target.index < 0 || target.index >= count)
    {
      refuse(
        std::string(name_of(target.kind)) + " " + std::to_string(target.index) +
        " does not exist; there are " + std::to_string(count));
    }
    if (target.kind == Kind::kFrame && (target.component < 0 || target.component >= kWrenchSize))
    {
      refuse("component " + std::to_string(target.component) + " of a wrench; allowed: 0 to 5");
    }
  }
}

void MultiplierForces::directions(
  const System & system, const SystemData & data, ConstraintScratch & scratch,
  MatrixRef out) const noexcept CD_NONBLOCKING
{
  out.setZero();
  for (std::size_t j = 0; j < targets_.size(); ++j)
  {
    const MultiplierForceTarget & target = targets_[j];
    auto column = out.col(static_cast<Eigen::Index>(j));
    switch (target.kind)
    {
      case Kind::kCoordinate:
        column = data.terms.kinematic_matrix.row(target.index).transpose();
        break;
      case Kind::kSpeed:
        column(target.index) = 1.0;
        break;
      case Kind::kInput:
        column = data.terms.input_matrix.col(target.index);
        break;
      case Kind::kFrame:
      {
        FrameKinematics frame;
        system.frame_kinematics(data, target.index, frame);
        system.frame_jacobian(data, target.index, scratch.jacobian_a);
        const Eigen::Index axis = target.component % 3;
        const Eigen::Vector3d direction = target.in_frame_axes
                                            ? Eigen::Vector3d(frame.rotation.col(axis))
                                            : Eigen::Vector3d(Eigen::Vector3d::Unit(axis));
        const Eigen::Index first = target.component < 3 ? 0 : 3;
        column.noalias() = scratch.jacobian_a.middleRows<3>(first).transpose() * direction;
        break;
      }
    }
  }
}

void MultiplierForces::add_power(
  const SystemData & data, const ConstVectorRef & values, const ConstMatrixRef & directions,
  SystemPower & power) const noexcept CD_NONBLOCKING
{
  for (std::size_t j = 0; j < targets_.size(); ++j)
  {
    const MultiplierForceTarget & target = targets_[j];
    const Eigen::Index k = static_cast<Eigen::Index>(j);
    switch (target.kind)
    {
      case Kind::kCoordinate:
        power.forces += values(k) * data.terms.rates(target.index);
        break;
      case Kind::kSpeed:
        power.forces += values(k) * data.terms.speeds(target.index);
        break;
      case Kind::kInput:
        break;
      case Kind::kFrame:
        // Frames move with the speeds alone.
        power.external += values(k) * directions.col(k).dot(data.terms.speeds);
        break;
    }
  }
}

}  // namespace constrained_dynamics
