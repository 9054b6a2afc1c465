// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <semaphore.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace constrained_dynamics_controllers
{

/// Something that takes too long for a control cycle, done in a thread of its own when asked for.
class BackgroundJob
{
public:
  enum class State
  {
    kIdle,     ///< it was never asked for
    kRunning,  ///< asked for, or under way
    kDone,
    kFailed,
  };

  /// @param job may throw std::exception.
  explicit BackgroundJob(std::function<void()> job);
  /// Waits for its end.
  ~BackgroundJob();
  BackgroundJob(const BackgroundJob &) = delete;
  BackgroundJob & operator=(const BackgroundJob &) = delete;

  /// Asks for the job; not while it is running. Real-time safe: yes, as `state`.
  void start() noexcept;
  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Waits while it is running.
  void wait() const;
  /// What the job threw; only where it failed.
  const std::string & error() const { return error_; }

private:
  void run();

  std::function<void()> job_;
  std::string error_;
  std::atomic<State> state_{State::kIdle};
  std::atomic<bool> ends_{false};
  sem_t asked_;
  std::thread thread_;
};

}  // namespace constrained_dynamics_controllers
