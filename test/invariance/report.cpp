// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "report.hpp"

#include <cstdio>

namespace invariance
{

namespace
{

double seconds_since(std::chrono::steady_clock::time_point start)
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// "scenario four_bar" → "scenario".
std::string group_of(const std::string & source) { return source.substr(0, source.find(' ')); }

}  // namespace

Report::Report(std::uint64_t seed, int wanted)
: seed_(seed), wanted_(wanted), start_(std::chrono::steady_clock::now())
{
  std::printf("seed %llu, %d cases\n", static_cast<unsigned long long>(seed), wanted);
}

void Report::Line::add(const Finding & finding)
{
  ++cases;
  right += finding.outcome == Outcome::kRight ? 1 : 0;
  wrong += finding.outcome == Outcome::kWrongOk ? 1 : 0;
  needless += finding.outcome == Outcome::kNeedless ? 1 : 0;
  refused += finding.outcome == Outcome::kRefused ? 1 : 0;
  judged += finding.judged ? 1 : 0;
}

void Report::add(const Entry & entry)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  all_.add(entry.finding);
  kinds_[entry.kind].add(entry.finding);
  sources_[group_of(entry.source)].add(entry.finding);
  if (entry.finding.outcome == Outcome::kRefused)
  {
    ++refused_[entry.finding.status];
  }
  if (entry.finding.outcome == Outcome::kNeedless)
  {
    ++needless_[entry.finding.status];
  }
  if (entry.finding.outcome == Outcome::kWrongOk || entry.finding.outcome == Outcome::kNeedless)
  {
    failures_.push_back(entry);
  }
  if (all_.cases % 50 == 0 || all_.cases == wanted_)
  {
    std::fprintf(
      stderr, "\r%d of %d cases, %d wrong, %d needless, %.0f s ", all_.cases, wanted_, all_.wrong,
      all_.needless, seconds_since(start_));
  }
}

int Report::count() const
{
  const std::lock_guard<std::mutex> lock(mutex_);
  return all_.cases;
}

void Report::print_line(const std::string & name, const Line & line) const
{
  std::printf(
    "%-40s %7d %8d %8d %8d %8d %8d\n", name.c_str(), line.cases, line.right, line.wrong,
    line.needless, line.refused, line.judged);
}

bool Report::print() const
{
  const std::lock_guard<std::mutex> lock(mutex_);
  std::fprintf(stderr, "\n");
  for (const Entry & entry : failures_)
  {
    std::printf(
      "%s: %s, %s%s%s: %s\n  %s\n  %s\n",
      entry.finding.outcome == Outcome::kWrongOk ? "WRONG OK" : "NEEDLESS", entry.kind.c_str(),
      entry.source.c_str(), entry.detail.empty() ? "" : ", ", entry.detail.c_str(),
      entry.finding.reason.c_str(), entry.file.c_str(), entry.command.c_str());
  }
  std::printf(
    "\n%-40s %7s %8s %8s %8s %8s %8s\n", "kind", "cases", "right", "wrong ok", "needless",
    "refused", "judged");
  for (const auto & [kind, line] : kinds_)
  {
    print_line(kind, line);
  }
  std::printf("\n");
  for (const auto & [source, line] : sources_)
  {
    print_line("from: " + source, line);
  }
  print_line("all", all_);
  for (const auto & [word, counts] :
       {std::make_pair("refused", refused_), std::make_pair("needless", needless_)})
  {
    for (const auto & [status, count] : counts)
    {
      std::printf("%s with status %s: %d\n", word, status.c_str(), count);
    }
  }
  std::printf("seed %llu, %.0f s\n", static_cast<unsigned long long>(seed_), seconds_since(start_));
  return all_.wrong == 0 && all_.needless * 1000 < all_.cases;
}

}  // namespace invariance
