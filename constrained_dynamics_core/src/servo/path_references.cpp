// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/servo/reference_trajectory.hpp"
#include "servo/reference_values.hpp"

namespace constrained_dynamics
{

namespace
{

using Values = std::array<Jet2, ReferenceLayout::kMaximumValues>;

/// x³ − x⁴/2, the integral of the step 3 x² − 2 x³ from 0 to 1.
Jet2 step_integral(const Jet2 & x) noexcept { return x * x * x * (1.0 - 0.5 * x); }

/// Length of the path that has been run through, over time.
class PathClock
{
public:
  PathClock(const ReferenceLayout & layout, double length, const PathTiming & timing)
  : length_(length), begin_(checked_finite(layout, "begin", timing.begin))
  {
    constexpr double kSteepest = 1.5;  // of 3 x² − 2 x³
    const double speed = checked_positive(layout, "speed", timing.speed);
    const double acceleration = checked_positive(layout, "acceleration", timing.acceleration);
    // Both ramps need speed · ramp; where the path is shorter they meet at a lower speed.
    speed_ = std::min(speed, std::sqrt(length) * std::sqrt(acceleration / kSteepest));
    ramp_ = kSteepest * speed_ / acceleration;
    total_ = ramp_ + length / speed_;
    if (!(speed_ > 0.0 && ramp_ > 0.0 && std::isfinite(total_)))
    {
      refuse_number(
        layout, "time that the path takes", total_, "finite; change speed or acceleration");
    }
  }

  Jet2 evaluate(double time) const noexcept
  {
    const double elapsed = time - begin_;
    const double left = total_ - elapsed;
    if (!(elapsed > 0.0))
    {
      return 0.0;
    }
    if (!(left > 0.0))
    {
      return length_;
    }
    if (elapsed < ramp_)
    {
      return speed_ * ramp_ * step_integral(Jet2(elapsed / ramp_, 1.0 / ramp_, 0.0));
    }
    if (left < ramp_)
    {
      return length_ - speed_ * ramp_ * step_integral(Jet2(left / ramp_, -1.0 / ramp_, 0.0));
    }
    return {speed_ * (elapsed - 0.5 * ramp_), speed_, 0.0};
  }

private:
  double length_;
  double begin_;
  double speed_;
  double ramp_;   // duration of starting, and of stopping
  double total_;  // duration of everything
};

// ---- polyline ----------------------------------------------------------------------------------

class Polyline : public ReferenceTrajectory
{
public:
  /// @param points complete.
  Polyline(
    const ReferenceLayout & layout, const std::vector<Eigen::VectorXd> & points, double blend,
    const PathTiming & timing)
  : ReferenceTrajectory(layout),
    linear_(layout.is_pose() ? 3 : layout.value_count()),
    starts_(make_starts(layout, points, linear_)),
    clock_(layout, starts_.back(), timing)
  {
    for (std::size_t i = 0; i + 1 < points.size(); ++i)
    {
      const double length = starts_[i + 1] - starts_[i];
      points_.push_back(points[i].head(linear_));
      directions_.emplace_back((points[i + 1] - points[i]).head(linear_) / length);
      if (layout.is_pose())
      {
        turns_.emplace_back(points[i].tail<4>(), points[i + 1].tail<4>());
      }
      const double before = i > 0 ? starts_[i] - starts_[i - 1] : 0.0;
      blends_.push_back(std::min({blend, 0.5 * before, 0.5 * length}));
    }
    blends_.push_back(0.0);
  }

protected:
  bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING override
  {
    const Jet2 s = clock_.evaluate(time);
    const auto above = std::upper_bound(starts_.begin() + 1, starts_.end() - 1, s.value);
    const auto k = static_cast<std::size_t>(above - starts_.begin()) - 1;  // of the straight
    if (s.value < starts_[k] + blends_[k])
    {
      round_corner(k, s, values);
    }
    else if (s.value > starts_[k + 1] - blends_[k + 1])
    {
      round_corner(k + 1, s, values);
    }
    else
    {
      for (Eigen::Index i = 0; i < linear_; ++i)
      {
        values[i] = points_[k](i) + directions_[k](i) * (s - starts_[k]);
      }
    }
    if (layout().is_pose())
    {
      const double length = starts_[k + 1] - starts_[k];
      turns_[k].evaluate(minimum_jerk_step((s - starts_[k]) / length), values + 3);
    }
    return true;
  }

private:
  /// Lengths up to each point.
  static std::vector<double> make_starts(
    const ReferenceLayout & layout, const std::vector<Eigen::VectorXd> & points,
    Eigen::Index linear)
  {
    std::vector<double> starts{0.0};
    for (std::size_t i = 0; i + 1 < points.size(); ++i)
    {
      const Eigen::VectorXd way = (points[i + 1] - points[i]).head(linear);
      starts.push_back(starts.back() + way.stableNorm());
      if (!(starts.back() > starts[i] && std::isfinite(starts.back())))
      {
        refuse_number(
          layout,
          "distance of way-points " + std::to_string(i + 1) + " and " + std::to_string(i + 2),
          starts.back() - starts[i], "finite and above 0");
      }
    }
    return starts;
  }

