// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "judge.hpp"

namespace invariance
{

Verdict judge(const std::string & scenario_file, const Given &)
{
  Verdict verdict;
  verdict.unsupported = scenario_file + ": nothing is supported yet";
  return verdict;
}

}  // namespace invariance
