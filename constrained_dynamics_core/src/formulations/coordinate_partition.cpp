// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/coordinate_partition.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "formulations/partition_data.hpp"

namespace constrained_dynamics
{

CoordinatePartition::CoordinatePartition(Mode mode, std::vector<int> independent_speeds)
: mode_(mode), independent_speeds_(std::move(independent_speeds))
{
  if (mode_ != Mode::kSelected && !independent_speeds_.empty())
  {
    throw std::invalid_argument(
      std::string("independent speeds are given to ") + name() +
      "; allowed: none, or the mode kSelected");
  }
  std::set<int> seen;
  for (const int speed : independent_speeds_)
  {
    if (!(0 <= speed) || !seen.insert(speed).second)
    {
      throw std::invalid_argument(
        "independent speed " + std::to_string(speed) +
        " is negative or given twice; allowed: different indices from 0");
    }
  }
}

const char * CoordinatePartition::name() const noexcept CD_NONBLOCKING
{
  return mode_ == Mode::kFullCoordinates ? "coordinate_partition_full"
         : mode_ == Mode::kSelected      ? "coordinate_partition_selected"
                                         : "coordinate_partition";
}

std::unique_ptr<FormulationData> CoordinatePartition::make_data(
  int speed_count, int max_row_count) const
{
  if (mode_ == Mode::kFullCoordinates)
  {
    return std::make_unique<FullCoordinatesData>(speed_count, max_row_count);
  }
  for (const int speed : independent_speeds_)
  {
    if (!(speed < speed_count))
    {
      throw std::invalid_argument(
        "independent speed " + std::to_string(speed) + "; allowed: 0 to " +
        std::to_string(speed_count - 1));
    }
  }
  if (mode_ == Mode::kEveryStep)
  {
    return std::make_unique<EveryStepData>(speed_count, max_row_count);
  }
  auto data = std::make_unique<SelectedData>(speed_count, max_row_count);
  if (!independent_speeds_.empty())
  {
    data->factorisation.select_partition(independent_speeds_);
  }
  return data;
}

const RowFactorisation & CoordinatePartition::factorisation(const FormulationData & data)
{
  return static_cast<const PartitionData &>(data).factorisation;
}

CoordinatePartition::Work CoordinatePartition::work(const FormulationData & data)
{
  return static_cast<const PartitionData &>(data).work();
}

Status CoordinatePartition::do_solve_rows(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  PartitionData & data = static_cast<PartitionData &>(formulation_data);
  RankOptions partition_options = options;
  if (mode_ == Mode::kSelected)
  {
    partition_options.partition_limit = std::max(options.partition_limit, kSelectedLimit);
  }
  const Status rank_status = data.partition(problem, partition_options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  if (!data.move(problem))
  {
    return Status::kSingularInertia;
  }
  return data.conclude(problem, options, rank_status, solution);
}

Status CoordinatePartition::do_correct(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  PartitionData & data = static_cast<PartitionData &>(formulation_data);
  const Status rank_status = data.partition(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  const Eigen::VectorXi & order = data.factorisation.order();
  data.acceleration.setZero();
  for (Eigen::Index i = 0; i < data.rank(); ++i)
  {
    data.acceleration(order(i)) = data.particular(i);
  }
  if (!data.acceleration.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  solution.acceleration = data.acceleration;
  solution.rank = static_cast<int>(data.rank());
  return rank_status;
}

}  // namespace constrained_dynamics