  /// The direction goes over from one straight to the next.
  void round_corner(std::size_t corner, const Jet2 & s, Jet2 * values) const noexcept
  {
    const double width = 2.0 * blends_[corner];
    const Jet2 x = (s - (starts_[corner] - blends_[corner])) / width;
    const Jet2 next = width * step_integral(x);
    const Jet2 last = width * x - next - blends_[corner];
    for (Eigen::Index i = 0; i < linear_; ++i)
    {
      values[i] =
        points_[corner](i) + directions_[corner - 1](i) * last + directions_[corner](i) * next;
    }
  }

  Eigen::Index linear_;         // numbers whose distances count
  std::vector<double> starts_;  // of the straights, and the end of the last
  PathClock clock_;
  std::vector<Eigen::VectorXd> points_;      // starts of the straights
  std::vector<Eigen::VectorXd> directions_;  // of the straights
  std::vector<TurnBetween> turns_;           // of poses, on the straights
  std::vector<double> blends_;               // half length of the rounding of each point
};

// ---- curve -------------------------------------------------------------------------------------

/// The parameter of a curve over its length: a spline of degree 5, exact with two derivatives at
/// its nodes. The parameter w goes from 0 to 1 whatever s does.
class CurveParameter
{
public:
  CurveParameter(
    const ReferenceLayout & layout, const ReferenceFormulas & formulas, int linear, double from,
    double to)
  : layout_(layout), formulas_(formulas), linear_(linear), from_(from), to_(to)
  {
    for (int i = 0; i <= kIntervals; ++i)
    {
      const double w = static_cast<double>(i) / kIntervals;
      double slope = 0.0;   // p'·p'
      double change = 0.0;  // p'·p''
      differentiate(w, slope, change);
      const double speed = std::sqrt(slope);
      nodes_.push_back({length_, Jet2(w, 1.0 / speed, -change / (slope * slope))});
      if (i < kIntervals)
      {
        length_ += interval_length(w);
      }
    }
    check();
  }

  double length() const { return length_; }

  Jet2 evaluate(const Jet2 & length) const noexcept
  {
    const auto above = std::upper_bound(
      nodes_.begin() + 1, nodes_.end() - 1, length.value,
      [](double value, const Node & node) { return value < node.length; });
    const Node & a = *(above - 1);
    const Node & b = *above;
    // Hermite's polynomial of degree 5 over x from 0 to 1.
    const double h = b.length - a.length;
    const Jet2 x = (length - a.length) / h;
    const double c1 = h * a.w.first;
    const double c2 = 0.5 * h * h * a.w.second;
    const double rise = b.w.value - a.w.value - c1 - c2;
    const double slope = h * b.w.first - c1 - 2.0 * c2;
    const double bend = h * h * b.w.second - 2.0 * c2;
    const double c3 = 10.0 * rise - 4.0 * slope + 0.5 * bend;
    const double c4 = -15.0 * rise + 7.0 * slope - bend;
    const double c5 = 6.0 * rise - 3.0 * slope + 0.5 * bend;
    return a.w.value + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))));
  }

  template <class S>
  S parameter(const S & w) const noexcept
  {
    return (1.0 - w) * from_ + w * to_;
  }

