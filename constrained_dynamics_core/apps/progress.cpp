// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "progress.hpp"

#include <iostream>
#include <utility>

#include <unistd.h>

#include "output.hpp"

namespace cdyn
{

double seconds_since(Clock::time_point start)
{
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Progress::Progress(double begin, double end, bool quiet, std::string what)
: begin_(begin),
  end_(end),
  quiet_(quiet),
  what_(what.empty() ? std::string() : std::move(what) + ": "),
  terminal_(::isatty(STDERR_FILENO) == 1)
{
}

void Progress::show(double time)
{
  const double interval = terminal_ ? 0.3 : 5.0;
  if (quiet_ || seconds_since(last_) < interval)
  {
    return;
  }
  last_ = Clock::now();
  shown_ = true;
  const double part = end_ > begin_ ? 100.0 * (time - begin_) / (end_ - begin_) : 100.0;
  std::cerr << (terminal_ ? "\r" : "") << what_ << "t = " << format(time, 4) << " s of "
            << format(end_, 4) << " s (" << static_cast<int>(part) << " %), "
            << format(seconds_since(start_), 2) << " s" << (terminal_ ? "   " : "\n") << std::flush;
}

void Progress::finish() const
{
  if (shown_ && terminal_)
  {
    std::cerr << "\r" << std::string(what_.size() + 60, ' ') << "\r" << std::flush;
  }
}

}  // namespace cdyn
