// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

/// Times at which output is due: multiples of the interval, and the end.
class OutputTimes
{
public:
  OutputTimes(double start, double until, double interval)
  : start_(start), until_(until), interval_(interval)
  {
  }
  double next() const
  {
    const double time = start_ + static_cast<double>(count_ + 1) * interval_;
    // An output a rounding error before the end is the end.
    return time < until_ - tolerance::kGrid * interval_ ? time : until_;
  }
  void advance() { ++count_; }

private:
  double start_;
  double until_;
  double interval_;
  long count_ = 0;
};

}  // namespace constrained_dynamics
