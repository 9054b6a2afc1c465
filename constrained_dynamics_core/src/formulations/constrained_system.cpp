// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <sstream>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/formulations/evaluation.hpp"

namespace constrained_dynamics
{

namespace
{

void check_range(const char * name, double value, double low, double high)
{
  if (!(low <= value && value <= high))
  {
    std::ostringstream message;
    message << "option " << name << " is " << value << "; allowed: " << low << " to " << high;
    throw std::invalid_argument(message.str());
  }
}

void check_gain_size(const char * name, const Gain & gain, std::size_t rows)
{
  if (gain.is_matrix() && gain.matrix().rows() != static_cast<Eigen::Index>(rows))
  {
    std::ostringstream message;
    message << "stabilisation gain " << name << " is a " << gain.matrix().rows() << " × "
            << gain.matrix().cols() << " matrix; allowed: a number or a matrix of size " << rows;
    throw std::invalid_argument(message.str());
  }
}

}  // namespace

ConstrainedSystem::ConstrainedSystem(ConstraintSet set, DynamicsOptions given)
: constraints(std::move(set)), options(std::move(given))
{
  const RankOptions & rank = options.rank;
  check_range("singular_tolerance", rank.singular_tolerance, 1e-15, 1e-2);
  check_range("redundancy_tolerance", rank.redundancy_tolerance, rank.singular_tolerance, 0.5);
  check_range("consistency_tolerance", rank.consistency_tolerance, 1e-15, 1.0);
  check_range("partition_limit", rank.partition_limit, 1.0, 1e6);
  check_range("characteristic_length", options.characteristic_length, 1e-6, 1e6);

  multiplier_weight.setOnes(constraints.row_count());
  has_position_rows.assign(static_cast<std::size_t>(constraints.size()), false);
  for (int row = 0; row < constraints.row_count(); ++row)
  {
    const RowDescription & description = constraints.row(row);
    constraint_of_row.push_back(constraints.constraint_of_row(row));
    level_of_row.push_back(description.level);
    if (description.level == RowLevel::kPosition)
    {
      position_rows.push_back(row);
      has_position_rows[static_cast<std::size_t>(constraint_of_row.back())] = true;
    }
    if (description.level == RowLevel::kVelocity)
    {
      velocity_rows.push_back(row);
    }
    if (description.rotational)
    {
      multiplier_weight(row) = 1.0 / options.characteristic_length;
    }
  }
  multiplier_compliance = multiplier_weight.cwiseAbs2().cwiseInverse();
  const Stabilisation & stabilisation = options.stabilisation;
  check_gain_size("velocity_gain (Γ1)", stabilisation.velocity_gain, position_rows.size());
  check_gain_size("position_gain (Γ2)", stabilisation.position_gain, position_rows.size());
  check_gain_size("nonholonomic_gain (Γ)", stabilisation.nonholonomic_gain, velocity_rows.size());
}

}  // namespace constrained_dynamics
