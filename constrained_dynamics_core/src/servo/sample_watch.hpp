// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <cstddef>

#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Tells samples from cycles. Hardware that is read more slowly than the controller runs shows the
/// same values for several cycles; that is no fault. Values count as frozen once they have been the
/// same for as long as several samples take, although joints move. How long a sample takes is
/// given, or measured: the longest of the last intervals between two changes. Real-time safe: yes.
class SampleWatch
{
public:
  /// Until the interval between samples is known, values may stay the same for this long [s].
  static constexpr double kUnknownSilence = 0.25;

  /// @param cycle_period [s]. @param sample_period [s]; 0: unknown, it is measured.
  /// @param samples that may be missing, in a row.
  SampleWatch(double cycle_period, double sample_period, int samples)
  : cycle_period_(cycle_period), sample_period_(sample_period), samples_(samples)
  {
  }

  /// Begins anew, with nothing measured.
  void start() noexcept CD_NONBLOCKING
  {
    count_ = 0;
    silence_ = 0.0;
  }

  /// One cycle. @param period since the last one [s]. @param changed whether a measured value is
  /// another one. @param moves whether the values must change, because joints move.
  /// @return whether the values are frozen.
  bool is_frozen(double period, bool changed, bool moves) noexcept CD_NONBLOCKING
  {
    if (changed)
    {
      if (was_moving_ && silence_ + period <= largest_silence())
      {
        intervals_[count_ % kIntervals] = silence_ + period;
        ++count_;
      }
      silence_ = 0.0;
    }
    else
    {
      silence_ = moves ? silence_ + period : 0.0;
    }
    was_moving_ = moves;
    return silence_ > largest_silence();
  }

  /// Interval between samples as far as known [s], at least the period of the cycle.
  double interval() const noexcept CD_NONBLOCKING
  {
    double longest = sample_period_ > cycle_period_ ? sample_period_ : cycle_period_;
    for (std::size_t i = 0; i < count_ && i < kIntervals; ++i)
    {
      longest = intervals_[i] > longest ? intervals_[i] : longest;
    }
    return longest;
  }

  /// Longest time for which values may stay the same while joints move [s].
  double largest_silence() const noexcept CD_NONBLOCKING
  {
    // Half an interval for rounding and jitter of the last cycle.
    const double known = (samples_ - 0.5) * interval();
    const bool is_known = sample_period_ > 0.0 || count_ >= kEnough;
    return is_known || known > kUnknownSilence ? known : kUnknownSilence;
  }

private:
  static constexpr std::size_t kIntervals = 16;
  static constexpr std::size_t kEnough = 3;

  double cycle_period_;
  double sample_period_;
  int samples_;
  std::array<double, kIntervals> intervals_{};  // the last ones [s]
  std::size_t count_ = 0;
  double silence_ = 0.0;  // [s]
  bool was_moving_ = false;
};

}  // namespace constrained_dynamics
