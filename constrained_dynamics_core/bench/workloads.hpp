// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workload.hpp"

namespace constrained_dynamics::bench
{

/// A workload that is made when its turn comes.
struct WorkloadEntry
{
  std::string name;
  std::function<Workload()> make;
};

/// Sizes N of the families W4a, W4b and W4c.
struct FamilySizes
{
  std::vector<int> side_by_side;
  std::vector<int> loop;
  std::vector<int> tower;
};

/// The sizes of `make bench`, stated here and nowhere else.
FamilySizes full_sizes();
FamilySizes quick_sizes();

/// Every workload, those of a family once for each size.
/// @param robots folder `robots` of example-robot-data; where it is empty W2, W3 and W6b are left
/// out.
std::vector<WorkloadEntry> all_workloads(const FamilySizes & sizes, const std::string & robots);

}  // namespace constrained_dynamics::bench
