// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge.hpp"

namespace invariance
{

/// What `cdyn solve --json` reported.
struct Solved
{
  std::string status;
  Given given;
  std::vector<std::string> speeds;
  std::vector<double> acceleration;      ///< empty where there is none
  std::vector<double> constraint_force;  ///< empty where there is none
  std::map<std::string, double> multipliers;
  std::vector<Wrench> wrenches;  ///< without tolerances
  int rank = -1;                 ///< −1: none reported
};

/// @throw std::exception for a file that cannot be read.
Solved read_solve_json(const std::string & file);

}  // namespace invariance
