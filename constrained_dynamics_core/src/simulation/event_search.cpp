// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/event_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/math/tools/toms748_solve.hpp>

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

EventSearch::EventSearch(SimulationCore & of, PhaseStepper & stepper)
: of_(of),
  stepper_(stepper),
  before_(of.ended_.size(), 0.0),
  now_(before_),
  root_(before_),
  x_(static_cast<std::size_t>(of.x_.size())),
  slope_(of.x_.size())
{
}

void EventSearch::begin(double time, StateVector & x)
{
  x_ = x;
  evaluate(time);
  read(before_);
  time_ = time;
  turning_rate_ = of_.forces_.turning_rate(of_.modes_, of_.workspace());
}

void EventSearch::evaluate(double time)
{
  require_output(of_.derivative(time, view_of(x_), slope_));
}

void EventSearch::read(std::vector<double> & out) const
{
  const ContactView at = of_.view();
  for (std::size_t i = 0; i < out.size(); ++i)
  {
    out[i] = event_function(at, static_cast<int>(i));
  }
}

double EventSearch::function(int i, double time)
{
  stepper_.calc_state(time, x_);
  evaluate(time);
  return event_function(of_.view(), i);
}

double EventSearch::find(double end)
{
  const double start = time_;
  for (int k = 1; k <= bound::kEventSamples; ++k)
  {
    const double time =
      k == bound::kEventSamples ? end : start + k * (end - start) / bound::kEventSamples;
    stepper_.calc_state(time, x_);
    evaluate(time);
    read(now_);
    find_suspects();
    double first = kNever;
    if (!shared_.empty() && !of_.decision_.can_hold(of_.modes_, of_.controlled_))
    {
      first = locate_hold(time_, time);
      for (const int i : shared_)
      {
        root_[static_cast<std::size_t>(i)] = first;
      }
    }
    for (const int i : suspects_)
    {
      root_[static_cast<std::size_t>(i)] = locate(i, time_, time);
      first = std::min(first, root_[static_cast<std::size_t>(i)]);
    }
    if (std::isfinite(first))
    {
      const double slack = tolerance::kSameTime * std::max(1.0, std::abs(first));
      for (std::size_t i = 0; i < root_.size(); ++i)
      {
        of_.ended_[i] = root_[i] <= first + slack;
      }
      return first;
    }
    before_ = now_;
    time_ = time;
  }
  of_.forces_.commit(of_.modes_, of_.workspace());
  turning_rate_ = of_.forces_.turning_rate(of_.modes_, of_.workspace());
  return kNever;
}

/// Functions that have ended; apart those of shared loads, which end only together.
void EventSearch::find_suspects()
{
  const ContactView at = of_.view();
  suspects_.clear();
  shared_.clear();
  for (std::size_t i = 0; i < now_.size(); ++i)
  {
    root_[i] = kNever;
    const int index = static_cast<int>(i);
    if (now_[i] < -event_tolerance(at, index))
    {
      (shares_load(at, index) ? shared_ : suspects_).push_back(index);
    }
  }
}

/// Time between two times from which on redundant contacts cannot share their loads any longer.
double EventSearch::locate_hold(double low, double high)
{
  const double close = tolerance::kSameTime * std::max(1.0, std::abs(high));
  for (int k = 0; k < bound::kHalvings && high - low > close; ++k)
  {
    const double middle = 0.5 * (low + high);
    stepper_.calc_state(middle, x_);
    evaluate(middle);
    (of_.decision_.can_hold(of_.modes_, of_.controlled_) ? low : high) = middle;
  }
  return high;
}

/// Time at which event function i ends between two times; +∞: it does not.
double EventSearch::locate(int i, double low, double high)
{
  double at_low = before_[static_cast<std::size_t>(i)];
  const double at_high = now_[static_cast<std::size_t>(i)];
  const bool is_open = i < of_.model_.contact_count() && of_.view().is_open(i);
  double found = kNever;
  if (
    is_open && !(at_low > tolerance::kGapRounding) && locate_touching(i, high, low, at_low, found))
  {
    return found;
  }
  if (!(at_low > 0.0))
  {
    return low;
  }
  std::uintmax_t iterations = bound::kRootIterations;
  const auto close = boost::math::tools::eps_tolerance<double>(bound::kRootBits);
  const std::pair<double, double> bracket = boost::math::tools::toms748_solve(
    [&](double time) { return function(i, time); }, low, high, at_low, at_high, close, iterations);
  return bracket.second;
}

/// An open contact that touches at `low` and is below the surface at `high`. Returns if `found`
/// is the answer; otherwise `low` has moved into a hop that is shorter than the step, with its
/// height there.
bool EventSearch::locate_touching(int i, double high, double & low, double & at_low, double & found)
{
  static_cast<void>(function(i, low));
  const double hop = of_.view().hop(i);
  if (!(hop > 0.0) && !of_.view().is_closing(i))
  {
    const bool leaves = of_.view().gap_acceleration(i) > 0.0;
    static_cast<void>(function(i, high));
    found = !of_.view().is_closing(i) ? kNever : leaves ? locate_return(i, low, high) : low;
    return true;
  }
  const double middle = low + std::min(hop, 0.5 * (high - low));
  const double there = hop > 0.0 ? function(i, middle) : -1.0;
  if (!(there > 0.0))
  {
    found = std::min(low + hop, high);
    return true;
  }
  low = middle;
  at_low = there;
  return false;
}

/// Time at which an open contact that leaves at `low` returns, which it does before `high`.
double EventSearch::locate_return(int i, double low, double high)
{
  for (int k = 0; k < bound::kHalvings; ++k)
  {
    const double middle = 0.5 * (low + high);
    static_cast<void>(function(i, middle));
    (of_.view().is_closing(i) ? high : low) = middle;
  }
  return high;
}

}  // namespace constrained_dynamics
