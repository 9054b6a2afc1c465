// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/constraint_record.hpp"

#include <Eigen/Geometry>

namespace constrained_dynamics
{

RowRecord row_record(const Workspace & workspace, int row) noexcept CD_NONBLOCKING
{
  const Solution & solution = workspace.solution();
  const Rows & rows = workspace.rows();
  return {
    solution.multipliers(row), rows.position(row), rows.velocity(row), solution.redundancy(row)};
}

WrenchRecord wrench_record(const WrenchPair & pair) noexcept CD_NONBLOCKING
{
  const Eigen::Vector3d arm = pair.on_b.point - pair.on_a.point;
  return {
    pair.on_a.point, pair.on_a.force, pair.on_a.torque, pair.on_b.force,
    pair.on_b.torque + arm.cross(pair.on_b.force)};
}

bool is_redundant(const RowRecord & row) noexcept CD_NONBLOCKING
{
  constexpr double kRedundant = 1e-6;  // rounding stays far below it
  return row.redundancy > kRedundant;
}

std::vector<ConstraintRecord> constraint_records(
  const ConstraintSet & constraints, const Workspace & workspace)
{
  std::vector<ConstraintRecord> records(static_cast<std::size_t>(constraints.size()));
  for (int i = 0; i < constraints.size(); ++i)
  {
    ConstraintRecord & record = records[static_cast<std::size_t>(i)];
    record.active = workspace.is_active(i);
    for (int k = 0; k < constraints[i].row_count(); ++k)
    {
      record.rows.push_back(row_record(workspace, constraints.row_offset(i) + k));
      record.redundant = record.redundant || is_redundant(record.rows.back());
    }
    for (std::size_t k = 0; k < constraints[i].wrench_bodies().size(); ++k)
    {
      const std::size_t pair = static_cast<std::size_t>(constraints.wrench_offset(i)) + k;
      record.wrenches.push_back(wrench_record(workspace.solution().wrenches[pair]));
    }
  }
  return records;
}

}  // namespace constrained_dynamics
