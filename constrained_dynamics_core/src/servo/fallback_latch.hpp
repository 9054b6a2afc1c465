// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// When a fallback ends. The law returns once cycles have been good for `recovery_time` in a row;
/// each further fallback doubles that time. After `most_returns` returns the next fallback is
/// final. Both counts are forgotten after kForgiveTime without a fallback. So there are never more
/// than most_returns returns within kForgiveTime, whatever the sensors do. Real-time safe: yes.
class FallbackLatch
{
public:
  /// Time without a fallback after which earlier ones are forgotten [s].
  static constexpr double kForgiveTime = 10.0;

  FallbackLatch(double recovery_time, int most_returns)
  : recovery_time_(recovery_time), most_returns_(most_returns)
  {
  }

  void start() noexcept CD_NONBLOCKING
  {
    is_fallen_ = false;
    returns_ = 0;
  }
  /// A cycle without an answer, in the fallback.
  void fall() noexcept CD_NONBLOCKING
  {
    if (!is_fallen_ || is_trying_)
    {
      needed_ = recovery_time_ * static_cast<double>(1LL << (returns_ < 30 ? returns_ : 30));
    }
    is_fallen_ = true;
    is_trying_ = false;
    elapsed_ = 0.0;
  }
  /// A cycle that could be good. @param period [s]. @return whether the law is to be asked.
  bool admits(double period) noexcept CD_NONBLOCKING
  {
    elapsed_ += period;
    if (!is_fallen_)
    {
      returns_ = elapsed_ > kForgiveTime ? 0 : returns_;
      return true;
    }
    if (is_final() || elapsed_ < needed_)
    {
      return false;
    }
    returns_ += is_trying_ ? 0 : 1;
    is_trying_ = true;
    return true;
  }
  /// The law had an answer.
  void rise() noexcept CD_NONBLOCKING
  {
    if (is_fallen_)
    {
      is_fallen_ = false;
      is_trying_ = false;
      elapsed_ = 0.0;
    }
  }

  bool is_fallen() const noexcept CD_NONBLOCKING { return is_fallen_; }
  /// Whether the fallback ends with the next start only.
  bool is_final() const noexcept CD_NONBLOCKING
  {
    return is_fallen_ && !is_trying_ && returns_ >= most_returns_;
  }

private:
  double recovery_time_;
  int most_returns_;
  double needed_ = 0.0;   // [s]
  double elapsed_ = 0.0;  // good cycles in a row while fallen, else since the return [s]
  int returns_ = 0;
  bool is_fallen_ = false;
  bool is_trying_ = false;  // the law is asked again
};

}  // namespace constrained_dynamics
