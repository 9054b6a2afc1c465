// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/background_job.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

namespace constrained_dynamics_controllers
{

BackgroundJob::BackgroundJob(std::function<void()> job) : job_(std::move(job))
{
  if (sem_init(&asked_, 0, 0) != 0)
  {
    throw std::system_error(errno, std::generic_category(), "sem_init");
  }
  thread_ = std::thread([this] { run(); });
}

BackgroundJob::~BackgroundJob()
{
  ends_ = true;
  sem_post(&asked_);
  thread_.join();
  sem_destroy(&asked_);
}

void BackgroundJob::start() noexcept
{
  state_.store(State::kRunning, std::memory_order_release);
  sem_post(&asked_);
}

void BackgroundJob::wait() const
{
  while (state() == State::kRunning)
  {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void BackgroundJob::run()
{
  while (true)
  {
    // Interrupted by a signal: once more.
    while (sem_wait(&asked_) != 0)
    {
    }
    if (ends_)
    {
      return;
    }
    State result = State::kDone;
    try
    {
      job_();
    }
    catch (const std::exception & error)
    {
      error_ = error.what();
      result = State::kFailed;
    }
    state_.store(result, std::memory_order_release);
  }
}

}  // namespace constrained_dynamics_controllers
