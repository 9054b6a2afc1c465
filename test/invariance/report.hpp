// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace invariance
{

/// One case in the table.
struct Entry
{
  std::string kind;
  std::string source;
  std::string detail;
  std::string file;     ///< the scenario; kept if the outcome is a failure
  std::string command;  ///< that repeats it
  std::uint64_t base = 0;
  Finding finding;
};

/// Counts, prints progress and the table. Safe to use from several threads.
class Report
{
public:
  Report(std::uint64_t seed, int wanted);

  void add(const Entry & entry);
  int count() const;

  /// Prints everything; true if the criterion is met: no wrong ok, needless below 1 in 1000.
  bool print() const;

private:
  struct Line
  {
    int cases = 0, right = 0, wrong = 0, needless = 0, refused = 0, judged = 0;
    void add(const Finding & finding);
  };

  void print_line(const std::string & name, const Line & line) const;

  std::uint64_t seed_;
  int wanted_;
  std::chrono::steady_clock::time_point start_;
  mutable std::mutex mutex_;
  std::map<std::string, Line> kinds_, sources_;
  std::map<std::string, int> refused_, needless_;  ///< by status
  Line all_;
  std::vector<Entry> failures_;
};

}  // namespace invariance
