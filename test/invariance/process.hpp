// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

namespace invariance
{

struct ProcessResult
{
  int exit_code = -1;  ///< −1: ended by a signal, or not in time
  bool timed_out = false;
  double seconds = 0.0;  ///< of processor time
  std::string out, err;
};

/// Runs a program to its end, or to its limit of processor time, and returns its output. On a loaded
/// machine processor time is what the program is answerable for; waiting is limited to 20 times as
/// much.
/// @throw std::runtime_error if it cannot be started
ProcessResult run_process(const std::vector<std::string> & command, double seconds);

}  // namespace invariance