private:
  struct Node
  {
    double length;
    Jet2 w;  // with derivatives by the length
  };
  static constexpr int kIntervals = 1000;

  [[noreturn]] void refuse(double w, const std::string & what) const
  {
    throw std::invalid_argument(
      owner_of(layout_) + ": the curve " + what + " near s = " + std::to_string(parameter(w)) +
      "; allowed: formulas with finite derivatives, of which some is not 0");
  }

  /// Products of the derivatives by w.
  void differentiate(double w, double & slope, double & change) const
  {
    Values values;
    if (!formulas_.evaluate(parameter(w), values.data()))
    {
      refuse(w, "has no finite derivatives");
    }
    const double width = to_ - from_;
    slope = 0.0;
    change = 0.0;
    for (int i = 0; i < linear_; ++i)
    {
      const Jet2 & value = values[static_cast<std::size_t>(i)];
      slope += width * width * value.first * value.first;
      change += width * width * width * value.first * value.second;
    }
    if (!(slope > 1e-24 && std::isfinite(slope) && std::isfinite(change)))
    {
      refuse(w, slope > 1e-24 ? "has no finite derivatives" : "stands still");
    }
  }

  /// By Gauss' rule of five points.
  double interval_length(double w) const
  {
    constexpr double kPlaces[] = {
      0.046910077030668004, 0.23076534494715845, 0.5, 0.76923465505284155, 0.953089922969332};
    constexpr double kWeights[] = {
      0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324,
      0.11846344252809454};
    double sum = 0.0;
    for (int i = 0; i < 5; ++i)
    {
      double slope = 0.0;
      double change = 0.0;
      differentiate(w + kPlaces[i] / kIntervals, slope, change);
      sum += kWeights[i] * std::sqrt(slope);
    }
    return sum / kIntervals;
  }

  /// The curve must be smooth enough for the nodes: the speed between them is that at them.
  void check() const
  {
    constexpr double kLargestDeviation = 1e-2;
    for (std::size_t i = 0; i + 1 < nodes_.size(); ++i)
    {
      const double middle = 0.5 * (nodes_[i].length + nodes_[i + 1].length);
      const Jet2 w = evaluate(Jet2(middle, 1.0, 0.0));
      double slope = 0.0;
      double change = 0.0;
      differentiate(w.value, slope, change);
      if (!(std::abs(std::sqrt(slope) * w.first - 1.0) < kLargestDeviation))
      {
        refuse(w.value, "bends or stops too suddenly");
      }
    }
  }

  const ReferenceLayout & layout_;
  const ReferenceFormulas & formulas_;
  int linear_;  // numbers whose length counts
  double from_;
  double to_;
  double length_ = 0.0;
  std::vector<Node> nodes_;
};

class Curve : public ReferenceTrajectory
{
public:
  Curve(
    const ReferenceLayout & reference_layout, ValueFormat format, ReferenceFormulas formulas,
    double from, double to, const PathTiming & timing)
  : ReferenceTrajectory(reference_layout),
    format_(format),
    formulas_(std::move(formulas)),
    parameter_(layout(), formulas_, layout().is_pose() ? 3 : format.given_count(), from, to),
    clock_(layout(), parameter_.length(), timing)
  {
  }

protected:
  bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING override
  {
    const Jet2 w = parameter_.evaluate(clock_.evaluate(time));
    const Jet2 s = parameter_.parameter(w);
    Values given;
    if (!formulas_.evaluate(s.value, given.data()))
    {
      return false;
    }
    for (int i = 0; i < format_.given_count(); ++i)
    {
      Jet2 & value = given[static_cast<std::size_t>(i)];
      value = compose(value, s);
    }
    format_.complete(given.data(), values);
    return true;
  }

private:
  ValueFormat format_;
  ReferenceFormulas formulas_;
  CurveParameter parameter_;
  PathClock clock_;
};

}  // namespace

ReferencePointer make_polyline(
  const ServoConstraint & servo, const std::vector<Eigen::VectorXd> & points, double blend,
  const PathTiming & timing)
{
  const ReferenceLayout layout(servo);
  if (points.size() < 2)
  {
    refuse_number(layout, "number of way-points", static_cast<double>(points.size()), "at least 2");
  }
  std::vector<Eigen::VectorXd> complete;
  for (std::size_t i = 0; i < points.size(); ++i)
  {
    complete.push_back(complete_values(layout, "way-point " + std::to_string(i + 1), points[i]));
  }
  return std::make_shared<const Polyline>(
    layout, complete, checked_positive(layout, "blend", blend), timing);
}

ReferencePointer make_curve(
  const ServoConstraint & servo, const std::vector<std::string> & formulas, double from, double to,
  const PathTiming & timing, const FormulaNames & names)
{
  const ReferenceLayout layout(servo);
  const ValueFormat format(layout, "values", formulas.size());
  if (layout.is_pose() && !format.has_position())
  {
    throw std::invalid_argument(
      owner_of(layout) + ": a curve without x y z has no length; allowed: values with x y z");
  }
  checked_finite(layout, "from", from);
  checked_finite(layout, "to", to);
  if (from == to)
  {
    refuse_number(layout, "to", to, "another number than from");
  }
  return std::make_shared<const Curve>(
    layout, format, ReferenceFormulas(servo, layout, "s", formulas, names), from, to, timing);
}

}  // namespace constrained_dynamics
