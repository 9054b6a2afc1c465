// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <chrono>
#include <string>

namespace cdyn
{

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

/// Says on the standard error how far a run is: often on a terminal, every few seconds elsewhere.
class Progress
{
public:
  /// @param what is being run, in front of the time; may be empty.
  Progress(double begin, double end, bool quiet, std::string what = "");

  void show(double time);
  void finish() const;

private:
  double begin_;
  double end_;
  bool quiet_;
  std::string what_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace cdyn
